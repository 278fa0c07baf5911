/**
 * Commitments of headers as verifiers store them: of EVM chains, and of Substrate chains with pallet-ismp. Pure. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/grandpa/src/consensus.rs, modules/ismp/clients/parachain/client/src/consensus.rs.
 */
import { mapError } from "./client_error.ts";
import { toHash256 } from "../../core/encoding/bytes.ts";
import { ScaleError } from "../../core/encoding/scale.ts";
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

/** How a client reads headers. */
export interface HeaderReading {
  /** Duration of slots, milliseconds, by which a header without timestamp is dated; absent: none is. */
  readonly slotMs?: bigint;
  /** The hub is proved by its MMR, others by their child trie and state. */
  readonly isHub: boolean;
  /** Creates the refusal of a header with an unreadable digest, or without a timestamp. */
  readonly refuse: (code: "undecodable_header" | "timestamp_missing", options?: ErrorOptions) => Error;
}

/**
 * Commitment that a verifier stores for a header: time from the `ISTM` digest or the slot, roots from the `ISMP` digest.
 * @throws what `refuse` creates
 */
export function readCommitment(header: SubstrateHeader, reading: HeaderReading): StateCommitment {
  const { slotMs, isHub, refuse } = reading;
  return mapError(ScaleError, () => {
    const roots = lastAnnounced(header, "ISMP", consensusDigestCodec) ?? NO_ROOTS;
    const said = lastAnnounced(header, "ISTM", timestampDigestCodec)?.timestampSec ?? 0n;
    const slotSec = slotMs === undefined ? 0n : slotTime(header, slotMs);
    const timestampSec = said === 0n ? slotSec : said;
    if (timestampSec === 0n) throw refuse("timestamp_missing");
    return { timestampSec, ...rootsOf(roots, header, isHub) };
  }, (cause) => refuse("undecodable_header", { cause }));
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

/** Unix seconds; 0 where the header names no slot. @throws {ScaleError} */
function slotTime(header: SubstrateHeader, slotMs: bigint): bigint {
  const timeMs = (readSlot(header) ?? 0n) * slotMs;
  return (timeMs > MAX_TIME_MS ? MAX_TIME_MS : timeMs) / 1000n;
}
