/** Table `submission`: the journal of what was signed, written before it is sent (I3). */
import type { BlockRef, SignedSubmission } from "../../core/chains/submission.ts";
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import {
  findDecimal,
  findHash,
  findInteger,
  findNumber,
  findStateMachine,
  findText,
  readBytes,
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
  type Allowance,
  findSpending,
  noteFree,
  openAllowance,
  type SpendingPurpose,
  type SpendingRule,
  takeBackSpent,
} from "./spending.ts";
import {
  isUnresolved,
  openSubmissionItems,
  recordItems,
  refuseSecondAttempt,
  type SubmissionItem,
  type SubmissionItems,
} from "./submission_items.ts";

/** Every {@link SubmissionKind}. */
const submissionKinds = ["delivery", "cancel", "accumulate", "withdraw", "claim"] as const;

/** Purpose of a transaction or extrinsic. */
export type SubmissionKind = typeof submissionKinds[number];

/** States whose outcome is still open; recovery checks these. */
export const unresolvedSubmissionStates = ["signed", "broadcast", "included"] as const;

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

/** Stored submission. */
export interface SubmissionRow {
  readonly id: number;
  readonly submission: SignedSubmission;
  readonly kind: SubmissionKind;
  readonly legSource: StateMachine | undefined;
  readonly state: SubmissionState;
  /** Block of inclusion; `undefined` unless `included`, `final` or `failed`. */
  readonly block: BlockRef | undefined;
  readonly replaces: number | undefined;
  readonly replacedBy: number | undefined;
  /** Reason why it failed or was dropped, without secrets. */
  readonly detail: string | undefined;
  /** Number of times the bytes were sent to a node. */
  readonly broadcasts: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Submission that may still wait for its inclusion. */
export interface InFlight extends Pick<SubmissionRow, "id" | "kind"> {
  readonly state: "signed" | "broadcast";
  readonly nonce: bigint | undefined;
}

/** Change of a submission. `block` and `detail` are kept when absent; back to `broadcast` clears the block. */
export interface SubmissionChange {
  readonly state: SubmissionState;
  readonly block?: BlockRef | undefined;
  readonly detail?: string | undefined;
}

/** Journal of submissions. Every method may throw a `LedgerFault`. */
export interface Submissions extends SubmissionItems {
  /**
   * Journals a signed submission with its items and returns its id. The caller changes the messages to `submitted` in
   * the same ledger transaction.
   * @throws {Error} a defect: an item of a delivery is unsettled in another unresolved delivery without the same
   * account and nonce (I5), or `replaces` names no submission.
   */
  record(entry: NewSubmission): number;
  find(id: number): SubmissionRow | undefined;
  findByHash(chain: StateMachine, hash: Hash256): SubmissionRow | undefined;
  /** Submissions of the chain whose outcome is open, oldest first. */
  listUnresolved(chain: StateMachine): SubmissionRow[];
  /** As {@link listUnresolved} without mined ones and without their bytes: cheap enough for frequent calls. */
  listInFlight(chain: StateMachine): InFlight[];
  /** All submissions of an account with that nonce, oldest first: a transaction and its replacements. */
  listByNonce(chain: StateMachine, account: string, nonce: bigint): SubmissionRow[];
  /**
   * Dropped submissions that may be mined anyway: below their nonce one was mined since then, and at it none is
   * open or mined.
   */
  listGivenUp(chain: StateMachine, sinceMs: number): SubmissionRow[];
  /** Highest nonce of the account that our submissions hold or have used; `undefined` when there is none. */
  findHighestNonce(chain: StateMachine, account: string): bigint | undefined;
  /** Nonces of the account that its submissions with an open outcome hold. */
  listHeldNonces(chain: StateMachine, account: string): bigint[];
  /** Submissions that ever carried the commitment to `target`, oldest first. */
  listByItem(commitment: Hash256, target: StateMachine): SubmissionRow[];
  /**
   * @throws {Error} a defect: unknown id or illegal change (`final` and `failed` are permanent, other results may
   * change).
   */
  update(id: number, change: SubmissionChange): SubmissionRow;
}

const states: readonly SubmissionState[] = [...unresolvedSubmissionStates, ...resolvedSubmissionStates];

/** Submissions whose nonce is used, or will be by them or their replacements. */
const holdsNonce = `(s.state IN ('signed', 'broadcast', 'included', 'final', 'replaced')
  OR (s.state = 'failed' AND s.block_height IS NOT NULL))`;

const select = `SELECT s.*, (SELECT max(r.id) FROM submission r WHERE r.replaces = s.id) AS replaced_by
  FROM submission s`;

/** Opens the journal in a database. */
export function openSubmissions(db: Database): Submissions {
  const list = (condition: string, parameters: Parameters<Database["rows"]>[1]): SubmissionRow[] =>
    db.rows(`${select} WHERE ${condition} ORDER BY s.id`, parameters).map(toSubmission);
  return {
    ...openSubmissionItems(db),
    record: (entry) => record(db, entry),
    find: (id) => find(db, id),
    findByHash: (chain, hash) => list("s.chain = :chain AND s.hash = :hash", { chain, hash }).at(-1),
    listUnresolved: (chain) => list(`s.chain = :chain AND ${isUnresolved}`, { chain }),
    listInFlight: (chain) =>
      db.rows(
        `SELECT s.id, s.kind, s.state, s.nonce FROM submission s WHERE s.chain = :chain AND ${isUnresolved}
           AND s.state <> 'included' ORDER BY s.id`,
        { chain },
      ).map((row): InFlight => ({
        id: readNumber(row, "id"),
        kind: readOneOf(row, "kind", submissionKinds),
        state: readOneOf(row, "state", ["signed", "broadcast"]),
        nonce: findDecimal(row, "nonce"),
      })),
    listByNonce: (chain, account, nonce) =>
      list("s.chain = :chain AND s.account = :account AND s.nonce = :nonce", {
        chain,
        account,
        nonce: toU64Text(nonce),
      }),
    listGivenUp: (chain, sinceMs) =>
      list(
        `s.chain = :chain AND s.state = 'dropped' AND s.nonce IS NOT NULL AND NOT EXISTS (SELECT 1 FROM submission o
           WHERE o.chain = s.chain AND o.account = s.account AND o.nonce = s.nonce
             AND (o.block_height IS NOT NULL OR o.state IN ('signed', 'broadcast')))
         AND EXISTS (SELECT 1 FROM submission m WHERE m.chain = s.chain AND m.account = s.account
             AND m.nonce < s.nonce AND m.block_height IS NOT NULL AND m.updated_at_ms >= :sinceMs)`,
        { chain, sinceMs },
      ),
    findHighestNonce: (chain, account) => {
      const row = db.row(
        `SELECT nonce FROM submission s WHERE chain = :chain AND account = :account AND nonce IS NOT NULL
           AND ${holdsNonce} ORDER BY s.nonce DESC LIMIT 1`,
        { chain, account },
      );
      return row && findDecimal(row, "nonce");
    },
    listHeldNonces: (chain, account) =>
      db.rows(
        `SELECT s.nonce FROM submission s WHERE s.chain = :chain AND s.account = :account AND ${isUnresolved}`,
        { chain, account },
      ).flatMap((row) => findDecimal(row, "nonce") ?? []),
    listByItem: (commitment, target) =>
      list(
        "s.id IN (SELECT submission_id FROM submission_item WHERE commitment = :commitment AND target = :target)",
        { commitment, target },
      ),
    update: (id, change) => update(db, id, change),
  };
}

function find(db: Database, id: number): SubmissionRow | undefined {
  const row = db.row(`${select} WHERE s.id = :id`, { id });
  return row && toSubmission(row);
}

function record(db: Database, entry: NewSubmission): number {
  const { submission } = entry;
  if (entry.replaces !== undefined && find(db, entry.replaces) === undefined) {
    throw new Error(`No submission ${entry.replaces} that could be replaced`);
  }
  if (entry.kind === "delivery") refuseSecondAttempt(db, entry);
  const { lastId } = db.run(
    `INSERT INTO submission (chain, kind, account, nonce, hash, raw, gas_price_wei, gas_limit, made_at_height,
       leg_source, state, replaces, broadcasts, created_at_ms, updated_at_ms)
     VALUES (:chain, :kind, :account, :nonce, :hash, :raw, :gasPriceWei, :gasLimit, :madeAtHeight,
       :legSource, 'signed', :replaces, 0, :now, :now)`,
    {
      chain: submission.chain,
      kind: entry.kind,
      account: submission.account,
      nonce: submission.nonce === undefined ? undefined : toU64Text(submission.nonce),
      hash: submission.hash,
      raw: submission.raw,
      gasPriceWei: toDecimal(submission.gasPriceWei),
      gasLimit: toDecimal(submission.gasLimit),
      madeAtHeight: toHeight(submission.madeAtHeight),
      legSource: entry.legSource,
      replaces: entry.replaces,
      now: db.now(),
    },
  );
  recordItems(db, lastId, entry.items);
  openAllowance(db, {
    id: lastId,
    submission,
    legSource: entry.legSource,
    purpose: purposeOf(db, entry),
    allowance: allow(db, entry),
  });
  return lastId;
}

function update(db: Database, id: number, change: SubmissionChange): SubmissionRow {
  const old = find(db, id);
  if (old === undefined) throw new Error(`No submission ${id}`);
  // Final results stay, dropped submissions may still be mined, and nothing becomes unsent again.
  const isEnded = old.state === "final" || old.state === "failed";
  if (old.state !== change.state && (isEnded || change.state === "signed")) {
    throw new Error(`Illegal change of submission ${id}: ${old.state} to ${change.state}`);
  }
  const isBroadcast = change.state === "broadcast";
  const block = isBroadcast ? undefined : change.block ?? old.block;
  const next: SubmissionRow = {
    ...old,
    state: change.state,
    block,
    detail: change.detail ?? old.detail,
    broadcasts: old.broadcasts + (isBroadcast ? 1 : 0),
    updatedAtMs: db.now(),
  };
  db.run(
    `UPDATE submission SET state = :state, block_height = :height, block_hash = :hash, detail = :detail,
       broadcasts = :broadcasts, updated_at_ms = :now WHERE id = :id`,
    {
      id,
      state: next.state,
      height: block?.height,
      hash: block?.hash,
      detail: next.detail,
      broadcasts: next.broadcasts,
      now: next.updatedAtMs,
    },
  );
  if (isBroadcast && old.block !== undefined) takeBackSpent(db, id);
  const isOver = change.state === "final" || change.state === "failed";
  if (isOver && old.submission.gasLimit === undefined) {
    noteFree(db, id, change.state === "final" ? "done" : "reverted");
  }
  return next;
}

function toSubmission(row: Row): SubmissionRow {
  return {
    id: readNumber(row, "id"),
    submission: {
      hash: readHash(row, "hash"),
      chain: readStateMachine(row, "chain"),
      raw: readBytes(row, "raw"),
      account: findText(row, "account"),
      nonce: findDecimal(row, "nonce"),
      gasPriceWei: findDecimal(row, "gas_price_wei"),
      gasLimit: findDecimal(row, "gas_limit"),
      madeAtHeight: readInteger(row, "made_at_height"),
    },
    kind: readOneOf(row, "kind", submissionKinds),
    legSource: findStateMachine(row, "leg_source"),
    state: readOneOf(row, "state", states),
    block: toBlock(row),
    replaces: findNumber(row, "replaces"),
    replacedBy: findNumber(row, "replaced_by"),
    detail: findText(row, "detail"),
    broadcasts: readNumber(row, "broadcasts"),
    createdAtMs: readNumber(row, "created_at_ms"),
    updatedAtMs: readNumber(row, "updated_at_ms"),
  };
}

function toBlock(row: Row): BlockRef | undefined {
  const height = findInteger(row, "block_height");
  const hash = findHash(row, "block_hash");
  return height === undefined || hash === undefined ? undefined : { height, hash };
}

/** Rule of a submission: its own, that of what it replaces, or that of its kind. */
function allow(db: Database, entry: NewSubmission): Allowance {
  const isReplacement = entry.replaces !== undefined && entry.kind !== "cancel";
  const replaced = isReplacement ? findSpending(db, entry.replaces) : undefined;
  return entry.allowance ?? replaced ?? { rule: usualRule(entry) };
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

function purposeOf(db: Database, { kind, items }: NewSubmission): SpendingPurpose {
  if (kind !== "delivery") return purposes[kind];
  const [first] = items;
  if (first === undefined) return "consensus_proofs";
  const isPayment = items.length === 1 &&
    db.row("SELECT id FROM withdrawal WHERE commitment = :commitment", { commitment: first.commitment }) !==
      undefined;
  return isPayment ? "payment_delivery" : "delivery";
}
