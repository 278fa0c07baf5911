/**
 * Common parts of the hub's clients of both kinds of rollups: identifiers, periods, commitments. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/{ismp-optimism,ismp-arbitrum}/src/lib.rs,
 * tesseract/consensus/{op-host,arb-host}/src/host.rs (initial consensus state).
 */
import { enhanceCodec } from "scale-ts";
import { type Codec, u8 } from "../../../core/encoding/scale.ts";
import type { IntermediateState, StateCommitment, StateMachineId } from "../../../core/ismp/state_machine.ts";
import { stateMachineIdCodec } from "../../../core/ismp/state_machine.ts";
import { blake2Concat, storagePrefix } from "../../../core/ismp/storage_keys.ts";
import { concatBytes } from "../../../core/encoding/bytes.ts";

/** Leading part of the consensus state of every rollup client. */
export interface RollupClientState {
  /** Height of the last accepted claim; a later update may lower it again. */
  readonly finalizedHeight: bigint;
  /** The rollup under the id of its own client, e.g. `EVM-10/OPT0`: contracts and blacklists are kept under it. */
  readonly stateMachineId: StateMachineId;
  /** The L1 as its own client knows it, e.g. `EVM-1/ETH0`: claims are proved in its state. */
  readonly l1StateMachineId: StateMachineId;
}

/** Key of an item of one rollup in a pallet. @param id under the rollup's own client. */
export function rollupKey(pallet: string, item: string, id: StateMachineId): Uint8Array {
  return concatBytes(storagePrefix(pallet, item), blake2Concat(stateMachineIdCodec.enc(id)));
}

/** Result of an accepted update. */
export interface VerifiedRollupUpdate<State extends RollupClientState> {
  readonly consensusState: State;
  /** Undefined when the hub knows no contract for the rollup: it then accepts and ignores any update. */
  readonly commitment: IntermediateState | undefined;
}

/** Seconds for which a rollup client may go without an update: it never expires. */
export const ROLLUP_UNBONDING_SEC = 2n ** 64n - 1n;

/** Seconds for which commitments of a rollup may be challenged. */
export const ROLLUP_CHALLENGE_SEC = 300n;

/**
 * Id under which commitments of a rollup are stored: the rollup's chain with the consensus state id of the L1.
 * Heights of the rollup on the hub and messages go by this id, client and contracts by the rollup's own.
 */
export function commitmentIdOf(state: RollupClientState): StateMachineId {
  return {
    stateMachine: state.stateMachineId.stateMachine,
    consensusStateId: state.l1StateMachineId.consensusStateId,
  };
}

/** The commitment of a claimed block. Heights wrap at 64 bits as on the hub. */
export function rollupCommitment(
  state: RollupClientState,
  block: { readonly height: bigint } & Omit<StateCommitment, "overlayRoot">,
): IntermediateState {
  return {
    height: { id: commitmentIdOf(state), height: BigInt.asUintN(64, block.height) },
    commitment: { timestampSec: block.timestampSec, overlayRoot: undefined, stateRoot: block.stateRoot },
  };
}

/**
 * SCALE of the way in which claims are made: one byte. `unknown` for a variant that is newer than this program; the hub
 * accepts proofs of any, so it decides only where claims are searched.
 */
export function consensusTypeCodec<const Name extends string>(
  names: readonly Name[],
): Codec<Name | "unknown"> {
  return enhanceCodec(
    u8,
    (name: Name | "unknown") => name === "unknown" ? -1 : names.indexOf(name),
    (index) => names[index] ?? "unknown",
  );
}
