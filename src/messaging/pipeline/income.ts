/** Reads what the messages of a waiting transaction would bring in, so that its price stays below that. */
import type { SubmissionRow } from "../../core/ledger/ledger.ts";
import { toHex } from "../../core/protocol/bytes.ts";
import type { Income } from "../decisions/price_cap.ts";
import { isAlwaysDelivered, paymentClassOf } from "../decisions/profit.ts";
import { requestOf } from "../decisions/route.ts";
import { messageRowOf } from "./fate.ts";
import { messageOf } from "./message_row.ts";
import type { Candidate } from "./receipts.ts";
import type { Replacing } from "./replacing.ts";
import type { Settling } from "./settlement.ts";
import { isOwnWithdrawal, readFees } from "./weigh.ts";

/** Age of a transaction from which on a fee that cannot be read counts as none, ms. */
const FEE_PATIENCE_MS = 600_000;

/** The income of a transaction; `undefined`: a fee could not be read just now. */
export async function readIncome(
  work: Settling,
  { profit }: Replacing,
  row: SubmissionRow,
): Promise<Income | undefined> {
  const { deps, sink, signal } = work;
  const candidates = deps.ledger.submissions.itemsOf(row.id).map((item): Candidate => {
    const message = messageRowOf(deps, item);
    return { row: message, message: messageOf(message) };
  });
  if (candidates.length === 0) return { kind: "any" }; // rotations
  if (candidates.some((candidate) => candidate.row.state !== "submitted")) return { kind: "none" };
  const receipts = await sink.fetchReceipts(candidates.map(({ message }) => message), signal);
  if (receipts.some((receipt) => receipt !== undefined)) return { kind: "none" };
  if (profit === undefined || profit.minimumPercent === 0) return { kind: "any" };
  if (candidates.some((candidate) => isFree(work, candidate))) return { kind: "any" };
  const fees = await readFees(deps, sink.id.stateMachine, profit, candidates, signal);
  let offered18 = 0n;
  for (const { row: { commitment }, message } of candidates) {
    const fee = fees.get(commitment);
    if (fee?.kind === "fee") offered18 += fee.fee18;
    const isUnread = fee?.kind === "unread" ||
      (fee === undefined && requestOf(message).source !== work.settings.hub);
    if (isUnread && deps.clock.now() < row.createdAtMs + FEE_PATIENCE_MS) return undefined;
  }
  const price = await profit.price.fetchPrice(signal);
  const price27 = price.kind === "known" ? price.price27 : undefined;
  return { kind: "fees", offered18, price27, profitPercent: profit.minimumPercent };
}

/** True for messages that are delivered whatever they pay. */
function isFree({ deps, settings, sink }: Settling, { row, message }: Candidate): boolean {
  return isAlwaysDelivered(paymentClassOf(message, {
    hub: settings.hub,
    sink: sink.id.stateMachine,
    isOwnWithdrawal: isOwnWithdrawal(deps, settings, row),
    isListedModule: settings.listedModules()?.has(toHex(requestOf(message).from)) ?? false,
  }));
}
