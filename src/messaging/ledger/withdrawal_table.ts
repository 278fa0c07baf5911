/** Queries of table `withdrawal`; their semantics are documented in `withdrawals.ts`. */
import type { Clock } from "../../core/runtime/clock.ts";
import {
  findBytes,
  findDecimal,
  findHash,
  findNumber,
  findText,
  readBytes,
  readDecimal,
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
  type NewWithdrawal,
  openWithdrawalStates,
  type WithdrawalChange,
  type WithdrawalDispatch,
  type WithdrawalRow,
  type Withdrawals,
  type WithdrawalState,
} from "./withdrawals.ts";

const states: readonly WithdrawalState[] = [...openWithdrawalStates, "done", "void"];

/** Source: docs/protocol/messaging.md section 16.4. `dispatched` to `done`: another relayer delivered it. */
const successors: Readonly<Record<WithdrawalState, readonly WithdrawalState[]>> = {
  requested: ["requested", "dispatched", "void"],
  dispatched: ["dispatched", "delivering", "done"],
  delivering: ["delivering", "dispatched", "done"],
  done: ["done", "dispatched"], // the delivery's block was reorganised
  void: ["dispatched"], // dropped too early: the hub paid anyway
};

// Must be written as in the index, or SQLite does not use it.
const isOpen = "state IN ('requested', 'dispatched', 'delivering')";

/** Opens the withdrawals in a database. */
export function openWithdrawals(db: Database, clock: Pick<Clock, "now">): Withdrawals {
  const list = (rest: string, parameters: Parameters<Database["rows"]>[1]): WithdrawalRow[] =>
    db.rows(`SELECT * FROM withdrawal ${rest}`, parameters).map(toWithdrawal);
  const find = (id: number): WithdrawalRow | undefined => list("WHERE id = :id", { id })[0];
  const findByCommitment: Withdrawals["findByCommitment"] = (commitment) =>
    list("WHERE commitment = :commitment", { commitment })[0];
  return {
    find,
    findByCommitment,
    record: (withdrawal) => {
      const { dispatch } = withdrawal;
      const known = dispatch && findByCommitment(dispatch.commitment);
      return known === undefined ? insert(db, withdrawal, clock.now()) : known.id;
    },
    listOpen: (chain) =>
      chain === undefined
        ? list(`WHERE ${isOpen} ORDER BY id`, {})
        : list(`WHERE chain = :chain AND ${isOpen} ORDER BY id`, { chain }),
    listRecent: (limit) => list("ORDER BY id DESC LIMIT :limit + 0", { limit }),
    update: (id, change) => {
      const old = find(id);
      if (old === undefined) throw new Error(`No withdrawal ${id}`);
      return update(db, old, change, clock.now());
    },
  };
}

function insert(db: Database, withdrawal: NewWithdrawal, nowMs: number): number {
  return db.run(
    `INSERT INTO withdrawal (chain, address, nonce, beneficiary, amount, hub_block, state, commitment, encoded,
       dispatch_hub_block, attempts, next_attempt_at_ms, created_at_ms, updated_at_ms)
     VALUES (:chain, :address, :nonce, :beneficiary, :amount, :hubBlock, :state, :commitment, :encoded,
       :dispatchHubBlock, 0, :now, :now, :now)`,
    {
      chain: withdrawal.chain,
      address: withdrawal.address,
      nonce: withdrawal.nonce === undefined ? undefined : toU64Text(withdrawal.nonce),
      beneficiary: withdrawal.beneficiary,
      amount: toDecimal(withdrawal.amount),
      hubBlock: toHeight(withdrawal.hubBlock),
      state: withdrawal.state,
      ...dispatchColumns(withdrawal.dispatch),
      now: nowMs,
    },
  ).lastId;
}

function dispatchColumns(dispatch: WithdrawalDispatch | undefined): {
  commitment: string | undefined;
  encoded: Uint8Array | undefined;
  dispatchHubBlock: bigint | undefined;
} {
  return {
    commitment: dispatch?.commitment,
    encoded: dispatch?.encoded,
    dispatchHubBlock: dispatch && toHeight(dispatch.hubBlock),
  };
}

function update(db: Database, old: WithdrawalRow, change: WithdrawalChange, nowMs: number): WithdrawalRow {
  if (!successors[old.state].includes(change.state)) {
    throw new Error(`Illegal change of withdrawal ${old.id}: ${old.state} to ${change.state}`);
  }
  const next: WithdrawalRow = {
    ...old,
    state: change.state,
    amount: change.amount ?? old.amount,
    dispatch: change.dispatch ?? old.dispatch,
    submissionId: change.submissionId ?? old.submissionId,
    attempts: change.attempts ?? old.attempts,
    nextAttemptAtMs: change.nextAttemptAtMs ?? old.nextAttemptAtMs,
    detail: change.detail,
    updatedAtMs: nowMs,
  };
  if (next.dispatch === undefined && next.state !== "requested" && next.state !== "void") {
    throw new Error(`Withdrawal ${old.id} cannot be ${next.state} without its dispatch`);
  }
  db.run(
    `UPDATE withdrawal SET state = :state, amount = :amount, commitment = :commitment, encoded = :encoded,
       dispatch_hub_block = :dispatchHubBlock, submission_id = :submissionId, attempts = :attempts,
       next_attempt_at_ms = :nextAttemptAtMs, detail = :detail, updated_at_ms = :now WHERE id = :id`,
    {
      id: old.id,
      state: next.state,
      amount: toDecimal(next.amount),
      ...dispatchColumns(next.dispatch),
      submissionId: next.submissionId,
      attempts: next.attempts,
      nextAttemptAtMs: next.nextAttemptAtMs,
      detail: next.detail,
      now: nowMs,
    },
  );
  return next;
}

function toWithdrawal(row: Row): WithdrawalRow {
  const commitment = findHash(row, "commitment");
  return {
    id: readNumber(row, "id"),
    chain: readStateMachine(row, "chain"),
    address: readBytes(row, "address"),
    nonce: findDecimal(row, "nonce"),
    beneficiary: findBytes(row, "beneficiary"),
    amount: readDecimal(row, "amount"),
    hubBlock: readInteger(row, "hub_block"),
    state: readOneOf(row, "state", states),
    dispatch: commitment === undefined ? undefined : {
      commitment,
      encoded: readBytes(row, "encoded"),
      hubBlock: readInteger(row, "dispatch_hub_block"),
    },
    submissionId: findNumber(row, "submission_id"),
    attempts: readNumber(row, "attempts"),
    nextAttemptAtMs: readNumber(row, "next_attempt_at_ms"),
    detail: findText(row, "detail"),
    createdAtMs: readNumber(row, "created_at_ms"),
    updatedAtMs: readNumber(row, "updated_at_ms"),
  };
}
