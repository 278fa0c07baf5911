/** Consensus proofs of the hub in memory, as the hub's node hands them out. */
import type { AcceptedProof, AcceptedProofIndex, AcceptedProofs } from "../../src/core/chains/hub.ts";
import { stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import type { RpcFault, RpcFaultCode } from "../../src/core/rpc/call.ts";
import { HubPart } from "./memory_accounts.ts";
import type { Ask } from "./memory_reads.ts";
import { encodeProof, padProof, signerOf } from "./memory_consensus.ts";
import type { MemoryBlock } from "./memory_block.ts";
import type { MemoryNode } from "./memory_node.ts";

/** The proofs that the node's blocks accepted. */
export class MemoryAcceptedProofs extends HubPart implements AcceptedProofs {
  /** False: its node refuses unsafe calls, so proofs cannot be fetched. */
  hasOffchainStore = true;
  /** Bytes of each proof; at least as many as what it says. */
  proofBytes = 0;
  /** Heights whose proofs this node has not kept. */
  readonly missing = new Set<bigint>();
  /** Heights whose proofs are of a kind that comes later. */
  readonly unknownKinds = new Set<bigint>();
  readonly #fault: (code: RpcFaultCode, method: string) => RpcFault;

  constructor(node: MemoryNode, ask: Ask, fault: (code: RpcFaultCode, method: string) => RpcFault) {
    super(node, ask);
    this.#fault = fault;
  }

  fetchProofBytes(proof: AcceptedProof, signal: AbortSignal): Promise<Uint8Array | undefined> {
    return this.ask("fetchProofBytes", signal, () => {
      if (!this.hasOffchainStore) throw this.#fault("missing_method", "fetchProofBytes");
      if (this.missing.has(proof.height)) return undefined;
      if (this.unknownKinds.has(proof.height)) return Uint8Array.of(2, 1, 2, 3);
      const statement = encodeProof({
        source: stateMachineIdKey(this.node.id),
        height: proof.height,
        root: this.#blockAt(proof.height, "fetchProofBytes").hash,
        signedBy: signerOf(this.node.head.state.proofs, proof),
        newSetId: proof.newSetId,
      });
      return this.proofBytes > statement.length ? padProof(statement, this.proofBytes) : statement;
    });
  }

  fetchAcceptedIndex(signal: AbortSignal): Promise<AcceptedProofIndex> {
    return this.ask("fetchAcceptedIndex", signal, () => {
      const { list, rotations } = this.#blockAt(this.node.finalHeight, "fetchAcceptedIndex").state.proofs;
      const messaging = list.flatMap(({ height, newSetId }) => newSetId === undefined ? [height] : []);
      return { rotations: new Map(rotations), messaging: messaging.toSorted((a, b) => Number(a - b)) };
    });
  }

  #blockAt(height: bigint, method: string): MemoryBlock {
    const block = this.node.block(height);
    if (block === undefined) throw this.#fault("lagging", method);
    return block;
  }
}
