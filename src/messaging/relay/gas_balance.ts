/**
 * Suspension of a target on which our account cannot pay for gas: it is suspended for a minute at a time while
 * everything else continues, and the shortfall is reported. Kept in the ledger, so that legs and settling agree.
 */
import { z } from "zod";
import type { Chain, Refusal } from "../../core/chains/port.ts";
import { waitNoticeMs } from "../../core/runtime/waiting.ts";
import { UNFUNDED_PAUSE_MS } from "./decisions/retry_schedule.ts";
import type { PipelineDeps } from "./leg.ts";

const shape = z.object({
  sinceMs: z.number(),
  /** Time of the last report. */
  lastReportedMs: z.number(),
  /** Nothing is signed before this time. */
  untilMs: z.number(),
});

type Unfunded = z.infer<typeof shape>;

/** Records that the account cannot pay, and reports the shortfall once per interval. Not within a transaction. */
export function suspendUnfunded(deps: PipelineDeps, target: Pick<Chain, "id">, detail: string): void {
  const nowMs = deps.clock.now();
  const old = read(deps, target);
  const isDue = old === undefined || nowMs - old.lastReportedMs >= waitNoticeMs;
  const sinceMs = old?.sinceMs ?? nowMs;
  write(deps, target, {
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
  const found = read(deps, target);
  return found !== undefined && deps.clock.now() < found.untilMs;
}

/** Records that the chain accepted a transaction of ours: there are funds again. */
export function noteFunded(deps: PipelineDeps, target: Pick<Chain, "id">): void {
  const old = read(deps, target);
  if (old === undefined) return;
  deps.ledger.meta.write(nameOf(target), "");
  deps.log.info("balance_restored", {
    chain: target.id.stateMachine,
    waitedSec: Math.round((deps.clock.now() - old.sinceMs) / 1000),
  });
}

function read(deps: PipelineDeps, target: Pick<Chain, "id">): Unfunded | undefined {
  const text = deps.ledger.meta.find(nameOf(target));
  return text === undefined || text === "" ? undefined : shape.parse(JSON.parse(text));
}

function write(deps: PipelineDeps, target: Pick<Chain, "id">, state: Unfunded): void {
  deps.ledger.meta.write(nameOf(target), JSON.stringify(state));
}

function nameOf(target: Pick<Chain, "id">): string {
  return `unfunded on ${target.id.stateMachine}`;
}
