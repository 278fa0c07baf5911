/** Records our receipts as deliveries, from which fees are claimed. */
import type { DeliveryBlock, MessageRow } from "../ledger/ledger.ts";
import type { Hash256 } from "../../core/encoding/bytes.ts";
import { recordRequestReward } from "../fees/reward_record.ts";
import type { PipelineDeps, PipelineSettings } from "./leg.ts";
import { parseRow } from "./message_row.ts";

/** Receipt of ours on the target of a message. */
export interface OwnReceipt {
  readonly relayer: Uint8Array;
  /** Transaction that delivered it; `undefined` when only the receipt is known. */
  readonly txHash: Hash256 | undefined;
  readonly block: DeliveryBlock;
  readonly isFinal: boolean;
}

/** Records a delivery of ours. Call it within a ledger transaction. */
export function recordDelivery(
  deps: PipelineDeps,
  settings: Pick<PipelineSettings, "hub" | "listedModules">,
  message: MessageRow,
  receipt: OwnReceipt,
): void {
  const { deliveries } = deps.ledger;
  const { requestCommitment, target } = message;
  if (message.requestSource === settings.hub && message.kind === "post") {
    const delivery = { message: parseRow(message), chain: target, height: receipt.block.height };
    recordRequestReward(deps.ledger, delivery, { hub: settings.hub, listed: settings.listedModules() });
  }
  // Only requests from chain to chain carry a fee that the hub credits.
  const isPaid = message.kind === "post" && message.requestDest === target &&
    message.requestSource !== settings.hub && target !== settings.hub;
  const source = message.requestSource;
  deliveries.record({ commitment: requestCommitment, dest: target, source, isPaid, ...receipt });
}

/**
 * Records a receipt of ours without a transaction in the journal, unless the delivery is already known. `head` is the
 * target's height at which it was seen; settling confirms it once that is final.
 */
export function recordFoundReceipt(
  deps: PipelineDeps,
  settings: Pick<PipelineSettings, "hub" | "listedModules">,
  message: MessageRow,
  found: { readonly relayer: Uint8Array; readonly head: bigint },
): void {
  if (deps.ledger.deliveries.find(message.requestCommitment, message.target) !== undefined) return;
  const block = { height: found.head, hash: undefined };
  recordDelivery(deps, settings, message, {
    relayer: found.relayer,
    txHash: undefined,
    block,
    isFinal: false,
  });
}
