/**
 * Commitments of headers as verifiers store them: of EVM chains, and of Substrate chains with pallet-ismp. Pure. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/grandpa/src/consensus.rs, modules/ismp/clients/parachain/client/src/consensus.rs.
 */
import { ClientError, mapError } from "./client_error.ts";
import { toHash256 } from "../../core/encoding/bytes.ts";
import { type Codec, ScaleError } from "../../core/encoding/scale.ts";
import {
  type ConsensusDigest,
  consensusDigestCodec,
  timestampDigestCodec,
} from "../../core/ismp/host_state.ts";
import type { IntermediateState, StateCommitment, StateMachineId } from "../../core/ismp/state_machine.ts";
import { lastAnnounced, readSlot, type SubstrateHeader } from "../../core/substrate/header.ts";

/** Block of an EVM chain as far as verifiers store it. */
export interface EvmBlockState extends Omit<StateCommitment, "overlayRoot"> {
  /** Of which the hub reads the lower 64 bits. */
  readonly number: bigint;
}

/** Commitment that a verifier stores for a block of an EVM chain. */
export function evmCommitment(
  id: StateMachineId,
  { number, timestampSec, stateRoot }: EvmBlockState,
): IntermediateState {
  return {
    height: { id, height: BigInt.asUintN(64, number) },
    commitment: { timestampSec, overlayRoot: undefined, stateRoot },
  };
}

/** Result of an accepted update. `None` is `undefined` for a client of which an update may bring no commitment. */
export interface VerifiedUpdate<State, None = never> {
  readonly consensusState: State;
  readonly commitment: IntermediateState | None;
}

/** Reason that a header has no usable commitment. */
export type HeaderCommitmentErrorCode =
  /** One of its digests cannot be read. */
  | "undecodable_header"
  /** It has no timestamp. */
  | "timestamp_missing";

/** A header without a usable commitment. */
export class HeaderCommitmentError extends ClientError<HeaderCommitmentErrorCode> {
  override readonly name = "HeaderCommitmentError";
}

/**
 * Commitment that a verifier stores for a header: time from the `ISTM` digest or the slot, roots from the `ISMP`
 * digest. @param isHub the hub is proved by its MMR, others by their child trie and state. @throws
 * {HeaderCommitmentError}
 */
export function readCommitment(header: SubstrateHeader, slotMs: bigint, isHub: boolean): StateCommitment {
  const roots = readDigest(header, "ISMP", consensusDigestCodec) ?? NO_ROOTS;
  const said = readDigest(header, "ISTM", timestampDigestCodec)?.timestampSec ?? 0n;
  const slotSec = slotTime(header, slotMs);
  const timestampSec = said === 0n ? slotSec : said;
  if (timestampSec === 0n) throw new HeaderCommitmentError("timestamp_missing");
  return { timestampSec, ...rootsOf(roots, header, isHub) };
}

const ZERO = toHash256(new Uint8Array(32));

/** Roots that the verifier uses where a header names none. */
const NO_ROOTS: ConsensusDigest = { mmrRoot: ZERO, childTrieRoot: ZERO };

function rootsOf(
  { mmrRoot, childTrieRoot }: ConsensusDigest,
  { stateRoot }: SubstrateHeader,
  isHub: boolean,
): Pick<StateCommitment, "overlayRoot" | "stateRoot"> {
  return isHub
    ? { overlayRoot: mmrRoot, stateRoot: childTrieRoot }
    : { overlayRoot: childTrieRoot, stateRoot };
}

/** Largest time in milliseconds that the verifier computes. */
const MAX_TIME_MS = (1n << 64n) - 1n;

/** Unix seconds; 0 where the header names no slot. */
function slotTime(header: SubstrateHeader, slotMs: bigint): bigint {
  const slot = mapError(ScaleError, () => readSlot(header), unreadable) ?? 0n;
  const timeMs = slot * slotMs;
  return (timeMs > MAX_TIME_MS ? MAX_TIME_MS : timeMs) / 1000n;
}

function readDigest<T>(header: SubstrateHeader, engine: string, codec: Codec<T>): T | undefined {
  return mapError(ScaleError, () => lastAnnounced(header, engine, codec), unreadable);
}

function unreadable(cause: ScaleError): HeaderCommitmentError {
  return new HeaderCommitmentError("undecodable_header", { cause });
}
