/**
 * Receipts that were seen before their blocks were final, ours without a transaction in the journal and those of other
 * relayers, are read again when they should be: a reorganisation may have removed them.
 */
import { equalBytes } from "../../../core/encoding/bytes.ts";
import { highest } from "../../../core/chains/evm/gas.ts";
import type { DeliveryRow, ForeignReceipt, MessageRow } from "../../ledger/ledger.ts";
import type { RelayDeps, Settling } from "../leg.ts";
import { endAll, parseRow, transition } from "../messages.ts";
import { MAX_RECEIPTS_AT_ONCE, recordSeenDelivery } from "../receipts.ts";

/** Marks found receipts, and those missing when they were to be proved, as final, or reverts them; true when a message has to be delivered again. */
export async function confirmFoundReceipts(
  context: Settling,
): Promise<boolean> {
  const { target, signal, ledger } = context;
  const found = ledger.deliveries.listFoundNotFinal(target.id.stateMachine)
    .flatMap((delivery) => {
      const message = ledger.messages.findDelivered(delivery.commitment, delivery.dest);
      return message === undefined ? [] : [{ delivery, message }];
    });
  if (found.length === 0) return false;
  const finalHeight = await target.reads.fetchFinalHeight(signal);
  const isFinal = ({ delivery }: typeof found[number]): boolean => delivery.block.height <= finalHeight;
  const due = found.filter(isFinal).slice(0, MAX_RECEIPTS_AT_ONCE);
  if (due.length === 0) return false;
  const messages = due.map(({ message }) => parseRow(message));
  const height = highest(0n, ...due.map(({ delivery }) => delivery.block.height));
  const receipts = await target.certain.fetchCertainReceipts(messages, { height }, signal);
  return ledger.transaction(() =>
    due.filter((entry, index) => {
      const receipt = receipts[index];
      return receipt?.kind === "certain" && !confirmOne(context, { ...entry, finalHeight }, receipt.value);
    }).length > 0
  );
}

/** Confirms one receipt; false when it is gone or names another relayer. */
function confirmOne(
  context: RelayDeps,
  { delivery, message, finalHeight }: {
    readonly delivery: DeliveryRow;
    readonly message: MessageRow;
    readonly finalHeight: bigint;
  },
  receipt: Uint8Array | undefined,
): boolean {
  if (receipt !== undefined && equalBytes(receipt, delivery.relayer)) {
    context.ledger.deliveries.markFinal(delivery.commitment, delivery.dest, finalHeight);
    return true;
  }
  context.ledger.deliveries.remove(delivery.commitment, delivery.dest);
  if (message.state !== "delivered") return false;
  if (receipt === undefined) {
    transition(context, message, { to: "ready", detail: "the receipt is gone" });
  } else {
    endAll(context, [message], { to: "delivered_by_other", seenAt: finalHeight });
  }
  return false;
}

/**
 * Reads receipts of other relayers again once the height is final at which they were seen, a hundred at most: where there
 * is none any more, the message is due again, and one of ours becomes a delivery. A reorganisation may also have moved a
 * receipt to a later block: it counts as final when it is seen a second time, behind that. True when a message has to be
 * delivered again. May throw an `RpcFault`.
 */
export async function confirmForeignReceipts(context: Settling): Promise<boolean> {
  const { target: { id: { stateMachine: chain }, reads, certain }, ledger, signal } = context;
  const seen = ledger.foreignReceipts.list(chain, MAX_RECEIPTS_AT_ONCE);
  if (seen.length === 0) return false;
  const finalHeight = await reads.fetchFinalHeight(signal);
  const due = seen.filter(({ height }) => height <= finalHeight);
  const rows = ledger.messages.findAll(due.map(({ commitment }) => commitment), chain);
  const found = due.flatMap((receipt, index) => {
    const row = rows[index];
    return row === undefined ? [] : [{ receipt, row }];
  });
  if (found.length === 0) return false;
  const head = await reads.fetchHeight(signal);
  const since = { height: highest(0n, ...found.map(({ receipt: { height } }) => height)) };
  const now = await certain.fetchCertainReceipts(found.map(({ row }) => parseRow(row)), since, signal);
  return ledger.transaction(() =>
    found.filter((each, index) => {
      const receipt = now[index];
      return receipt?.kind === "certain" && !confirmForeign(context, { ...each, head }, receipt.value);
    }).length > 0
  );
}

/** Confirms the receipt of another relayer; false when its message has to be delivered again. */
function confirmForeign(
  context: Settling,
  { receipt: { commitment, isSeenAgain }, row, head }: {
    readonly receipt: ForeignReceipt;
    readonly row: MessageRow;
    readonly head: bigint;
  },
  relayer: Uint8Array | undefined,
): boolean {
  const { target, ledger: { foreignReceipts, messages }, clock } = context;
  const isOurs = relayer !== undefined && target.relayer !== undefined && equalBytes(relayer, target.relayer);
  if (relayer !== undefined && !isOurs && !isSeenAgain) {
    foreignReceipts.record(row.target, { commitment, height: head, isSeenAgain: true });
    return true;
  }
  foreignReceipts.remove(commitment, row.target);
  const old = messages.find(commitment, row.target);
  if (old?.state !== "delivered_by_other") return true;
  if (isOurs) {
    recordSeenDelivery(context, { commitment: row.requestCommitment, target: row.target, head, relayer });
  }
  if (relayer !== undefined) return true;
  const detail = "the receipt of another relayer is gone";
  transition(context, old, { to: "ready", detail, nextAttemptAtMs: clock.now() });
  return false;
}
