/** Queries of table `reward`; their semantics are documented in `rewards.ts`. */
import type { Clock } from "../../core/runtime/clock.ts";
import {
  findText,
  readBytes,
  readInteger,
  readNumber,
  readOneOf,
  readStateMachine,
  readText,
  type Row,
  toHeight,
} from "./columns.ts";
import type { Database } from "./database.ts";
import type { RewardChange, RewardKey, RewardRow, Rewards } from "./rewards.ts";

const byKey = "kind = :kind AND chain = :chain AND reference = :reference";

// Must be written as in the index, or SQLite does not use it.
const isOpen = "state IN ('pending', 'claiming')";

/** The rewards in a database. */
export function openRewards(db: Database, clock: Pick<Clock, "now">): Rewards {
  return {
    record: ({ kind, chain, reference, height, payload }) => {
      const { changes } = db.run(
        `INSERT INTO reward (kind, chain, reference, height, payload, state, attempts, next_attempt_at_ms,
           created_at_ms, updated_at_ms)
         VALUES (:kind, :chain, :reference, :height, :payload, 'pending', 0, :now, :now, :now)
         ON CONFLICT (kind, chain, reference) DO NOTHING`,
        { kind, chain, reference, height: toHeight(height), payload, now: clock.now() },
      );
      return changes === 0 ? "known" : "new";
    },
    find: (key) => find(db, key),
    listOpen: (chain) =>
      (chain === undefined
        ? db.rows(`SELECT * FROM reward WHERE ${isOpen} ORDER BY height, chain, reference`)
        : db.rows(`SELECT * FROM reward WHERE ${isOpen} AND chain = :chain ORDER BY height, reference`, {
          chain,
        }))
        .map(toReward),
    update: (key, change) => update(db, key, change, clock.now()),
  };
}

function find(db: Database, { kind, chain, reference }: RewardKey): RewardRow | undefined {
  const row = db.row(`SELECT * FROM reward WHERE ${byKey}`, { kind, chain, reference });
  return row && toReward(row);
}

function update(db: Database, key: RewardKey, change: RewardChange, nowMs: number): RewardRow {
  const old = find(db, key);
  const name = `${key.kind} ${key.reference} of ${key.chain}`;
  if (old === undefined) throw new Error(`No reward: ${name}`);
  if (old.state !== change.state && (old.state === "claimed" || old.state === "refused")) {
    throw new Error(`Illegal change of reward ${name}: ${old.state} to ${change.state}`);
  }
  const next: RewardRow = {
    ...old,
    state: change.state,
    attempts: change.attempts ?? old.attempts,
    nextAttemptAtMs: change.nextAttemptAtMs ?? old.nextAttemptAtMs,
    detail: change.detail,
    updatedAtMs: nowMs,
  };
  db.run(
    `UPDATE reward SET state = :state, attempts = :attempts, next_attempt_at_ms = :nextAttemptAtMs, detail = :detail,
       updated_at_ms = :now WHERE ${byKey}`,
    {
      kind: key.kind,
      chain: key.chain,
      reference: key.reference,
      state: next.state,
      attempts: next.attempts,
      nextAttemptAtMs: next.nextAttemptAtMs,
      detail: next.detail,
      now: nowMs,
    },
  );
  return next;
}

function toReward(row: Row): RewardRow {
  return {
    kind: readOneOf(row, "kind", ["rotation", "request"]),
    chain: readStateMachine(row, "chain"),
    reference: readText(row, "reference"),
    height: readInteger(row, "height"),
    payload: readBytes(row, "payload"),
    state: readOneOf(row, "state", ["pending", "claiming", "claimed", "refused"]),
    attempts: readNumber(row, "attempts"),
    nextAttemptAtMs: readNumber(row, "next_attempt_at_ms"),
    detail: findText(row, "detail"),
    createdAtMs: readNumber(row, "created_at_ms"),
    updatedAtMs: readNumber(row, "updated_at_ms"),
  };
}
