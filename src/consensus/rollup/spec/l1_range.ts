/**
 * Selection of the L1 blocks to search for claims: pure decision on the hub's L1 height. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/{op-host,arb-host}/src/host.rs (submit_consensus_update).
 */

/** L1 blocks whose logs are searched, both ends included. Proofs are taken at `to`. */
export interface L1Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** L1 blocks to search back at start, about a day, to find claims made while no relayer ran. */
export const L1_LOOK_BACK_BLOCKS = 7200n;

/**
 * Returns the next range, or undefined when all L1 blocks that the hub knows were searched. Never beyond the hub's L1
 * height, up to which it can check proofs. @param hubL1Height newest L1 height on the hub; undefined when there is
 * none. @param searchedTo end of the last finished range; undefined at start.
 */
export function nextL1Range(
  hubL1Height: bigint | undefined,
  searchedTo: bigint | undefined,
  lookBackBlocks: bigint = L1_LOOK_BACK_BLOCKS,
): L1Range | undefined {
  if (hubL1Height === undefined) return undefined;
  if (searchedTo !== undefined) {
    return hubL1Height > searchedTo ? { from: searchedTo + 1n, to: hubL1Height } : undefined;
  }
  const from = hubL1Height - lookBackBlocks + 1n;
  return { from: from > 0n ? from : 0n, to: hubL1Height };
}
