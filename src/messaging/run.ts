/**
 * The long-running relayer: opens the database, connects the chains, checks them, and supervises the workers until
 * it is told to stop. Everything it needs from the outside world is handed in.
 */
import type { Chain } from "../core/chains/chain.ts";
import type { HubChain } from "../core/chains/hub.ts";
import type { MessagingConfig } from "../core/config/messaging_config.ts";
import { type Ledger, LedgerFault } from "../core/ledger/ledger.ts";
import { type Hex, toHex } from "../core/protocol/bytes.ts";
import type { Clock } from "../core/runtime/clock.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import type { Randomness } from "../core/runtime/randomness.ts";
import { Wake } from "../core/runtime/wake.ts";
import { superviseWorkers, type Worker } from "../core/runtime/worker.ts";
import type { Log } from "../core/telemetry/log.ts";
import { housekeepingWorker } from "./housekeeping.ts";
import type { Leg, PipelineDeps, PipelineSettings } from "./pipeline/leg.ts";
import { legWorker } from "./pipeline/leg_worker.ts";
import { settleWorker } from "./pipeline/settle_worker.ts";
import { checkAll, type CheckResult, type ConfiguredChain, gated, gateWorker } from "./startup.ts";

/** The outside world of the relayer. */
export interface RunDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  readonly openLedger: () => Ledger;
  /** Adapters of the hub and of the chains of the configuration; connects nothing yet. */
  readonly connect: (
    config: MessagingConfig,
  ) => { readonly hub: HubChain; readonly chains: readonly ConfiguredChain[] };
}

/** Longest pause between two looks at transactions under way. */
const SETTLE_EVERY_MS = 4_000;

/** Runs until `signal` is aborted or nothing that the program can do helps. */
export async function runRelayer(
  deps: RunDeps,
  config: MessagingConfig,
  signal: AbortSignal,
): Promise<ExitCode> {
  let ledger: Ledger;
  try {
    ledger = deps.openLedger();
  } catch (error) {
    if (!(error instanceof LedgerFault)) throw error;
    deps.log.error(error.message, { code: error.code });
    return exitCodes.failed;
  }
  try {
    ledger.bindHub(config.hub.stateMachine);
    return await runWithLedger(deps, config, ledger, signal);
  } catch (error) {
    if (signal.aborted && (error === signal.reason || isAbort(error))) return exitCodes.ok;
    if (!(error instanceof LedgerFault)) throw error;
    deps.log.error(error.message, { code: error.code });
    return exitCodes.failed;
  } finally {
    ledger.close();
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

async function runWithLedger(
  deps: RunDeps,
  config: MessagingConfig,
  ledger: Ledger,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { hub, chains } = deps.connect(config);
  try {
    const checks = await checkAll(deps, hub, chains, signal);
    if (!reportChecks(deps.log, hub, chains, checks)) return exitCodes.failed;
    const pipeline: PipelineDeps = { ...deps, ledger };
    const workers = planWorkers(pipeline, config, { hub, chains, checks: checks.chains });
    tellStart(deps.log, config);
    const outcome = await superviseWorkers(
      { clock: deps.clock, randomness: deps.random, log: deps.log },
      workers,
      { isFatal: (error) => error instanceof LedgerFault && error.reaction === "stop" },
      signal,
    );
    if (outcome.kind === "aborted") deps.log.info("Stopped; everything under way is in the journal");
    return outcome.exitCode;
  } finally {
    await Promise.allSettled([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
  }
}

/** Lists every finding; false when something must be mended before the program can run. */
function reportChecks(
  log: Log,
  hub: HubChain,
  chains: readonly ConfiguredChain[],
  checks: { readonly hub: CheckResult; readonly chains: ReadonlyMap<Chain, CheckResult> },
): boolean {
  let problems = 0;
  const report = (chain: Chain, result: CheckResult | undefined): void => {
    const fields = { chain: chain.id.stateMachine };
    for (const { severity, text } of result?.findings ?? []) {
      if (severity === "fatal") problems++;
      log[severity === "fatal" ? "error" : "warn"](text, fields);
    }
    if (result?.kind !== "unreachable") return;
    const { error } = result;
    if (chain !== hub) {
      const text = "Chain gives no usable answer; the others start without it. Check its endpoints";
      return log.warn(text, { ...fields, error });
    }
    problems++;
    log.error("The hub gives no usable answer; check [hub].rpc_ws and the node", { ...fields, error });
  };
  report(hub, checks.hub);
  for (const { chain } of chains) report(chain, checks.chains.get(chain));
  if (problems === 0) return true;
  log.error("Nothing was started; mend what is listed above and start again", { problems });
  return false;
}

/** Legs, settling and housekeeping; workers of a chain that does not answer yet wait at its gate. */
function planWorkers(
  deps: PipelineDeps,
  config: MessagingConfig,
  parts: {
    readonly hub: HubChain;
    readonly chains: readonly ConfiguredChain[];
    readonly checks: ReadonlyMap<Chain, CheckResult>;
  },
): readonly Worker[] {
  const { hub } = parts;
  const settings = settingsOf(config);
  const hubWakes: Wake[] = [];
  const hubSettle = new Wake(deps.clock);
  const workers: Worker[] = [];
  for (const entry of parts.chains) {
    const { chain, config: chainConfig } = entry;
    const gate = openGate(deps, hub, entry, parts.checks.get(chain));
    if (gate.worker !== undefined) workers.push(gate.worker);
    const pollMs = chainConfig.pollIntervalSec * 1000;
    const hubPollMs = config.hub.pollIntervalSec * 1000;
    const inbound: Leg = {
      source: chain,
      sink: hub,
      initialHeight: chainConfig.initialHeight,
      pollIntervalMs: hubPollMs,
      wake: new Wake(deps.clock),
      settleWake: hubSettle,
    };
    hubWakes.push(inbound.wake);
    workers.push(gated(legWorker(deps, settings, inbound), [gate.passed]));
    if (config.relayer.deliveryEndpoints?.includes(chain.id.stateMachine) === false) continue;
    const outbound: Leg = {
      source: hub,
      sink: chain,
      initialHeight: config.hub.initialHeight,
      pollIntervalMs: pollMs,
      wake: new Wake(deps.clock),
      settleWake: new Wake(deps.clock),
    };
    const settling = {
      sink: chain,
      sources: [hub],
      everyMs: Math.min(pollMs, SETTLE_EVERY_MS),
      wake: outbound.settleWake,
      legs: [outbound.wake],
    };
    workers.push(gated(legWorker(deps, settings, outbound), [gate.passed]));
    workers.push(gated(settleWorker(deps, settings, settling), [gate.passed]));
  }
  const hubSettling = {
    sink: hub,
    sources: parts.chains.map(({ chain }) => chain),
    everyMs: Math.min(config.hub.pollIntervalSec * 1000, SETTLE_EVERY_MS),
    wake: hubSettle,
    legs: hubWakes,
  };
  return [...workers, settleWorker(deps, settings, hubSettling), housekeepingWorker(deps)];
}

function settingsOf(config: MessagingConfig): PipelineSettings {
  const { moduleFilter, unprofitableRetryFrequencySec } = config.relayer;
  return {
    hub: config.hub.stateMachine,
    moduleFilter: moduleFilter === undefined
      ? undefined
      : new Set(moduleFilter.map((module): Hex => toHex(module))),
    configured: new Set([config.hub.stateMachine, ...config.chains.map(({ stateMachine }) => stateMachine)]),
    retryFrequencySec: unprofitableRetryFrequencySec,
  };
}

/** Open at once for a checked chain; otherwise opened by a worker that goes on asking. */
function openGate(
  deps: PipelineDeps,
  hub: HubChain,
  entry: ConfiguredChain,
  result: CheckResult | undefined,
): { readonly passed: Promise<void>; readonly worker: Worker | undefined } {
  if (result?.kind === "checked") return { passed: Promise.resolve(), worker: undefined };
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, worker: gateWorker(deps, hub, entry, resolve) };
}

function tellStart(log: Log, config: MessagingConfig): void {
  const { minimumProfitPercent, deliveryEndpoints, unprofitableRetryFrequencySec } = config.relayer;
  log.info("Relaying", {
    hub: config.hub.stateMachine,
    chains: config.chains.map(({ stateMachine }) => stateMachine).join(", "),
    minimumProfit: `${minimumProfitPercent} %`,
    deliversTo: deliveryEndpoints === undefined ? "all" : deliveryEndpoints.join(", "),
    retriesFailed: unprofitableRetryFrequencySec === undefined
      ? "no"
      : `every ${unprofitableRetryFrequencySec} s`,
  });
}
