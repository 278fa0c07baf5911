/** Worker of the running programs that makes the checks of `check` at the start and every ten minutes. */
import type { Clock } from "../runtime/clock.ts";
import type { Worker } from "../runtime/worker.ts";
import type { Log } from "../telemetry/log.ts";
import type { CheckBoard, CheckChange } from "./check_board.ts";
import { type CheckJob, runChecks } from "./check_row.ts";

/** Pause between two rounds. */
const CHECK_EVERY_MS = 10 * 60_000;

/**
 * Checks made at a time: what all of 48 chains answer at once (code of contracts, blocks) takes 40 MB, which the allocator
 * does not give back.
 */
const CHECKS_AT_ONCE = 8;

/** Dependencies of the worker. */
export interface CheckWorkerDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Receives the results. */
  readonly board: CheckBoard;
}

/** Creates the worker. @param plan lists the checks of one round. */
export function checkWorker({ clock, log, board }: CheckWorkerDeps, plan: () => readonly CheckJob[]): Worker {
  return {
    name: "checks",
    run: async (signal) => {
      while (!signal.aborted) {
        const rows = await runChecks({ clock, atOnce: CHECKS_AT_ONCE }, plan(), signal);
        for (const change of board.update(rows, clock.now())) logChange(log, change);
        await clock.sleep(CHECK_EVERY_MS, signal);
      }
    },
  };
}

/** Logs a check whose result changed; an initial pass is not logged. */
function logChange(log: Log, { row, before }: CheckChange): void {
  const { chain, endpoint, check, result, found, advice } = row;
  const fields = { chain, endpoint, check, found, advice };
  if (result !== "ok") log.warn(result === "failed" ? "check_failed" : "check_warning", fields);
  else if (before !== undefined) log.info("check_passed", { chain, endpoint, check, found });
}
