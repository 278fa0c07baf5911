/**
 * Receipts that were seen before their blocks were final, ours without a transaction in the journal and those of other
 * relayers, are read again when they should be: a reorganisation may have removed them.
 */
import { equalBytes } from "../../../core/encoding/bytes.ts";
import { highest } from "../../../core/chains/evm/gas.ts";
import type { DeliveryRow, MessageRow } from "../../ledger/ledger.ts";
import type { RelayDeps, Settling, TargetContext } from "../leg.ts";
import * as z from "zod";
import { keepOn } from "../limits/spending.ts";
import { endReasons, parseRow, transition } from "../messages.ts";
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
  transition(
    context,
    message,
    receipt === undefined
      ? { to: "ready", detail: "the receipt is gone" }
      : { to: "delivered_by_other", reason: endReasons.delivered_by_other },
  );
  return false;
}

/** Age of ended messages that are checked where it is not noted which ones were, ms. */
const LOOKBACK_MS = 3_600_000;

/** Poll interval while a delivery is not final yet, ms. */
const POLL_INTERVAL_MS = 15_000;

/** Ended messages of one target, by the time of their end. */
interface Span {
  /** Exclusive. */
  readonly afterMs: number;
  readonly untilMs: number;
}

/** Everything that ended up to this time is final, Unix ms. */
const checked = keepOn("deliveries of others checked", z.number());

/**
 * Deliveries of other relayers on one target. They are checked when the block in which they were seen should be final.
 * A reorganisation may have put them into a later block meanwhile, and the next one may remove them from that: so they
 * are checked again when the newest block of the first check is final.
 */
export class CompetitorDeliveries {
  readonly #context: TargetContext;
  /** Deliveries seen up to `untilMs` are checked once `height` is final, for the second time where `isAgain`. */
  #watched: { readonly untilMs: number; readonly height: bigint; readonly isAgain: boolean } | undefined;
  #pollAfterMs = 0;

  constructor(context: TargetContext) {
    this.#context = context;
    if (checked.read(context) === undefined) this.#noteChecked(context.clock.now() - LOOKBACK_MS);
  }

  /** Checks once, if it is time; true when a message has to be delivered again. May throw an `RpcFault`. */
  async check(signal: AbortSignal): Promise<boolean> {
    const { clock, target: { reads } } = this.#context;
    const nowMs = clock.now();
    if (nowMs < this.#pollAfterMs) return false;
    this.#pollAfterMs = nowMs + POLL_INTERVAL_MS;
    const afterMs = checked.read(this.#context) ?? 0;
    if (this.#watched === undefined) {
      // Rows of the current millisecond may still be written.
      const untilMs = nowMs - 1;
      if (this.#page({ afterMs, untilMs }, 1).length > 0) {
        this.#watched = { untilMs, height: await reads.fetchHeight(signal), isAgain: false };
      } else if (afterMs > untilMs || untilMs - afterMs > 2 * LOOKBACK_MS) {
        // What a clock that was ahead has noted hides nothing, and no search reads days without such a delivery.
        this.#noteChecked(untilMs - LOOKBACK_MS);
      }
      return false;
    }
    const { untilMs, height, isAgain } = this.#watched;
    if (await reads.fetchFinalHeight(signal) < height) return false;
    const head = isAgain ? height : await reads.fetchHeight(signal);
    const { hasChanges, isSure } = await this.#confirm({ afterMs, untilMs }, height, signal);
    if (!isSure) return hasChanges; // checked again later
    if (isAgain) this.#noteChecked(untilMs);
    this.#watched = isAgain ? undefined : { untilMs, height: head, isAgain: true };
    return hasChanges;
  }

  #noteChecked(untilMs: number): void {
    this.#context.ledger.transaction(() => checked.write(this.#context, untilMs));
  }

  #page(span: Span, limit: number, afterKey?: MessageRow): readonly MessageRow[] {
    const target = this.#context.target.id.stateMachine;
    return this.#context.ledger.messages.listDeliveredByOther({ ...span, target, limit, afterKey });
  }

  /** Reads the receipts of messages that ended then; those that certainly have none at `height` are due again. */
  async #confirm(
    span: Span,
    height: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly hasChanges: boolean; readonly isSure: boolean }> {
    const { target, ledger } = this.#context;
    let hasChanges = false;
    let isSure = true;
    let last: MessageRow | undefined;
    for (;;) {
      const rows = this.#page(span, MAX_RECEIPTS_AT_ONCE, last);
      if (rows.length === 0) return { hasChanges, isSure };
      last = rows.at(-1);
      const receipts = await target.reads.fetchReceipts(rows.map(parseRow), signal);
      const doubtful = rows.filter((_, index) => !this.#isOfOther(receipts[index]));
      if (doubtful.length === 0) continue;
      // A lagging node has not seen them yet: delivering again would waste gas.
      const messages = doubtful.map(parseRow);
      const certain = await target.certain.fetchCertainReceipts(messages, { height }, signal);
      if (certain.some(({ kind }) => kind === "unsure")) isSure = false;
      ledger.transaction(() => {
        for (const [index, row] of doubtful.entries()) {
          const receipt = certain[index];
          if (receipt?.kind !== "certain" || this.#isOfOther(receipt.value)) continue;
          if (receipt.value === undefined) hasChanges = true;
          this.#correct(row, receipt.value, height);
        }
      });
    }
  }

  #isOfOther(receipt: Uint8Array | undefined): boolean {
    const { relayer } = this.#context.target;
    return receipt !== undefined && (relayer === undefined || !equalBytes(receipt, relayer));
  }

  /** Makes a message due again whose delivery was reorganised away, and records it where it turns out to be ours. */
  #correct({ commitment, target }: MessageRow, relayer: Uint8Array | undefined, head: bigint): void {
    const { ledger, clock } = this.#context;
    const row = ledger.messages.find(commitment, target);
    if (row?.state !== "delivered_by_other") return;
    const seen = { commitment: row.requestCommitment, target, head };
    if (relayer !== undefined) return recordSeenDelivery(this.#context, { ...seen, relayer });
    const detail = "the receipt of another relayer is gone";
    transition(this.#context, row, { to: "ready", detail, nextAttemptAtMs: clock.now() });
  }
}
