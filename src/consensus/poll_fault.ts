/** Handling of faults in workers that poll a chain. */
import { type CheckRow, keepsOut } from "../core/checks/check_row.ts";
import { BlockHeaderError } from "../core/evm/block_header.ts";
import { RpcFault } from "../core/rpc/call.ts";
import { type Backoff, DeadlineFault, endpointBackoff } from "../core/runtime/retry.ts";
import { type EventCode, events, type Log } from "../core/telemetry/log.ts";
import { ProverFault } from "./prover.ts";
import type { PollFailure, PollResult } from "./schedule.ts";
import type { UpdateObserver, UpdateRoute } from "./update_observer.ts";

/** Log event of a prover's fault. */
function proverEvent({ code }: ProverFault): EventCode {
  if (code === "bad_data") return "endpoint_data_invalid.contradiction";
  return code === "not_served" ? "data_unavailable" : `client_unusable.${code}`;
}

/** Row of a check that ended with a fault of the prover: a wrong answer may be right at the next poll. */
export function proverFaultRow(chain: string, fault: ProverFault): CheckRow {
  const { action: advice } = events[proverEvent(fault)];
  return { chain, check: "light_client", result: "warning", found: fault.message, advice };
}

/** Pauses while a node lacks a method: operators restart nodes, gateways change their rules. */
const missingMethodBackoff: Backoff = { firstMs: 60_000, maxMs: 60_000, jitter: 0 };

const USUAL_ADVICE =
  "use an endpoint that does (gateways deny methods; a Substrate node of your own offers all of them with " +
  "--rpc-methods=unsafe)";

/**
 * Advice for methods that depend on a node's command line. Source: polkadot-fellows and paritytech/polkadot-sdk:
 * polkadot/cli.
 */
const advices: ReadonlyMap<string, string> = new Map([
  [
    "beefy_getFinalizedHead",
    "use a relay chain node with BEEFY, that is one started without --no-beefy, or remove [hub.prover]",
  ],
  [
    "offchain_localStorageGet",
    "use a node of the hub with --rpc-methods=unsafe and --enable-offchain-indexing=true, or add [hub.prover]",
  ],
]);

/**
 * Logs a failed poll and returns its result. @param failures consecutive failures before this poll. @throws defects,
 * that is errors that are neither endpoint faults nor timeouts.
 */
export function reportFailedPoll(
  log: Log,
  error: unknown,
  failures: number,
): PollResult {
  const failure = describeFailure(error);
  if (error instanceof ProverFault) {
    log.error(proverEvent(error), { failures: failures + 1, error });
    return { kind: error.code === "unrecoverable" ? "suspended" : "failed", failure };
  }
  if (error instanceof BlockHeaderError) {
    log.error("client_unusable.header_unknown", { error });
    return { kind: "suspended", failure };
  }
  if (error instanceof RpcFault && error.code === "missing_method") {
    const { method } = error.where;
    const advice = advices.get(method) ?? USUAL_ADVICE;
    log.error("endpoint_unusable.method_missing", { method, explanation: advice, error });
    return { kind: "failed", failure, backoff: missingMethodBackoff };
  }
  if (error instanceof RpcFault || error instanceof DeadlineFault) {
    if (error instanceof RpcFault && error.code === "wrong_chain") {
      log.error("endpoint_unusable.wrong_chain", { error });
    } else log.warn("poll_failed", { failures: failures + 1, error });
    return { kind: "failed", failure, backoff: endpointBackoff };
  }
  throw error;
}

/** Describes a fault for the operator, without what a node said: that may hold anything. */
export function describeFailure(error: unknown): PollFailure {
  if (error instanceof ProverFault) return { text: error.detail, host: error.endpoint };
  if (error instanceof RpcFault) {
    const { chain, endpointHost, method } = error.where;
    return { text: `${method} on ${chain}: ${error.code}`, host: endpointHost };
  }
  return { text: error instanceof Error ? error.message : String(error) };
}

/** A check of a light client's chains. */
export interface ObservedCheck {
  readonly route: UpdateRoute;
  /** Absent: nobody observes. */
  readonly observer: UpdateObserver | undefined;
  readonly check: () => Promise<readonly CheckRow[]>;
}

/** Makes a check and notes its fault, or what keeps the chain out. @throws what the check throws */
export async function observeCheck(
  { route, observer, check }: ObservedCheck,
): Promise<readonly CheckRow[]> {
  try {
    const rows = await check();
    const texts = rows.filter(keepsOut).map(({ found }) => found);
    if (texts.length > 0) {
      observer?.notePoll(route, { kind: "suspended", failure: { text: texts.join("; ") } });
    }
    return rows;
  } catch (error) {
    if (error instanceof RpcFault) {
      observer?.notePoll(route, { kind: "failed", failure: describeFailure(error) });
    }
    throw error;
  }
}
