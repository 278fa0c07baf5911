/**
 * What must hold of a relayer's database, held against what the chains say: pure checks that scenarios and the
 * simulation share. Each gives sentences that begin with the invariant's number.
 * Source: docs/architecture/messaging.md, "Invariants".
 */
import type {
  LedgerCursor,
  LedgerDelivery,
  LedgerMessage,
  LedgerSpending,
  LedgerSubmission,
} from "../scenario/support/ledger_reader.ts";

/** Rows, as far as they are looked at. */
type MessageFacts = Pick<
  LedgerMessage,
  "commitment" | "requestCommitment" | "target" | "state" | "reason"
>;
type SubmissionFacts =
  & Pick<LedgerSubmission, "chain" | "hash" | "account" | "nonce" | "state" | "replaces">
  & { readonly items: readonly Omit<LedgerSubmission["items"][number], "requestCommitment">[] };
type DeliveryFacts = Pick<
  LedgerDelivery,
  "commitment" | "dest" | "relayer" | "txHash" | "blockHeight" | "isFinal" | "claimState"
>;
type SpendingFacts = Omit<LedgerSpending, "gasUsed" | "gasPriceWei" | "revenueUsd18">;

/** A request or response that left a chain. */
export interface SentFacts {
  readonly commitment: string;
  /** Where it goes in the end. */
  readonly dest: string;
  readonly height: bigint;
}

/** A request or response that a chain took. */
export interface HandledFacts {
  readonly chain: string;
  /** Of the request, for responses too. */
  readonly commitment: string;
  /** Lower-case hex with 0x. */
  readonly relayer: string;
  readonly transaction: string;
  readonly height: bigint;
}

/** A transaction that an account paid for, as its chain tells. */
export interface PaidFacts {
  readonly chain: string;
  readonly hash: string;
  readonly costWei: bigint;
  readonly isReverted: boolean;
}

/** A transaction that reverted because the host had another handler than the one that it called. */
export interface OutdatedFacts {
  readonly chain: string;
  readonly hash: string;
  /** When the handler was replaced, Unix ms. */
  readonly replacedAtMs: number;
}

/** Results of reverted transactions. */
const REVERTED: ReadonlySet<string> = new Set(["lost_race", "reverted"]);

/**
 * Times that one message may be mined without effect: its receiving module is called again once by itself, and later
 * twice more at most.
 */
const MAX_NOT_EXECUTED = 3;

/** States whose messages are under way. */
const OPEN_SUBMISSIONS: ReadonlySet<string> = new Set(["signed", "broadcast"]);

/** States of messages that must say why. */
const REASONED: ReadonlySet<string> = new Set([
  "held",
  "delivered",
  "delivered_by_other",
  "timed_out",
  "rejected",
  "gone",
]);

/** Values that occur more than once. */
export function repeated(values: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return values.filter((value) => seen.has(value) || !seen.add(value));
}

/** I1: what left a source at or below the cursor, above where the leg began, has a row. */
export function* rowsMissing(facts: {
  readonly cursors: readonly LedgerCursor[];
  readonly messages: readonly MessageFacts[];
  readonly hub: string;
  readonly sentFrom: (source: string) => readonly SentFacts[];
  /** Last block that the leg did not have to read; `undefined`: nobody knows. */
  readonly startOf: (cursor: LedgerCursor) => bigint | undefined;
}): Iterable<string> {
  const rows = new Set(facts.messages.map(({ commitment, target }) => `${commitment} ${target}`));
  for (const cursor of facts.cursors) {
    const { source, target, scanned } = cursor;
    const after = facts.startOf(cursor);
    if (after === undefined) continue;
    for (const { commitment, dest, height } of facts.sentFrom(source)) {
      const isOfLeg = height > after && height <= scanned && (target === facts.hub || dest === target);
      if (isOfLeg && !rows.has(`${commitment} ${target}`)) {
        yield `I1: no row for ${commitment} of block ${height} on ${source} -> ${target} (read to ${scanned})`;
      }
    }
  }
}

/** I2: no cursor is beyond what its target knows. */
export function* cursorsAhead(
  cursors: readonly LedgerCursor[],
  told: (source: string, target: string) => bigint,
): Iterable<string> {
  for (const { source, target, scanned } of cursors) {
    const known = told(source, target);
    if (scanned > known) yield `I2: ${source} -> ${target} is read to ${scanned}, the target knows ${known}`;
  }
}

/**
 * I4, and that nothing else is recorded as a delivery of ours.
 * @param options.wasLost true after an earlier database was lost: what it delivered is found by its receipts alone
 */
export function* deliveriesWrong(
  deliveries: readonly DeliveryFacts[],
  own: readonly HandledFacts[],
  { wasLost = false }: { readonly wasLost?: boolean } = {},
): Iterable<string> {
  const recorded = new Map(deliveries.map((row) => [`${row.commitment} ${row.dest}`, row]));
  for (const { chain, commitment, transaction, height, relayer } of own) {
    const key = `${commitment} ${chain}`;
    const found = recorded.get(key);
    recorded.delete(key);
    if (found === undefined) yield `I4: our delivery of ${key} is not recorded`;
    else if (found.relayer !== relayer) yield `I4: ${key} is recorded for ${found.relayer}, not ${relayer}`;
    else if (wasLost && found.txHash === undefined) continue; // a found receipt has no exact block either
    else if (found.txHash !== transaction) {
      yield `I4: ${key} is recorded with ${found.txHash}, not ${transaction}`;
    } else if (found.blockHeight !== height) {
      yield `I4: ${key} is recorded at ${found.blockHeight}, not ${height}`;
    }
  }
  for (const key of recorded.keys()) yield `I4: ${key} is recorded, but the chain does not know it as ours`;
}

/**
 * I5: no message is in two open transactions of which either may be mined beside the other. A transaction that
 * reverted and whose block was reorganised is open again; a message that another one carries by then has its outcome
 * there and stays with the other.
 */
export function* attemptsDouble(submissions: readonly SubmissionFacts[]): Iterable<string> {
  const places = new Map<string, Set<string>>();
  for (const [index, { account, chain, items, nonce, state }] of submissions.entries()) {
    if (!OPEN_SUBMISSIONS.has(state)) continue;
    const place = nonce === undefined ? `row ${index}` : `${chain} ${account} ${nonce}`;
    for (const { commitment, target, outcome } of items) {
      if (outcome !== undefined) continue;
      const key = `${commitment} ${target}`;
      places.set(key, (places.get(key) ?? new Set()).add(place));
    }
  }
  for (const [key, at] of places) if (at.size > 1) yield `I5: ${key} is in ${at.size} open transactions`;
}

/** I6, and that what waits says why. */
export function* endsUnreasoned(messages: readonly MessageFacts[]): Iterable<string> {
  for (const { commitment, target, state, reason } of messages) {
    if (REASONED.has(state) && reason === undefined) {
      yield `I6: ${commitment} to ${target} is ${state} without a reason`;
    }
  }
}

/** The ends that rows tell are those that the chains tell. */
export function* endsUntrue(
  messages: readonly MessageFacts[],
  chains: {
    /** Who delivered a request to a chain, lower-case hex. */
    readonly relayerOf: (requestCommitment: string, chain: string) => string | undefined;
    readonly ourselfOn: (chain: string) => string;
  },
): Iterable<string> {
  for (const { commitment, requestCommitment, target, state } of messages) {
    const relayer = chains.relayerOf(requestCommitment, target);
    const isOurs = relayer === chains.ourselfOn(target);
    const isTrue = state === "delivered"
      ? isOurs
      : state === "delivered_by_other"
      ? relayer !== undefined && !isOurs
      : state === "submitted" || !isOurs;
    if (!isTrue) {
      yield `Row of ${commitment} to ${target} is ${state}, the chain names ${relayer ?? "nobody"}`;
    }
  }
}

/** I10: apart from replacements no nonce is used for two transactions that count. */
export function* noncesDouble(submissions: readonly SubmissionFacts[]): Iterable<string> {
  const firsts = submissions.filter(({ nonce, replaces, state }) =>
    nonce !== undefined && replaces === undefined && state !== "dropped" && state !== "replaced"
  );
  for (const twice of repeated(firsts.map(({ chain, account, nonce }) => `${chain} ${account} ${nonce}`))) {
    yield `I10: nonce used twice: ${twice}`;
  }
}

/**
 * I15: the ledger of spending says what every transaction cost, and nothing cost more than the rule that allowed it
 * admits: what was signed for, by the profit rule what its messages offered, and for messages without effect a few
 * tries.
 */
export function* spendingWrong(facts: {
  readonly spending: readonly SpendingFacts[];
  readonly submissions: readonly SubmissionFacts[];
  readonly paid: readonly PaidFacts[];
}): Iterable<string> {
  yield* spendingUntrue(facts);
  for (const row of facts.spending) {
    const { chain, costUsd18, costWei, dataCostWei, hash, maxCostWei, offeredUsd18, rule } = row;
    if (costWei === undefined) continue;
    if (costWei - (dataCostWei ?? 0n) > maxCostWei) {
      yield `I15: ${hash} on ${chain} cost ${costWei} wei and was signed for ${maxCostWei}`;
    }
    // A module may take a third more gas than in the simulation, up to the limit.
    if (rule === "profit" && costUsd18 !== undefined && costUsd18 * 3n > (offeredUsd18 ?? 0n) * 4n) {
      yield `I15: ${hash} on ${chain} cost ${costUsd18} by a rule that wants more than ${offeredUsd18}`;
    }
    if (rule === "free" && costWei > 0n) yield `I15: ${hash} on ${chain} should be free and cost ${costWei}`;
  }
  yield* triedTooOften(facts);
}

/** What the chains took is what the ledger says. */
function* spendingUntrue(
  { paid, spending, submissions }: Parameters<typeof spendingWrong>[0],
): Iterable<string> {
  const states = new Map(submissions.map(({ chain, hash, state }) => [`${chain} ${hash}`, state]));
  const rows = new Map(spending.map((row) => [`${row.chain} ${row.hash}`, row]));
  for (const { chain, hash, costWei, isReverted } of paid) {
    const key = `${chain} ${hash}`;
    const row = rows.get(key);
    rows.delete(key);
    if (row === undefined) continue; // I3, or a database that was lost
    // It may have been mined in the last moment, when nobody looked any more.
    if (row.result === undefined && OPEN_SUBMISSIONS.has(states.get(key) ?? "")) continue;
    if (row.costWei !== costWei) {
      yield `I15: ${hash} on ${chain} cost ${costWei}, the ledger says ${row.costWei}`;
    }
    if (row.result !== undefined && REVERTED.has(row.result) !== isReverted) {
      yield `I15: ${hash} on ${chain} counts as ${row.result}`;
    }
  }
  for (const { chain, hash, costWei } of rows.values()) {
    if (costWei !== undefined && costWei > 0n) yield `I15: nobody paid for ${hash} on ${chain}`;
  }
}

function* triedTooOften({ spending, submissions }: Parameters<typeof spendingWrong>[0]): Iterable<string> {
  const inVain = new Set(
    spending.filter(({ result }) => result === "not_executed").map(({ chain, hash }) => `${chain} ${hash}`),
  );
  const tries = new Map<string, number>();
  for (const { chain, hash, items } of submissions) {
    if (!inVain.has(`${chain} ${hash}`)) continue;
    for (const { commitment, target } of items) {
      const key = `${commitment} to ${target}`;
      tries.set(key, (tries.get(key) ?? 0) + 1);
    }
  }
  for (const [key, count] of tries) {
    if (count > MAX_NOT_EXECUTED) yield `I15: ${key} was paid for ${count} times without effect`;
  }
}

/**
 * I15: what reverts at a handler that was replaced was signed before anybody could know of the other one.
 * @param withinMs time that the news may need, ms
 */
export function* signedForOldHandler(
  spending: readonly SpendingFacts[],
  outdated: readonly OutdatedFacts[],
  withinMs: number,
): Iterable<string> {
  const signedAtMs = new Map(spending.map((row) => [`${row.chain} ${row.hash}`, row.createdAtMs]));
  for (const { chain, hash, replacedAtMs } of outdated) {
    const lateMs = (signedAtMs.get(`${chain} ${hash}`) ?? -Infinity) - replacedAtMs;
    if (lateMs > withinMs) {
      yield `I15: ${hash} was signed for a handler of ${chain} that had been replaced for ${lateMs} ms`;
    }
  }
}

/** I15: nothing is signed for a chain once what was lost there within a day has reached the limit. */
export function* lossBeyondLimit(
  spending: readonly SpendingFacts[],
  limit: {
    readonly microUsd: bigint;
    /** Time that the limit may need to take effect, ms. */
    readonly withinMs: number;
  },
): Iterable<string> {
  for (const { chain, createdAtMs, hash, rule } of spending) {
    if (rule === "free") continue;
    const lost = spending.filter((row) =>
      row.chain === chain && row.minedAtMs !== undefined && row.minedAtMs > createdAtMs - DAY_MS &&
      row.minedAtMs < createdAtMs - limit.withinMs
    ).reduce((sum, { lossMicroUsd }) => sum + (lossMicroUsd ?? 0n), 0n);
    if (lost >= limit.microUsd) {
      yield `I15: ${hash} was signed for ${chain} although ${lost} of ${limit.microUsd} millionths of a dollar were lost`;
    }
  }
}

const DAY_MS = 86_400_000;
