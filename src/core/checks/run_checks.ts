/**
 * Runs checks, at once and each with its own deadline, so that a slow chain does not hold the others. Faults of
 * endpoints are results; anything else is a defect.
 */
import { RpcFault } from "../rpc/fault.ts";
import type { Clock } from "../runtime/clock.ts";
import { mapLimited } from "../runtime/limit.ts";
import { DeadlineFault, withDeadline } from "../runtime/retry.ts";
import type { CheckCode, CheckRow } from "./check_row.ts";

/** Checks that are made together: what they read belongs to one subject. */
export interface CheckJob {
  readonly chain: string;
  /** Code of the row that says that the job itself had no result. */
  readonly check: CheckCode;
  /** May throw an `RpcFault`: then the row tells it. */
  readonly run: (signal: AbortSignal) => Promise<readonly CheckRow[]>;
}

/** Time of one job, ms: all run at once, and the whole takes at most ten seconds. */
export const CHECK_TIMEOUT_MS = 9_000;

/** Time of one request to an endpoint, ms: two in a row fit into {@link CHECK_TIMEOUT_MS}. */
export const REQUEST_TIMEOUT_MS = 4_000;

/**
 * Runs jobs; rows are in the order of the jobs. Throws the signal's reason, and defects.
 * @param atOnce jobs at a time, for a program that has other work; absent: all
 */
export async function runChecks(
  { clock, atOnce = Number.MAX_SAFE_INTEGER }: { readonly clock: Clock; readonly atOnce?: number },
  jobs: readonly CheckJob[],
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const rows = await mapLimited(jobs, { max: atOnce, signal }, (job, each) => runJob(clock, job, each));
  return rows.flat();
}

async function runJob(clock: Clock, job: CheckJob, signal: AbortSignal): Promise<readonly CheckRow[]> {
  const { chain, check } = job;
  try {
    const deadline = { what: `check ${check} of ${chain}`, afterMs: CHECK_TIMEOUT_MS, signal };
    return await withDeadline(clock, deadline, job.run);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RpcFault) return [faultRow({ chain, check }, error)];
    if (!(error instanceof DeadlineFault)) throw error;
    const found = `no result within ${CHECK_TIMEOUT_MS / 1_000} s`;
    const advice = "check the endpoints of the chain, or run the check again";
    return [{ chain, check, result: "failed", found, advice }];
  }
}

/** Row of a check that ended with a fault of an endpoint. */
function faultRow(
  { chain, check }: Pick<CheckRow, "chain" | "check">,
  fault: RpcFault,
): CheckRow {
  const { where: { endpointHost: endpoint, method } } = fault;
  const found = `${method}: ${describeFault(fault)}`;
  return { chain, endpoint, check, result: "failed", found, advice: adviseOnFault(fault) };
}

/** What an endpoint answered instead, in a few words. */
export function describeFault({ code, detail }: RpcFault): string {
  return detail === undefined ? code : `${code} (${detail})`;
}

/** What helps against a fault of an endpoint. */
export function adviseOnFault({ code }: RpcFault): string {
  switch (code) {
    case "unreachable":
      return "check the URL and that the node runs";
    case "timeout":
      return "check the load of the node, or use a faster endpoint";
    case "throttled":
      return "use a plan with more requests, or another endpoint";
    case "missing_method":
      return "allow the method at the node, or use an endpoint that offers it";
    case "pruned":
      return "use a node that keeps old state (an archive node)";
    case "wrong_chain":
      return "correct or remove the URL";
    case "runtime_unsupported":
      return "update this program";
    default:
      return "check the node, or use another endpoint";
  }
}
