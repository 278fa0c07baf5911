/**
 * Table `submission`: the journal of what was signed, written before it is sent (I3), and table `submission_item`: the
 * messages that each carries, and their outcomes.
 */
import type { BlockRef, SignedSubmission } from "../../core/chains/submission.ts";
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, type Parameters, type Row, RowFormat, type RowOf, toHeight, toU64Text } from "./columns.ts";
import { type Database, Table } from "./database.ts";
import type { Allowance, Spending, SpendingPurpose, SpendingRule } from "./spending.ts";

/** Every {@link SubmissionKind}. */
const submissionKinds = ["delivery", "cancel", "accumulate", "withdraw", "claim"] as const;

/** Purpose of a transaction or extrinsic. */
export type SubmissionKind = typeof submissionKinds[number];

/** States whose outcome is still open; recovery checks these. */
export const unresolvedSubmissionStates = ["signed", "broadcast", "included"] as const;

/** True while the outcome of a submission is open. */
export function isUnresolved({ state }: { readonly state: SubmissionState }): boolean {
  return unresolvedSubmissionStates.some((open) => open === state);
}

/** States in which the outcome is known. */
const resolvedSubmissionStates = ["final", "failed", "replaced", "dropped"] as const;

/**
 * `signed`: journalled, perhaps not sent. `broadcast`: sent to a node. `included`: in a block that may be reorganised.
 * `final`: in a final block, succeeded. `failed`: in a final block, reverted; or refused for good. `replaced`: its
 * nonce was used by another transaction. `dropped`: abandoned, no node knows it.
 */
export type SubmissionState =
  | typeof unresolvedSubmissionStates[number]
  | typeof resolvedSubmissionStates[number];

/** Outcomes of an item: handled for us, not handled, handled for another relayer, or to be read from receipts. */
const itemOutcomes = ["handled", "not_handled", "by_other", "unknown"] as const;

/** Outcome of one item. */
export type ItemOutcome = typeof itemOutcomes[number];

const itemFormat = new RowFormat({
  commitment: column.hash,
  requestCommitment: column.hash,
  target: column.stateMachine,
  /** `undefined` while nothing is known. */
  outcome: column.optional(column.oneOf(itemOutcomes)),
});

/** An item with its outcome. */
export type SubmissionItemRow = RowOf<typeof itemFormat>;

/** Message (or claimed delivery) that a submission carries. */
export type SubmissionItem = Omit<SubmissionItemRow, "outcome">;

/** Condition of submissions whose outcome is open. Must be written as in the index, or SQLite does not use it. */
export const isUnresolvedSql = "s.state IN ('signed', 'broadcast', 'included')";

/** Submission as journalled before anything is sent. */
export interface NewSubmission {
  readonly submission: SignedSubmission;
  readonly kind: SubmissionKind;
  readonly items: readonly SubmissionItem[];
  /** Id of the submission whose nonce this one reuses; it stays unresolved until one of them is mined. */
  readonly replaces?: number | undefined;
  /** Source of the leg, for deliveries. */
  readonly legSource?: StateMachine | undefined;
  /** The rule by which it may be sent; of its kind, or of what it replaces, when absent. */
  readonly allowance?: Allowance | undefined;
}

/** Change of a submission. `block` and `detail` are kept when absent; back to `broadcast` clears the block. */
export interface SubmissionChange {
  readonly state: SubmissionState;
  readonly block?: BlockRef | undefined;
  readonly detail?: string | undefined;
}

const states: readonly SubmissionState[] = [...unresolvedSubmissionStates, ...resolvedSubmissionStates];

/** Submissions whose nonce is used, or will be by them or their replacements. */
const holdsNonce = `(s.state IN ('signed', 'broadcast', 'included', 'final', 'replaced')
  OR (s.state = 'failed' AND s.block_height IS NOT NULL))`;

const signedFormat = new RowFormat<Omit<SignedSubmission, "dataCostWei">>({
  hash: column.hash,
  chain: column.stateMachine,
  raw: column.bytes,
  account: column.optional(column.text),
  nonce: column.optional(column.u64),
  gasPriceWei: column.optional(column.decimal),
  gasLimit: column.optional(column.decimal),
  madeAtHeight: column.height,
});

const format = new RowFormat({
  id: column.number,
  kind: column.oneOf(submissionKinds),
  legSource: column.optional(column.stateMachine),
  state: column.oneOf(states),
  replaces: column.optional(column.number),
  replacedBy: column.optional(column.number),
  /** Reason why it failed or was dropped, without secrets. */
  detail: column.optional(column.text),
  createdAtMs: column.number,
  updatedAtMs: column.number,
});

/** Stored submission. */
export interface SubmissionRow extends RowOf<typeof format> {
  readonly submission: SignedSubmission;
  /** Block of inclusion; `undefined` unless `included`, `final` or `failed`. */
  readonly block: BlockRef | undefined;
}

const inFlightFormat = new RowFormat({
  id: column.number,
  kind: column.oneOf(submissionKinds),
  state: column.oneOf(["signed", "broadcast"]),
  nonce: column.optional(column.u64),
});

/** Submission that may still wait for its inclusion. */
export type InFlight = RowOf<typeof inFlightFormat>;

function toSubmission(row: Row): SubmissionRow {
  const isInBlock = row.block_height !== null && row.block_hash !== null;
  const block = isInBlock
    ? { height: column.height.read(row, "block_height"), hash: column.hash.read(row, "block_hash") }
    : undefined;
  return { ...format.read(row), submission: signedFormat.read(row), block };
}

const select = `SELECT s.*, (SELECT max(r.id) FROM submission r WHERE r.replaces = s.id) AS replaced_by
  FROM submission s`;

/** Journal of submissions. Every method may throw a `LedgerFault`. */
export class Submissions extends Table {
  readonly #spending: Spending;

  constructor(db: Database, spending: Spending) {
    super(db);
    this.#spending = spending;
  }

  #list(condition: string, parameters: Parameters): SubmissionRow[] {
    return this.db.rows(`${select} WHERE ${condition} ORDER BY s.id`, parameters).map(toSubmission);
  }

  /**
   * Journals a signed submission with its items and returns its id. The caller changes the messages to `submitted` in
   * the same ledger transaction.
   * @throws {Error} a defect: an item of a delivery is unsettled in another unresolved delivery without the same
   * account and nonce (I5), or `replaces` names no submission.
   */
  record(entry: NewSubmission): number {
    const { submission, kind, items, replaces, legSource } = entry;
    if (replaces !== undefined && this.find(replaces) === undefined) {
      throw new Error(`No submission ${replaces} that could be replaced`);
    }
    if (kind === "delivery") this.#refuseSecondAttempt(entry);
    const now = this.db.now();
    const state = { state: "signed", createdAtMs: now, updatedAtMs: now } as const;
    const { lastId: id } = this.db.insert("submission", {
      ...signedFormat.write(submission),
      ...format.write({ kind, legSource, replaces, ...state }),
    });
    this.#recordItems(id, items);
    const purpose = this.#findPurpose(entry);
    this.#spending.open({ id, submission, legSource, purpose, allowance: this.#allow(entry) });
    return id;
  }

  find(id: number): SubmissionRow | undefined {
    return this.#list("s.id = :id", { id })[0];
  }

  findByHash(chain: StateMachine, hash: Hash256): SubmissionRow | undefined {
    return this.#list("s.chain = :chain AND s.hash = :hash", { chain, hash }).at(-1);
  }

  /** Submissions of the chain whose outcome is open, oldest first. */
  listUnresolved(chain: StateMachine): SubmissionRow[] {
    return this.#list(`s.chain = :chain AND ${isUnresolvedSql}`, { chain });
  }

  /** As {@link listUnresolved} without mined ones and without their bytes: cheap enough for frequent calls. */
  listInFlight(chain: StateMachine): InFlight[] {
    return this.db.rows(
      `SELECT s.id, s.kind, s.state, s.nonce FROM submission s WHERE s.chain = :chain AND ${isUnresolvedSql}
         AND s.state <> 'included' ORDER BY s.id`,
      { chain },
    ).map(inFlightFormat.read);
  }

  /** All submissions of an account with that nonce, oldest first: a transaction and its replacements. */
  listByNonce(chain: StateMachine, account: string, nonce: bigint): SubmissionRow[] {
    const key = { chain, account, nonce: toU64Text(nonce) };
    return this.#list("s.chain = :chain AND s.account = :account AND s.nonce = :nonce", key);
  }

  /**
   * Dropped submissions that may be mined anyway: below their nonce one was mined since then, and at it none is
   * open or mined.
   */
  listGivenUp(chain: StateMachine, sinceMs: number): SubmissionRow[] {
    return this.#list(
      `s.chain = :chain AND s.state = 'dropped' AND s.nonce IS NOT NULL AND NOT EXISTS (SELECT 1 FROM submission o
         WHERE o.chain = s.chain AND o.account = s.account AND o.nonce = s.nonce
           AND (o.block_height IS NOT NULL OR o.state IN ('signed', 'broadcast')))
       AND EXISTS (SELECT 1 FROM submission m WHERE m.chain = s.chain AND m.account = s.account
           AND m.nonce < s.nonce AND m.block_height IS NOT NULL AND m.updated_at_ms >= :sinceMs)`,
      { chain, sinceMs },
    );
  }

  /** Highest nonce of the account that our submissions hold or have used; `undefined` when there is none. */
  findHighestNonce(chain: StateMachine, account: string): bigint | undefined {
    const row = this.db.row(
      `SELECT nonce FROM submission s WHERE chain = :chain AND account = :account AND nonce IS NOT NULL
         AND ${holdsNonce} ORDER BY s.nonce DESC LIMIT 1`,
      { chain, account },
    );
    return row && column.u64.read(row, "nonce");
  }

  /** Nonces of the account that its submissions with an open outcome hold. */
  listHeldNonces(chain: StateMachine, account: string): bigint[] {
    return this.db.rows(
      `SELECT s.nonce FROM submission s WHERE s.chain = :chain AND s.account = :account AND ${isUnresolvedSql}`,
      { chain, account },
    ).flatMap((row) => column.optional(column.u64).read(row, "nonce") ?? []);
  }

  /** Submissions that ever carried the commitment to `target`, oldest first. */
  listByItem(commitment: Hash256, target: StateMachine): SubmissionRow[] {
    return this.#list(
      "s.id IN (SELECT submission_id FROM submission_item WHERE commitment = :commitment AND target = :target)",
      { commitment, target },
    );
  }

  /**
   * @throws {Error} a defect: unknown id or illegal change (`final` and `failed` are permanent, other results may
   * change).
   */
  update(id: number, { state, block: changedBlock, detail: changedDetail }: SubmissionChange): SubmissionRow {
    const old = this.find(id);
    if (old === undefined) throw new Error(`No submission ${id}`);
    // Final results stay, dropped submissions may still be mined, and nothing becomes unsent again.
    if (old.state !== state && (isOver(old.state) || state === "signed")) {
      throw new Error(`Illegal change of submission ${id}: ${old.state} to ${state}`);
    }
    const isBroadcast = state === "broadcast";
    const block = isBroadcast ? undefined : changedBlock ?? old.block;
    const changed = { state, detail: changedDetail ?? old.detail, updatedAtMs: this.db.now() };
    const place = { block_height: block && toHeight(block.height), block_hash: block?.hash };
    this.db.set("submission", { id }, { ...format.write(changed), ...place });
    if (isBroadcast && old.block !== undefined) this.#spending.takeBack(id);
    if (isOver(state) && old.submission.gasLimit === undefined) {
      this.#spending.noteFree(id, state === "final" ? "done" : "reverted");
    }
    return { ...old, ...changed, block };
  }

  /** In the order in which they were recorded. */
  itemsOf(id: number): SubmissionItemRow[] {
    return this.db.rows("SELECT * FROM submission_item WHERE submission_id = :id ORDER BY position", { id })
      .map(itemFormat.read);
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
  #recordItems(id: number, items: readonly SubmissionItem[]): void {
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
  #refuseSecondAttempt(entry: NewSubmission): void {
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

  /** Rule of a submission: its own, that of what it replaces, or that of its kind. */
  #allow(entry: NewSubmission): Allowance {
    const isReplacement = entry.replaces !== undefined && entry.kind !== "cancel";
    const replaced = isReplacement ? this.#spending.find(entry.replaces) : undefined;
    return entry.allowance ?? replaced ?? { rule: usualRule(entry) };
  }

  #findPurpose({ kind, items }: NewSubmission): SpendingPurpose {
    if (kind !== "delivery") return purposes[kind];
    const [first] = items;
    if (first === undefined) return "consensus_proofs";
    const { commitment } = first;
    const isPayment = items.length === 1 && this.db.find("withdrawal", { commitment }, () => true) === true;
    return isPayment ? "payment_delivery" : "delivery";
  }
}

/** True for results that stay. */
function isOver(state: SubmissionState): state is "final" | "failed" {
  return state === "final" || state === "failed";
}

function usualRule({ kind, submission, items }: NewSubmission): SpendingRule {
  if (submission.gasLimit === undefined) return "free";
  if (kind === "cancel") return "nonce";
  return items.length === 0 ? "consensus_proofs" : "no_minimum";
}

const purposes: Readonly<Record<Exclude<SubmissionKind, "delivery">, SpendingPurpose>> = {
  cancel: "cancellation",
  accumulate: "claim",
  withdraw: "withdrawal",
  claim: "reward_claim",
};
