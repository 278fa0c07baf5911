/**
 * Receipts that were seen before their blocks were final, ours without a transaction in the journal and those of other
 * relayers, are read again when they should be: a reorganisation may have removed them.
 */
import { equalBytes } from "../../../core/encoding/bytes.ts";
import { highest } from "../../../core/chains/evm/gas.ts";
import type { MessageRow } from "../../ledger/ledger.ts";
import type { Settling } from "../leg.ts";
import { endAll, parseRow, transition } from "../messages.ts";
import { MAX_RECEIPTS_AT_ONCE, recordSeenDelivery } from "../receipts.ts";

/** A receipt with its message. */
interface SeenReceipt {
  /** Height of the target at which it was seen. */
  readonly height: bigint;
  readonly row: MessageRow;
}

/** Heights of the target right before receipts are read again. */
interface TargetHeights {
  readonly finalHeight: bigint;
  readonly head: bigint;
}

/**
 * Reads those of the receipts again whose heights are final by now, a hundred at most. True when a message has to be
 * delivered again. May throw an `RpcFault`.
 * @param confirm records what a receipt says now; false: its message has to be delivered again
 */
async function readAgain<Seen extends SeenReceipt>(
  { target: { reads, certain }, ledger, signal }: Settling,
  seen: readonly Seen[],
  confirm: (each: Seen, relayer: Uint8Array | undefined, at: TargetHeights) => boolean,
): Promise<boolean> {
  if (seen.length === 0) return false;
  const finalHeight = await reads.fetchFinalHeight(signal);
  const due = seen.filter(({ height }) => height <= finalHeight).slice(0, MAX_RECEIPTS_AT_ONCE);
  if (due.length === 0) return false;
  const head = await reads.fetchHeight(signal);
  const since = { height: highest(0n, ...due.map(({ height }) => height)) };
  const receipts = await certain.fetchCertainReceipts(due.map(({ row }) => parseRow(row)), since, signal);
  return ledger.transaction(() =>
    due.filter((each, index) => {
      const receipt = receipts[index];
      return receipt?.kind === "certain" && !confirm(each, receipt.value, { finalHeight, head });
    }).length > 0
  );
}

/** Marks found receipts, and those missing when they were to be proved, as final, or reverts them; as {@link readAgain}. */
export function confirmFoundReceipts(context: Settling): Promise<boolean> {
  const { deliveries, messages } = context.ledger;
  const found = deliveries.listFoundNotFinal(context.target.id.stateMachine).flatMap((delivery) => {
    const row = messages.findDelivered(delivery.commitment, delivery.dest);
    return row === undefined ? [] : [{ delivery, row, height: delivery.block.height }];
  });
  return readAgain(context, found, ({ delivery: { commitment, dest, relayer }, row }, receipt, at) => {
    if (receipt !== undefined && equalBytes(receipt, relayer)) {
      deliveries.markFinal(commitment, dest, at.finalHeight);
      return true;
    }
    deliveries.remove(commitment, dest);
    if (row.state !== "delivered") return false;
    if (receipt === undefined) transition(context, row, { to: "ready", detail: "the receipt is gone" });
    else endAll(context, [row], { to: "delivered_by_other", seenAt: at.finalHeight });
    return false;
  });
}

/**
 * Reads receipts of other relayers again: where there is none any more, the message is due again, and one of ours
 * becomes a delivery. A reorganisation may also have moved a receipt to a later block: it counts as final when it is seen
 * a second time, behind that. As {@link readAgain}.
 */
export function confirmForeignReceipts(context: Settling): Promise<boolean> {
  const { target: { id: { stateMachine: chain }, relayer }, ledger, clock } = context;
  const { foreignReceipts, messages } = ledger;
  const seen = foreignReceipts.list(chain, MAX_RECEIPTS_AT_ONCE);
  const rows = messages.findAll(seen.map(({ commitment }) => commitment), chain);
  const found = seen.flatMap((receipt, index) => {
    const row = rows[index];
    return row === undefined ? [] : [{ ...receipt, row }];
  });
  return readAgain(context, found, ({ commitment, isSeenAgain, row }, receipt, { head }) => {
    const isOurs = receipt !== undefined && relayer !== undefined && equalBytes(receipt, relayer);
    if (receipt !== undefined && !isOurs && !isSeenAgain) {
      foreignReceipts.record(chain, { commitment, height: head, isSeenAgain: true });
      return true;
    }
    foreignReceipts.remove(commitment, chain);
    const old = messages.find(commitment, chain);
    if (old?.state !== "delivered_by_other") return true;
    if (isOurs) {
      recordSeenDelivery(context, {
        commitment: row.requestCommitment,
        target: chain,
        head,
        relayer: receipt,
      });
    }
    if (receipt !== undefined) return true;
    const detail = "the receipt of another relayer is gone";
    transition(context, old, { to: "ready", detail, nextAttemptAtMs: clock.now() });
    return false;
  });
}
