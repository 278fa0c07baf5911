/** Loop that settles the submissions of one target, and recovery of rows left behind by a crash. */
import type { Chain } from "../../core/chains/port.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import type { Wake } from "../../core/runtime/wake.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { hasRoomInFlight } from "./in_flight.ts";
import type { PipelineDeps, PipelineSettings } from "./leg.ts";
import { transition } from "./transitions.ts";
import { CompetitorDeliveries } from "./competitor_deliveries.ts";
import type { ReplacementContext } from "./replacement_context.ts";
import { noteNoAnswer } from "./send.ts";
import { settleAll } from "./settle.ts";

/** Divisor of the poll interval when a worker waits for the result. */
const SOONER = 8;

/** Target with the workers to wake when its submissions are settled. */
export interface SettledTarget {
  readonly target: Chain;
  /** Context for replacing pending transactions; absent when they have no nonces. */
  readonly replacing?: ReplacementContext | undefined;
  /** Chains whose legs lead to the target. */
  readonly sources: readonly Chain[];
  readonly everyMs: number;
  /** Woken after a batch was sent. */
  readonly wake: Wake;
  /** Legs to wake when something was settled. */
  readonly legs: readonly Wake[];
}

/** Creates the worker that settles the submissions of one target. */
export function settleWorker(deps: PipelineDeps, settings: PipelineSettings, work: SettledTarget): Worker {
  const { target } = work;
  const notices = new WaitNotices(deps);
  const others = new CompetitorDeliveries(deps, target);
  return {
    name: `settle ${target.id.stateMachine}`,
    run: async (signal) => {
      recoverSubmitted(deps, work);
      while (!signal.aborted) {
        try {
          const { waiting, hasChanges } = await settleAll(deps, settings, target, signal, work.replacing);
          if (await others.check(signal) || hasChanges) work.legs.forEach((leg) => leg.wake());
          if (waiting === 0) notices.done("inclusion");
          else {
            const fields = { chain: target.id.stateMachine, transactions: waiting };
            notices.waiting("inclusion", { event: "inclusion_awaited", fields });
          }
        } catch (error) {
          signal.throwIfAborted();
          if (!(error instanceof RpcFault) || error.reaction === "stop") throw error;
          deps.log.debug("settlement_interrupted", { chain: target.id.stateMachine, error });
        }
        const isAwaited = isRoomAwaited(deps, work);
        const wait = await work.wake.wait(isAwaited ? work.everyMs / SOONER : work.everyMs, signal);
        // A transaction just sent is not in a block yet, and more may follow.
        if (wait === "woken") await deps.clock.sleep(work.everyMs / SOONER, signal);
      }
    },
  };
}

/** True when due messages wait for a pending transaction to be settled. */
function isRoomAwaited(deps: PipelineDeps, { target, sources }: SettledTarget): boolean {
  const nowMs = deps.clock.now();
  const isAnyDue = sources.some((source) => {
    const dueAtMs = deps.ledger.messages.nextDueAt(source.id.stateMachine, target.id.stateMachine);
    return dueAtMs !== undefined && dueAtMs <= nowMs;
  });
  return isAnyDue && !hasRoomInFlight(deps, { target }) &&
    deps.ledger.submissions.listInFlight(target.id.stateMachine).length > 0;
}

/**
 * Recovers what an earlier run left behind. Signed submissions are no longer being broadcast: settling takes them over.
 * Rows that count as submitted although no open submission carries them (a crash between two writes of an older
 * version, or a pruned submission) become ready, and their receipts are read first.
 */
function recoverSubmitted(deps: PipelineDeps, work: SettledTarget): void {
  deps.ledger.transaction(() => {
    for (const { id } of deps.ledger.submissions.listUnresolved(work.target.id.stateMachine)) {
      noteNoAnswer(deps, id);
    }
  });
  const { messages, submissions } = deps.ledger;
  const target = work.target.id.stateMachine;
  const open = new Set(
    submissions.listUnresolved(target).flatMap(({ id }) => submissions.itemsOf(id))
      .filter(({ outcome }) => outcome === undefined).map(({ commitment }) => commitment),
  );
  for (const source of work.sources) {
    const lost = messages.listSubmitted({ source: source.id.stateMachine, target, limit: 100_000 })
      .filter((row) => !open.has(row.commitment));
    for (const row of lost) transition(deps, row, "ready", { detail: "no open transaction carries it" });
  }
}
