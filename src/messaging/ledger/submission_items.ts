/** Table `submission_item`: messages that each submission carries, and their outcomes. */
import type { SignedSubmission } from "../../core/chains/submission.ts";
import type { Hash256 } from "../../core/encoding/bytes.ts";
import { column, RowFormat, type RowOf, toU64Text } from "./columns.ts";
import { Table } from "./database.ts";

/** Outcomes of an item: handled for us, not handled, handled for another relayer, or to be read from receipts. */
const itemOutcomes = ["handled", "not_handled", "by_other", "unknown"] as const;

/** Outcome of one item. */
export type ItemOutcome = typeof itemOutcomes[number];

const format = new RowFormat({
  commitment: column.hash,
  requestCommitment: column.hash,
  target: column.stateMachine,
  /** `undefined` while nothing is known. */
  outcome: column.optional(column.oneOf(itemOutcomes)),
});

/** An item with its outcome. */
export type SubmissionItemRow = RowOf<typeof format>;

/** Message (or claimed delivery) that a submission carries. */
export type SubmissionItem = Omit<SubmissionItemRow, "outcome">;

/** Condition of submissions whose outcome is open. Must be written as in the index, or SQLite does not use it. */
export const isUnresolvedSql = "s.state IN ('signed', 'broadcast', 'included')";

/** Items of the submissions. Every method may throw a `LedgerFault`. */
export class SubmissionItems extends Table {
  /** In the order in which they were recorded. */
  itemsOf(id: number): SubmissionItemRow[] {
    return this.db.rows("SELECT * FROM submission_item WHERE submission_id = :id ORDER BY position", { id })
      .map(format.read);
  }

  /** Records the outcome of items of one submission. @throws {Error} a defect: it does not carry all of them. */
  settleItems(id: number, commitments: readonly Hash256[], outcome: ItemOutcome): void {
    const { changes } = this.db.run(
      `UPDATE submission_item SET outcome = :outcome
       WHERE submission_id = :id AND commitment IN (SELECT value FROM json_each(:list))`,
      { id, list: JSON.stringify(commitments), outcome },
    );
    if (changes !== commitments.length) throw new Error(`Submission ${id} does not carry all of these`);
  }

  /**
   * Clears the outcomes of all items: the submission's block was reorganised. Messages that another submission carries
   * by now stay with that one (I5).
   */
  reopenItems(id: number): void {
    this.db.run(
      `UPDATE submission_item AS mine SET outcome = CASE WHEN EXISTS (
         SELECT 1 FROM submission_item i JOIN submission s ON s.id = i.submission_id
           JOIN submission own ON own.id = mine.submission_id
         WHERE i.commitment = mine.commitment AND i.target = mine.target AND i.outcome IS NULL AND s.id <> own.id
           AND s.kind = 'delivery' AND ${isUnresolvedSql}
           AND (own.nonce IS NULL OR s.nonce IS NOT own.nonce OR s.account IS NOT own.account)
       ) THEN 'not_handled' END WHERE mine.submission_id = :id`,
      { id },
    );
  }

  /** Records the items of a new submission. */
  protected recordItems(id: number, items: readonly SubmissionItem[]): void {
    this.db.run(
      `INSERT INTO submission_item (submission_id, position, commitment, request_commitment, target)
       SELECT :id, item.key, item.value ->> 0, item.value ->> 1, item.value ->> 2 FROM json_each(:items) AS item`,
      {
        id,
        items: JSON.stringify(items.map((item) => [item.commitment, item.requestCommitment, item.target])),
      },
    );
  }

  /**
   * Enforces invariant I5: a message is in at most one unresolved attempt; a replacement shares the nonce and counts as
   * the same.
   */
  protected refuseSecondAttempt(
    entry: { readonly submission: SignedSubmission; readonly items: readonly SubmissionItem[] },
  ): void {
    const { account, nonce } = entry.submission;
    const row = this.db.row(
      `SELECT s.id, i.commitment, i.target FROM json_each(:items) AS item
         CROSS JOIN submission_item i ON i.commitment = item.value ->> 0 AND i.target = item.value ->> 1
         JOIN submission s ON s.id = i.submission_id
       WHERE i.outcome IS NULL AND s.kind = 'delivery' AND ${isUnresolvedSql}
         AND (:nonce IS NULL OR s.nonce IS NOT :nonce OR s.account IS NOT :account) LIMIT 1`,
      {
        items: JSON.stringify(entry.items.map(({ commitment, target }) => [commitment, target])),
        account,
        nonce: nonce === undefined ? undefined : toU64Text(nonce),
      },
    );
    if (row === undefined) return;
    throw new Error(`Message ${row.commitment} to ${row.target} is under way in submission ${row.id}`);
  }
}
