/** What a fault means for a worker that looks at a chain again and again. */
import { RpcFault } from "../core/rpc/fault.ts";
import { DeadlineFault } from "../core/runtime/retry.ts";
import type { Log } from "../core/telemetry/log.ts";
import { ProverFault } from "./prover.ts";
import type { LookResult } from "./schedule.ts";

/**
 * Tells the operator of a look that failed.
 * @param failures in a row before this look.
 * @param accuse what an operator should think of first when an endpoint's word cannot be used.
 * @throws what is neither a fault of an endpoint nor of time: a defect.
 */
export function failedLook(
  log: Log,
  error: unknown,
  failures: number,
  accuse: (fault: ProverFault) => string,
): LookResult {
  if (error instanceof ProverFault) {
    log.error(accuse(error), { failures: failures + 1, error });
    return { kind: "failed" };
  }
  if (error instanceof RpcFault && error.reaction === "stop") {
    log.error("An endpoint serves another chain; mend the configuration. Looked at again in 10 min", {
      error,
    });
    return { kind: "parked" };
  }
  if (error instanceof RpcFault || error instanceof DeadlineFault) {
    log.warn("A look failed; looking again", { failures: failures + 1, error });
    return { kind: "failed", atLeastMs: error instanceof RpcFault ? error.retryAfterMs : undefined };
  }
  throw error;
}
