/**
 * Receipts on the target, ours or another relayer's: they end messages, and ours become delivery records, from which
 * fees are claimed.
 */
import { UNSURE } from "../../core/chains/reads.ts";
import {
  type DeliveredMessage,
  type DeliveryReceipt,
  type DeliveryRow,
  isTerminal,
  type MessageRow,
} from "../ledger/ledger.ts";
import { logSettled } from "../message_log.ts";
import { equalBytes, type Hash256, toHex } from "../../core/encoding/bytes.ts";
import { highest } from "../../core/chains/evm/gas.ts";
import type { Message } from "../../core/ismp/message.ts";
import {
  legName,
  type LegRun,
  type RelayContext,
  type RelayDeps,
  type Settling,
  type TargetContext,
} from "./leg.ts";
import {
  type Candidate,
  hold,
  parseRow,
  stillOpen,
  toCandidate,
  toEndState,
  transition,
} from "./messages.ts";
import { rememberCompetitors } from "./limits/competitors.ts";
import { recordRequestReward } from "../fees/rewards/reward_record.ts";

/**
 * Ends the candidates that have a receipt and returns the others: receipts are confirmed first, and a message waits if
 * endpoints disagree about its receipt.
 */
export async function endDelivered(
  leg: LegRun,
  work: {
    readonly candidates: readonly Candidate[];
    readonly receipts: readonly (Uint8Array | undefined)[];
  },
): Promise<readonly Candidate[]> {
  const seen = work.candidates.filter((_, index) => work.receipts[index] !== undefined);
  if (seen.length === 0) return stillOpen(leg, work.candidates);
  const certain = await leg.target.certain.fetchCertainReceipts(
    seen.map(({ message }) => message),
    {},
    leg.signal,
  );
  const certainOf = new Map(seen.map(({ message }, index) => [message, certain[index] ?? UNSURE]));
  const open = await endConfirmed(leg, {
    candidates: work.candidates,
    receiptOf: (message) => {
      const found = certainOf.get(message);
      return found?.kind === "certain" ? found.value : undefined;
    },
  });
  const doubtful = open.filter(({ message }) => certainOf.get(message)?.kind === "unsure");
  leg.ledger.transaction(() => {
    for (const { row } of stillOpen(leg, doubtful)) {
      const detail = "its receipt is not confirmed yet";
      hold(leg, row, { reason: "race", retryClass: "transient", detail });
    }
  });
  return open.filter((candidate) => !doubtful.includes(candidate));
}

/**
 * Ends the candidates that have a receipt, which must be certain, and returns the others. A receipt of ours without a
 * transaction in the journal (a lost database, say) becomes a delivery record whose block is the head at which it was
 * seen.
 */
async function endConfirmed(
  leg: LegRun,
  work: {
    readonly candidates: readonly Candidate[];
    readonly receiptOf: (message: Message) => Uint8Array | undefined;
  },
): Promise<readonly Candidate[]> {
  const { receiptOf } = work;
  if (work.candidates.every(({ message }) => receiptOf(message) === undefined)) {
    return stillOpen(leg, work.candidates);
  }
  const head = await leg.target.reads.fetchHeight(leg.signal);
  return leg.ledger.transaction(() => {
    const candidates = stillOpen(leg, work.candidates);
    const others: Uint8Array[] = [];
    const ended: MessageRow[] = [];
    for (const { row, message } of candidates) {
      const relayer = receiptOf(message);
      if (relayer === undefined) continue;
      const isOurs = leg.target.relayer !== undefined && equalBytes(relayer, leg.target.relayer);
      if (isOurs) recordFoundReceipt(leg, row, { relayer, head });
      else if (row.reason !== "gated") others.push(relayer);
      const end = toEndState(isOurs ? "delivered" : "delivered_by_other");
      ended.push(transition(leg, row, { to: end.state, reason: end.reason }));
    }
    rememberCompetitors(leg, { relayers: others, isLoss: false });
    for (const to of ["delivered", "delivered_by_other"] as const) {
      logSettled(leg.log, to, ended.filter(({ state }) => state === to));
    }
    return candidates.filter(({ message }) => receiptOf(message) === undefined);
  });
}

/** Maximum number of receipts read at once. */
const MAX_RECEIPTS_AT_ONCE = 100;

/**
 * Ends every open row of the leg whose request has timed out: delivered where the target has a receipt (after a lost
 * database there may be one of ours, with a fee to claim), timed out otherwise. Receipts are read at a block past the
 * timeouts, after which there can be no more deliveries; rows whose receipts are not certain yet stay for the next
 * round. May throw an `RpcFault`.
 * @param nowSec the target's own clock, Unix seconds
 */
export async function expire(
  leg: LegRun,
  nowSec: bigint,
): Promise<void> {
  const source = leg.source.id.stateMachine;
  const target = leg.target.id.stateMachine;
  for (;;) {
    const rows = leg.ledger.messages.listExpired({ source, target, nowSec, limit: MAX_RECEIPTS_AT_ONCE });
    if (rows.length === 0) return;
    // An unreadable row has no receipt to read: it ends with its timeout.
    const candidates = rows.flatMap((row) => toCandidate(row));
    const timeSec = highest(0n, ...rows.map((row) => row.timeoutSec));
    const found = await leg.target.certain.fetchCertainReceipts(
      candidates.map(({ message }) => message),
      { timeSec },
      leg.signal,
    );
    const unsure = new Set<Hash256>();
    const relayerOf = new Map<Message, Uint8Array>();
    for (const [index, { row, message }] of candidates.entries()) {
      const receipt = found[index] ?? UNSURE;
      if (receipt.kind === "unsure") unsure.add(row.commitment);
      else if (receipt.value !== undefined) relayerOf.set(message, receipt.value);
    }
    const receiptOf = (message: Message): Uint8Array | undefined => relayerOf.get(message);
    await endConfirmed(leg, { candidates, receiptOf });
    leg.ledger.transaction(() => {
      const expired = leg.ledger.messages.findAll(rows.map(({ commitment }) => commitment), target)
        .filter((row) => row !== undefined)
        .filter(({ commitment, state }) =>
          state !== "submitted" && !isTerminal(state) && !unsure.has(commitment)
        );
      for (const row of expired) transition(leg, row, { to: "timed_out", reason: "expired" });
      logSettled(leg.log, "timed_out", expired);
    });
    if (unsure.size > 0) {
      const fields = { leg: legName(leg), messages: unsure.size };
      leg.log.debug("read_failed.receipts", fields);
      return;
    }
  }
}

/** Records deliveries of ours with one receipt each and one block. Call it within a ledger transaction. */
export function recordDeliveries(
  context: RelayContext,
  messages: readonly MessageRow[],
  receipt: DeliveryReceipt,
): void {
  const delivered = messages.map((message) => toDelivered(context, message, receipt));
  context.ledger.deliveries.recordAll(delivered, receipt);
}

/** The record of a delivered message. Its reward, if it has one, is recorded at once. */
function toDelivered(
  context: RelayContext,
  message: MessageRow,
  receipt: DeliveryReceipt,
): DeliveredMessage {
  const { requestCommitment, target } = message;
  const { hub } = context.settings;
  const listed = context.settings.listedModules();
  // Most modules have no reward, so that their messages need not be read.
  if (message.requestSource === hub && message.kind === "post" && listed?.has(toHex(message.module))) {
    const delivery = { message: parseRow(message), chain: target, height: receipt.block.height };
    recordRequestReward(context.ledger, delivery, { hub, listed });
  }
  // Only requests from chain to chain carry a fee that the hub credits.
  const isPaid = message.kind === "post" && message.requestDest === target &&
    message.requestSource !== hub && target !== hub;
  const source = message.requestSource;
  return { commitment: requestCommitment, dest: target, source, isPaid };
}

/**
 * Records a receipt of ours without a transaction in the journal, unless the delivery is already known. `head` is the
 * target's height at which it was seen; settling confirms it once that is final.
 */
export function recordFoundReceipt(
  context: RelayContext,
  message: MessageRow,
  found: { readonly relayer: Uint8Array; readonly head: bigint },
): void {
  if (context.ledger.deliveries.find(message.requestCommitment, message.target) !== undefined) return;
  const block = { height: found.head, hash: undefined };
  recordDeliveries(context, [message], {
    relayer: found.relayer,
    txHash: undefined,
    block,
    isFinal: false,
  });
}

/**
 * Records a receipt of ours of a message that ended otherwise: with another relayer's delivery that is gone, or in a
 * database that was lost. What is open finds its receipt by itself.
 * @param seen.commitment of the request
 */
export function recordSeenDelivery(
  context: RelayContext,
  seen: Pick<MessageRow, "commitment" | "target"> & { readonly relayer: Uint8Array; readonly head: bigint },
): void {
  const message = context.ledger.messages.findDelivered(seen.commitment, seen.target);
  if (message === undefined || !isTerminal(message.state)) return;
  recordFoundReceipt(context, message, seen);
  const end = { reason: toEndState("delivered").reason, detail: "the receipt is ours" };
  if (message.state === "delivered_by_other") transition(context, message, { to: "delivered", ...end });
}

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
