/** Keeps the database small and says now and then how things stand. */
import type { Worker } from "../core/runtime/worker.ts";
import type { PipelineDeps } from "./pipeline/leg.ts";

const PRUNE_EVERY_MS = 3_600_000;
const SUMMARY_EVERY_MS = 600_000;

/** A worker that logs a summary every ten minutes and removes outlived rows every hour. */
export function housekeepingWorker(deps: PipelineDeps): Worker {
  return {
    name: "housekeeping",
    run: async (signal) => {
      let prunedMs = -Infinity;
      while (!signal.aborted) {
        if (deps.clock.now() - prunedMs >= PRUNE_EVERY_MS) {
          prunedMs = deps.clock.now();
          deps.log.debug("Old rows removed", { ...deps.ledger.prune(prunedMs) });
        }
        await deps.clock.sleep(SUMMARY_EVERY_MS, signal);
        logSummary(deps);
      }
    },
  };
}

/** One line per leg with rows, one number per state. */
function logSummary(deps: PipelineDeps): void {
  const legs = new Map<string, Record<string, number>>();
  for (const { source, sink, state, count } of deps.ledger.messages.countByState()) {
    const leg = `${source} -> ${sink}`;
    legs.set(leg, { ...legs.get(leg), [state]: count });
  }
  for (const [leg, counts] of legs) deps.log.info("Messages by state", { leg, ...counts });
}
