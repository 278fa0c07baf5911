/**
 * Table `reward`: claims for authority set rotations and listed hub requests (docs/protocol/messaging.md section 17).
 */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
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

/** `rotation`: `reference` is the set id in decimal. `request`: `reference` is the commitment. */
export type RewardKind = "rotation" | "request";

/** `refused`: the hub will never pay it. */
export type RewardState = "pending" | "claiming" | "claimed" | "refused";

/** Key of a reward. */
export interface RewardKey {
  readonly kind: RewardKind;
  /** Chain on which the work was done. */
  readonly chain: StateMachine;
  readonly reference: string;
}

/** Reward that we earned. */
export interface NewReward extends RewardKey {
  /** Block of `chain` that proves it. */
  readonly height: bigint;
  /** The request, for kind `request`; empty for rotations. */
  readonly payload: Uint8Array;
}

/** Stored reward. */
export interface RewardRow extends NewReward {
  readonly state: RewardState;
  readonly attempts: number;
  readonly nextAttemptAtMs: number;
  readonly detail: string | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Changes of a reward; absent members are kept, `detail` is replaced. */
export interface RewardChange {
  readonly state: RewardState;
  readonly attempts?: number | undefined;
  readonly nextAttemptAtMs?: number | undefined;
  readonly detail?: string | undefined;
}

/** The rewards. Every method may throw a `LedgerFault`. */
export interface Rewards {
  /** Inserts the row; `known` rows are left unchanged. */
  record(reward: NewReward): "new" | "known";
  find(key: RewardKey): RewardRow | undefined;
  /** Rows neither claimed nor refused, lowest height first (oldest first, so that none starves). */
  listOpen(chain?: StateMachine): RewardRow[];
  /** @throws {Error} a defect: no such row, or a claimed or refused one is changed. */
  update(key: RewardKey, change: RewardChange): RewardRow;
}

const byKey = "kind = :kind AND chain = :chain AND reference = :reference";

// Must be written as in the index, or SQLite does not use it.
const isOpen = "state IN ('pending', 'claiming')";

/** The rewards in a database. */
export function openRewards(db: Database): Rewards {
  return {
    record: ({ kind, chain, reference, height, payload }) => {
      const now = db.now();
      const times = { next_attempt_at_ms: now, created_at_ms: now, updated_at_ms: now };
      const row = {
        kind,
        chain,
        reference,
        height: toHeight(height),
        payload,
        state: "pending",
        attempts: 0,
        ...times,
      };
      const { changes } = db.insert("reward", row, "ON CONFLICT (kind, chain, reference) DO NOTHING");
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
    update: (key, change) => update(db, key, change),
  };
}

function find(db: Database, { kind, chain, reference }: RewardKey): RewardRow | undefined {
  const row = db.row(`SELECT * FROM reward WHERE ${byKey}`, { kind, chain, reference });
  return row && toReward(row);
}

function update(db: Database, key: RewardKey, change: RewardChange): RewardRow {
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
    updatedAtMs: db.now(),
  };
  db.set("reward", { kind: key.kind, chain: key.chain, reference: key.reference }, {
    state: next.state,
    attempts: next.attempts,
    next_attempt_at_ms: next.nextAttemptAtMs,
    detail: next.detail,
    updated_at_ms: next.updatedAtMs,
  });
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
