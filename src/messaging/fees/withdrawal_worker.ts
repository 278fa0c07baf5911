/** Loop that withdraws fees every `withdrawal_frequency` seconds and follows each payment to its delivery. */
import { nextDelayMs, transientBackoff } from "../../core/runtime/retry.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { isPassing } from "./fee_context.ts";
import type { PaymentDeps } from "./payment_context.ts";
import { WithdrawalRounds } from "./withdrawal_round.ts";

/** Maximum poll interval for open withdrawals, ms. */
const POLL_INTERVAL_MS = 10_000;

/** Creates the worker that withdraws fees. @param everyMs pause between rounds; at most ten seconds count */
export function withdrawalWorker(deps: PaymentDeps, everyMs: number): Worker {
  const notices = new WaitNotices(deps);
  return {
    name: "withdrawals",
    run: async (signal) => {
      const rounds = new WithdrawalRounds(deps);
      let failures = 0;
      while (!signal.aborted) {
        let pauseMs = Math.min(everyMs, POLL_INTERVAL_MS);
        try {
          await rounds.advance(signal);
          await rounds.orderDue(signal);
          failures = 0;
          const open = deps.ledger.withdrawals.listOpen().length;
          if (open === 0) notices.done("payments");
          else notices.waiting("payments", { event: "withdrawals_awaited", fields: { withdrawals: open } });
        } catch (error) {
          signal.throwIfAborted();
          if (!isPassing(error)) throw error;
          failures++;
          const level = failures === 3 ? "warn" : "debug";
          deps.log[level]("withdrawals_interrupted", { failures, error });
          pauseMs = Math.max(pauseMs, nextDelayMs(transientBackoff, failures, deps.random.fraction()));
        }
        await deps.clock.sleep(pauseMs, signal);
      }
    },
  };
}
