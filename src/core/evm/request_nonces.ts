/**
 * Checks whether logs of a host contain every request: a host numbers its requests without gaps, posts and gets
 * together. Source: polytope-labs/hyperbridge: evm/src/core/EvmHost.sol (`_nextNonce`). Pure.
 */

/** Known requests of a range of blocks. */
export interface RequestCount {
  /** Nonce of the first request in the range or after it; `undefined`: not known. */
  readonly first: bigint | undefined;
  /** The host's next nonce at the end of the range; `undefined`: not known. */
  readonly end: bigint | undefined;
  /** Nonces of the requests in the logs, in any order. */
  readonly nonces: readonly bigint[];
  /** Logs of requests that could not be read: each stands for one nonce. */
  readonly unreadable: number;
}

/** Requests that are missing in the logs. */
export interface MissingRequests {
  readonly count: bigint;
  /** Range of their nonces, both inclusive. */
  readonly from: bigint;
  readonly to: bigint;
}

/** Finds missing requests; `undefined`: none, as far as can be known. */
export function findMissingRequests(
  { first, end, nonces, unreadable }: RequestCount,
): MissingRequests | undefined {
  const found = new Set(nonces);
  let [least, most] = [nonces[0], nonces[0]];
  for (const nonce of found) {
    if (least === undefined || nonce < least) least = nonce;
    if (most === undefined || nonce > most) most = nonce;
  }
  const from = first ?? least;
  const to = end ?? (most === undefined ? undefined : most + 1n);
  if (from === undefined || to === undefined) return undefined;
  const count = to - from - BigInt(found.size + unreadable);
  if (count <= 0n) return undefined;
  const distinct = [...found].sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
  let lowest = from;
  for (const nonce of distinct) if (nonce === lowest) lowest++;
  let highest = to - 1n;
  for (const nonce of distinct.toReversed()) if (nonce === highest) highest--;
  return { count, from: lowest, to: highest };
}
