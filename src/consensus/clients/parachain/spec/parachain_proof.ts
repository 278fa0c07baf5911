/**
 * The parachain client: siblings are followed by their heads in the state of their common relay chain. The headers of
 * Polkadot Hub have no timestamp: their slots date them, and they are stored as those of an EVM chain. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/consensus.rs.
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { type ParachainConsensusProof, parachainConsensusProofCodec } from "../../../../core/ismp/proof.ts";
import type { IntermediateState, StateCommitment } from "../../../../core/ismp/state_commitment.ts";
import {
  type ConsensusStateId,
  formatStateMachine,
  type StateMachine,
  stateMachineParts,
} from "../../../../core/ismp/state_machine.ts";
import { decodeStrict, ScaleError } from "../../../../core/encoding/scale.ts";
import { TrieError } from "../../../../core/merkle/trie_error.ts";
import { decodeHeadData, provenHeads } from "../../../../core/substrate/parachain_heads.ts";
import { decodeSubstrateHeader, type SubstrateHeader } from "../../../../core/substrate/header.ts";
import { polkadotHubAs } from "../../../../core/ismp/polkadot_hub.ts";
import { HeaderCommitmentError, readCommitment } from "../../../spec/header_commitment.ts";
import { ParachainError } from "./parachain_error.ts";

/** Decodes the consensus proof of a message. @throws {ParachainError} `undecodable_message` */
export function decodeParachainProof(encoded: Uint8Array): ParachainConsensusProof {
  try {
    return decodeStrict(parachainConsensusProofCodec, encoded, "ParachainConsensusProof");
  } catch (cause) {
    if (cause instanceof ScaleError) throw new ParachainError("undecodable_message", { cause });
    throw cause;
  }
}

/** State of the verifying chain. */
export interface ParachainView {
  /** The verifying chain: parachains are of its own family. */
  readonly chain: StateMachine;
  /** Id under which it stores the client and the commitments. */
  readonly consensusStateId: ConsensusStateId;
  /** Its hub. */
  readonly coprocessor: StateMachine | undefined;
  /** State root of the proof's relay chain block, from its own blocks. */
  readonly relayStateRoot: Hash256;
  /** Its slot duration for Polkadot Hub, milliseconds; `undefined`: it has none, or the proof is of another chain. */
  readonly slotMs?: bigint | undefined;
}

/**
 * Verifies a head and returns the commitment that the client stores; `undefined`: the relay chain has no head of the
 * parachain. @throws {ParachainError}
 */
export function verifyParachainHead(
  { storageProof }: Pick<ParachainConsensusProof, "storageProof">,
  paraId: number,
  { chain, consensusStateId, coprocessor, relayStateRoot, slotMs }: ParachainView,
): IntermediateState | undefined {
  const { tag } = stateMachineParts(chain);
  if (tag !== "Kusama" && tag !== "Polkadot") throw new ParachainError("not_a_parachain");
  const stateMachine = formatStateMachine({ tag, value: paraId });
  const header = readHead(storageProof, relayStateRoot, paraId);
  if (header === undefined) return undefined;
  const polkadotHub = polkadotHubAs(stateMachine);
  if (polkadotHub !== undefined && slotMs === undefined) throw new ParachainError("slot_duration_missing");
  const id = { stateMachine: polkadotHub ?? stateMachine, consensusStateId };
  const datingSlotMs = polkadotHub === undefined ? 0n : slotMs ?? 0n;
  return {
    height: { id, height: BigInt(header.number) },
    commitment: storedCommitment(header, datingSlotMs, stateMachine === coprocessor),
  };
}

function readHead(
  nodes: readonly Uint8Array[],
  relayStateRoot: Hash256,
  paraId: number,
): SubstrateHeader | undefined {
  try {
    const stored = provenHeads(nodes, relayStateRoot, [paraId]).get(paraId);
    return stored && decodeSubstrateHeader(decodeHeadData(stored));
  } catch (cause) {
    if (cause instanceof ScaleError) throw new ParachainError("undecodable_header", { cause });
    if (!(cause instanceof TrieError)) throw cause;
    const isIncomplete = cause.code === "missing_node" || cause.code === "missing_value";
    throw new ParachainError(isIncomplete ? "head_missing" : "heads_proof", { cause });
  }
}

/** Commitment of a head. @param slotMs 0: a header without pallet-ismp's timestamp digest has none. */
function storedCommitment(header: SubstrateHeader, slotMs: bigint, isHub: boolean): StateCommitment {
  try {
    return readCommitment(header, slotMs, isHub);
  } catch (cause) {
    if (cause instanceof HeaderCommitmentError) throw new ParachainError(cause.code, { cause });
    throw cause;
  }
}
