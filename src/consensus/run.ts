/**
 * The long-running consensus relayer: connects, checks, and supervises one worker per chain, until it is stopped or a
 * watched chain gets no updates. Everything it needs from the outside world is passed in.
 */
import type { CheckFinding } from "../core/chains/check_finding.ts";
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";
import type { AwaitedAnswers, CheckResult } from "../core/chains/check.ts";
import { checkWithin, reportChecks, tellAwaited } from "../core/chains/check.ts";
import { checkWorker } from "../core/checks/check_worker.ts";
import { planChecks } from "./checks/plan_checks.ts";
import { describeUnlisted, findAcceptedChains } from "../core/ismp/consensus_clients.ts";
import { type StateMachine, stateMachineIdKey } from "../core/ismp/state_machine.ts";
import { RpcFault } from "../core/rpc/call.ts";
import { ReloadRequested } from "../core/runtime/config_rounds.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import { retry } from "../core/runtime/retry.ts";
import { superviseWorkers, type Worker } from "../core/runtime/worker.ts";
import { chainWorker, checkProver } from "./chain_worker.ts";
import { consensusControlWorker } from "./control/consensus_control_worker.ts";
import { ProverTurns } from "./control/prover_turns.ts";
import { checkFollowers, planHubConsensus } from "./followers/hub_consensus.ts";
import { HeightNotifier, heightNotifierWorker } from "./height_notifier.ts";
import { monitorWorker, StallFault } from "./monitor.ts";
import type { BaseState } from "./client.ts";
import type { ConsensusProver } from "./prover.ts";
import { type Connections, type RunDeps, runSession } from "./session.ts";

/** Options of the command line. */
export interface RunOptions {
  /** `--base`: the chain whose view of the hub is the first to be proved from. */
  readonly base: StateMachine | undefined;
  /** Called when the start checks have passed. */
  readonly started?: () => void;
}

/** Time for which failing endpoints of `--base` are retried. */
const BASE_TIMEOUT_MS = 30_000;

/** Runs until `signal` is aborted or a watched chain has stalled. */
export function runConsensus(
  deps: RunDeps,
  { base, started }: RunOptions,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { config } = deps;
  if (base !== undefined && !config.chains.some(({ stateMachine }) => stateMachine === base)) {
    deps.log.error("chain_not_configured", {
      base,
    });
    return Promise.resolve(exitCodes.failed);
  }
  return runSession(deps, async (connections) => {
    const { watch } = deps;
    watch?.plan(connections);
    const checks = await tellAwaited(
      deps,
      (chain) => watch?.endpoints.listAsked(chain) ?? [],
      (awaited) => checkAll({ ...deps, awaited }, connections, signal),
    );
    if (checks === undefined) return exitCodes.failed;
    if (base !== undefined && !await checkBase(deps, { connections, base }, signal)) {
      return exitCodes.failed;
    }
    started?.();
    const turns = new ProverTurns();
    const socket = deps.controlSocket;
    const { clock, log, setLogLevel } = deps;
    const notifier = new HeightNotifier();
    const proving = { ...connections, clock, log, turns, notifier, observer: watch?.updates };
    const control = { log, setLogLevel, proving, status: () => watch?.status() };
    const workers = [
      ...planWorkers({ ...deps, turns, notifier }, connections, checks),
      ...socket === undefined ? [] : [consensusControlWorker(control, socket)],
      ...planChecking(deps, connections),
      ...watch?.workers() ?? [],
    ];
    watch?.program.noteWorkers(workers);
    watch?.open();
    logStart(deps, connections);
    const outcome = await superviseWorkers(
      { clock: deps.clock, randomness: deps.random, log: deps.log },
      workers,
      {
        isFatal: (error) => error instanceof StallFault,
        isPassing: (error) => error instanceof RpcFault,
        onRestart: (worker) => watch?.program.noteRestart(worker),
        signal,
      },
    );
    const isReload = signal.reason instanceof ReloadRequested;
    if (outcome.kind === "aborted" && !isReload) deps.log.info("program_stopped");
    if (isReload && outcome.stuck.length > 0) return exitCodes.failed; // no second worker for one job
    return outcome.fault instanceof StallFault ? exitCodes.stalled : outcome.exitCode;
  }, signal);
}

/** Creates the worker that checks the whole set-up every ten minutes, where the program has what it needs. */
function planChecking(
  { machine, board, config, clock, log }: RunDeps,
  connections: Connections,
): readonly Worker[] {
  if (machine === undefined || board === undefined) return [];
  return [checkWorker({ clock, log, board }, () => planChecks({ ...connections, config, machine }))];
}

/** Results of the start-up checks. */
interface Checks {
  readonly provers: ReadonlyMap<ConsensusProver, CheckResult>;
  /** Results of {@link checkFollowers}, by name. */
  readonly followers: ReadonlyMap<string, CheckResult>;
}

/** Checks the hub and all chains in parallel; `undefined` when something must be fixed, which is logged. */
async function checkAll(
  deps: RunDeps & { readonly awaited: AwaitedAnswers },
  { hub, proved, hubConsensus }: Connections,
  signal: AbortSignal,
): Promise<Checks | undefined> {
  const hubName = hub.id.stateMachine;
  const hubCheck = checkWithin(deps, { name: hubName, check: (inner) => hub.check(inner) }, signal);
  const chainChecks = proved.map(async (prover) => {
    const check = async (inner: AbortSignal): Promise<readonly CheckFinding[]> => [
      ...await checkProver(prover, inner),
      ...await checkAccepted(hub, prover, inner),
    ];
    const name = prover.chain;
    return { prover, name, result: await checkWithin(deps, { name, check }, signal) };
  });
  const followerChecks = hubConsensus === undefined ? [] : checkFollowers(hubConsensus);
  const targetChecks = followerChecks.map(async (check) => ({
    name: check.name,
    result: await checkWithin(deps, check, signal),
  }));
  const [result, chains, targets] = await Promise.all([
    hubCheck,
    Promise.all(chainChecks),
    Promise.all(targetChecks),
  ]);
  const place = `[${deps.config.hub.section}.substrate].rpc_ws`;
  // An unavailable hub is reported once: the provers read it as well.
  const reported = result.kind === "unreachable"
    ? chains.filter((chain) => chain.result.kind === "checked")
    : chains;
  if (!reportChecks(deps.log, { name: hubName, result, place }, [...reported, ...targets])) return undefined;
  return {
    provers: new Map(chains.map((chain) => [chain.prover, chain.result])),
    followers: new Map(targets.map((target) => [target.name, target.result])),
  };
}

/**
 * Warns when the hub does not accept messages of a chain whose heights it stores. Updates are submitted anyway, since
 * governance waits for them.
 */
async function checkAccepted(
  hub: ConsensusTarget,
  { commitmentId: { stateMachine, consensusStateId } }: ConsensusProver,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const client = await hub.reads.fetchClient(consensusStateId, "best", signal);
  const list = client && findAcceptedChains(client.clientId);
  if (list === undefined) return [];
  const [entry] = await hub.reads.fetchStorage([list.key(stateMachine)], signal);
  if (entry !== undefined) return [];
  const text = `${hub.id.stateMachine} ${describeUnlisted(stateMachine, list)}; updates are submitted anyway`;
  return [{ severity: "warning", event: "chain_not_accepted", text }];
}

/** Creates one worker per chain, those that notify rollups of new L1 heights, and the monitor. */
function planWorkers(
  deps: RunDeps & { readonly turns: ProverTurns; readonly notifier: HeightNotifier },
  { hub, proved, receiveOnly, hubConsensus }: Connections,
  checks: Checks,
): readonly Worker[] {
  const { config, notifier } = deps;
  const observer = deps.watch?.updates;
  const shared = {
    clock: deps.clock,
    random: deps.random,
    log: deps.log,
    hub,
    notifier,
    observer,
    turns: deps.turns,
  };
  const chains = proved.map((prover) => chainWorker(shared, prover, checks.provers.get(prover)));
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
    checks: checks.followers,
  });
  return [...chains, ...heights, ...receivers, ...monitor, ...ofHub];
}

/** Creates the worker of a receive-only chain, which keeps the program running when nothing else does. */
function receiveOnlyWorker({ log }: Pick<RunDeps, "log">, chain: StateMachine): Worker {
  return {
    name: `receive-only ${chain}`,
    run: (signal) => {
      log.info("chain_receive_only", { chain });
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
    log.info("losses_unlimited", { chains: hosts.join(", ") });
  }
}

/** Names of the chains that get proofs of the hub. */
function followerNames(parts: Connections["hubConsensus"]): string {
  const hosts = parts?.hosts.map((host) => host.id.stateMachine) ?? [];
  const targets = parts?.followers.map(({ target }) => target.id.stateMachine) ?? [];
  return [...hosts, ...targets].join(", ") || "none";
}

/**
 * Validates `--base`: with BEEFY the chain must be a host with a client of the hub. Proofs for a chain start from that
 * chain's own state, so it has no other effect (docs/protocol/hub-consensus.md section 3.6).
 */
async function checkBase(
  { clock, random, log }: RunDeps,
  { connections, base }: { readonly connections: Connections; readonly base: StateMachine },
  signal: AbortSignal,
): Promise<boolean> {
  const { fetchBase } = connections;
  if (fetchBase === undefined) {
    log.info("base_ignored", { base });
    return true;
  }
  try {
    const options = {
      backoff: { firstMs: 500, maxMs: 4_000 },
      withinMs: BASE_TIMEOUT_MS,
      decide: (error: unknown) =>
        error instanceof RpcFault && error.reaction === "retry"
          ? { kind: "again" as const }
          : { kind: "giveUp" as const },
    };
    const attempt = (inner: AbortSignal): Promise<BaseState> => fetchBase(base, inner);
    const state = await retry({ clock, randomness: random, signal }, options, attempt);
    if (state === undefined) {
      log.error("base_client_missing", { base });
      return false;
    }
    log.info("base_confirmed", {
      base,
      relayBlock: state.latestHeight,
      set: state.current.id,
    });
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RpcFault)) throw error;
    log.error("base_state_unreadable", { base, error });
    return false;
  }
}
