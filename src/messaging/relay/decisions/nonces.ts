/**
 * Decides which nonce comes next and what journal and chain disagree about. Pure.
 * Rules: docs/protocol/messaging.md sections 10.3 and 20 (L27, L42); docs/architecture/ledger.md, "Recovery at start".
 * The chain is right about what is used, the journal about what we signed.
 */

/** An unresolved transaction of the journal. */
export interface JournalledNonce {
  /** Id of the submission. */
  readonly id: number;
  readonly nonce: bigint;
}

/** What journal and chain say of one account. */
export interface NonceInput {
  /** Signed or broadcast, not yet known to be mined. Several may share a nonce (replacements). */
  readonly journal: readonly JournalledNonce[];
  /** `eth_getTransactionCount` at `latest`: the first nonce that is not mined. */
  readonly latestNonce: bigint;
  /** The same at `pending`: the first that the node's pool cannot run yet. Nodes without a pool give `latest`. */
  readonly pendingNonce: bigint;
}

/** What to do so that journal and chain agree. */
export interface NoncePlan {
  /** For the next transaction: the lowest that nobody holds, so that gaps are filled first. */
  readonly next: bigint;
  /** Their nonce is mined, by one of them or by a stranger: look up every hash. Ids. */
  readonly lookUp: readonly number[];
  /** The node does not hold them: hand the bytes over again, lowest nonce first. Ids. */
  readonly rebroadcast: readonly number[];
  /**
   * Nonces below one of ours that nobody holds: what lies above them cannot be mined. Use them for the next
   * deliveries, or for cancelling transfers when there are none.
   */
  readonly gaps: readonly bigint[];
  /** Nonces in the pool that the journal does not know: another program, or a lost database, uses the account. */
  readonly foreign: readonly bigint[];
}

/** Maximum number of nonces listed as gaps or as foreign: enough to act on, whatever a node claims. */
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

/** Nonces from `from` up to and without `to` that the journal does not hold. */
function missing(held: ReadonlySet<bigint>, from: bigint, to: bigint): readonly bigint[] {
  const found: bigint[] = [];
  for (let nonce = from; nonce < to && found.length < MAX_LISTED; nonce++) {
    if (!held.has(nonce)) found.push(nonce);
  }
  return found;
}

/** One of the transactions at a nonce, and what the chain says of its hash. */
export interface CompetingTransaction {
  readonly id: number;
  readonly outcome: "included" | "pending" | "unknown" | "replaced";
}

/** Outcome of a nonce. */
export type NonceOutcome =
  /** This one was mined; the others are `replaced`. */
  | { readonly kind: "mined"; readonly id: number; readonly replaced: readonly number[] }
  /** None of ours: a stranger's transaction used the nonce. Receipts tell what became of the messages. */
  | { readonly kind: "foreign"; readonly replaced: readonly number[] }
  /** Nothing is mined yet. `isKnown`: a node still holds one of them; otherwise hand the newest over again. */
  | { readonly kind: "open"; readonly isKnown: boolean };

/**
 * Settles a nonce by the outcomes of all hashes at it. A hash that the node does not find although its nonce is used
 * may be in a block that this node has not seen: only a final nonce proves that a stranger used it.
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
