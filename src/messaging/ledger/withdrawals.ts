/**
 * Table `withdrawal`: one row per withdrawal, written before the request is sent (docs/protocol/messaging.md section
 * 16.4; docs/architecture/messaging.md, I8).
 */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import {
  findBytes,
  findDecimal,
  findHash,
  findNumber,
  findText,
  type Parameters,
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

/** States that still need work. */
export const openWithdrawalStates = ["requested", "dispatched"] as const;

/** Every {@link WithdrawalState}. */
const withdrawalStates = [...openWithdrawalStates, "done", "void"] as const;

/** `void`: the hub never accepted it, nothing was withdrawn. */
export type WithdrawalState = typeof withdrawalStates[number];

/** Withdrawal as recorded before the extrinsic is submitted (or when one of an earlier run is found on the hub). */
export interface NewWithdrawal {
  readonly chain: StateMachine;
  /** Address whose balance is withdrawn. */
  readonly address: Uint8Array;
  /** `Relayer.Nonce` at submission; `undefined` for withdrawals found on the hub. u64. */
  readonly nonce: bigint | undefined;
  readonly beneficiary: Uint8Array | undefined;
  /** Balance expected to be paid out, in units of the chain's fee token. */
  readonly amount: bigint;
  /** Best block of the hub at submission: the dispatch is searched from here on. */
  readonly hubBlock: bigint;
  readonly state: "requested" | "dispatched";
  readonly dispatch?: WithdrawalDispatch | undefined;
}

/** The hub's POST that carries the payment. */
export interface WithdrawalDispatch {
  readonly commitment: Hash256;
  /** The POST request in the pipeline's own encoding. */
  readonly encoded: Uint8Array;
  /** Block of the hub that dispatched it. */
  readonly hubBlock: bigint;
}

/** Stored withdrawal. */
export interface WithdrawalRow extends Omit<NewWithdrawal, "state"> {
  readonly id: number;
  readonly state: WithdrawalState;
  readonly dispatch: WithdrawalDispatch | undefined;
  readonly submissionId: number | undefined;
  readonly detail: string | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Changes of a withdrawal; absent members are kept, `detail` is replaced. */
export interface WithdrawalChange {
  readonly state: WithdrawalState;
  readonly dispatch?: WithdrawalDispatch | undefined;
  /** Amount that the hub paid out, which may exceed the balance at the time of the request. */
  readonly amount?: bigint | undefined;
  /** Journal entry of the extrinsic. */
  readonly submissionId?: number | undefined;
  readonly detail?: string | undefined;
}

/** Withdrawal rows. Every method may throw a `LedgerFault`. */
export interface Withdrawals {
  /** Inserts the row, returns its id. A dispatch with a known commitment returns that row's id instead. */
  record(withdrawal: NewWithdrawal): number;
  find(id: number): WithdrawalRow | undefined;
  findByCommitment(commitment: Hash256): WithdrawalRow | undefined;
  /** Rows that need work, oldest first; of all chains unless one is named. */
  listOpen(chain?: StateMachine): WithdrawalRow[];
  /** Newest rows first, in any state. */
  listRecent(limit: number): WithdrawalRow[];
  /** @throws {Error} a defect: unknown id, an illegal change of state, or `dispatched` without its dispatch. */
  update(id: number, change: WithdrawalChange): WithdrawalRow;
}

/** Source: docs/protocol/messaging.md section 16.4. */
const successors: Readonly<Record<WithdrawalState, readonly WithdrawalState[]>> = {
  requested: ["requested", "dispatched", "void"],
  dispatched: ["dispatched", "done"],
  done: ["done", "dispatched"], // the delivery's block was reorganised
  void: ["dispatched"], // dropped too early: the hub paid anyway
};

/** Condition of open rows; it must be written as in the index, or SQLite does not use it. */
export const isOpenWithdrawal = "state IN ('requested', 'dispatched', 'delivering')";

/** Opens the withdrawals in a database. */
export function openWithdrawals(db: Database): Withdrawals {
  const list = (rest: string, parameters: Parameters): WithdrawalRow[] =>
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
      return known === undefined ? insert(db, withdrawal) : known.id;
    },
    listOpen: (chain) =>
      chain === undefined
        ? list(`WHERE ${isOpenWithdrawal} ORDER BY id`, {})
        : list(`WHERE chain = :chain AND ${isOpenWithdrawal} ORDER BY id`, { chain }),
    listRecent: (limit) => list("ORDER BY id DESC LIMIT :limit + 0", { limit }),
    update: (id, change) => {
      const old = find(id);
      if (old === undefined) throw new Error(`No withdrawal ${id}`);
      return update(db, old, change);
    },
  };
}

function insert(db: Database, withdrawal: NewWithdrawal): number {
  const now = db.now();
  return db.insert("withdrawal", {
    chain: withdrawal.chain,
    address: withdrawal.address,
    nonce: withdrawal.nonce === undefined ? undefined : toU64Text(withdrawal.nonce),
    beneficiary: withdrawal.beneficiary,
    amount: toDecimal(withdrawal.amount),
    hub_block: toHeight(withdrawal.hubBlock),
    state: withdrawal.state,
    ...dispatchColumns(withdrawal.dispatch),
    attempts: 0,
    next_attempt_at_ms: now,
    created_at_ms: now,
    updated_at_ms: now,
  }).lastId;
}

function dispatchColumns(dispatch: WithdrawalDispatch | undefined): Parameters {
  return {
    commitment: dispatch?.commitment,
    encoded: dispatch?.encoded,
    dispatch_hub_block: dispatch && toHeight(dispatch.hubBlock),
  };
}

function update(db: Database, old: WithdrawalRow, change: WithdrawalChange): WithdrawalRow {
  if (!successors[old.state].includes(change.state)) {
    throw new Error(`Illegal change of withdrawal ${old.id}: ${old.state} to ${change.state}`);
  }
  const next: WithdrawalRow = {
    ...old,
    state: change.state,
    amount: change.amount ?? old.amount,
    dispatch: change.dispatch ?? old.dispatch,
    submissionId: change.submissionId ?? old.submissionId,
    detail: change.detail,
    updatedAtMs: db.now(),
  };
  if (next.dispatch === undefined && next.state !== "requested" && next.state !== "void") {
    throw new Error(`Withdrawal ${old.id} cannot be ${next.state} without its dispatch`);
  }
  db.set("withdrawal", { id: old.id }, {
    state: next.state,
    amount: toDecimal(next.amount),
    ...dispatchColumns(next.dispatch),
    submission_id: next.submissionId,
    detail: next.detail,
    updated_at_ms: next.updatedAtMs,
  });
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
    state: readOneOf(row, "state", withdrawalStates),
    dispatch: commitment === undefined ? undefined : {
      commitment,
      encoded: readBytes(row, "encoded"),
      hubBlock: readInteger(row, "dispatch_hub_block"),
    },
    submissionId: findNumber(row, "submission_id"),
    detail: findText(row, "detail"),
    createdAtMs: readNumber(row, "created_at_ms"),
    updatedAtMs: readNumber(row, "updated_at_ms"),
  };
}
