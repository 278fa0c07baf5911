/**
 * Loop of a worker that advances a light client: poll, report the result, wait as long as the result asks for. Faults of
 * endpoints and of the chain that stores the client are waited out here. Start reading at {@link runPollLoop}.
 */
import { ProverFault } from "./prover.ts";
import { type CheckRow, keepsOut } from "../core/checks/check_row.ts";
import { BlockHeaderError } from "../core/evm/block_header.ts";
import { RpcFault } from "../core/rpc/call.ts";
import type { Clock, Randomness } from "../core/runtime/clock.ts";
import { Limit } from "../core/runtime/limit.ts";
import { type Backoff, DeadlineFault, endpointBackoff, nextDelayMs } from "../core/runtime/retry.ts";
import { type EventCode, events, type Log } from "../core/telemetry/log.ts";

/** Dependencies of the loop. */
export interface PollDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  /** Notified of polls and updates; absent: nobody observes. */
  readonly observer?: UpdateObserver | undefined;
  /** Locks of the light clients, which operators' commands take, too; absent: there are none. */
  readonly turns?: ProverTurns | undefined;
}

/** Subject of a poll loop. */
export interface Pollable {
  /** The light client that is advanced. */
  readonly route: UpdateRoute;
  /** Default poll interval, milliseconds; it may change. */
  readonly intervalMs: number;
  /** Polls once and acts on what it finds. @param failures consecutive failures before this poll. */
  poll(failures: number, signal: AbortSignal): Promise<PollResult>;
}

/** Polls until `signal` is aborted, and throws its reason. */
export async function runPollLoop(deps: PollDeps, pollable: Pollable, signal: AbortSignal): Promise<never> {
  const { clock, random, log } = deps;
  for (let failures = 0;;) {
    const startMs = clock.now();
    const result = await pollOnce(deps, { pollable, failures }, signal);
    const pace = { intervalMs: pollable.intervalMs, spentMs: clock.now() - startMs, failures };
    const pauseMs = planPauseMs(result, pace, random.fraction());
    failures = result.kind === "failed" || result.kind === "suspended" ? failures + 1 : 0;
    log.debug("poll_finished", { result: result.kind, nextInMs: Math.round(pauseMs) });
    await clock.sleep(pauseMs, signal);
  }
}

/** Polls in the turn of the light client, and reports the result. */
async function pollOnce(
  { log, turns, observer }: PollDeps,
  { pollable, failures }: { readonly pollable: Pollable; readonly failures: number },
  signal: AbortSignal,
): Promise<PollResult> {
  const poll = async (): Promise<PollResult> => {
    try {
      return await pollable.poll(failures, signal);
    } catch (error) {
      signal.throwIfAborted();
      return reportFailedPoll(log, error, failures);
    }
  };
  const { route } = pollable;
  const result = await (turns === undefined ? poll() : turns.of(route).run(poll, signal));
  observer?.notePoll(route, result);
  return result;
}

/** Time that a stopping program waits for pending submissions, milliseconds. */
export const SHUTDOWN_GRACE_MS = 5_000;

/**
 * Creates a signal that is aborted `afterMs` later than `signal`, with its reason. Call `end` when it is no longer
 * needed.
 */
export function delayAbort(
  clock: Clock,
  signal: AbortSignal,
  afterMs: number,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const ended = new AbortController();
  const late = new AbortController();
  const onAbort = (): void => {
    const abort = (): void => late.abort(signal.reason);
    clock.sleep(afterMs, ended.signal).then(abort, () => undefined); // ended first: nobody listens
  };
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  const end = (): void => {
    signal.removeEventListener("abort", onAbort);
    ended.abort();
  };
  return { signal: late.signal, end };
}

/** Result of a poll and of the submission of its updates. */
export type PollResult =
  /**
   * The hub already knows everything that can be proved. `againInMs`: the prover's override of the interval; `reason`:
   * why, where the prover says so.
   */
  | { readonly kind: "nothing"; readonly againInMs: number | undefined; readonly reason?: string }
  /** The hub accepted the updates, ours or another relayer's. `hasMore`: it is still behind. */
  | { readonly kind: "updated"; readonly hasMore: boolean }
  /** A retry may succeed. `backoff`: pauses of this kind of failure; default 1 s to 1 min. */
  | { readonly kind: "failed"; readonly failure: PollFailure; readonly backoff?: Backoff | undefined }
  /** The operator or governance has to fix something; polling often does not help. */
  | { readonly kind: "suspended"; readonly failure: PollFailure };

/** Why a poll failed, for the operator. */
export interface PollFailure {
  /** A clause without a full stop; without texts of endpoints. */
  readonly text: string;
  /** Host of the endpoint; absent where several took part, or none. */
  readonly host?: string | undefined;
}

/** Poll interval, and the polls before. */
interface Pace {
  readonly intervalMs: number;
  /** Part of the interval that the poll itself took. */
  readonly spentMs: number;
  /** Consecutive failures before this poll. */
  readonly failures: number;
}

/** Backoff after failures: 1 s to 1 min (docs/protocol/hub-consensus.md section 3.3). */
const pollBackoff: Backoff = { firstMs: 1_000, maxMs: 60_000 };

/** Minimum pause between polls: no busy loop, whatever a prover asks for. */
export const MIN_PAUSE_MS = 1_000;

/** Maximum pause: limit of the runtime's timers. */
export const MAX_PAUSE_MS = 2 ** 31 - 1;

/** Pause of a suspended chain. */
export const SUSPENDED_MS = 10 * 60_000;

/** Returns the pause after a poll, milliseconds. @param fraction chance from [0, 1), for the jitter of backoffs. */
export function planPauseMs(
  result: PollResult,
  { intervalMs, spentMs, failures }: Pace,
  fraction: number,
): number {
  switch (result.kind) {
    case "nothing":
      return bounded(result.againInMs ?? intervalMs - spentMs);
    case "updated":
      return bounded(result.hasMore ? MIN_PAUSE_MS : intervalMs - spentMs);
    case "failed":
      return bounded(nextDelayMs(result.backoff ?? pollBackoff, failures + 1, fraction));
    case "suspended":
      return SUSPENDED_MS;
  }
}

function bounded(delayMs: number): number {
  return Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, delayMs));
}

/** A light client: of `chain`, on `target`. */
export interface UpdateRoute {
  readonly chain: string;
  readonly target: string;
}

/** One attempt to advance a light client, as it ended. */
export interface ObservedUpdate {
  readonly kind: "update" | "rotation" | "hub_proofs";
  /** `overtaken`: another relayer was first, at no cost; `wasted`: at the cost of gas. */
  readonly result: "accepted" | "overtaken" | "refused" | "lost" | "wasted";
  readonly bytes: number;
  /** Height of the chain that the target knows now, where it was accepted and proves one. */
  readonly height?: number | undefined;
  /** Time of the poll until there was something to submit, milliseconds. */
  readonly findMs: number;
  /** Time from there to the outcome, milliseconds. */
  readonly submitMs: number;
  /** What was proved, or why it failed; may hold text of nodes. */
  readonly detail: string;
}

/** Observer of the workers. Must not throw. */
export interface UpdateObserver {
  noteUpdate(route: UpdateRoute, update: ObservedUpdate): void;
  notePoll(route: UpdateRoute, result: PollResult): void;
}

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
    "eth_getProof",
    "use an endpoint that serves it for blocks of the last hour: the blocks that the hub knows are older than the newest",
  ],
  [
    "beefy_getFinalizedHead",
    "use a relay chain node with BEEFY, that is one started without --no-beefy, or remove [hub.prover]",
  ],
  [
    "mmr_generateProof",
    "use a full node of the relay chain behind no gateway that denies it, or remove [hub.prover]",
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
    const event = error instanceof RpcFault ? endpointEvents[error.code] : undefined;
    if (event === undefined) log.warn("poll_failed", { failures: failures + 1, error });
    else log.error(event, { failures: failures + 1, error });
    return { kind: "failed", failure, backoff: endpointBackoff };
  }
  throw error;
}

/** Events of endpoint faults for which the operator needs another endpoint. */
const endpointEvents: Partial<Record<RpcFault["code"], EventCode>> = {
  wrong_chain: "endpoint_unusable.wrong_chain",
  malformed: "endpoint_data_invalid.contradiction",
  oversized: "endpoint_data_invalid.contradiction",
  pruned: "data_unavailable",
};

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
interface ObservedCheck {
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

/** A lock for each light client. */
export class ProverTurns {
  readonly #turns = new Map<string, Limit>();

  /** The lock of the light client of a chain on another. */
  of({ chain, target }: UpdateRoute): Limit {
    const route = `${chain} ${target}`;
    const turn = this.#turns.get(route) ?? new Limit(1);
    this.#turns.set(route, turn);
    return turn;
  }
}
