/** Queries of table `message`; their semantics are documented in `messages.ts`. */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import {
  findDecimal,
  findNumber,
  findOneOf,
  findText,
  type Parameters,
  readBytes,
  readDecimal,
  readHash,
  readInteger,
  readNumber,
  readOneOf,
  readStateMachine,
  type Row,
  toDecimal,
  toHeight,
  toU64Text,
} from "./columns.ts";
import type { Database } from "./database.ts";
import {
  listPredecessors,
  messageReasons,
  messageStates,
  nextMessageState,
  refusedReasons,
} from "./message_state.ts";
import {
  type DueQuery,
  type MessageChange,
  type MessageRow,
  type Messages,
  neverMs,
  type NewMessage,
} from "./messages.ts";

// Must be written as in the indexes, or SQLite does not use them.
const isOpen = "state IN ('seen', 'held', 'ready', 'not_executed')";

/** Number of refused open messages of a sender above which its fresh ones count as refused, too. */
const MANY_REFUSED = 10;

const listOf = (reasons: readonly string[]): string => reasons.map((reason) => `'${reason}'`).join(", ");

/** `hub_refused` alone makes a sender suspect: bandwidth and blocked senders are checked before anything is proved. */
const refusedSenders =
  `SELECT module FROM message WHERE source = :source AND target = :target AND ${isOpen} AND reason = 'hub_refused'
   GROUP BY module HAVING count(*) >= ${MANY_REFUSED}`;

const isRefused = `(coalesce(reason, '') IN (${listOf(refusedReasons)}) OR module IN (${refusedSenders}))`;

const conditionsOfRefused = { only: `AND ${isRefused}`, without: `AND NOT ${isRefused}` } as const;

const isEnded = "state IN ('delivered', 'delivered_by_other', 'timed_out', 'rejected', 'gone')";

/** The messages in a database. */
export function openMessages(db: Database, clock: Pick<Clock, "now">): Messages {
  return {
    record: (message) => record(db, message, clock.now()),
    find: (commitment, target) => find(db, commitment, target),
    findAll: (commitments, target) => findAll(db, commitments, target),
    listDue: (query) => listDue(db, query),
    listSubmitted: (query) => page(db, "state = 'submitted'", query, {}),
    transition: (commitment, target, change) => transition(db, { commitment, target }, change, clock.now()),
    transitionAll: (commitments, target, change) =>
      transitionAll(db, { commitments, target }, change, clock.now()),
    noteOffers: (target, offers) =>
      void db.run(
        `UPDATE message SET offered_usd18 = item.value ->> 1 FROM json_each(:list) AS item
         WHERE target = :target AND commitment = item.value ->> 0`,
        {
          target,
          list: JSON.stringify(offers.map((offer) => [offer.commitment, toDecimal(offer.offeredUsd18)])),
        },
      ),
    countByState: () =>
      db.rows("SELECT source, target, state, count(*) AS count FROM message GROUP BY source, target, state")
        .map((row) => ({
          source: readStateMachine(row, "source"),
          target: readStateMachine(row, "target"),
          state: readOneOf(row, "state", messageStates),
          count: readNumber(row, "count"),
        })),
    nextDueAt: (source, target) => nextDueAt(db, source, target),
    listExpired: ({ source, target, nowSec, limit }) =>
      db.rows(
        `SELECT * FROM message WHERE source = :source AND target = :target AND ${isOpen} AND kind <> 'getResponse'
           AND timeout_sec > :zero AND timeout_sec <= :now ORDER BY timeout_sec, commitment LIMIT :limit + 0`,
        { source, target, zero: toU64Text(0n), now: toU64Text(nowSec), limit },
      ).map(toMessage),
    listDeliveredByOther: ({ target, afterMs, untilMs, limit, afterKey }) =>
      db.rows(
        `SELECT * FROM message WHERE updated_at_ms >= :from AND updated_at_ms <= :until AND target = :target
           AND ${isEnded} AND state = 'delivered_by_other' AND (updated_at_ms, commitment) > (:after, :key)
         ORDER BY updated_at_ms, commitment LIMIT :limit + 0`,
        {
          target,
          limit,
          from: Math.max(afterMs + 1, afterKey?.updatedAtMs ?? 0),
          until: untilMs,
          after: afterKey?.updatedAtMs ?? 0,
          key: afterKey?.commitment ?? "",
        },
      ).map(toMessage),
    findResponse: (requestCommitment, source, target) => {
      const row = db.row(
        `SELECT * FROM message WHERE source = :source AND target = :target AND ${isOpen} AND kind = 'getResponse'
           AND request_commitment = :requestCommitment LIMIT 1`,
        { source, target, requestCommitment },
      );
      return row && toMessage(row);
    },
    listHeldSenders: ({ source, target, reason, nowMs, limit }) =>
      db.rows(
        `SELECT module FROM message WHERE source = :source AND target = :target AND ${isOpen} AND reason = :reason
           AND next_attempt_at_ms > :now GROUP BY module ORDER BY max(updated_at_ms) DESC, module LIMIT :limit`,
        { source, target, reason, now: nowMs, limit },
      ).map((row) => readBytes(row, "module")),
    listHeldOf: (module, { source, target, reason, nowMs, limit }) =>
      db.rows(
        `SELECT * FROM message WHERE source = :source AND target = :target AND ${isOpen} AND reason = :reason
           AND next_attempt_at_ms > :now AND module = :module
         ORDER BY seen_at_height, nonce, commitment LIMIT :limit`,
        { source, target, reason, module, now: nowMs, limit },
      ).map(toMessage),
    listRefusedSenders: (source, target) =>
      db.rows(refusedSenders, { source, target }).map((row) => readBytes(row, "module")),
    liftBatchLimits: (source, target, reason) =>
      db.run(
        `UPDATE message SET batch_limit = NULL, next_attempt_at_ms = min(next_attempt_at_ms, :now),
           updated_at_ms = :now
         WHERE source = :source AND target = :target AND ${isOpen} AND reason = :reason AND batch_limit IS NOT NULL`,
        { source, target, reason, now: clock.now() },
      ).changes,
    wakeAll: (target, reason) => wake(db, "target = :target", { target, reason, now: clock.now() }),
    wake: (source, target, reason) =>
      wake(db, "source = :source AND target = :target", { source, target, reason, now: clock.now() }),
  };
}

/** Makes the open rows that wait for `reason` due now; returns how many there were. */
function wake(db: Database, legs: string, parameters: Parameters): number {
  return db.run(
    `UPDATE message SET next_attempt_at_ms = :now, updated_at_ms = :now
     WHERE ${legs} AND ${isOpen} AND reason = :reason AND next_attempt_at_ms > :now`,
    parameters,
  ).changes;
}

function record(db: Database, message: NewMessage, nowMs: number): "new" | "known" {
  const { changes } = db.run(
    `INSERT INTO message (commitment, target, source, kind, request_commitment, request_source, request_dest, module,
       nonce, timeout_sec, seen_at_height, encoded, state, reason, detail, required_usd18, offered_usd18, attempts,
       next_attempt_at_ms, created_at_ms, updated_at_ms)
     VALUES (:commitment, :target, :source, :kind, :requestCommitment, :requestSource, :requestDest, :module,
       :nonce, :timeoutSec, :seenAtHeight, :encoded, :state, :reason, :detail, :requiredUsd18, :offeredUsd18, :attempts,
       :nextAttemptAtMs, :now, :now)
     ON CONFLICT (commitment, target) DO NOTHING`,
    {
      commitment: message.commitment,
      target: message.target,
      source: message.source,
      kind: message.kind,
      requestCommitment: message.requestCommitment,
      requestSource: message.requestSource,
      requestDest: message.requestDest,
      module: message.module,
      nonce: toU64Text(message.nonce),
      timeoutSec: toU64Text(message.timeoutSec),
      seenAtHeight: toHeight(message.seenAtHeight),
      encoded: message.encoded,
      state: message.state,
      reason: message.reason,
      detail: message.detail,
      requiredUsd18: toDecimal(message.requiredUsd18),
      offeredUsd18: toDecimal(message.offeredUsd18),
      attempts: message.attempts ?? 0,
      nextAttemptAtMs: message.nextAttemptAtMs ?? nowMs,
      now: nowMs,
    },
  );
  return changes === 0 ? "known" : "new";
}

function find(db: Database, commitment: Hash256, target: StateMachine): MessageRow | undefined {
  const row = db.row("SELECT * FROM message WHERE commitment = :commitment AND target = :target", {
    commitment,
    target,
  });
  return row && toMessage(row);
}

function findAll(
  db: Database,
  commitments: readonly Hash256[],
  target: StateMachine,
): (MessageRow | undefined)[] {
  const found = new Map(
    db.rows(
      `SELECT m.* FROM json_each(:list) AS wanted
       CROSS JOIN message AS m ON m.commitment = wanted.value AND m.target = :target`,
      { list: JSON.stringify(commitments), target },
    ).map((row) => [row.commitment, row]),
  );
  return commitments.map((commitment) => {
    const row = found.get(commitment);
    return row && toMessage(row);
  });
}

function listDue(db: Database, query: DueQuery): MessageRow[] {
  const dueAtMs = nextDueAt(db, query.source, query.target);
  // Avoids a scan of all open rows while none is due, which is most of the time.
  if (dueAtMs === undefined || dueAtMs > query.nowMs) return [];
  const refused = query.refused === undefined ? "" : conditionsOfRefused[query.refused];
  const { nowMs: now, targetNowSec } = query;
  const condition = `${isOpen} AND next_attempt_at_ms <= :now ${refused}`;
  if (targetNowSec === undefined) return page(db, condition, query, { now });
  return page(
    db,
    `${condition} AND (kind = 'getResponse' OR timeout_sec = :zero OR timeout_sec > :sinkNow)`,
    query,
    { now, zero: toU64Text(0n), sinkNow: toU64Text(targetNowSec) },
  );
}

function page(
  db: Database,
  condition: string,
  query: Omit<DueQuery, "nowMs">,
  parameters: Parameters,
): MessageRow[] {
  const after = query.afterKey;
  const rows = db.rows(
    `SELECT * FROM message WHERE source = :source AND target = :target AND ${condition}
       AND (seen_at_height, nonce, commitment) > (:height, :nonce, :commitment)
     ORDER BY seen_at_height, nonce, commitment LIMIT :limit + 0`,
    {
      ...parameters,
      source: query.source,
      target: query.target,
      limit: query.limit,
      height: after === undefined ? -1n : after.seenAtHeight,
      nonce: after === undefined ? "" : toU64Text(after.nonce),
      commitment: after === undefined ? "" : after.commitment,
    },
  );
  return rows.map(toMessage);
}

function nextDueAt(db: Database, source: StateMachine, target: StateMachine): number | undefined {
  const row = db.row(
    `SELECT next_attempt_at_ms AS due FROM message WHERE source = :source AND target = :target AND ${isOpen}
     ORDER BY next_attempt_at_ms LIMIT 1`,
    { source, target },
  );
  const dueAtMs = row && readNumber(row, "due");
  return dueAtMs === neverMs ? undefined : dueAtMs;
}

/** Predecessors of each state, as SQL: a statement for each, since a list cannot be bound cheaply. */
const predecessorsSql = Object.fromEntries(
  messageStates.map((state) => [state, listPredecessors(state).map((from) => `'${from}'`).join(", ")]),
);

const changeSql = `UPDATE message SET state = :state, reason = :reason, detail = :detail,
       attempts = coalesce(:attempts, attempts), refusals = coalesce(:refusals, refusals), batch_limit = coalesce(:batchLimit, batch_limit),
       next_attempt_at_ms = coalesce(:nextAttemptAtMs, next_attempt_at_ms),
       required_usd18 = coalesce(:requiredUsd18, required_usd18),
       offered_usd18 = coalesce(:offeredUsd18, offered_usd18), updated_at_ms = :now`;

function changeParameters(change: MessageChange, nowMs: number): Parameters {
  return {
    state: change.to,
    reason: change.reason,
    detail: change.detail,
    attempts: change.attempts,
    refusals: change.refusals,
    batchLimit: change.batchLimit,
    nextAttemptAtMs: change.nextAttemptAtMs,
    requiredUsd18: toDecimal(change.requiredUsd18),
    offeredUsd18: toDecimal(change.offeredUsd18),
    now: nowMs,
  };
}

function transitionAll(
  db: Database,
  { commitments, target }: { commitments: readonly Hash256[]; target: StateMachine },
  change: MessageChange,
  nowMs: number,
): void {
  const { changes } = db.run(
    `${changeSql} WHERE target = :target AND commitment IN (SELECT value FROM json_each(:list))
       AND state IN (${predecessorsSql[change.to]})`,
    { ...changeParameters(change, nowMs), target, list: JSON.stringify(commitments) },
  );
  if (changes === commitments.length) return;
  for (const [index, old] of findAll(db, commitments, target).entries()) {
    if (old === undefined) throw new Error(`No message ${commitments[index]} to ${target}`);
    // Rows that could be changed are changed until the transaction is rolled back.
    if (old.state !== change.to) nextMessageState(old.state, change.to); // throws with the reason
  }
  throw new Error(`${commitments.length} messages to ${target} were to change, ${changes} did`);
}

function transition(
  db: Database,
  key: { commitment: Hash256; target: StateMachine },
  change: MessageChange,
  nowMs: number,
): MessageRow {
  const row = db.row(
    `${changeSql}
     WHERE commitment = :commitment AND target = :target AND state IN (${predecessorsSql[change.to]})
     RETURNING *`,
    { ...changeParameters(change, nowMs), commitment: key.commitment, target: key.target },
  );
  if (row !== undefined) return toMessage(row);
  const old = find(db, key.commitment, key.target);
  if (old === undefined) throw new Error(`No message ${key.commitment} to ${key.target}`);
  nextMessageState(old.state, change.to); // throws with the reason
  throw new Error(`Message ${key.commitment} to ${key.target} was not written`);
}

function toMessage(row: Row): MessageRow {
  return {
    commitment: readHash(row, "commitment"),
    target: readStateMachine(row, "target"),
    source: readStateMachine(row, "source"),
    kind: readOneOf(row, "kind", ["post", "get", "getResponse"]),
    requestCommitment: readHash(row, "request_commitment"),
    requestSource: readStateMachine(row, "request_source"),
    requestDest: readStateMachine(row, "request_dest"),
    module: readBytes(row, "module"),
    nonce: readDecimal(row, "nonce"),
    timeoutSec: readDecimal(row, "timeout_sec"),
    seenAtHeight: readInteger(row, "seen_at_height"),
    encoded: readBytes(row, "encoded"),
    state: readOneOf(row, "state", messageStates),
    reason: findOneOf(row, "reason", messageReasons),
    detail: findText(row, "detail"),
    requiredUsd18: findDecimal(row, "required_usd18"),
    offeredUsd18: findDecimal(row, "offered_usd18"),
    attempts: readNumber(row, "attempts"),
    refusals: readNumber(row, "refusals"),
    batchLimit: findNumber(row, "batch_limit"),
    nextAttemptAtMs: readNumber(row, "next_attempt_at_ms"),
    createdAtMs: readNumber(row, "created_at_ms"),
    updatedAtMs: readNumber(row, "updated_at_ms"),
  };
}
