/**
 * The long-running consensus relayer: connects, checks, and supervises one worker per chain, until it is stopped or a
 * watched chain gets no updates. Everything it needs from the outside world is passed in.
 */
import {
  chainWorker,
  checkAccepted,
  checkProver,
  clientWorker,
  type ClientWorkerDeps,
} from "./chain_worker.ts";
import { planChecks } from "./checks/plan_checks.ts";
import { controlWorker } from "../core/commands/operation.ts";
import { operations } from "./commands/commands.ts";
import { provableSections } from "./config/schema.ts";
import { observeCheck, ProverTurns, type UpdateRoute } from "./poll_loop.ts";
import { behindGates, ChainGate, openGates, startWorker } from "../core/chains/check.ts";
import { checkWorker } from "../core/checks/check_board.ts";
import { type StateMachine, stateMachineIdKey } from "../core/ismp/state_machine.ts";
import { keepFault, pauseAfterFault, RpcFault } from "../core/rpc/call.ts";
import { superviseRound } from "../core/runtime/config_rounds.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import { endpointBackoff, retry } from "../core/runtime/retry.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { StartCheck } from "./client.ts";
import { monitorWorker, StallFault } from "./monitor.ts";
import { type Connections, type RunDeps, runSession } from "./session.ts";

/** Options of the command line. */
export interface RunOptions {
  /** `--base`: the chain whose view of the hub is the first to be proved from. */
  readonly base: StateMachine | undefined;
}

/** Connects, checks and updates chains until `signal` is aborted or a watched chain has stalled. */
export function runConsensus(
  deps: RunDeps,
  { base }: RunOptions,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { clock, log, setLogLevel, watch, controlSocket: socket } = deps;
  return runSession(deps, async (connections) => {
    watch?.plan(connections);
    const hubName = connections.hub.id.stateMachine;
    const hubGate = new ChainGate(deps, {
      name: hubName,
      hubSetting: `[${deps.config.hub.section}.substrate].rpc_ws`,
      check: (inner) => connections.hub.check(inner),
    });
    const observer = watch?.updates;
    const routes = listRoutes(connections).map(({ route, check, createWorker }) => {
      const gate = new ChainGate(deps, {
        name: route.chain === hubName ? route.target : route.chain,
        // Their checks read the hub as well.
        behind: hubGate,
        check: (inner) => observeCheck({ route, observer, check: () => check(inner) }),
      });
      return { gate, createWorker };
    });
    await using _checking = await openGates(deps, [hubGate, ...routes.map(({ gate }) => gate)], signal);
    const turns = new ProverTurns();
    const intervalMs = deps.config.hub.substrate.pollIntervalSec * 1_000;
    const shared = { clock, random: deps.random, log, observer, intervalMs };
    const sections = provableSections(deps.config);
    const proving = { ...connections, sections, clock, log, turns, observer };
    const control = { log, setLogLevel, proving, status: () => watch?.status() };
    const workers = [
      behindGates(startWorker(() => logStart(deps, connections)), [hubGate]),
      ...routes.flatMap(({ createWorker, gate }) =>
        createWorker === undefined ? [] : [behindGates(createWorker({ ...shared, turns }), [gate])]
      ),
      ...planMonitor(deps, connections).map((worker) => behindGates(worker, [hubGate])),
      ...connections.receiveOnly.map((chain) => receiveOnlyWorker(deps, chain)),
      ...socket === undefined ? [] : [controlWorker({ commands: operations, context: control }, socket)],
      ...planChecking(deps, connections),
      ...base === undefined ? [] : [behindGates(baseWorker(deps, connections, base), [hubGate])],
      ...watch?.watchers() ?? [],
      ...deps.webhook?.workers(deps.config.relayer.notify?.webhook, {
        name: "causeway-consensus",
        hub: connections.hub.id.stateMachine,
      }) ?? [],
    ];
    watch?.noteWorkers(workers);
    watch?.open();
    const { fault, exitCode } = await superviseRound(
      { clock, randomness: deps.random, log },
      workers,
      {
        isFatal: (error) => error instanceof StallFault,
        isPassing: (error) => error instanceof RpcFault,
        onRestart: (worker) => watch?.noteRestart(worker),
        signal,
      },
    );
    return fault instanceof StallFault ? exitCodes.stalled : exitCode;
  }, signal);
}

/** Creates the worker that checks the whole set-up every ten minutes, where the program has what it needs. */
function planChecking(
  { configured, board, config, clock, log }: RunDeps,
  connections: Connections,
): readonly Worker[] {
  if (configured === undefined || board === undefined) return [];
  return [checkWorker({ clock, log, board }, () => planChecks({ ...connections, config, configured }))];
}

/** A light client that the program advances, or a check of something that it needs for that. */
interface StartedClient {
  readonly route: UpdateRoute;
  readonly check: StartCheck["check"];
  /** Creates its worker, which starts when the check has passed; absent: it is a check alone. */
  readonly createWorker?: (deps: ClientWorkerDeps & Pick<RunDeps, "log">) => Worker;
}

/** Lists the light clients: of the chains on the hub, of the hub on its followers. */
function listRoutes({ hub, proved, hubConsensus }: Connections): readonly StartedClient[] {
  const hubName = hub.id.stateMachine;
  const { followers = [], checks = [] } = hubConsensus ?? {};
  return [
    ...proved.map((prover): StartedClient => ({
      route: { chain: prover.chain, target: hubName },
      check: async (signal) => [
        ...await checkProver(prover, signal),
        ...await checkAccepted(hub, prover, signal),
      ],
      createWorker: (deps) => chainWorker({ ...deps, hub }, prover),
    })),
    ...followers.map(({ client, check }): StartedClient => ({
      route: client.route,
      check,
      createWorker: (deps) => clientWorker(deps, client),
    })),
    ...checks.map(({ name, check }): StartedClient => ({ route: { chain: hubName, target: name }, check })),
  ];
}

/** Creates the monitor of `maximum_update_intervals`, where the configuration has some. */
function planMonitor(
  { clock, log, config }: RunDeps,
  { hub, hubConsensus }: Connections,
): readonly Worker[] {
  const limits = config.relayer.maximumUpdateIntervals;
  const followers = hubConsensus?.followers.flatMap(({ proved }) => proved?.target ?? []) ?? [];
  return limits.length === 0 ? [] : [monitorWorker({ clock, log, hub, followers }, limits)];
}

/** Creates the worker of a receive-only chain, which keeps the program running when nothing else does. */
function receiveOnlyWorker({ log }: Pick<RunDeps, "log">, chain: StateMachine): Worker {
  return {
    name: `receive-only ${chain}`,
    run: (signal) => {
      log.info("chain_limited.receive_only", { chain });
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
  };
}

function logStart(
  { log, config }: RunDeps,
  { hub, proved, hubConsensus }: Connections,
): void {
  for (const chain of hubConsensus?.skipped ?? []) {
    log.info("chain_limited.no_hub_proofs", { chain, explanation: hubConsensus?.skippedText });
  }
  const limits = config.relayer.maximumUpdateIntervals;
  const followers = hubConsensus?.followers.map(({ client }) => client) ?? [];
  log.info("program_started", {
    hub: hub.id.stateMachine,
    chains: proved.map(({ chain, consensusStateId }) => `${chain} (${consensusStateId})`).join(", "),
    followers: followers.map(({ route }) => route.target).join(", ") || "none",
    watched: limits.map(({ id, maxSec }) => `${stateMachineIdKey(id)} ${maxSec} s`).join(", ") || "none",
  });
  const paid = followers.flatMap(({ isFree, route }) => isFree ? [] : [route.target]);
  if (paid.length > 0 && config.relayer.maximumDailyLoss === undefined) {
    const explanation =
      "no maximum_daily_loss in [relayer]: what is spent on proofs of the hub is not limited";
    log.info("configuration_note", { chains: paid.join(", "), explanation });
  }
}

/**
 * Creates a worker that says whether `--base` fits: with BEEFY the chain must be a host with a client of the hub. Proofs
 * for a chain start from that chain's own state, so it has no other effect (docs/protocol/hub-consensus.md section 3.6).
 */
function baseWorker(
  { clock, random, log }: Pick<RunDeps, "clock" | "random" | "log">,
  { fetchBase }: Connections,
  base: StateMachine,
): Worker {
  return {
    name: "base",
    run: async (signal) => {
      if (fetchBase === undefined) return log.info("base_checked.ignored", { base });
      const options = { backoff: endpointBackoff, pauseAfter: pauseAfterFault };
      const fetchOnce = (inner: AbortSignal): ReturnType<typeof fetchBase> => fetchBase(base, inner);
      const state = await retry({ clock, randomness: random, signal }, options, fetchOnce).catch(keepFault);
      signal.throwIfAborted();
      if (state === undefined) return log.error("base_checked.client_missing", { base });
      if (state instanceof RpcFault) return log.error("base_checked.unreadable", { base, error: state });
      log.info("base_checked.confirmed", { base, relayBlock: state.latestHeight, set: state.current.id });
    },
  };
}
