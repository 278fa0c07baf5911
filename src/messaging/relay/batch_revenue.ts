/** Reads the revenue of the messages of a pending transaction, so that its price stays below that. */
import type { SubmissionRow } from "../ledger/ledger.ts";
import type { TransactionRevenue } from "./decisions/price_cap.ts";
import { isAlwaysDelivered } from "./decisions/profit.ts";
import { readMessageRow } from "./item_outcomes.ts";
import { parseRow } from "./message_row.ts";
import type { Candidate } from "./receipts.ts";
import type { ReplacementContext } from "./replacement_context.ts";
import { readRevenues } from "./revenue.ts";
import type { Settling } from "./settlement.ts";

/** Age of a transaction after which an unreadable fee counts as zero, ms. */
const FEE_PATIENCE_MS = 600_000;

/** Reads the revenue of a transaction; `undefined`: a fee could not be read now. */
export async function readTransactionRevenue(
  work: Settling,
  { profit }: ReplacementContext,
  row: SubmissionRow,
): Promise<TransactionRevenue | undefined> {
  const { deps, target, signal } = work;
  const candidates = deps.ledger.submissions.itemsOf(row.id).map((item): Candidate => {
    const message = readMessageRow(deps, item);
    return { row: message, message: parseRow(message) };
  });
  if (candidates.length === 0) return await readProofRevenue(work, profit, row);
  if (candidates.some((candidate) => candidate.row.state !== "submitted")) return { kind: "none" };
  const receipts = await target.fetchReceipts(candidates.map(({ message }) => message), signal);
  if (receipts.some((receipt) => receipt !== undefined)) return { kind: "none" };
  if (profit === undefined || profit.minimumPercent === 0) return { kind: "any" };
  const revenues = await readRevenues(deps, work.settings, { target, profit }, candidates, signal);
  let offered18 = 0n;
  for (const { paymentClass, fee } of revenues) {
    if (isAlwaysDelivered(paymentClass)) return { kind: "any" };
    if (fee.kind === "fee") offered18 += fee.fee18;
    const isUnread = fee.kind === "unread";
    if (isUnread && deps.clock.now() < row.createdAtMs + FEE_PATIENCE_MS) return undefined;
  }
  const price = await profit.price.fetchPrice(signal);
  const price27 = price.kind === "known" ? price.price27 : undefined;
  return { kind: "fees", offered18, price27, profitPercent: profit.minimumPercent };
}

/** Reads the revenue of proofs sent alone: the hub's reward; when later messages pay for them, there is no limit. */
async function readProofRevenue(
  { deps, signal }: Settling,
  profit: ReplacementContext["profit"],
  { id }: SubmissionRow,
): Promise<TransactionRevenue> {
  const offered18 = deps.ledger.spending.find(id)?.offeredUsd18;
  if (offered18 === undefined) return { kind: "any" };
  const price = await profit?.price.fetchPrice(signal);
  return { kind: "reward", offered18, price27: price?.kind === "known" ? price.price27 : undefined };
}
