/**
 * Confirms receipts of ours without a transaction in the journal (a lost database, an extrinsic whose block was
 * missed): once the height at which they were seen is final, they are read again.
 */
import type { Chain } from "../../core/chains/port.ts";
import type { DeliveryRow, MessageRow } from "../ledger/ledger.ts";
import { equalBytes } from "../../core/encoding/bytes.ts";
import type { PipelineDeps } from "./leg.ts";
import { toEndState, transition } from "./transitions.ts";
import { parseRow } from "./message_row.ts";

/** Maximum number of receipts read again in one round. */
const MAX_AT_ONCE = 100;

/** Marks found receipts as final, or reverts them; true when a message has to be delivered again. */
export async function confirmFoundReceipts(
  deps: PipelineDeps,
  target: Chain,
  signal: AbortSignal,
): Promise<boolean> {
  const found = deps.ledger.deliveries.listNotFinal(target.id.stateMachine)
    .filter(({ block }) => block.hash === undefined)
    .flatMap((delivery) => {
      const message = deps.ledger.messages.find(delivery.commitment, delivery.dest);
      return message === undefined ? [] : [{ delivery, message }];
    });
  if (found.length === 0) return false;
  const finalHeight = await target.fetchFinalHeight(signal);
  const due = found.filter(({ delivery }) => delivery.block.height <= finalHeight).slice(0, MAX_AT_ONCE);
  if (due.length === 0) return false;
  const messages = due.map(({ message }) => parseRow(message));
  const height = due.reduce(
    (highest, { delivery: { block } }) => block.height > highest ? block.height : highest,
    0n,
  );
  const receipts = await target.fetchCertainReceipts(messages, { height }, signal);
  return deps.ledger.transaction(() =>
    due.filter((entry, index) => {
      const receipt = receipts[index];
      return receipt?.kind === "certain" && !confirm(deps, entry, receipt.value);
    }).length > 0
  );
}

/** Confirms one receipt; false when it is gone or names another relayer. */
function confirm(
  deps: PipelineDeps,
  { delivery, message }: { readonly delivery: DeliveryRow; readonly message: MessageRow },
  receipt: Uint8Array | undefined,
): boolean {
  if (receipt !== undefined && equalBytes(receipt, delivery.relayer)) {
    deps.ledger.deliveries.markFinal(delivery.commitment, delivery.dest);
    return true;
  }
  deps.ledger.deliveries.remove(delivery.commitment, delivery.dest);
  if (message.state !== "delivered") return false;
  if (receipt === undefined) transition(deps, message, "ready", { detail: "the receipt is gone" });
  else {
    const end = toEndState("delivered_by_other");
    transition(deps, message, end.state, { reason: end.reason });
  }
  return false;
}
