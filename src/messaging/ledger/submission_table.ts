/** Queries of tables `submission` and `submission_item`; their semantics are documented in `submissions.ts`. */
import type { BlockRef } from "../../core/chains/port.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import {
  findDecimal,
  findHash,
  findInteger,
  findNumber,
  findOneOf,
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
import { noteFree, openAllowance, takeBackSpent } from "./spending_table.ts";
import {
  type InFlight,
  itemOutcomes,
  type NewSubmission,
  resolvedSubmissionStates,
  type SubmissionChange,
  type SubmissionItemRow,
  submissionKinds,
  type SubmissionRow,
  type Submissions,
  type SubmissionState,
  unresolvedSubmissionStates,
} from "./submissions.ts";

const states: readonly SubmissionState[] = [...unresolvedSubmissionStates, ...resolvedSubmissionStates];

// Must be written as in the index, or SQLite does not use it.
const isUnresolved = "s.state IN ('signed', 'broadcast', 'included')";

/** Submissions whose nonce is used, or will be by them or their replacements. */
const holdsNonce = `(s.state IN ('signed', 'broadcast', 'included', 'final', 'replaced')
  OR (s.state = 'failed' AND s.block_height IS NOT NULL))`;

const select = `SELECT s.*, (SELECT max(r.id) FROM submission r WHERE r.replaces = s.id) AS replaced_by
  FROM submission s`;

/** Opens the journal in a database. */
export function openSubmissions(db: Database, clock: Pick<Clock, "now">): Submissions {
  const list = (condition: string, parameters: Parameters<Database["rows"]>[1]): SubmissionRow[] =>
    db.rows(`${select} WHERE ${condition} ORDER BY s.id`, parameters).map(toSubmission);
  return {
    record: (entry) => record(db, entry, clock.now()),
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
    findHighestNonce: (chain, account) => {
      const row = db.row(
        `SELECT max(nonce) AS nonce FROM submission s WHERE chain = :chain AND account = :account AND ${holdsNonce}`,
        { chain, account },
      );
      return row && findDecimal(row, "nonce");
    },
    itemsOf: (id) =>
      db.rows("SELECT * FROM submission_item WHERE submission_id = :id ORDER BY position", { id }).map(
        toItem,
      ),
    listByItem: (commitment, target) =>
      list(
        "s.id IN (SELECT submission_id FROM submission_item WHERE commitment = :commitment AND target = :target)",
        { commitment, target },
      ),
    update: (id, change) => update(db, id, change, clock.now()),
    settleItem: (id, commitment, outcome) => {
      const { changes } = db.run(
        "UPDATE submission_item SET outcome = :outcome WHERE submission_id = :id AND commitment = :commitment",
        { id, commitment, outcome },
      );
      if (changes === 0) throw new Error(`Submission ${id} does not carry ${commitment}`);
    },
    settleItems: (id, commitments, outcome) => {
      const { changes } = db.run(
        `UPDATE submission_item SET outcome = :outcome
         WHERE submission_id = :id AND commitment IN (SELECT value FROM json_each(:list))`,
        { id, list: JSON.stringify(commitments), outcome },
      );
      if (changes !== commitments.length) throw new Error(`Submission ${id} does not carry all of these`);
    },
    reopenItems: (id) =>
      void db.run(
        `UPDATE submission_item AS mine SET outcome = CASE WHEN EXISTS (
           SELECT 1 FROM submission_item i JOIN submission s ON s.id = i.submission_id
             JOIN submission own ON own.id = mine.submission_id
           WHERE i.commitment = mine.commitment AND i.target = mine.target AND i.outcome IS NULL AND s.id <> own.id
             AND s.kind = 'delivery' AND ${isUnresolved}
             AND (own.nonce IS NULL OR s.nonce IS NOT own.nonce OR s.account IS NOT own.account)
         ) THEN 'not_handled' END WHERE mine.submission_id = :id`,
        { id },
      ),
  };
}

function find(db: Database, id: number): SubmissionRow | undefined {
  const row = db.row(`${select} WHERE s.id = :id`, { id });
  return row && toSubmission(row);
}

function record(db: Database, entry: NewSubmission, nowMs: number): number {
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
      now: nowMs,
    },
  );
  db.run(
    `INSERT INTO submission_item (submission_id, position, commitment, request_commitment, target)
     SELECT :id, item.key, item.value ->> 0, item.value ->> 1, item.value ->> 2 FROM json_each(:items) AS item`,
    {
      id: lastId,
      items: JSON.stringify(
        entry.items.map((
          { commitment, requestCommitment, target },
        ) => [commitment, requestCommitment, target]),
      ),
    },
  );
  openAllowance(db, lastId, entry, nowMs);
  return lastId;
}

/**
 * Enforces invariant I5: a message is in at most one unresolved attempt; a replacement shares the nonce and counts as
 * the same.
 */
function refuseSecondAttempt(db: Database, entry: NewSubmission): void {
  const { account, nonce } = entry.submission;
  const row = db.row(
    `SELECT s.id, i.commitment, i.target FROM json_each(:items) AS item
       CROSS JOIN submission_item i ON i.commitment = item.value ->> 0 AND i.target = item.value ->> 1
       JOIN submission s ON s.id = i.submission_id
     WHERE i.outcome IS NULL AND s.kind = 'delivery' AND ${isUnresolved}
       AND (:nonce IS NULL OR s.nonce IS NOT :nonce OR s.account IS NOT :account) LIMIT 1`,
    {
      items: JSON.stringify(entry.items.map(({ commitment, target }) => [commitment, target])),
      account,
      nonce: nonce === undefined ? undefined : toU64Text(nonce),
    },
  );
  if (row === undefined) return;
  const [commitment, target, id] = [
    readHash(row, "commitment"),
    readStateMachine(row, "target"),
    readNumber(row, "id"),
  ];
  throw new Error(`Message ${commitment} to ${target} is under way in submission ${id}`);
}

function update(db: Database, id: number, change: SubmissionChange, nowMs: number): SubmissionRow {
  const old = find(db, id);
  if (old === undefined) throw new Error(`No submission ${id}`);
  if (!mayChange(old.state, change.state)) {
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
    updatedAtMs: nowMs,
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
      now: nowMs,
    },
  );
  if (isBroadcast && old.block !== undefined) takeBackSpent(db, id);
  const isOver = change.state === "final" || change.state === "failed";
  if (isOver && old.submission.gasLimit === undefined) {
    noteFree(db, id, change.state === "final" ? "done" : "reverted", nowMs);
  }
  return next;
}

/**
 * True when the change is legal: final results stay, dropped submissions may still be mined, and nothing becomes unsent
 * again.
 */
function mayChange(from: SubmissionState, to: SubmissionState): boolean {
  if (from === to) return true;
  return from !== "final" && from !== "failed" && to !== "signed";
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

function toItem(row: Row): SubmissionItemRow {
  return {
    commitment: readHash(row, "commitment"),
    requestCommitment: readHash(row, "request_commitment"),
    target: readStateMachine(row, "target"),
    outcome: findOneOf(row, "outcome", itemOutcomes),
  };
}
