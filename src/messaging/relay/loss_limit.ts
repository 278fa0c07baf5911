/**
 * `maximum_daily_loss`: nothing is signed for a chain that has lost that much within a rolling day; everything else
 * continues. Kept in the ledger, so that it survives restarts. What counts as lost is in
 * `messaging/ledger/spending.ts`.
 */
import { z } from "zod";
import type { Chain } from "../../core/chains/port.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { formatDecimal } from "../../core/encoding/decimal.ts";
import { DAY_MS, stoppedUntilMs } from "./decisions/spending_summary.ts";
import type { PipelineDeps } from "./leg.ts";
import type { Settling } from "./settlement.ts";

/** Interval between reports of a stopped chain, ms. */
const REPORT_INTERVAL_MS = 3_600_000;

/** Pause before an unknown price is requested again, ms. */
const UNPRICED_PAUSE_MS = 60_000;

const shape = z.object({ untilMs: z.number(), lastReportedMs: z.number() });

/** True while nothing may be signed for the chain. */
export function isSpendingStopped(deps: PipelineDeps, target: Pick<Chain, "id">): boolean {
  return findSpendingStop(deps, target) !== undefined;
}

/** Finds the end of the chain's spending stop, Unix milliseconds; `undefined`: there is none. */
export function findSpendingStop(
  deps: PipelineDeps,
  target: Pick<Chain, "id">,
): { readonly untilMs: number } | undefined {
  const found = read(deps, target.id.stateMachine);
  return found !== undefined && deps.clock.now() < found.untilMs ? { untilMs: found.untilMs } : undefined;
}

/** Compares the losses of the last day with the limit, and stops or resumes spending. */
export async function reviewLoss(
  work: Pick<Settling, "deps" | "settings" | "target" | "replacing" | "signal">,
): Promise<void> {
  const { deps, settings: { maxDailyLossMicroUsd: limit }, target } = work;
  const chain = target.id.stateMachine;
  if (target.family !== "evm") return;
  if (limit === undefined) return goOn(deps, chain);
  const nowMs = deps.clock.now();
  const { spending } = deps.ledger;
  if (spending.sumLoss(chain, nowMs - DAY_MS).unpriced > 0 && !await priceLosses(work)) {
    return stop(deps, chain, nowMs + UNPRICED_PAUSE_MS, {
      because: "the price of the native token is unknown, so that losses cannot be compared with the limit",
    });
  }
  const { lossMicroUsd } = spending.sumLoss(chain, nowMs - DAY_MS);
  if (lossMicroUsd < limit) return goOn(deps, chain);
  const untilMs = stoppedUntilMs(spending.listMined(chain, nowMs - DAY_MS), limit);
  if (untilMs === undefined) throw new Error("A reached loss limit has no end");
  stop(deps, chain, untilMs, { lostUsd: formatDecimal(lossMicroUsd, 6), limitUsd: formatDecimal(limit, 6) });
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

function stop(
  deps: PipelineDeps,
  chain: StateMachine,
  untilMs: number,
  why: Readonly<Record<string, string>>,
): void {
  const nowMs = deps.clock.now();
  const old = read(deps, chain);
  const isDue = old === undefined || nowMs - old.lastReportedMs >= REPORT_INTERVAL_MS;
  write(deps, chain, { untilMs, lastReportedMs: isDue ? nowMs : old.lastReportedMs });
  if (!isDue) return;
  deps.log.warn("loss_limit_reached", {
    chain,
    ...why,
    until: new Date(untilMs).toISOString(),
  });
}

function goOn(deps: PipelineDeps, chain: StateMachine): void {
  if (read(deps, chain) === undefined) return;
  deps.ledger.transaction(() => {
    deps.ledger.meta.write(nameOf(chain), "");
    deps.ledger.messages.wakeAll(chain, "loss_limit");
  });
  deps.log.info("loss_limit_cleared", { chain });
}

function read(deps: PipelineDeps, chain: StateMachine): z.infer<typeof shape> | undefined {
  const text = deps.ledger.meta.find(nameOf(chain));
  return text === undefined || text === "" ? undefined : shape.parse(JSON.parse(text));
}

function write(deps: PipelineDeps, chain: StateMachine, state: z.infer<typeof shape>): void {
  deps.ledger.meta.write(nameOf(chain), JSON.stringify(state));
}

function nameOf(chain: StateMachine): string {
  return `losses on ${chain}`;
}
