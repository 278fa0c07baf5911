/**
 * Decides the next nonce and finds differences between journal and chain. Pure.
 * Rules: docs/protocol/messaging.md sections 10.3 and 20 (L27, L42); docs/architecture/ledger.md, "Recovery at start".
 * The chain is authoritative for used nonces, the journal for what we signed.
 */

/** Unresolved transaction of the journal. */
export interface JournalledNonce {
  /** Id of the submission. */
  readonly id: number;
  readonly nonce: bigint;
}

/** Nonces of one account in the journal and on the chain. */
export interface NonceInput {
  /** Signed or broadcast, not yet known to be mined. Several may share a nonce (replacements). */
  readonly journal: readonly JournalledNonce[];
  /** `eth_getTransactionCount` at `latest`: the first nonce that is not mined. */
  readonly latestNonce: bigint;
  /** The same at `pending`: the first nonce not in the node's mempool. Nodes without a mempool return `latest`. */
  readonly pendingNonce: bigint;
}

/** Actions that reconcile journal and chain. */
export interface NoncePlan {
  /** Nonce of the next transaction: the lowest unused one, so that gaps are filled first. */
  readonly next: bigint;
  /** Ids of submissions whose nonce is mined, by one of them or by a foreign transaction: look up every hash. */
  readonly lookUp: readonly number[];
  /** Ids of submissions that the node does not know: broadcast again, lowest nonce first. */
  readonly rebroadcast: readonly number[];
  /**
   * Unused nonces below one of ours: transactions above them cannot be mined. Use them for the next deliveries, or for
   * cancelling transfers when there are none.
   */
  readonly gaps: readonly bigint[];
  /** Nonces in the mempool that the journal does not know: used by another program, or from a lost database. */
  readonly foreign: readonly bigint[];
}

/** Maximum number of nonces listed as gaps or foreign: enough to act on, whatever a node reports. */
const MAX_LISTED = 100;

/** Compares the journal with the chain. */
export function planNonces(facts: NonceInput): NoncePlan {
  const { latestNonce } = facts;
  const pendingNonce = facts.pendingNonce > latestNonce ? facts.pendingNonce : latestNonce;
  const byNonce = facts.journal.toSorted((a, b) =>
    a.nonce === b.nonce ? a.id - b.id : a.nonce < b.nonce ? -1 : 1
  );
  const open = byNonce.filter(({ nonce }) => nonce >= latestNonce);
  const held = new Set(open.map(({ nonce }) => nonce));
  let next = pendingNonce;
  while (held.has(next)) next++;
  const highest = open.at(-1)?.nonce ?? 0n;
  return {
    next,
    lookUp: byNonce.filter(({ nonce }) => nonce < latestNonce).map(({ id }) => id),
    rebroadcast: open.filter(({ nonce }) => nonce >= pendingNonce).map(({ id }) => id),
    gaps: missing(held, pendingNonce, highest),
    foreign: missing(held, latestNonce, pendingNonce),
  };
}

/** Lists nonces from `from` (inclusive) to `to` (exclusive) that the journal does not hold. */
function missing(held: ReadonlySet<bigint>, from: bigint, to: bigint): readonly bigint[] {
  const found: bigint[] = [];
  for (let nonce = from; nonce < to && found.length < MAX_LISTED; nonce++) {
    if (!held.has(nonce)) found.push(nonce);
  }
  return found;
}

/** One of the transactions at a nonce, and the outcome of its hash on the chain. */
export interface CompetingTransaction {
  readonly id: number;
  readonly outcome: "included" | "pending" | "unknown" | "replaced";
}

/** Outcome of a nonce. */
export type NonceOutcome =
  /** This one was mined; the others are `replaced`. */
  | { readonly kind: "mined"; readonly id: number; readonly replaced: readonly number[] }
  /** None of ours: a foreign transaction used the nonce. Receipts give the outcome of the messages. */
  | { readonly kind: "foreign"; readonly replaced: readonly number[] }
  /** Nothing is mined yet. `isKnown`: a node still holds one of them; otherwise broadcast the newest again. */
  | { readonly kind: "open"; readonly isKnown: boolean };

/**
 * Settles a nonce by the outcomes of all hashes at it. A hash that the node does not find although its nonce is used
 * may be in a block that this node has not seen: only a final nonce proves that a foreign transaction used it.
 * @param nonce.isFinal the count at a final block is above the nonce
 */
export function settleNonce(
  competitors: readonly CompetingTransaction[],
  nonce: { readonly isFinal: boolean },
): NonceOutcome {
  const mined = competitors.find(({ outcome }) => outcome === "included");
  const others = competitors.filter(({ id }) => id !== mined?.id).map(({ id }) => id);
  if (mined !== undefined) return { kind: "mined", id: mined.id, replaced: others };
  if (nonce.isFinal) return { kind: "foreign", replaced: others };
  return { kind: "open", isKnown: competitors.some(({ outcome }) => outcome === "pending") };
}
