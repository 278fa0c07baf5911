/**
 * Decides which relayer of a fleet delivers a message to the hub first, and when the others take over. Pure. All of them
 * decide alike without talking to each other: by the commitment, whose bits are those of a hash.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";

/** Place of one relayer in its fleet. */
export interface FleetShare {
  /** From 0. */
  readonly index: number;
  /** Number of relayers. */
  readonly count: number;
  /** Time that each relayer has before the next one takes over, ms. */
  readonly takeOverMs: number;
}

/**
 * Time for which this relayer leaves a message to others, ms; 0: it is in its own share. The relayers after the owner
 * take over one after the other, so that one that died does not make all others deliver the same.
 */
export function fleetWaitMs(commitment: Hash256, { index, count, takeOverMs }: FleetShare): number {
  const owner = Number(BigInt(commitment) % BigInt(count));
  return (index - owner + count) % count * takeOverMs;
}
