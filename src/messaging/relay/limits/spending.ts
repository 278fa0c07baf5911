/**
 * Money spent on a target: the rule by which a batch may be sent, the cost and revenue of each mined transaction,
 * `maximum_daily_loss`, and an account that cannot pay. Kept in the ledger, so that it survives restarts and legs and
 * settling agree. What counts as lost is in `messaging/ledger/spending.ts`.
 */
import type { Refusal, SpentGas, SubmissionOutcome } from "../../../core/chains/submission.ts";
import type {
  Allowance,
  MessageRow,
  NoteTopic,
  SpendingResult,
  SpendingRow,
  SubmissionItemRow,
  SubmissionRow,
} from "../../ledger/ledger.ts";
import type { PriceSource } from "../../../core/pricing/price_source.ts";
import { formatDecimal } from "../../../core/encoding/bytes.ts";
import type { Leg, RelayContext, Settling, TargetContext } from "../leg.ts";
import { findOwnPayment } from "../messages.ts";
import * as z from "zod";
import { DAY_MS, lossBoundWei, type PlannedCost } from "../../../core/pricing/loss_bound.ts";
import { waitNoticeMs } from "../../../core/runtime/waiting.ts";
import { type Finding, UNFUNDED_PAUSE_MS } from "../decisions/retry_schedule.ts";

/** Cost of a mined transaction, and the price of the native token at that time. */
export interface Paid {
  readonly gas: SpentGas;
  readonly price27: bigint | undefined;
}

/** Decides the rule by which the messages of a batch are sent, from their current rows. */
export function decideAllowance(
  leg: Leg,
  rows: readonly MessageRow[],
): Allowance | undefined {
  if (leg.target.gas === undefined) return { rule: "free" };
  if (leg.profit === undefined || leg.profit.minimumPercent === 0) return { rule: "no_minimum" };
  // The budget of our own payments is no revenue.
  const offers = rows.filter((row) => findOwnPayment(leg, row) === undefined)
    .flatMap(({ offeredUsd18 }) => offeredUsd18 === undefined ? [] : [offeredUsd18]);
  const offeredUsd18 = offers.reduce((sum, offer) => sum + offer, 0n);
  return { rule: offers.length === rows.length ? "profit" : "always", offeredUsd18 };
}

/** Reads the cost of the transaction; `undefined`: it was free. */
export async function readPaid(
  { profit, signal }: Settling,
  outcome: Extract<SubmissionOutcome, { kind: "included" }>,
): Promise<Paid | undefined> {
  const gas = outcome.spent;
  if (gas === undefined) return undefined;
  const isFree = gas.gasUsed * gas.gasPriceWei === 0n && gas.dataCostWei === 0n;
  return { gas, price27: isFree ? undefined : (await profit?.price.fetchPrice(signal))?.price27 };
}

/**
 * Records the cost and revenue of a mined transaction, once the outcomes of its items are recorded. Part of that ledger
 * transaction.
 */
export function noteSpent(
  context: RelayContext,
  row: SubmissionRow,
  outcome: {
    /** Its cost; `undefined`: it was free, or that is known already. */
    readonly paid: Paid | undefined;
    readonly advancedClient: boolean | undefined;
    /** Why it was reverted, if it was. */
    readonly reverted?: "lost_race" | "reverted";
  },
): void {
  const { paid } = outcome;
  if (paid === undefined) return;
  const items = context.ledger.submissions.itemsOf(row.id);
  const result = outcome.reverted ?? classifyResult(row, items, outcome.advancedClient);
  context.ledger.spending.note(row.id, {
    ...paid,
    result,
    revenueUsd18: sumRevenue(context, row, result),
  });
}

function classifyResult(
  row: SubmissionRow,
  items: readonly SubmissionItemRow[],
  advancedClient: boolean | undefined,
): SpendingResult {
  if (row.kind === "cancel") return "cancelled";
  if (items.length === 0) return advancedClient === false ? "already_known" : "advanced";
  // A host reverts what is delivered already: a message that another relayer delivers came after this one.
  return items.some(({ outcome }) => outcome === "handled") ? "delivered" : "not_executed";
}

/** Sums the offers of the delivered messages as last recorded; `undefined`: their fees have not been read yet. */
function sumRevenue(
  context: RelayContext,
  row: SubmissionRow,
  result: SpendingResult,
): bigint | undefined {
  const allowance = context.ledger.spending.find(row.id);
  // Fees behind proofs that went ahead are the revenue of their messages.
  if (result === "advanced") return allowance?.rule === "profit" ? 0n : allowance?.offeredUsd18 ?? 0n;
  if (result !== "delivered") return 0n;
  if (allowance?.offeredUsd18 === undefined) return undefined;
  const handled = context.ledger.submissions.itemsOf(row.id).flatMap(({ commitment, outcome }) =>
    outcome === "handled" ? [commitment] : []
  );
  return context.ledger.messages.findAll(handled, row.submission.chain)
    .flatMap((message) =>
      message === undefined || findOwnPayment(context, message) !== undefined ? [] : [message]
    )
    .reduce((sum, { offeredUsd18 = 0n }) => sum + offeredUsd18, 0n);
}

/** Interval between reports of a stopped chain, ms. */
const REPORT_INTERVAL_MS = 3_600_000;

/** Pause before an unknown price is requested again, ms. */
const UNPRICED_PAUSE_MS = 60_000;

/** Pause after a transaction that what is left of the limit does not cover, ms: others may be settled by then. */
const UNCOVERED_PAUSE_MS = 60_000;

/** Time without such a transaction after which the stop counts as over, ms. */
const UNCOVERED_QUIET_MS = 600_000;

/** A value about a target that is kept in the ledger. */
export interface Kept<T> {
  read(context: KeptContext): T | undefined;
  /** `undefined` removes it. */
  write(context: KeptContext, value: T | undefined): void;
}

/** Where such a value is kept. */
interface KeptContext {
  readonly ledger: Pick<TargetContext["ledger"], "notes">;
  readonly target: { readonly id: Pick<TargetContext["target"]["id"], "stateMachine"> };
}

/** Keeps a value of that shape for each target. */
export function keepOn<T>(topic: NoteTopic, schema: z.ZodType<T>): Kept<T> {
  return {
    read: ({ ledger, target }) => ledger.notes.find(topic, target.id.stateMachine, schema),
    write: ({ ledger, target }, value) => ledger.notes.write(topic, target.id.stateMachine, value),
  };
}

const stopShape = z.object({
  /** Nothing is signed before this time. */
  untilMs: z.number(),
  lastReportedMs: z.number(),
});

const stop = keepOn(
  "loss_stop",
  /** True: the limit is not reached, but a transaction might exceed it. */
  stopShape.extend({ isAhead: z.boolean().default(false) }),
);

/** When a stop was reported last, and whether it is again now. */
function reportOf(
  old: z.infer<typeof stopShape> | undefined,
  nowMs: number,
  everyMs: number,
): { readonly isDue: boolean; readonly lastReportedMs: number } {
  const isDue = old === undefined || nowMs - old.lastReportedMs >= everyMs;
  return { isDue, lastReportedMs: isDue ? nowMs : old.lastReportedMs };
}

/** Reason why nothing is signed while the price of the native token is unknown. */
const UNPRICED = "the price of the native token is unknown, so that losses cannot be compared with the limit";

/** Maximum gas price that a loss limit allows. */
export interface LossBound {
  /** Per unit of gas. */
  readonly wei: bigint;
  /** True when no transaction may be signed, however small. */
  readonly isExhausted: boolean;
  /** Reason why a higher price is not offered. */
  readonly because: string;
}

/**
 * Computes the maximum gas price that what is left of `maximum_daily_loss` covers if the transaction and all that are
 * under way were lost; `undefined`: no limit.
 */
export async function boundByLosses(
  context: TargetContext & { readonly signal: AbortSignal },
  price: PriceSource | undefined,
  { gasLimit, dataCostWei, nonce }: PlannedCost,
): Promise<LossBound | undefined> {
  const { settings: { maxDailyLossMicroUsd: limitMicroUsd }, target, ledger } = context;
  if (limitMicroUsd === undefined || target.gas === undefined) return undefined;
  const price27 = (await price?.fetchPrice(context.signal))?.price27;
  if (price27 === undefined) return { wei: 0n, isExhausted: true, because: UNPRICED };
  const chain = target.id.stateMachine;
  const { lossMicroUsd } = ledger.spending.sumLoss(chain, context.clock.now() - DAY_MS);
  const facts = { limitMicroUsd, lossMicroUsd, pendingWei: sumPending(context, nonce), price27 };
  return {
    wei: lossBoundWei({ ...facts, dataCostWei, gasLimit }),
    isExhausted: lossBoundWei({ ...facts, dataCostWei: 0n, gasLimit: 1n }) === 0n,
    because: "what is left of maximum_daily_loss does not cover it",
  };
}

/** Maximum cost of the transactions under way, wei; of one nonce that of the dearest. */
function sumPending({ ledger, target }: TargetContext, without: bigint | undefined): bigint {
  const byNonce = new Map<bigint, bigint>();
  for (const { id, nonce } of ledger.submissions.listInFlight(target.id.stateMachine)) {
    if (nonce === undefined || nonce === without) continue;
    const costWei = ledger.spending.find(id)?.maxCostWei ?? 0n;
    if (costWei > (byNonce.get(nonce) ?? 0n)) byNonce.set(nonce, costWei);
  }
  return [...byNonce.values()].reduce((sum, costWei) => sum + costWei, 0n);
}

/** Stops signing for a minute after a transaction that the limit does not allow. */
export function stopUncovered(context: TargetContext, because: string): void {
  const untilMs = context.clock.now() + UNCOVERED_PAUSE_MS;
  stopSpending(context, { untilMs, isAhead: true }, { because });
}

/** What a spending stop is read with. */
interface StopContext extends KeptContext {
  readonly clock: Pick<TargetContext["clock"], "now">;
}

/** Finds the end of the chain's spending stop, Unix milliseconds; `undefined`: there is none. */
export function findSpendingStop(
  context: StopContext,
): { readonly untilMs: number } | undefined {
  const found = stop.read(context);
  return found !== undefined && context.clock.now() < found.untilMs ? { untilMs: found.untilMs } : undefined;
}

/** Interval for reading the receipts of messages that wait for the end of a loss limit, ms. */
const RECEIPTS_PAUSE_MS = 10 * 60_000;

/** Finds why nothing may be spent on the target now; `undefined`: it may. */
export function findUnspendable(context: TargetContext): Finding | undefined {
  const stop = findSpendingStop(context);
  if (stop !== undefined) {
    return { reason: "loss_limit", untilMs: Math.min(stop.untilMs, context.clock.now() + RECEIPTS_PAUSE_MS) };
  }
  return isUnfunded(context) ? { reason: "unfunded", retryClass: "unfunded" } : undefined;
}

/** Compares the losses of the last day with the limit, and stops or resumes spending. */
export async function reviewLoss(
  context: Settling,
): Promise<void> {
  const { settings: { maxDailyLossMicroUsd: limit }, target } = context;
  const chain = target.id.stateMachine;
  if (target.gas === undefined) return;
  if (limit === undefined) return resumeSpending(context);
  const nowMs = context.clock.now();
  const { spending } = context.ledger;
  if (spending.sumLoss(chain, nowMs - DAY_MS).unpriced > 0) {
    const price27 = (await context.profit?.price.fetchPrice(context.signal))?.price27;
    if (price27 === undefined) {
      const end = { untilMs: nowMs + UNPRICED_PAUSE_MS, isAhead: false };
      return stopSpending(context, end, { because: UNPRICED });
    }
    context.ledger.transaction(() => spending.price(chain, price27));
  }
  const { lossMicroUsd } = spending.sumLoss(chain, nowMs - DAY_MS);
  if (lossMicroUsd < limit) {
    const old = stop.read(context);
    const isQuiet = old?.isAhead !== true || nowMs >= old.untilMs + UNCOVERED_QUIET_MS;
    return isQuiet ? resumeSpending(context) : undefined;
  }
  const untilMs = stoppedUntilMs(spending.listMined(chain, nowMs - DAY_MS), limit);
  if (untilMs === undefined) throw new Error("A reached loss limit has no end");
  stopSpending(context, { untilMs, isAhead: false }, {
    lostUsd: formatDecimal(lossMicroUsd, 6),
    limitUsd: formatDecimal(limit, 6),
  });
}

function stopSpending(
  context: TargetContext,
  { untilMs, isAhead }: { readonly untilMs: number; readonly isAhead: boolean },
  why: Readonly<Record<string, string>>,
): void {
  const nowMs = context.clock.now();
  const { isDue, lastReportedMs } = reportOf(stop.read(context), nowMs, REPORT_INTERVAL_MS);
  stop.write(context, { untilMs, isAhead, lastReportedMs });
  if (!isDue) return;
  context.log.warn("loss_limit_reached", {
    chain: context.target.id.stateMachine,
    ...why,
    until: new Date(untilMs).toISOString(),
  });
}

function resumeSpending(context: TargetContext): void {
  const chain = context.target.id.stateMachine;
  if (stop.read(context) === undefined) return;
  context.ledger.transaction(() => {
    stop.write(context, undefined);
    context.ledger.messages.wakeMatching({ target: chain, reasons: ["loss_limit"] });
  });
  context.log.info("loss_limit_cleared", { chain });
}

const unfunded = keepOn("unfunded", stopShape.extend({ sinceMs: z.number() }));

/** Records that the account cannot pay, and reports the shortfall once per interval. Not within a transaction. */
export function suspendUnfunded(context: TargetContext, detail: string): void {
  const nowMs = context.clock.now();
  const old = unfunded.read(context);
  const { isDue, lastReportedMs } = reportOf(old, nowMs, waitNoticeMs);
  const sinceMs = old?.sinceMs ?? nowMs;
  unfunded.write(context, { sinceMs, lastReportedMs, untilMs: nowMs + UNFUNDED_PAUSE_MS });
  if (!isDue) return;
  context.log.warn("balance_insufficient", {
    chain: context.target.id.stateMachine,
    detail,
    waitedSec: Math.round((nowMs - sinceMs) / 1000),
  });
}

/** Suspends the target if it refuses for lack of funds; true in that case. */
export function noteRefusedFunds(context: TargetContext, refusal: Refusal): boolean {
  if (refusal.code !== "insufficient_funds") return false;
  suspendUnfunded(context, refusal.detail);
  return true;
}

/** True while nothing should be signed for the target. */
function isUnfunded(context: TargetContext): boolean {
  const found = unfunded.read(context);
  if (found === undefined) return false;
  const leftMs = found.untilMs - context.clock.now();
  // A longer wait was noted before the machine's clock was set back.
  return leftMs > 0 && leftMs <= UNFUNDED_PAUSE_MS;
}

/** Records that the chain accepted a transaction of ours: there are funds again. */
export function noteFunded(context: TargetContext): void {
  const old = unfunded.read(context);
  if (old === undefined) return;
  unfunded.write(context, undefined);
  context.log.info("balance_restored", {
    chain: context.target.id.stateMachine,
    waitedSec: Math.round((context.clock.now() - old.sinceMs) / 1000),
  });
}

/**
 * Computes when the losses of the last day will be below the limit again, Unix milliseconds, without further losses;
 * `undefined`: they are below it now.
 * @param rows of the last day, oldest first
 */
function stoppedUntilMs(
  rows: readonly Pick<SpendingRow, "lossMicroUsd" | "minedAtMs">[],
  limitMicroUsd: bigint,
): number | undefined {
  let left = rows.reduce((sum, { lossMicroUsd }) => sum + (lossMicroUsd ?? 0n), 0n);
  let untilMs: number | undefined;
  for (const { lossMicroUsd, minedAtMs } of rows) {
    if (left < limitMicroUsd) break;
    left -= lossMicroUsd ?? 0n;
    untilMs = (minedAtMs ?? 0) + DAY_MS;
  }
  return untilMs;
}
