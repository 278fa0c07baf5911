/**
 * Consensus proofs of the hub that the hub itself accepted: which ones it lists, and their bytes. Source:
 * polytope-labs/hyperbridge: modules/pallets/beefy-consensus-proofs/src/{lib,types}.rs.
 */
import { type Hash256, toHex } from "../../encoding/bytes.ts";
import { compareIntegers, list, orderedMap, u64 } from "../../encoding/scale.ts";
import { beefyProofsKeys, offchainKeys } from "../../ismp/storage_keys.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { AcceptedProof, AcceptedProofIndex, AcceptedProofs } from "../hub.ts";
import { headerHash } from "./checks.ts";
import type { SubstrateNode } from "./node.ts";
import { decodeValue } from "./storage_values.ts";

const rotationsCodec = orderedMap(u64, u64, compareIntegers);

/** Accepted proofs; one per hub, so that those who follow the hub for several chains share what was read. */
export class SubstrateAcceptedProofs implements AcceptedProofs {
  readonly #node: SubstrateNode;
  /** List at the block that was read last. */
  #read: { readonly block: Hash256; readonly index: AcceptedProofIndex } | undefined;

  constructor(node: SubstrateNode) {
    this.#node = node;
  }

  /**
   * Fetches the accepted proofs that the hub lists at its newest final block. One round trip where the node announced
   * that block, else two; none where it was read before.
   */
  async fetchAcceptedIndex(signal: AbortSignal): Promise<AcceptedProofIndex> {
    const { client, heads, hashing } = this.#node;
    const announced = await heads.final.newest(signal);
    const block = announced === undefined
      ? await client.call(calls.finalizedHash(), signal)
      : headerHash(announced, hashing);
    if (this.#read?.block === block) return this.#read.index;
    const keys = [beefyProofsKeys.rotationProofs(), beefyProofsKeys.messagingProofs()] as const;
    const values = await client.readStorage(keys, block, signal);
    const [rotations, messaging] = keys.map((key) => values.get(toHex(key)));
    const index = {
      rotations: decodeValue(this.#node, rotations, rotationsCodec, "BeefyConsensusProofs.RotationProofs") ??
        new Map(),
      messaging: decodeValue(this.#node, messaging, list(u64), "BeefyConsensusProofs.MessagingProofs") ?? [],
    };
    this.#read = { block, index };
    return index;
  }

  /**
   * Fetches the bytes of a proof from the node's offchain database; one round trip when they are at the expected key. A
   * height whose proof was a rotation has no messaging proof, and old rotations are stored under the key of their
   * height (docs/protocol/messaging.md section 7.2.1).
   * @throws {RpcFault} `missing_method` when the node does not expose its offchain database.
   */
  async fetchProofBytes(
    { height, newSetId }: AcceptedProof,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const byHeight = offchainKeys.beefyMessagingProof(height);
    const byKey = (key: Uint8Array): Promise<Uint8Array | undefined> =>
      this.#node.client.call(calls.offchainValue(key), signal);
    const found = await byKey(newSetId === undefined ? byHeight : offchainKeys.beefyRotationProof(newSetId));
    if (found !== undefined) return found;
    const { rotations, messaging } = await this.fetchAcceptedIndex(signal);
    // A rotation may prove a height that a messaging proof had already proven: then the bytes are that one's.
    if (newSetId !== undefined) return messaging.includes(height) ? undefined : await byKey(byHeight);
    const [setId] = [...rotations].find(([, proven]) => proven === height) ?? [];
    return setId === undefined ? undefined : await byKey(offchainKeys.beefyRotationProof(setId));
  }
}
