/**
 * Records of spending: the rule by which a batch may be sent, and the cost and revenue of a mined transaction. Limits
 * are in `loss_limit.ts`.
 */
import type { Chain, SpentGas, SubmissionOutcome } from "../../core/chains/port.ts";
import type {
  Allowance,
  MessageRow,
  SpendingResult,
  SubmissionItemRow,
  SubmissionRow,
} from "../ledger/ledger.ts";
import type { PriceSource } from "../pricing/price_source.ts";
import { toHash256 } from "../../core/encoding/bytes.ts";
import type { Leg, PipelineDeps } from "./leg.ts";

/** Cost of a mined transaction, and the price of the native token at that time. */
export interface Paid {
  readonly gas: SpentGas;
  readonly price27: bigint | undefined;
}

/** Records the revenue that messages offer, as far as it could be read; their delivery is compared with it later. */
export function noteOffers(
  deps: PipelineDeps,
  target: Pick<Chain, "id">,
  offers: readonly { readonly id: string; readonly fee18: bigint | undefined }[],
): void {
  const known = offers.flatMap(({ id, fee18 }) =>
    fee18 === undefined ? [] : [{ commitment: toHash256(id), offeredUsd18: fee18 }]
  );
  if (known.length > 0) deps.ledger.messages.noteOffers(target.id.stateMachine, known);
}

/** True for the hub's POST that carries our own payment: its budget is not revenue. */
function isOwnPayment({ ledger }: PipelineDeps, { requestCommitment }: MessageRow): boolean {
  return ledger.withdrawals.findByCommitment(requestCommitment) !== undefined;
}

/** Decides the rule by which the messages of a batch are sent, from their current rows. */
export function decideAllowance(
  deps: PipelineDeps,
  { profit, target }: Leg,
  rows: readonly MessageRow[],
): Allowance | undefined {
  if (target.family !== "evm") return { rule: "free" };
  if (profit === undefined || profit.minimumPercent === 0) return { rule: "no_minimum" };
  const offers = rows.filter((row) => !isOwnPayment(deps, row))
    .flatMap(({ offeredUsd18 }) => offeredUsd18 === undefined ? [] : [offeredUsd18]);
  const offeredUsd18 = offers.reduce((sum, offer) => sum + offer, 0n);
  return { rule: offers.length === rows.length ? "profit" : "always", offeredUsd18 };
}

/** Reads the cost of the transaction; `undefined`: it was free. */
export async function readPaid(
  outcome: Extract<SubmissionOutcome, { kind: "included" }>,
  price: PriceSource | undefined,
  signal: AbortSignal,
): Promise<Paid | undefined> {
  const gas = outcome.spent;
  if (gas === undefined) return undefined;
  const isFree = gas.gasUsed * gas.gasPriceWei === 0n && gas.dataCostWei === 0n;
  const known = isFree ? undefined : await price?.fetchPrice(signal);
  return { gas, price27: known?.kind === "known" ? known.price27 : undefined };
}

/**
 * Records the cost and revenue of a mined transaction, once the outcomes of its items are recorded. Part of that ledger
 * transaction.
 * @param reverted why, when it was
 */
export function noteSpent(
  deps: PipelineDeps,
  row: SubmissionRow,
  paid: Paid | undefined,
  outcome: { readonly advancedClient: boolean | undefined; readonly reverted?: "lost_race" | "reverted" },
): void {
  if (paid === undefined) return;
  const items = deps.ledger.submissions.itemsOf(row.id);
  const result = outcome.reverted ?? resultOf(row, items, outcome.advancedClient);
  deps.ledger.spending.note(row.id, { ...paid, result, revenueUsd18: revenueOf(deps, row, items, result) });
}

function resultOf(
  row: SubmissionRow,
  items: readonly SubmissionItemRow[],
  advancedClient: boolean | undefined,
): SpendingResult {
  if (row.kind === "cancel") return "cancelled";
  if (items.length === 0) return advancedClient === false ? "already_known" : "advanced";
  if (items.some(({ outcome }) => outcome === "handled")) return "delivered";
  return items.some(({ outcome }) => outcome === "by_other") ? "lost_race" : "not_executed";
}

/** Sums the offers of the delivered messages as last recorded; `undefined`: their fees have not been read yet. */
function revenueOf(
  deps: PipelineDeps,
  row: SubmissionRow,
  items: readonly SubmissionItemRow[],
  result: SpendingResult,
): bigint | undefined {
  const allowance = deps.ledger.spending.find(row.id);
  if (result === "advanced") return allowance?.offeredUsd18 ?? 0n;
  if (result !== "delivered") return 0n;
  if (allowance?.offeredUsd18 === undefined) return undefined;
  const handled = items.flatMap(({ commitment, outcome }) => outcome === "handled" ? [commitment] : []);
  return deps.ledger.messages.findAll(handled, row.submission.chain)
    .flatMap((message) => message === undefined || isOwnPayment(deps, message) ? [] : [message])
    .reduce((sum, { offeredUsd18 = 0n }) => sum + offeredUsd18, 0n);
}
