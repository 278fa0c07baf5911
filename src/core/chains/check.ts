/**
 * Gates of chains: what a chain's checks find keeps the chain out, and nothing else. It is checked again until it passes,
 * and whatever works with it waits at its gate. Source: docs/protocol/messaging.md section 4.
 */
import { adviseOnFault, type CheckRow, describeFault, keepsOut } from "../checks/check_row.ts";
import { CheckBoard, logChange } from "../checks/check_board.ts";
import { RpcFault } from "../rpc/call.ts";
import type { Clock, Randomness } from "../runtime/clock.ts";
import { linkedAbort, orAbort } from "../runtime/linked_abort.ts";
import { type Backoff, DeadlineFault, endpointBackoff, nextDelayMs, withDeadline } from "../runtime/retry.ts";
import { superviseWorkers, type Worker } from "../runtime/worker.ts";
import type { Log } from "../telemetry/log.ts";

/** Time for a chain's first answer before the others continue without it. */
const FIRST_ANSWER_MS = 30_000;

/** Time of one check: a request that hangs ends before by itself, and names its endpoint. */
const CHECK_ENDS_MS = 32_000;

/** Time after which chains that have not answered are named. */
const TOLD_AFTER_MS = 3_000;

/** Pauses between checks of a chain that answers, and has to be put right by somebody. */
const mismatchBackoff: Backoff = { firstMs: 15_000, maxMs: 60_000 };

/** What gates need. */
export interface GateDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  /** Keeps what the checks found; absent: nobody looks. */
  readonly board?: Pick<CheckBoard, "update"> | undefined;
}

/** A chain behind a gate. */
export interface ChainCheck {
  readonly name: string;
  /** Key of the configuration with the hub's endpoint; absent: it is not the hub. */
  readonly hubSetting?: string;
  /** Gate that opens first; absent: none. */
  readonly behind?: ChainGate;
  /** Makes the checks that the chain must pass. May throw an `RpcFault`: then the chain does not answer. */
  readonly check: (signal: AbortSignal) => Promise<readonly CheckRow[]>;
}

/** Why a chain is left out: what failed, or the fault of a chain that does not answer. */
type Obstacle = readonly CheckRow[] | Error;

/** Gate of one chain: closed until the chain passes its checks, then open for good. */
export class ChainGate {
  /** Resolves when the chain may be used. */
  readonly passed: Promise<void>;
  /** Resolves when it is known for the first time whether it may. */
  readonly known: Promise<void>;
  /** Since when the chain is to be used, Unix milliseconds. */
  readonly sinceMs: number;
  readonly #open: () => void;
  readonly #tellKnown: () => void;
  readonly #deps: GateDeps;
  readonly #chain: ChainCheck;
  readonly #board: Pick<CheckBoard, "update">;
  /** What the last look found. */
  #rows: readonly CheckRow[] = [];
  /** True when the chain was said to be left out. */
  #isTold = false;
  #fault: RpcFault | undefined;
  #state: "waiting" | "asked" | "open" = "waiting";

  constructor(deps: GateDeps, chain: ChainCheck) {
    this.#deps = deps;
    this.#chain = chain;
    this.sinceMs = deps.clock.now();
    this.#board = deps.board ?? new CheckBoard();
    ({ promise: this.passed, resolve: this.#open } = Promise.withResolvers<void>());
    ({ promise: this.known, resolve: this.#tellKnown } = Promise.withResolvers<void>());
  }

  /** True when the chain may be used. */
  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** Worker that checks the chain until it passes. */
  get worker(): Worker {
    return { name: `connect ${this.#chain.name}`, run: (signal) => this.#checkUntilPassed(signal) };
  }

  /** What the chain that is being asked has said so far; `undefined`: it is not being asked. */
  describe(): string | undefined {
    if (this.#state !== "asked") return undefined;
    const { name } = this.#chain;
    const fault = this.#fault;
    return fault === undefined
      ? `${name}: no answer yet`
      : `${name} via ${fault.where.endpointHost}: ${describeFault(fault)}`;
  }

  async #checkUntilPassed(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#deps;
    const { name: chain, behind } = this.#chain;
    if (behind !== undefined) await orAbort(behind.passed, signal);
    this.#state = "asked";
    log.debug("chain_awaited", { chain });
    const startMs = clock.now();
    for (let failures = 1;; failures++) {
      const obstacle = await this.#look(signal);
      if (obstacle === undefined) break;
      const leftMs = startMs + FIRST_ANSWER_MS - clock.now();
      const isSilent = obstacle instanceof Error;
      if (!isSilent || leftMs <= 0) this.#tell(obstacle, clock.now() - startMs);
      const backoff = isSilent ? endpointBackoff : mismatchBackoff;
      const delayMs = nextDelayMs(backoff, failures, random.fraction());
      await clock.sleep(leftMs > 0 ? Math.min(delayMs, leftMs) : delayMs, signal);
    }
    this.#state = "open";
    log[this.#isTold ? "info" : "debug"]("chain_available", { chain });
    this.#open();
    this.#tellKnown();
  }

  /** Checks the chain once; `undefined`: it passes. What does not keep it out is logged when it changes. */
  async #look(signal: AbortSignal): Promise<Obstacle | undefined> {
    const { clock, log } = this.#deps;
    const { name, check } = this.#chain;
    try {
      const deadline = { what: `check of ${name}`, afterMs: CHECK_ENDS_MS, signal };
      const rows = await withDeadline(clock, deadline, check);
      const changes = this.#board.update(rows, clock.now(), this.#rows);
      this.#rows = rows;
      changes.filter(({ row }) => !keepsOut(row)).forEach((change) => logChange(log, change));
      const failed = rows.filter(keepsOut);
      return failed.length === 0 ? undefined : failed;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RpcFault) this.#fault = error;
      else if (!(error instanceof DeadlineFault)) throw error;
      // A fault of an endpoint says more than the deadline.
      return this.#fault ?? error;
    }
  }

  /** Logs why the chain is left out; the log counts what repeats. */
  #tell(obstacle: Obstacle, waitedMs: number): void {
    const { log } = this.#deps;
    const { name: chain, hubSetting } = this.#chain;
    this.#tellKnown();
    this.#isTold = true;
    const waitedSec = Math.round(waitedMs / 1_000);
    if (!(obstacle instanceof Error)) {
      for (const { endpoint, check: finding, found: explanation, advice } of obstacle) {
        log.error("chain_suspended", { chain, endpoint, finding, explanation, advice, waitedSec });
      }
      return;
    }
    const advice = obstacle instanceof RpcFault ? adviseOnFault(obstacle) : undefined;
    const fields = { chain, error: obstacle, waitedSec, advice };
    if (hubSetting === undefined) log.warn("chain_unavailable", fields);
    else log.error("hub_unavailable", { ...fields, setting: hubSetting });
  }
}

/**
 * What several checks of one chain find together. While one of them gets no answer, the others count only where they
 * keep the chain out. @throws the fault of the first without an answer
 */
export async function joinRows(
  ...checks: readonly Promise<readonly CheckRow[]>[]
): Promise<readonly CheckRow[]> {
  const results = await Promise.allSettled(checks);
  const rows = results.flatMap((result) => result.status === "fulfilled" ? result.value : []);
  const failed = results.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected" && !rows.some(keepsOut)) throw failed.reason;
  return rows;
}

/** The worker, which waits until the gates are open; one that is absent is open. */
export function behindGates(
  worker: Worker,
  gates: readonly (Pick<ChainGate, "passed"> | undefined)[],
): Worker {
  return {
    name: worker.name,
    run: async (signal) => {
      await orAbort(Promise.all(gates.map((gate) => gate?.passed)), signal);
      await worker.run(signal);
    },
  };
}

/** Worker that logs that relaying starts; behind the hub's gate it does so once there is something to relay with. */
export function startWorker(logStart: () => void): Worker {
  return { name: "start", run: () => Promise.resolve(logStart()) };
}

/**
 * Checks the chains behind the gates until it is disposed of. Returns when the first look at each has told something, or
 * at the hub that it is not there; which chains have not answered is logged when that takes long.
 * @param gates that of the hub first
 * @throws the signal's reason
 */
export async function openGates(
  deps: GateDeps,
  gates: readonly [ChainGate, ...ChainGate[]],
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  const { clock, random: randomness, log } = deps;
  const [hub, ...others] = gates;
  const done = linkedAbort(signal);
  const workers = gates.map(({ worker }) => worker);
  const checking = superviseWorkers({ clock, randomness, log }, workers, { signal: done.signal });
  const stopTelling = clock.after(TOLD_AFTER_MS, () => {
    const waitsFor = gates.flatMap((gate) => gate.describe() ?? []).join("; ");
    if (waitsFor !== "") log.info("long_wait.first_answers", { waitsFor });
  });
  const close = async (): Promise<void> => {
    done.abort();
    await checking;
    done.unlink();
  };
  try {
    await orAbort(hub.known, signal);
    if (hub.isOpen) await orAbort(Promise.all(others.map(({ known }) => known)), signal);
    return { [Symbol.asyncDispose]: close };
  } catch (reason) {
    await close();
    throw reason;
  } finally {
    stopTelling();
  }
}
