/**
 * Commitment that a light client stores for a height of another chain. Source: polytope-labs/hyperbridge:
 * modules/ismp/core/src/consensus.rs.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import { type Codec, hash256, Option, Struct, u64 } from "../encoding/scale.ts";
import type { StateMachineHeight } from "./state_machine.ts";

/**
 * Roots of one height. For EVM chains `overlayRoot` is undefined; for the hub as others see it `overlayRoot` is the
 * MMR root and `stateRoot` the ISMP child trie root; for other Substrate chains they are child trie and header root.
 */
export interface StateCommitment {
  /** Unix time of the block in seconds. */
  readonly timestampSec: bigint;
  readonly overlayRoot: Hash256 | undefined;
  readonly stateRoot: Hash256;
}

/** A commitment with its height. */
export interface StateCommitmentHeight {
  readonly commitment: StateCommitment;
  readonly height: bigint;
}

/** A commitment with the full name of its height, as a consensus client produces it. */
export interface IntermediateState {
  readonly height: StateMachineHeight;
  readonly commitment: StateCommitment;
}

/** SCALE of {@link StateCommitment}. */
export const stateCommitmentCodec: Codec<StateCommitment> = Struct({
  timestampSec: u64,
  overlayRoot: Option(hash256),
  stateRoot: hash256,
});
