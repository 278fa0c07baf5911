/**
 * Table `reward`: claims for authority set rotations and listed hub requests (docs/protocol/messaging.md section 17).
 */
import { column, type Parameters, RowFormat, type RowOf } from "./columns.ts";
import { Table } from "./database.ts";

const format = new RowFormat({
  /** `rotation`: `reference` is the set id in decimal. `request`: `reference` is the commitment. */
  kind: column.oneOf(["rotation", "request"]),
  /** Chain on which the work was done. */
  chain: column.stateMachine,
  reference: column.text,
  /** Block of `chain` that proves it. */
  height: column.height,
  /** The request, for kind `request`; empty for rotations. */
  payload: column.bytes,
  /** `refused`: the hub will never pay it. */
  state: column.oneOf(["pending", "claimed", "refused"]),
  attempts: column.number,
  nextAttemptAtMs: column.number,
  detail: column.optional(column.text),
  createdAtMs: column.number,
  updatedAtMs: column.number,
});

/** Stored reward. */
export type RewardRow = RowOf<typeof format>;

/** Key of a reward. */
export type RewardKey = Pick<RewardRow, "kind" | "chain" | "reference">;

/** Changes of a reward; absent members are kept, `detail` is replaced. */
type RewardChange =
  & Pick<RewardRow, "state">
  & Partial<Pick<RewardRow, "attempts" | "nextAttemptAtMs" | "detail">>;

/** The rewards. Every method may throw a `LedgerFault`. */
export class Rewards extends Table {
  /** Inserts the row; a known one is left unchanged. */
  record(reward: RewardKey & Pick<RewardRow, "height" | "payload">): void {
    const now = this.db.now();
    const times = { nextAttemptAtMs: now, createdAtMs: now, updatedAtMs: now };
    const row = format.write({ ...reward, ...times, state: "pending", attempts: 0 });
    this.db.insert("reward", row, "ON CONFLICT (kind, chain, reference) DO NOTHING");
  }

  find(key: RewardKey): RewardRow | undefined {
    return this.db.find("reward", columnsOf(key), format.read);
  }

  /** Rows neither claimed nor refused, lowest height first (oldest first, so that none starves). */
  listOpen(): RewardRow[] {
    return this.db.rows(
      // The condition must be written as in the index, or SQLite does not use it.
      "SELECT * FROM reward WHERE state = 'pending' ORDER BY height, chain, reference",
    ).map(format.read);
  }

  /** @throws {Error} a defect: no such row, or a claimed or refused one is changed. */
  update(key: RewardKey, change: RewardChange): RewardRow {
    const old = this.find(key);
    const name = `${key.kind} ${key.reference} of ${key.chain}`;
    if (old === undefined) throw new Error(`No reward: ${name}`);
    if (old.state !== change.state && old.state !== "pending") {
      throw new Error(`Illegal change of reward ${name}: ${old.state} to ${change.state}`);
    }
    const changed = { detail: undefined, ...change, updatedAtMs: this.db.now() };
    this.db.set("reward", columnsOf(key), format.write(changed));
    return { ...old, ...changed };
  }
}

function columnsOf({ kind, chain, reference }: RewardKey): Parameters {
  return { kind, chain, reference };
}
