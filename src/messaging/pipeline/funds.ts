/**
 * A sink on which our account cannot pay for gas: it is left alone for a minute at a time while everything else goes
 * on, and the operator is told what is missing. Kept in the ledger, so that legs and settling agree.
 */
import { z } from "zod";
import type { Chain, Refusal } from "../../core/chains/chain.ts";
import { waitNoticeMs } from "../../core/runtime/waiting.ts";
import { UNFUNDED_PAUSE_MS } from "../decisions/retry_schedule.ts";
import type { PipelineDeps } from "./leg.ts";

const shape = z.object({
  sinceMs: z.number(),
  /** When the operator was told last. */
  toldMs: z.number(),
  /** Nothing is signed before. */
  untilMs: z.number(),
});

type Unfunded = z.infer<typeof shape>;

/** Notes that the account cannot pay, and tells what is missing once an interval. Not within a transaction. */
export function parkUnfunded(deps: PipelineDeps, sink: Pick<Chain, "id">, detail: string): void {
  const nowMs = deps.clock.now();
  const old = read(deps, sink);
  const isDue = old === undefined || nowMs - old.toldMs >= waitNoticeMs;
  const sinceMs = old?.sinceMs ?? nowMs;
  write(deps, sink, {
    sinceMs,
    toldMs: isDue ? nowMs : old.toldMs,
    untilMs: nowMs + UNFUNDED_PAUSE_MS,
  });
  if (!isDue) return;
  deps.log.warn("balance_insufficient", {
    chain: sink.id.stateMachine,
    detail,
    waitedSec: Math.round((nowMs - sinceMs) / 1000),
  });
}

/** Parks the sink if that is why it refuses; true when it is. */
export function noteRefusedFunds(deps: PipelineDeps, sink: Pick<Chain, "id">, refusal: Refusal): boolean {
  if (refusal.code !== "insufficient_funds") return false;
  parkUnfunded(deps, sink, refusal.detail);
  return true;
}

/** True while nothing should be signed for the sink. */
export function isUnfunded(deps: PipelineDeps, sink: Pick<Chain, "id">): boolean {
  const found = read(deps, sink);
  return found !== undefined && deps.clock.now() < found.untilMs;
}

/** Notes that the chain took a transaction of ours: there are funds again. */
export function noteFunded(deps: PipelineDeps, sink: Pick<Chain, "id">): void {
  const old = read(deps, sink);
  if (old === undefined) return;
  deps.ledger.meta.write(nameOf(sink), "");
  deps.log.info("balance_restored", {
    chain: sink.id.stateMachine,
    waitedSec: Math.round((deps.clock.now() - old.sinceMs) / 1000),
  });
}

function read(deps: PipelineDeps, sink: Pick<Chain, "id">): Unfunded | undefined {
  const text = deps.ledger.meta.find(nameOf(sink));
  return text === undefined || text === "" ? undefined : shape.parse(JSON.parse(text));
}

function write(deps: PipelineDeps, sink: Pick<Chain, "id">, state: Unfunded): void {
  deps.ledger.meta.write(nameOf(sink), JSON.stringify(state));
}

function nameOf(sink: Pick<Chain, "id">): string {
  return `unfunded on ${sink.id.stateMachine}`;
}
