/**
 * What must hold of a relayer's database, held against what the chains say: pure checks that scenarios and the
 * simulation share. Each gives sentences that begin with the invariant's number.
 * Source: 04-messaging-flow section 21.3 of the protocol notes.
 */

/** A row of `message`. */
export interface MessageFacts {
  readonly commitment: string;
  readonly requestCommitment: string;
  readonly sink: string;
  readonly state: string;
  readonly reason: string | undefined;
}

/** A row of `submission` with its items. */
export interface SubmissionFacts {
  readonly chain: string;
  readonly hash: string;
  readonly account: string | undefined;
  readonly nonce: bigint | undefined;
  readonly state: string;
  readonly replaces: number | undefined;
  readonly items: readonly { readonly commitment: string; readonly sink: string }[];
}

/** A row of `delivery`. */
export interface DeliveryFacts {
  readonly commitment: string;
  readonly dest: string;
  /** Lower-case hex with 0x. */
  readonly relayer: string;
  readonly txHash: string | undefined;
  readonly blockHeight: bigint;
  readonly isFinal: boolean;
  readonly claimState: string;
}

/** A row of `cursor`. */
export interface CursorFacts {
  readonly source: string;
  readonly sink: string;
  readonly scanned: bigint;
}

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
  readonly cursors: readonly CursorFacts[];
  readonly messages: readonly MessageFacts[];
  readonly hub: string;
  readonly sentFrom: (source: string) => readonly SentFacts[];
  /** Last block that the leg did not have to read; `undefined`: nobody knows. */
  readonly startOf: (cursor: CursorFacts) => bigint | undefined;
}): Iterable<string> {
  const rows = new Set(facts.messages.map(({ commitment, sink }) => `${commitment} ${sink}`));
  for (const cursor of facts.cursors) {
    const { source, sink, scanned } = cursor;
    const after = facts.startOf(cursor);
    if (after === undefined) continue;
    for (const { commitment, dest, height } of facts.sentFrom(source)) {
      const isOfLeg = height > after && height <= scanned && (sink === facts.hub || dest === sink);
      if (isOfLeg && !rows.has(`${commitment} ${sink}`)) {
        yield `I1: no row for ${commitment} of block ${height} on ${source} -> ${sink} (read to ${scanned})`;
      }
    }
  }
}

/** I2: no cursor is beyond what its sink knows. */
export function* cursorsAhead(
  cursors: readonly CursorFacts[],
  told: (source: string, sink: string) => bigint,
): Iterable<string> {
  for (const { source, sink, scanned } of cursors) {
    const known = told(source, sink);
    if (scanned > known) yield `I2: ${source} -> ${sink} is read to ${scanned}, the sink knows ${known}`;
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

/** I5: no message is in two open transactions of which either may be mined beside the other. */
export function* attemptsDouble(submissions: readonly SubmissionFacts[]): Iterable<string> {
  const places = new Map<string, Set<string>>();
  for (const [index, { account, chain, items, nonce, state }] of submissions.entries()) {
    if (!OPEN_SUBMISSIONS.has(state)) continue;
    const place = nonce === undefined ? `row ${index}` : `${chain} ${account} ${nonce}`;
    for (const { commitment, sink } of items) {
      const key = `${commitment} ${sink}`;
      places.set(key, (places.get(key) ?? new Set()).add(place));
    }
  }
  for (const [key, at] of places) if (at.size > 1) yield `I5: ${key} is in ${at.size} open transactions`;
}

/** I6, and that what waits says why. */
export function* endsUnreasoned(messages: readonly MessageFacts[]): Iterable<string> {
  for (const { commitment, sink, state, reason } of messages) {
    if (REASONED.has(state) && reason === undefined) {
      yield `I6: ${commitment} to ${sink} is ${state} without a reason`;
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
  for (const { commitment, requestCommitment, sink, state } of messages) {
    const relayer = chains.relayerOf(requestCommitment, sink);
    const isOurs = relayer === chains.ourselfOn(sink);
    const isTrue = state === "delivered"
      ? isOurs
      : state === "delivered_by_other"
      ? relayer !== undefined && !isOurs
      : state === "submitted" || !isOurs;
    if (!isTrue) {
      yield `Row of ${commitment} to ${sink} is ${state}, the chain names ${relayer ?? "nobody"}`;
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
