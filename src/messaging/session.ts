/**
 * Session shared by the long-running relayer and the one-off commands: opens the database, connects and checks the
 * chains, and closes everything in any case.
 */
import type { EndpointBoard } from "../core/rpc/endpoint_board.ts";
import type { HubChain } from "../core/chains/hub.ts";
import type { Chain } from "../core/chains/port.ts";
import { tellAwaited } from "../core/chains/check.ts";
import {
  type CheckDeps,
  type CheckResult,
  checkUntilPassed,
  checkWithin,
  reportChecks,
} from "../core/chains/check.ts";
import type { CheckBoard } from "../core/checks/program_status.ts";
import type {
  ChainConfig,
  EvmChainConfig,
  MessagingConfig,
  SubstrateChainConfig,
  SubstrateEvmChainConfig,
} from "./config/schema.ts";
import { type Ledger, LedgerFault } from "./ledger/ledger.ts";
import type { Fetch } from "../core/rpc/http_exchange.ts";
import type { Clock } from "../core/runtime/clock.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import type { MachineFacts } from "../core/runtime/machine_facts.ts";
import type { Randomness } from "../core/runtime/clock.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { RelayStatus } from "./status/relay_status.ts";
import type { Log, LogLevel } from "../core/telemetry/log.ts";
import type { CheckFinding } from "../core/chains/check_finding.ts";
import type { EvmChain } from "../core/chains/evm/evm_chain.ts";
import { fromHex } from "../core/encoding/bytes.ts";
import type { ProofChecks } from "../core/chains/proofs.ts";

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

/** Configured chain as checked at start-up. */
export interface ChainToCheck {
  readonly config: ChainConfig;
  readonly chain: Chain;
}

/** Configured chain with its adapter. */
export type ConfiguredChain =
  | { readonly config: EvmChainConfig | SubstrateEvmChainConfig; readonly chain: EvmChain }
  | { readonly config: SubstrateChainConfig; readonly chain: Chain };

/** Dependencies of start-up. */
export interface StartupDeps extends CheckDeps {
  readonly log: Log;
}

export type { CheckResult };

/** Hub as the checks see it. */
export type CheckingHub = Chain & Pick<HubChain, "counterparties">;

/**
 * Compares the hub and every chain with the configuration, concurrently, then what the hub knows of the chains.
 * Configuration errors end the program and are all listed; a chain that does not answer is polled again while the
 * others work. Source: docs/protocol/messaging.md section 4.
 */
export async function checkAll(
  deps: StartupDeps,
  { hub, chains }: { readonly hub: CheckingHub; readonly chains: readonly ChainToCheck[] },
  signal: AbortSignal,
): Promise<{ readonly hub: CheckResult; readonly chains: ReadonlyMap<Chain, CheckResult> }> {
  const hubName = hub.id.stateMachine;
  const hubCheck = checkWithin(
    deps,
    { name: hubName, check: (inner) => hub.check(hub.id, inner) },
    signal,
  );
  const results = chains.map(async (entry) => {
    const { chain } = entry;
    const name = chain.id.stateMachine;
    const own = await checkWithin(deps, { name, check: (inner) => chain.check(hub.id, inner) }, signal);
    // An unreachable hub is reported once, not for every chain.
    if ((await hubCheck).kind === "unreachable") return [chain, own] as const;
    const onHub = { name: hubName, check: (inner: AbortSignal) => checkOnHub(hub, entry, inner) };
    const known = await checkWithin(deps, onHub, signal);
    const both = merged(own, known);
    const { proofChecks } = chain;
    if (proofChecks === undefined || both.kind === "unreachable" || both.findings.some(isFatal)) {
      return [chain, both] as const;
    }
    const ofProofs = { id: chain.id, proofChecks };
    const proofs = await checkWithin(
      deps,
      { name, check: (inner) => checkProofs(hub, ofProofs, inner) },
      signal,
    );
    return [chain, { ...both, findings: [...both.findings, ...proofs.findings] }] as const;
  });
  const [hubResult, chainResults] = await Promise.all([hubCheck, Promise.all(results)]);
  return { hub: hubResult, chains: new Map(chainResults) };
}

function isFatal({ severity }: CheckFinding): boolean {
  return severity === "fatal";
}

/**
 * Checks that the chain's endpoints can prove the state that the hub knows; an unreachable chain was reported before.
 */
async function checkProofs(
  hub: CheckingHub,
  chain: Pick<Chain, "id"> & { readonly proofChecks: ProofChecks },
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const { height } = await hub.reads.fetchView(chain.id, signal);
  return height === 0n ? [] : await chain.proofChecks.checkProofs(height, signal);
}

/** Compares what the hub stores of the chain with the configuration. */
function checkOnHub(
  hub: CheckingHub,
  { config, chain }: ChainToCheck,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const host = config.type === "substrate" ? {} : { ismpHost: fromHex(config.ismpHost) };
  return hub.counterparties.checkCounterparty({ id: chain.id, ...host }, signal);
}

function merged(own: CheckResult, known: CheckResult): CheckResult {
  const findings = [...own.findings, ...known.findings];
  if (own.kind === "unreachable") return { ...own, findings };
  return { ...known, findings };
}

/** Checks a chain on both sides. */
async function checkChain(
  hub: CheckingHub,
  entry: ChainToCheck,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const [own, known] = await Promise.all([
    entry.chain.check(hub.id, signal),
    checkOnHub(hub, entry, signal),
  ]);
  return [...own, ...known];
}

/**
 * Creates a worker that waits until its chain answers and passes its checks, and then opens the gate of the chain's
 * workers.
 * @param open called once the chain may be used
 */
function gateWorker(
  deps: StartupDeps,
  { hub, entry }: { readonly hub: CheckingHub; readonly entry: ChainToCheck },
  open: () => void,
): Worker {
  const name = entry.chain.id.stateMachine;
  return {
    name: `connect ${name}`,
    run: async (signal) => {
      await checkUntilPassed(deps, { name, check: (inner) => checkChain(hub, entry, inner) }, signal);
      open();
    },
  };
}

/** Creates a gate that is open at once for a checked chain, and otherwise opened by a worker that keeps polling. */
export function openGate(
  deps: StartupDeps,
  ends: { readonly hub: CheckingHub; readonly entry: ConfiguredChain },
  result: CheckResult | undefined,
): { readonly passed: Promise<void>; readonly worker: Worker | undefined } {
  if (result?.kind === "checked") return { passed: Promise.resolve(), worker: undefined };
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, worker: gateWorker(deps, ends, resolve) };
}

/** Makes a worker wait for its chains before it starts. */
export function gated(worker: Worker, gates: readonly Promise<void>[]): Worker {
  return {
    name: worker.name,
    run: async (signal) => {
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      await Promise.race([Promise.all(gates), aborted]);
      await worker.run(signal);
    },
  };
}
