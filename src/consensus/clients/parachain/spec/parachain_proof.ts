/**
 * The parachain client: siblings are followed by their heads in the state of their common relay chain. The headers of
 * Polkadot Hub have no timestamp: their slots date them, and they are stored as those of an EVM chain. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/consensus.rs.
 */
import { clientDecoder, ClientError } from "../../../spec/client_error.ts";
import { concatBytes, type Hash256 } from "../../../../core/encoding/bytes.ts";
import { type ParachainConsensusProof, parachainConsensusProofCodec } from "../../../../core/ismp/proof.ts";
import {
  type ConsensusStateId,
  formatStateMachine,
  type IntermediateState,
  type StateMachine,
  stateMachineParts,
} from "../../../../core/ismp/state_machine.ts";
import { type Codec, list, ScaleError, u32, u64 } from "../../../../core/encoding/scale.ts";
import { TrieError } from "../../../../core/merkle/trie_nodes.ts";
import { decodeHeadData, provenHeads } from "../../../../core/substrate/parachain_heads.ts";
import { decodeSubstrateHeader, type SubstrateHeader } from "../../../../core/substrate/header.ts";
import { polkadotHubAs } from "../../../../core/ismp/polkadot_hub.ts";
import { readCommitment } from "../../../spec/header_commitment.ts";
import { blake2Concat, storagePrefix } from "../../../../core/ismp/storage_keys.ts";

/**
 * Rule that a proof breaks. Source: polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/consensus.rs.
 */
export type ParachainErrorCode =
  /** Not the SCALE form of a proof. */
  | "undecodable_message"
  /** The verifying chain is not a parachain, so it knows no relay chain. */
  | "not_a_parachain"
  /** The nodes do not belong to the relay chain's state. */
  | "heads_proof"
  /** The nodes do not lead to the head: the client skips that parachain. */
  | "head_missing"
  /** The head is not a header. */
  | "undecodable_header"
  /** Polkadot Hub, whose headers are dated by their slots, without a slot duration on the verifying chain. */
  | "slot_duration_missing"
  /** The header has no timestamp, and none follows from its slot. */
  | "timestamp_missing";

/** A proof that the client refuses. */
export class ParachainError extends ClientError<ParachainErrorCode> {
  override readonly name = "ParachainError";
}

/** Decodes the consensus proof of a message. @throws {ParachainError} `undecodable_message` */
export const decodeParachainProof = clientDecoder(
  parachainConsensusProofCodec,
  ParachainError,
  "undecodable_message",
);

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
    // Without pallet-ismp's timestamp digest, the slots of Polkadot Hub alone date a header.
    commitment: readCommitment(header, {
      slotMs: datingSlotMs,
      isHub: stateMachine === coprocessor,
      refuse: (code, options) => new ParachainError(code, options),
    }),
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

/**
 * Prefix of the keys of followed parachains on the verifying chain. Source of this and the following items:
 * polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/lib.rs.
 */
export const followedParachainsPrefix: Uint8Array = storagePrefix("IsmpParachain", "Parachains");

/** Key that is present, though empty, where the client follows that parachain. */
export function followedParachainKey(paraId: number): Uint8Array {
  return concatBytes(followedParachainsPrefix, u32.enc(paraId));
}

/**
 * Key of the slot duration that dates the headers of a parachain without timestamps; absent where governance has set
 * none.
 */
export function slotDurationKey(paraId: number): Uint8Array {
  return concatBytes(storagePrefix("IsmpParachain", "SlotDurations"), u32.enc(paraId));
}

/** SCALE of {@link slotDurationKey}'s value: milliseconds. */
export const slotDurationCodec: Codec<bigint> = u64;

/** Key of the numbers of relay chain blocks whose state roots are stored; absent before 2026. */
export function knownRelayHeightsKey(): Uint8Array {
  return storagePrefix("IsmpParachain", "KnownRelayHeights");
}

/** SCALE of {@link knownRelayHeightsKey}'s value: ascending, at most 256. */
export const knownRelayHeightsCodec: Codec<readonly number[]> = list(u32);

/** Key of the state root of a relay chain block, 32 bytes. */
export function relayStateRootKey(relayHeight: number): Uint8Array {
  const prefix = storagePrefix("IsmpParachain", "CurrentRelayChainStateRoots");
  return concatBytes(prefix, blake2Concat(u32.enc(relayHeight)));
}
