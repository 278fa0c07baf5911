/**
 * Receipts that were seen before their blocks were final, ours without a transaction in the journal and those of other
 * relayers, are read again when they should be: a reorganisation may have removed them.
 */
import { equalBytes } from "../../../core/encoding/bytes.ts";
import { highest } from "../../../core/chains/evm/gas.ts";
import type { DeliveryRow, MessageRow } from "../../ledger/ledger.ts";
import type { RelayDeps, Settling, TargetContext } from "../leg.ts";
import { parseRow, toEndState, transition } from "../messages.ts";
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
  if (receipt === undefined) transition(context, message, { to: "ready", detail: "the receipt is gone" });
  else {
    const end = toEndState("delivered_by_other");
    transition(context, message, { to: end.state, reason: end.reason });
  }
  return false;
}

/**
 * Longer than any configured chain takes to finality, ms: the age of ended messages that are checked after a start, and
 * at which each is checked for the last time.
 */
const LOOKBACK_MS = 3_600_000;

/** Pause between last checks, ms. */
const LAST_CHECK_MS = 900_000;

/** Poll interval while a delivery is not final yet, ms. */
const POLL_INTERVAL_MS = 15_000;

/** Ended messages of one target, by the time of their end. */
interface Span {
  /** Exclusive. */
  readonly afterMs: number;
  readonly untilMs: number;
}

/**
 * Deliveries of other relayers on one target. They are checked when the block in which they were seen should be final.
 * A reorganisation may have put them into a later block meanwhile, and the next one may remove them from that: each is
 * checked a last time when every such block is final. Which ones were is in the ledger.
 */
export class CompetitorDeliveries {
  readonly #context: TargetContext;
  /** Everything that ended up to this time is final. */
  #finalUntilMs: number;
  /** Deliveries seen up to `untilMs` are final once `height` is. */
  #watched: { readonly untilMs: number; readonly height: bigint } | undefined;
  #pollAfterMs = 0;
  #lastCheckAfterMs: number;

  constructor(context: TargetContext) {
    this.#context = context;
    const nowMs = context.clock.now();
    this.#finalUntilMs = nowMs - LOOKBACK_MS;
    this.#lastCheckAfterMs = nowMs + LAST_CHECK_MS;
    if (context.ledger.meta.find(this.#key) === undefined) this.#noteChecked(this.#finalUntilMs);
  }

  /** Checks once, if it is time; true when a message has to be delivered again. May throw an `RpcFault`. */
  async check(signal: AbortSignal): Promise<boolean> {
    return await this.#checkLast(signal) || await this.#checkFinal(signal);
  }

  get #key(): string {
    return `deliveries of others checked on ${this.#context.target.id.stateMachine}`;
  }

  #noteChecked(untilMs: number): void {
    const { ledger } = this.#context;
    ledger.transaction(() => ledger.meta.write(this.#key, untilMs.toString()));
  }

  async #checkLast(signal: AbortSignal): Promise<boolean> {
    const nowMs = this.#context.clock.now();
    if (nowMs < this.#lastCheckAfterMs) return false;
    this.#lastCheckAfterMs = nowMs + LAST_CHECK_MS;
    const span = {
      afterMs: Number(this.#context.ledger.meta.find(this.#key) ?? 0),
      untilMs: nowMs - LOOKBACK_MS,
    };
    if (this.#page(span, 1).length === 0) {
      this.#noteChecked(span.untilMs);
      return false;
    }
    const height = await this.#context.target.reads.fetchFinalHeight(signal);
    const { hasChanges, isSure } = await this.#confirm(span, height, signal);
    if (isSure) this.#noteChecked(span.untilMs);
    return hasChanges;
  }

  async #checkFinal(signal: AbortSignal): Promise<boolean> {
    const nowMs = this.#context.clock.now();
    if (nowMs < this.#pollAfterMs) return false;
    this.#pollAfterMs = nowMs + POLL_INTERVAL_MS;
    if (this.#watched === undefined) {
      // Rows of the current millisecond may still be written.
      const untilMs = nowMs - 1;
      if (this.#page({ afterMs: this.#finalUntilMs, untilMs }, 1).length > 0) {
        this.#watched = { untilMs, height: await this.#context.target.reads.fetchHeight(signal) };
      }
      return false;
    }
    const { untilMs, height } = this.#watched;
    if (await this.#context.target.reads.fetchFinalHeight(signal) < height) return false;
    const span = { afterMs: this.#finalUntilMs, untilMs };
    const { hasChanges, isSure } = await this.#confirm(span, height, signal);
    if (!isSure) return hasChanges; // checked again later
    this.#finalUntilMs = untilMs;
    this.#watched = undefined;
    this.#pollAfterMs = 0;
    return hasChanges;
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
