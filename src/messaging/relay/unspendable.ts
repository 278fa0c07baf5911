/**
 * Messages to a chain on which nothing may be spent for now: none is delivered, but existing receipts are detected, so
 * that our fees are claimed (e.g. after a lost database), and the others are held with a reason.
 */
import type { CounterpartyView } from "../../core/chains/port.ts";
import type { MessageRow } from "../ledger/ledger.ts";
import { listReady } from "./due_messages.ts";
import { isUnfunded } from "./gas_balance.ts";
import type { Leg, PipelineDeps, PipelineSettings } from "./leg.ts";
import { findSpendingStop } from "./loss_limit.ts";
import { hold, transition } from "./transitions.ts";
import { takeDelivered } from "./receipts.ts";

/** Interval for reading the receipts of messages that wait for the end of a loss limit, ms. */
const RECEIPTS_PAUSE_MS = 10 * 60_000;

/** Ends the due messages that have a receipt and holds the others; true when there are more. */
export async function settleUnspendable(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  facts: { readonly view: CounterpartyView; readonly proofHeight: bigint },
  signal: AbortSignal,
): Promise<boolean> {
  const { target } = leg;
  const stop = findSpendingStop(deps, target);
  if (stop === undefined && !isUnfunded(deps, target)) return false; // there is no room, but there will be
  const isWanted = (kind: MessageRow["kind"]): boolean => kind !== "get";
  const { ready, hasMore } = listReady(deps, settings, leg, { ...facts, isWanted });
  if (ready.length === 0) return hasMore;
  const receipts = await target.fetchReceipts(ready.map(({ message }) => message), signal);
  const open = await takeDelivered(deps, settings, leg, { candidates: ready, receipts }, signal);
  const nowMs = deps.clock.now();
  deps.ledger.transaction(() => {
    for (const { row } of open) {
      if (stop === undefined) {
        hold(deps, settings, row, { reason: "unfunded", retryClass: "unfunded" });
        continue;
      }
      const nextAttemptAtMs = Math.min(stop.untilMs, nowMs + RECEIPTS_PAUSE_MS);
      transition(deps, row, "held", { reason: "loss_limit", nextAttemptAtMs });
    }
  });
  return hasMore;
}
