/**
 * Table `withdrawal`: one row per withdrawal, written before the request is sent (docs/protocol/messaging.md section
 * 16.4; docs/architecture/messaging.md, I8).
 */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, type Parameters, type Row, RowFormat, type RowOf } from "./columns.ts";
import { Table } from "./database.ts";

/** States that still need work. */
export const openWithdrawalStates = ["requested", "dispatched"] as const;

/** The hub's POST that carries the payment. */
export interface WithdrawalDispatch {
  readonly commitment: Hash256;
  /** The POST request in the pipeline's own encoding. */
  readonly encoded: Uint8Array;
  /** Block of the hub that dispatched it. */
  readonly hubBlock: bigint;
}

const format = new RowFormat({
  id: column.number,
  chain: column.stateMachine,
  /** Address whose balance is withdrawn. */
  address: column.bytes,
  /** `Relayer.Nonce` at submission; `undefined` for withdrawals found on the hub. */
  nonce: column.optional(column.u64),
  beneficiary: column.optional(column.bytes),
  /** Balance expected to be paid out, or what the hub paid out, in units of the chain's fee token. */
  amount: column.decimal,
  /** Best block of the hub at submission: the dispatch is searched from here on. */
  hubBlock: column.height,
  /** `void`: the hub never accepted it, nothing was withdrawn. */
  state: column.oneOf([...openWithdrawalStates, "done", "void"]),
  /** Journal entry of the extrinsic. */
  submissionId: column.optional(column.number),
  detail: column.optional(column.text),
  createdAtMs: column.number,
  updatedAtMs: column.number,
});

const dispatchFormat = new RowFormat({
  commitment: column.hash,
  encoded: column.bytes,
  dispatchHubBlock: column.height,
});

/** Stored withdrawal. */
export interface WithdrawalRow extends RowOf<typeof format> {
  readonly dispatch: WithdrawalDispatch | undefined;
}

/** State of a withdrawal. */
export type WithdrawalState = WithdrawalRow["state"];

/** Withdrawal as recorded before the extrinsic is submitted (or when one of an earlier run is found on the hub). */
type NewWithdrawal =
  & Pick<WithdrawalRow, "chain" | "address" | "nonce" | "beneficiary" | "amount" | "hubBlock">
  & { readonly state: "requested" | "dispatched"; readonly dispatch?: WithdrawalDispatch | undefined };

/** Changes of a withdrawal; absent members are kept, `detail` is replaced. */
type WithdrawalChange =
  & Pick<WithdrawalRow, "state">
  & Partial<Pick<WithdrawalRow, "dispatch" | "amount" | "submissionId" | "detail">>;

function toWithdrawal(row: Row): WithdrawalRow {
  if (row.commitment === null) return { ...format.read(row), dispatch: undefined };
  const { dispatchHubBlock: hubBlock, ...post } = dispatchFormat.read(row);
  return { ...format.read(row), dispatch: { ...post, hubBlock } };
}

function toColumns({ dispatch, ...row }: Partial<WithdrawalRow>): Parameters {
  if (dispatch === undefined) return format.write(row);
  const { hubBlock: dispatchHubBlock, ...post } = dispatch;
  return { ...format.write(row), ...dispatchFormat.write({ ...post, dispatchHubBlock }) };
}

/** Source: docs/protocol/messaging.md section 16.4. */
const successors: Readonly<Record<WithdrawalState, readonly WithdrawalState[]>> = {
  requested: ["requested", "dispatched", "void"],
  dispatched: ["dispatched", "done"],
  done: ["done", "dispatched"], // the delivery's block was reorganised
  void: ["dispatched"], // dropped too early: the hub paid anyway
};

/** Condition of open rows; it must be written as in the index, or SQLite does not use it. */
export const isOpenWithdrawal = "state IN ('requested', 'dispatched')";

/** Withdrawal rows. Every method may throw a `LedgerFault`. */
export class Withdrawals extends Table {
  /** Inserts the row, returns its id. A dispatch with a known commitment returns that row's id instead. */
  record(withdrawal: NewWithdrawal): number {
    const { dispatch } = withdrawal;
    const known = dispatch && this.findByCommitment(dispatch.commitment);
    if (known !== undefined) return known.id;
    const now = this.db.now();
    const row = toColumns({ ...withdrawal, dispatch, createdAtMs: now, updatedAtMs: now });
    return this.db.insert("withdrawal", row).lastId;
  }

  find(id: number): WithdrawalRow | undefined {
    return this.db.find("withdrawal", { id }, toWithdrawal);
  }

  findByCommitment(commitment: Hash256): WithdrawalRow | undefined {
    return this.db.find("withdrawal", { commitment }, toWithdrawal);
  }

  /** Rows that need work, oldest first; of all chains unless one is named. */
  listOpen(chain?: StateMachine): WithdrawalRow[] {
    const ofChain = chain === undefined ? "" : "AND chain = :chain";
    return this.db.rows(
      `SELECT * FROM withdrawal WHERE ${isOpenWithdrawal} ${ofChain} ORDER BY id`,
      chain === undefined ? {} : { chain },
    ).map(toWithdrawal);
  }

  /** Newest rows first, in any state. */
  listRecent(limit: number): WithdrawalRow[] {
    return this.db.rows("SELECT * FROM withdrawal ORDER BY id DESC LIMIT :limit + 0", { limit })
      .map(toWithdrawal);
  }

  /** @throws {Error} a defect: unknown id, an illegal change of state, or `dispatched` without its dispatch. */
  update(id: number, change: WithdrawalChange): WithdrawalRow {
    const old = this.find(id);
    if (old === undefined) throw new Error(`No withdrawal ${id}`);
    if (!successors[old.state].includes(change.state)) {
      throw new Error(`Illegal change of withdrawal ${id}: ${old.state} to ${change.state}`);
    }
    const changed = { detail: undefined, ...change, updatedAtMs: this.db.now() };
    const next: WithdrawalRow = { ...old, ...changed };
    if (next.dispatch === undefined && next.state !== "requested" && next.state !== "void") {
      throw new Error(`Withdrawal ${id} cannot be ${next.state} without its dispatch`);
    }
    this.db.set("withdrawal", { id }, toColumns(changed));
    return next;
  }
}
