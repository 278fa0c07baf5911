/**
 * Money spent on a target: the rule by which a batch may be sent, the cost and revenue of each mined transaction,
 * `maximum_daily_loss`, and an account that cannot pay. Kept in the ledger, so that it survives restarts and legs and
 * settling agree. What counts as lost is in `messaging/ledger/spending.ts`.
 */
import type { Chain, Refusal, SpentGas, SubmissionOutcome } from "../../../core/chains/port.ts";
import type {
  Allowance,
  MessageRow,
  SpendingResult,
  SubmissionItemRow,
  SubmissionRow,
} from "../../ledger/ledger.ts";
import type { PriceSource } from "../../pricing/price_source.ts";
import { toHash256 } from "../../../core/encoding/bytes.ts";
import type { Leg, PipelineDeps, Settling } from "../leg.ts";
import { z } from "zod";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { formatDecimal } from "../../../core/encoding/decimal.ts";
import { DAY_MS, stoppedUntilMs } from "../decisions/spending_summary.ts";
import { waitNoticeMs } from "../../../core/runtime/waiting.ts";
import { UNFUNDED_PAUSE_MS } from "../decisions/retry_schedule.ts";

/** Cost of a mined transaction, and the price of the native token at that time. */
export interface Paid {
  readonly gas: SpentGas;
  readonly price27: bigint | undefined;
}

/** Records the revenue that messages offer, as far as it could be read; their delivery is compared with it later. */
export function noteOffers(
  deps: PipelineDeps,
  target: Pick<Chain, "id">,
  offers: readonly { readonly id: string; readonly fee18: bigint | undefined }[],
): void {
  const known = offers.flatMap(({ id, fee18 }) =>
    fee18 === undefined ? [] : [{ commitment: toHash256(id), offeredUsd18: fee18 }]
  );
  if (known.length > 0) deps.ledger.messages.noteOffers(target.id.stateMachine, known);
}

/** True for the hub's POST that carries our own payment: its budget is not revenue. */
function isOwnPayment({ ledger }: PipelineDeps, { requestCommitment }: MessageRow): boolean {
  return ledger.withdrawals.findByCommitment(requestCommitment) !== undefined;
}

/** Decides the rule by which the messages of a batch are sent, from their current rows. */
export function decideAllowance(
  deps: PipelineDeps,
  { profit, target }: Leg,
  rows: readonly MessageRow[],
): Allowance | undefined {
  if (target.family !== "evm") return { rule: "free" };
  if (profit === undefined || profit.minimumPercent === 0) return { rule: "no_minimum" };
  const offers = rows.filter((row) => !isOwnPayment(deps, row))
    .flatMap(({ offeredUsd18 }) => offeredUsd18 === undefined ? [] : [offeredUsd18]);
  const offeredUsd18 = offers.reduce((sum, offer) => sum + offer, 0n);
  return { rule: offers.length === rows.length ? "profit" : "always", offeredUsd18 };
}

/** Reads the cost of the transaction; `undefined`: it was free. */
export async function readPaid(
  outcome: Extract<SubmissionOutcome, { kind: "included" }>,
  price: PriceSource | undefined,
  signal: AbortSignal,
): Promise<Paid | undefined> {
  const gas = outcome.spent;
  if (gas === undefined) return undefined;
  const isFree = gas.gasUsed * gas.gasPriceWei === 0n && gas.dataCostWei === 0n;
  const known = isFree ? undefined : await price?.fetchPrice(signal);
  return { gas, price27: known?.kind === "known" ? known.price27 : undefined };
}

/**
 * Records the cost and revenue of a mined transaction, once the outcomes of its items are recorded. Part of that ledger
 * transaction.
 * @param reverted why, when it was
 */
export function noteSpent(
  deps: PipelineDeps,
  row: SubmissionRow,
  paid: Paid | undefined,
  outcome: { readonly advancedClient: boolean | undefined; readonly reverted?: "lost_race" | "reverted" },
): void {
  if (paid === undefined) return;
  const items = deps.ledger.submissions.itemsOf(row.id);
  const result = outcome.reverted ?? resultOf(row, items, outcome.advancedClient);
  deps.ledger.spending.note(row.id, { ...paid, result, revenueUsd18: revenueOf(deps, row, items, result) });
}

function resultOf(
  row: SubmissionRow,
  items: readonly SubmissionItemRow[],
  advancedClient: boolean | undefined,
): SpendingResult {
  if (row.kind === "cancel") return "cancelled";
  if (items.length === 0) return advancedClient === false ? "already_known" : "advanced";
  if (items.some(({ outcome }) => outcome === "handled")) return "delivered";
  return items.some(({ outcome }) => outcome === "by_other") ? "lost_race" : "not_executed";
}

/** Sums the offers of the delivered messages as last recorded; `undefined`: their fees have not been read yet. */
function revenueOf(
  deps: PipelineDeps,
  row: SubmissionRow,
  items: readonly SubmissionItemRow[],
  result: SpendingResult,
): bigint | undefined {
  const allowance = deps.ledger.spending.find(row.id);
  if (result === "advanced") return allowance?.offeredUsd18 ?? 0n;
  if (result !== "delivered") return 0n;
  if (allowance?.offeredUsd18 === undefined) return undefined;
  const handled = items.flatMap(({ commitment, outcome }) => outcome === "handled" ? [commitment] : []);
  return deps.ledger.messages.findAll(handled, row.submission.chain)
    .flatMap((message) => message === undefined || isOwnPayment(deps, message) ? [] : [message])
    .reduce((sum, { offeredUsd18 = 0n }) => sum + offeredUsd18, 0n);
}

/** Interval between reports of a stopped chain, ms. */
const REPORT_INTERVAL_MS = 3_600_000;

/** Pause before an unknown price is requested again, ms. */
const UNPRICED_PAUSE_MS = 60_000;

const stopSchema = z.object({ untilMs: z.number(), lastReportedMs: z.number() });

/** True while nothing may be signed for the chain. */
export function isSpendingStopped(deps: PipelineDeps, target: Pick<Chain, "id">): boolean {
  return findSpendingStop(deps, target) !== undefined;
}

/** Finds the end of the chain's spending stop, Unix milliseconds; `undefined`: there is none. */
export function findSpendingStop(
  deps: PipelineDeps,
  target: Pick<Chain, "id">,
): { readonly untilMs: number } | undefined {
  const found = readStop(deps, target.id.stateMachine);
  return found !== undefined && deps.clock.now() < found.untilMs ? { untilMs: found.untilMs } : undefined;
}

/** Compares the losses of the last day with the limit, and stops or resumes spending. */
export async function reviewLoss(
  work: Pick<Settling, "deps" | "settings" | "target" | "replacing" | "signal">,
): Promise<void> {
  const { deps, settings: { maxDailyLossMicroUsd: limit }, target } = work;
  const chain = target.id.stateMachine;
  if (target.family !== "evm") return;
  if (limit === undefined) return resumeSpending(deps, chain);
  const nowMs = deps.clock.now();
  const { spending } = deps.ledger;
  if (spending.sumLoss(chain, nowMs - DAY_MS).unpriced > 0 && !await priceLosses(work)) {
    return stopSpending(deps, chain, nowMs + UNPRICED_PAUSE_MS, {
      because: "the price of the native token is unknown, so that losses cannot be compared with the limit",
    });
  }
  const { lossMicroUsd } = spending.sumLoss(chain, nowMs - DAY_MS);
  if (lossMicroUsd < limit) return resumeSpending(deps, chain);
  const untilMs = stoppedUntilMs(spending.listMined(chain, nowMs - DAY_MS), limit);
  if (untilMs === undefined) throw new Error("A reached loss limit has no end");
  stopSpending(deps, chain, untilMs, {
    lostUsd: formatDecimal(lossMicroUsd, 6),
    limitUsd: formatDecimal(limit, 6),
  });
}

/** Completes rows recorded without a price; false: the price is unknown. */
async function priceLosses(
  { deps, replacing, signal, target }: Parameters<typeof reviewLoss>[0],
): Promise<boolean> {
  const price = await replacing?.profit?.price.fetchPrice(signal);
  if (price?.kind !== "known") return false;
  deps.ledger.transaction(() => deps.ledger.spending.price(target.id.stateMachine, price.price27));
  return true;
}

function stopSpending(
  deps: PipelineDeps,
  chain: StateMachine,
  untilMs: number,
  why: Readonly<Record<string, string>>,
): void {
  const nowMs = deps.clock.now();
  const old = readStop(deps, chain);
  const isDue = old === undefined || nowMs - old.lastReportedMs >= REPORT_INTERVAL_MS;
  writeStop(deps, chain, { untilMs, lastReportedMs: isDue ? nowMs : old.lastReportedMs });
  if (!isDue) return;
  deps.log.warn("loss_limit_reached", {
    chain,
    ...why,
    until: new Date(untilMs).toISOString(),
  });
}

function resumeSpending(deps: PipelineDeps, chain: StateMachine): void {
  if (readStop(deps, chain) === undefined) return;
  deps.ledger.transaction(() => {
    deps.ledger.meta.write(stopKey(chain), "");
    deps.ledger.messages.wakeAll(chain, "loss_limit");
  });
  deps.log.info("loss_limit_cleared", { chain });
}

function readStop(deps: PipelineDeps, chain: StateMachine): z.infer<typeof stopSchema> | undefined {
  const text = deps.ledger.meta.find(stopKey(chain));
  return text === undefined || text === "" ? undefined : stopSchema.parse(JSON.parse(text));
}

function writeStop(deps: PipelineDeps, chain: StateMachine, state: z.infer<typeof stopSchema>): void {
  deps.ledger.meta.write(stopKey(chain), JSON.stringify(state));
}

function stopKey(chain: StateMachine): string {
  return `losses on ${chain}`;
}

const unfundedSchema = z.object({
  sinceMs: z.number(),
  /** Time of the last report. */
  lastReportedMs: z.number(),
  /** Nothing is signed before this time. */
  untilMs: z.number(),
});

type Unfunded = z.infer<typeof unfundedSchema>;

/** Records that the account cannot pay, and reports the shortfall once per interval. Not within a transaction. */
export function suspendUnfunded(deps: PipelineDeps, target: Pick<Chain, "id">, detail: string): void {
  const nowMs = deps.clock.now();
  const old = readUnfunded(deps, target);
  const isDue = old === undefined || nowMs - old.lastReportedMs >= waitNoticeMs;
  const sinceMs = old?.sinceMs ?? nowMs;
  writeUnfunded(deps, target, {
    sinceMs,
    lastReportedMs: isDue ? nowMs : old.lastReportedMs,
    untilMs: nowMs + UNFUNDED_PAUSE_MS,
  });
  if (!isDue) return;
  deps.log.warn("balance_insufficient", {
    chain: target.id.stateMachine,
    detail,
    waitedSec: Math.round((nowMs - sinceMs) / 1000),
  });
}

/** Suspends the target if it refuses for lack of funds; true in that case. */
export function noteRefusedFunds(deps: PipelineDeps, target: Pick<Chain, "id">, refusal: Refusal): boolean {
  if (refusal.code !== "insufficient_funds") return false;
  suspendUnfunded(deps, target, refusal.detail);
  return true;
}

/** True while nothing should be signed for the target. */
export function isUnfunded(deps: PipelineDeps, target: Pick<Chain, "id">): boolean {
  const found = readUnfunded(deps, target);
  return found !== undefined && deps.clock.now() < found.untilMs;
}

/** Records that the chain accepted a transaction of ours: there are funds again. */
export function noteFunded(deps: PipelineDeps, target: Pick<Chain, "id">): void {
  const old = readUnfunded(deps, target);
  if (old === undefined) return;
  deps.ledger.meta.write(unfundedKey(target), "");
  deps.log.info("balance_restored", {
    chain: target.id.stateMachine,
    waitedSec: Math.round((deps.clock.now() - old.sinceMs) / 1000),
  });
}

function readUnfunded(deps: PipelineDeps, target: Pick<Chain, "id">): Unfunded | undefined {
  const text = deps.ledger.meta.find(unfundedKey(target));
  return text === undefined || text === "" ? undefined : unfundedSchema.parse(JSON.parse(text));
}

function writeUnfunded(deps: PipelineDeps, target: Pick<Chain, "id">, state: Unfunded): void {
  deps.ledger.meta.write(unfundedKey(target), JSON.stringify(state));
}

function unfundedKey(target: Pick<Chain, "id">): string {
  return `unfunded on ${target.id.stateMachine}`;
}
