/**
 * Loop that claims the fees of deliveries on the hub. One worker for all pairs: each round is driven by the database,
 * so nothing is lost if it stops at any point.
 */
import { nextDelayMs, transientBackoff } from "../../core/runtime/retry.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { ClaimsRounds } from "./claims_round.ts";
import { type FeeDeps, isPassing } from "./fee_context.ts";

/** Creates the worker that claims fees. @param everyMs pause between rounds */
export function claimsWorker(deps: FeeDeps, everyMs: number): Worker {
  const notices = new WaitNotices(deps);
  return {
    name: "claims",
    run: async (signal) => {
      logUnreadable(deps);
      const rounds = new ClaimsRounds(deps);
      let failures = 0;
      while (!signal.aborted) {
        let pauseMs = everyMs;
        try {
          const { underWay } = await rounds.run(signal);
          failures = 0;
          if (underWay === 0) notices.done("claims");
          else notices.waiting("claims", { event: "claims_awaited", fields: { underWay } });
        } catch (error) {
          signal.throwIfAborted();
          if (!isPassing(error)) throw error;
          failures++;
          deps.log.debug("claims_interrupted", { error });
          pauseMs = Math.max(pauseMs, nextDelayMs(transientBackoff, failures, deps.random.fraction()));
        }
        await deps.clock.sleep(pauseMs, signal);
      }
    },
  };
}

/** Logs rows whose chains no version of the protocol knows: they are kept for the operator and never processed. */
export function logUnreadable(deps: FeeDeps): void {
  const count = deps.ledger.deliveries.countUnreadable();
  if (count > 0) {
    deps.log.error("delivery_records_unreadable", {
      records: count,
    });
  }
}
