/**
 * The long-running consensus relayer: connects, checks, and supervises one worker per chain, until it is stopped or a
 * watched chain gets no updates. Everything it needs from the outside world is passed in.
 */
import { chainWorker, checkAccepted, checkProver } from "./chain_worker.ts";
import { planChecks } from "./checks/plan_checks.ts";
import { controlWorker } from "../core/commands/operation.ts";
import { operations } from "./commands/commands.ts";
import { provableSections } from "./config/schema.ts";
import { observeCheck, ProverTurns, type UpdateRoute } from "./poll_loop.ts";
import { behindGates, ChainGate, type GateDeps, openGates, startWorker } from "../core/chains/check.ts";
import type { CheckRow } from "../core/checks/check_row.ts";
import { checkWorker } from "../core/checks/check_board.ts";
import { type StateMachine, stateMachineIdKey } from "../core/ismp/state_machine.ts";
import { pauseAfterFault, RpcFault } from "../core/rpc/call.ts";
import { superviseRound } from "../core/runtime/config_rounds.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import { endpointBackoff, retry } from "../core/runtime/retry.ts";
import type { Worker } from "../core/runtime/worker.ts";
import { checkFollowers, planHubConsensus, type StartCheck } from "./followers/hub_consensus.ts";
import { HeightNotifier, heightNotifierWorker } from "./height_notifier.ts";
import { monitorWorker, StallFault } from "./monitor.ts";
import type { ConsensusProver } from "./prover.ts";
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
    const gates = createGates(deps, deps, connections);
    const others = [...gates.provers.values(), ...gates.followers.values()];
    await using _checking = await openGates(deps, [gates.hub, ...others], signal);
    const turns = new ProverTurns();
    const notifier = new HeightNotifier();
    const sections = provableSections(deps.config);
    const proving = { ...connections, sections, clock, log, turns, notifier, observer: watch?.updates };
    const control = { log, setLogLevel, proving, status: () => watch?.status() };
    const workers = [
      behindGates(startWorker(() => logStart(deps, connections)), [gates.hub]),
      ...planWorkers({ ...deps, turns, notifier }, connections, gates),
      ...socket === undefined ? [] : [controlWorker({ commands: operations, context: control }, socket)],
      ...planChecking(deps, connections),
      ...base === undefined ? [] : [behindGates(baseWorker(deps, connections, base), [gates.hub])],
      ...watch?.workers() ?? [],
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

/** Gates of the hub, of the chains that are proved to it, and of those that follow it. */
interface Gates {
  readonly hub: ChainGate;
  readonly provers: ReadonlyMap<ConsensusProver, ChainGate>;
  /** By name of the chain. */
  readonly followers: ReadonlyMap<string, ChainGate>;
}

/** Creates the gates: all wait for the hub's, which the others read as well. */
function createGates(
  gateDeps: GateDeps,
  { config, watch }: RunDeps,
  { hub, proved, hubConsensus }: Connections,
): Gates {
  const hubName = hub.id.stateMachine;
  const observer = watch?.updates;
  const hubGate = new ChainGate(gateDeps, {
    name: hubName,
    hubSetting: `[${config.hub.section}.substrate].rpc_ws`,
    check: (signal) => hub.check(signal),
  });
  const gateOf = (route: UpdateRoute, name: string, check: StartCheck["check"]): ChainGate =>
    new ChainGate(gateDeps, {
      name,
      behind: hubGate,
      check: (signal) => observeCheck({ route, observer, check: () => check(signal) }),
    });
  const provers = proved.map((prover) => {
    const { chain } = prover;
    const check = async (signal: AbortSignal): Promise<readonly CheckRow[]> => [
      ...await checkProver(prover, signal),
      ...await checkAccepted(hub, prover, signal),
    ];
    return [prover, gateOf({ chain, target: hubName }, chain, check)] as const;
  });
  const hosts = (hubConsensus?.hosts ?? []).map(({ id, check }) => ({ name: id.stateMachine, check }));
  const others = hubConsensus === undefined ? [] : checkFollowers(hubConsensus);
  const followers = [...hosts, ...others].map(({ name, check }) =>
    [name, gateOf({ chain: hubName, target: name }, name, check)] as const
  );
  return { hub: hubGate, provers: new Map(provers), followers: new Map(followers) };
}

/** Creates one worker per chain, those that notify rollups of new L1 heights, and the monitor. */
function planWorkers(
  deps: RunDeps & { readonly turns: ProverTurns; readonly notifier: HeightNotifier },
  { hub, proved, receiveOnly, hubConsensus }: Connections,
  gates: Gates,
): readonly Worker[] {
  const { config, notifier, clock, random, log, turns } = deps;
  const observer = deps.watch?.updates;
  const shared = { clock, random, log, hub, notifier, observer, turns };
  const chains = proved.map((prover) =>
    behindGates(chainWorker(shared, prover), [gates.provers.get(prover)])
  );
  const everyMs = config.hub.substrate.pollIntervalSec * 1_000;
  const heights = notifier.followed.map((id) => heightNotifierWorker(shared, id, everyMs));
  const receivers = receiveOnly.map((chain) => receiveOnlyWorker(deps, chain));
  const limits = config.relayer.maximumUpdateIntervals;
  const monitor = limits.length === 0 ? [] : [monitorWorker({
    ...shared,
    followers: hubConsensus?.followers.map(({ target }) => target) ?? [],
  }, limits)];
  const ofHub = hubConsensus === undefined ? [] : planHubConsensus({ ...deps, observer }, hubConsensus, {
    hub: config.hub.substrate,
    gates: gates.followers,
  });
  return [
    ...chains,
    ...[...heights, ...monitor].map((worker) => behindGates(worker, [gates.hub])),
    ...receivers,
    ...ofHub,
  ];
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
  const limits = config.relayer.maximumUpdateIntervals;
  log.info("program_started", {
    hub: hub.id.stateMachine,
    chains: proved.map(({ chain, consensusStateId }) => `${chain} (${consensusStateId})`).join(", "),
    followers: followerNames(hubConsensus),
    watched: limits.map(({ id, maxSec }) => `${stateMachineIdKey(id)} ${maxSec} s`).join(", ") || "none",
  });
  const hosts = hubConsensus?.hosts.map(({ id }) => id.stateMachine) ?? [];
  if (hosts.length > 0 && config.relayer.maximumDailyLoss === undefined) {
    const explanation =
      "no maximum_daily_loss in [relayer]: what is spent on proofs of the hub is not limited";
    log.info("configuration_note", { chains: hosts.join(", "), explanation });
  }
}

/** Names of the chains that get proofs of the hub. */
function followerNames(parts: Connections["hubConsensus"]): string {
  const hosts = parts?.hosts.map((host) => host.id.stateMachine) ?? [];
  const targets = parts?.followers.map(({ target }) => target.id.stateMachine) ?? [];
  return [...hosts, ...targets].join(", ") || "none";
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
      try {
        const fetchOnce = (inner: AbortSignal): ReturnType<typeof fetchBase> => fetchBase(base, inner);
        const state = await retry({ clock, randomness: random, signal }, options, fetchOnce);
        if (state === undefined) return log.error("base_checked.client_missing", { base });
        log.info("base_checked.confirmed", { base, relayBlock: state.latestHeight, set: state.current.id });
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RpcFault)) throw error;
        log.error("base_checked.unreadable", { base, error });
      }
    },
  };
}
