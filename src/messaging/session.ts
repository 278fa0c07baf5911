/**
 * Session shared by the long-running relayer and the one-off commands: opens the database, connects and checks the
 * chains, and closes everything in any case.
 */
import type { EndpointBoard } from "../core/rpc/endpoint_board.ts";
import type { HubChain } from "../core/chains/hub.ts";
import type { Chain } from "../core/chains/port.ts";
import { reportChecks, tellAwaited } from "../core/chains/check.ts";
import type { CheckBoard } from "../core/checks/program_status.ts";
import type { MessagingConfig } from "./config/schema.ts";
import { type Ledger, LedgerFault } from "./ledger/ledger.ts";
import type { Fetch } from "../core/rpc/http.ts";
import type { Clock, Randomness } from "../core/runtime/clock.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import type { MachineFacts } from "../core/runtime/machine_facts.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { RelayStatus } from "./status/relay_status.ts";
import type { Log, LogLevel } from "../core/telemetry/log.ts";
import { checkAll, type CheckResult, type ConfiguredChain } from "./startup.ts";

/** Adapters of the hub and of the chains of the configuration. */
export interface Connections {
  readonly hub: HubChain;
  readonly chains: readonly ConfiguredChain[];
}

/** Environment of the relayer. */
export interface RunDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  readonly openLedger: () => Ledger;
  /** Creates adapters without connecting: that happens at the first request. */
  readonly connect: (config: MessagingConfig) => Connections;
  /** For prices of native tokens. */
  readonly fetch: Fetch;
  /** Changes the minimum level that is logged; absent where it cannot be changed. */
  readonly setLogLevel?: ((level: LogLevel) => void) | undefined;
  /** Absent: the running relayer makes no checks after its start. */
  readonly checks?: RunningChecks | undefined;
  /** Notified of the session and its workers; absent: nobody watches. */
  readonly watch?: SessionWatch | undefined;
}

/** Checks of the running relayer. */
export interface RunningChecks {
  /** Receives the results. */
  readonly board: CheckBoard;
  /** Reads facts about the machine; only before the database is opened. */
  readonly machine: () => MachineFacts;
}

/** Watcher of a running relayer; relaying does not depend on it. */
export interface SessionWatch {
  /** Endpoints as their requests show them. */
  readonly endpoints: Pick<EndpointBoard, "listAsked">;
  /** Told that the session is open; returns the ledger to use. */
  open(ledger: Ledger, connections: Connections): Ledger;
  /** The snapshot of what runs; `undefined`: nothing is open. */
  status(): RelayStatus | undefined;
  /** Told that the session ends. */
  close(): void;
  /** Workers that only watch. */
  workers(log: Log): readonly Worker[];
  /** Notified of the workers that are started, and of each restart. */
  readonly program: {
    noteWorkers(workers: readonly Worker[]): void;
    noteRestart(worker: string): void;
  };
}

/** Open database and checked chains, none of which has a configuration error. */
export interface Session extends Connections {
  readonly ledger: Ledger;
  /** Results of the start checks; chains that did not answer may not be used before they pass. */
  readonly checks: ReadonlyMap<Chain, CheckResult>;
}

/** One run of a program or command. */
export interface ProgramRun<Deps = RunDeps> {
  readonly deps: Deps;
  readonly config: MessagingConfig;
  /** Aborted when the program is asked to stop. */
  readonly signal: AbortSignal;
}

/** Runs `work` in a session; an abort and faults of the database become exit statuses. */
export function runSession(
  run: ProgramRun,
  work: (session: Session) => Promise<ExitCode>,
): Promise<ExitCode> {
  return withLedger(run, (ledger) => connectAndWork(run, ledger, work));
}

/** As {@link runSession}, for work that only needs the database. */
export async function withLedger(
  { deps, config, signal }: ProgramRun<Pick<RunDeps, "log" | "openLedger">>,
  work: (ledger: Ledger) => Promise<ExitCode>,
): Promise<ExitCode> {
  let ledger: Ledger;
  try {
    ledger = deps.openLedger();
  } catch (error) {
    if (!(error instanceof LedgerFault)) throw error;
    deps.log.error("database_unusable", { code: error.code, explanation: error.message });
    return exitCodes.failed;
  }
  try {
    ledger.bindHub(config.hub.stateMachine);
    return await work(ledger);
  } catch (error) {
    if (signal.aborted && (error === signal.reason || isAbort(error))) return exitCodes.ok;
    if (!(error instanceof LedgerFault)) throw error;
    deps.log.error("database_unusable", { code: error.code, explanation: error.message });
    return exitCodes.failed;
  } finally {
    ledger.close();
  }
}

/** Connects and checks the chains, works with them, and closes the connections. */
export async function connectAndWork(
  { deps, config, signal }: ProgramRun,
  ledger: Ledger,
  work: (session: Session) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { hub, chains } = deps.connect(config);
  try {
    const checks = await tellAwaited(
      deps,
      (chain) => deps.watch?.endpoints.listAsked(chain) ?? [],
      (awaited) => checkAll({ ...deps, awaited }, { hub, chains }, signal),
    );
    const hubCheck = {
      name: hub.id.stateMachine,
      place: `[${config.hub.section}].rpc_ws`,
      result: checks.hub,
    };
    const chainChecks = chains.flatMap(({ chain }) => {
      const result = checks.chains.get(chain);
      return result === undefined ? [] : [{ name: chain.id.stateMachine, result }];
    });
    if (!reportChecks(deps.log, hubCheck, chainChecks)) return exitCodes.failed;
    return await work({ ledger, hub, chains, checks: checks.chains });
  } finally {
    await Promise.allSettled([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
