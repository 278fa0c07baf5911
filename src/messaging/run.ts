/**
 * The long-running relayer: opens the database, connects the chains, checks them, and supervises the workers until it
 * is asked to stop. Everything it needs from its environment is passed in.
 */
import type { HubRewards } from "../core/chains/hub.ts";
import type { Webhook } from "../core/checks/webhook.ts";
import { checkWorker } from "../core/checks/check_board.ts";
import type { CheckJob } from "../core/checks/check_row.ts";
import { useOpenLedger } from "./checks/database_checks.ts";
import { planChecks } from "./checks/plan_checks.ts";
import type { MessagingConfig } from "./config/schema.ts";
import { type Ledger, LedgerFault, type MessageFilter, type MessageReason } from "./ledger/ledger.ts";
import type { Fetch } from "../core/rpc/http_exchange.ts";
import type { ControlSocket } from "../core/runtime/control_socket.ts";
import { superviseRound } from "../core/runtime/config_rounds.ts";
import type { ExitCode } from "../core/runtime/exit_codes.ts";
import { everyWorker, type Worker } from "../core/runtime/worker.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { Relaying } from "./commands/command.ts";
import { controlWorker } from "../core/commands/operation.ts";
import { operations } from "./commands/commands.ts";
import { createFeeContext, hubTokenPrice27, planFees, planLegs, toRelaySettings } from "./legs.ts";
import type { RelayDeps } from "./relay/leg.ts";
import { reconciliationWorker } from "./relay/scan.ts";
import { behindGates, startWorker } from "../core/chains/check.ts";
import { openSession, type ProgramRun, type RunDeps, type Session } from "./session.ts";
import { readStatus, type RelayStatus } from "./status/relay_status.ts";
import { fromHex, type Hex, toHex } from "../core/encoding/bytes.ts";
import { keepFault, RpcFault } from "../core/rpc/call.ts";
import * as z from "zod";

/** Dependencies of the long-running relayer. */
interface RelayerDeps extends RunDeps {
  /** Socket for the operator's commands, opened with the database; `undefined`: it could not be. */
  readonly controlSocket?: () => ControlSocket | undefined;
  /** Posts changes of readiness; absent: nobody does. */
  readonly webhook?: Pick<Webhook, "workers">;
}

/** Connects the chains and relays until the signal is aborted or an unrecoverable error occurs. */
export async function relay(run: ProgramRun<RelayerDeps>, opened: Ledger): Promise<ExitCode> {
  const { deps, config, signal } = run;
  await using session = await openSession(run, opened);
  const { hub, hubGate, chains: gated } = session;
  const { clock, log, board, watch } = deps;
  const parts = { hub, chains: gated.map(({ entry }) => entry) };
  const ledger = watch?.open(opened, parts) ?? opened;
  const plan = (): readonly CheckJob[] => planChecks({ ...deps, config, ...parts, ...useOpenLedger(ledger) });
  const checking = board === undefined ? [] : [checkWorker({ clock, log, board }, plan)];
  const woken = ledger.transaction(() => ledger.messages.wakeFromFuture());
  if (woken > 0) deps.log.warn("clock_set_back", { rows: woken });
  wakeChanged(ledger, config);
  const planned = planWorkers({ ...deps, ledger }, config, {
    hub,
    hubGate,
    chains: gated,
    fetch: deps.fetch,
  });
  const socket = deps.controlSocket?.();
  const wake = (): void => planned.legs.forEach((leg) => leg.wake.wake());
  const status = (): RelayStatus => watch?.status() ?? readStatus({ ledger, config, clock: deps.clock });
  const context = { ...deps, ledger, config, isRunning: true, wake, status, relaying: () => planned };
  const control = socket === undefined ? [] : [controlWorker({ commands: operations, context }, socket)];
  const workers = [
    behindGates(startWorker(() => logStart(deps.log, config)), [hubGate]),
    ...planned.workers,
    ...checking,
    ...control,
    ...watch?.workers(deps.log) ?? [],
    ...deps.webhook?.workers(config.relayer.notify?.webhook, {
      name: "causeway",
      hub: config.hub.stateMachine,
    }) ?? [],
  ];
  watch?.noteWorkers(workers);
  try {
    const { exitCode } = await superviseRound(
      { clock: deps.clock, randomness: deps.random, log: deps.log },
      workers,
      {
        isFatal: (error) => error instanceof LedgerFault && error.reaction === "stop",
        isPassing: (error) => error instanceof RpcFault,
        onRestart: (worker) => watch?.noteRestart(worker),
        signal,
      },
    );
    return exitCode;
  } finally {
    watch?.close();
  }
}

/** Reasons of messages that a retry may deliver. */
const FAILED: readonly MessageReason[] = ["unprofitable", "simulation_failed", "not_executed", "reverted"];

/**
 * Judges held and rejected messages once more whose setting was changed since it was noted last: what the operator
 * allows now concerns them, too.
 */
export function wakeChanged(ledger: Ledger, { hub, relayer, chains }: MessagingConfig): void {
  const hexes = (modules: readonly Uint8Array[] = []): readonly Hex[] => modules.map(toHex).sort();
  const { minimumProfitPercent, unprofitableRetryFrequencySec, retryModules, moduleFilter } = relayer;
  const { messages } = ledger;
  const wake = (filter: MessageFilter) => () => messages.wakeMatching(filter);
  const unprofitable: MessageFilter = { reasons: ["unprofitable"] };
  const settings: readonly (readonly [name: string, value: unknown, act: () => unknown])[] = [
    ["profit", [minimumProfitPercent, hub.tokenPrice], wake(unprofitable)],
    ["retries", [unprofitableRetryFrequencySec, hexes(retryModules)], wake({ reasons: FAILED })],
    ["filter", hexes(moduleFilter), () => messages.reopen("module_filter")],
    [
      "chains",
      chains.map(({ stateMachine }) => stateMachine).sort(),
      wake({ reasons: ["unconfigured_chain"] }),
    ],
    ...chains.flatMap(({ stateMachine: target, ...chain }) =>
      chain.type === "substrate" ? [] : [
        [`gas price of ${target}`, chain.maximumGasPriceGwei, wake({ ...unprofitable, target })] as const,
      ]
    ),
  ];
  ledger.transaction(() => {
    for (const [name, value, act] of settings) {
      const [noted, now] = [ledger.notes.find("setting", name, z.unknown()), value ?? null];
      if (JSON.stringify(noted) === JSON.stringify(now)) continue;
      ledger.notes.write("setting", name, now);
      if (noted !== undefined) act();
    }
  });
}

/** Plans the workers for legs, settling, fees and housekeeping; each waits at the gates of what it works with. */
function planWorkers(
  deps: RelayDeps,
  config: MessagingConfig,
  parts: Pick<Session, "hub" | "hubGate" | "chains"> & { readonly fetch: Fetch },
): Relaying & { readonly workers: readonly Worker[] } {
  const { hub, hubGate } = parts;
  const listed = listModules(deps, hub, config.hub.signer !== undefined);
  const settings = toRelaySettings(config, listed.current);
  const planned = planLegs({ ...deps, settings }, { ...parts, config });
  const { legs, outbound } = planned;
  const fees = createFeeContext(deps, { ...parts, config, settings, outbound, isRunning: true });
  const ofHub = [
    ...listed.worker === undefined ? [] : [listed.worker],
    ...planFees(fees, config),
    reconciliationWorker(deps, legs, settings.reconciliationFrequencySec),
  ];
  const workers = [
    ...planned.workers,
    ...ofHub.map((worker) => behindGates(worker, [hubGate])),
    everyWorker(deps.clock, "housekeeping", PRUNE_EVERY_MS, () => deps.ledger.prune(deps.clock.now())),
  ];
  return { workers, legs, fees };
}

function logStart(log: Log, config: MessagingConfig): void {
  const { fleet, minimumProfitPercent, deliveryEndpoints, unprofitableRetryFrequencySec } = config.relayer;
  log.info("program_started", {
    hub: config.hub.stateMachine,
    chains: config.chains.map(({ stateMachine }) => stateMachine).join(", "),
    minimumProfit: `${minimumProfitPercent} %`,
    deliversTo: deliveryEndpoints === undefined ? "all" : deliveryEndpoints.join(", "),
    ...fleet !== undefined && { fleet: `${fleet.index} of ${fleet.count}` },
    retriesFailed: unprofitableRetryFrequencySec === undefined
      ? "no"
      : `every ${unprofitableRetryFrequencySec} s`,
  });
  if (config.hub.signer === undefined || hubTokenPrice27(config.hub) !== undefined) return;
  log.warn("reward_price_unknown", { setting: `[${config.hub.section}].token_price` });
}

/** Pause between two removals of expired rows, ms. */
const PRUNE_EVERY_MS = 3_600_000;

const READ_EVERY_MS = 10 * 60_000;
const RETRY_MS = 10_000;

/** List of rewarded modules and the worker that refreshes it. */
export interface ListedModules {
  /**
   * Modules with a reward above 0, lower-case hex, with the reward in units of the hub's token; `undefined` until first
   * read.
   */
  readonly current: () => ReadonlyMap<Hex, bigint> | undefined;
  readonly worker: Worker | undefined;
}

/**
 * Creates the list and its worker. Unless `isPaid`, the list is empty: without a hub account no reward can be paid to
 * us.
 */
export function listModules(
  deps: RelayDeps,
  hub: { readonly rewards: Pick<HubRewards, "fetchRewardedModules"> },
  isPaid: boolean,
): ListedModules {
  if (!isPaid) return { current: () => NONE, worker: undefined };
  let current: ReadonlyMap<Hex, bigint> | undefined;
  const read = async (signal: AbortSignal): Promise<number> => {
    const rewards = await hub.rewards.fetchRewardedModules(signal).catch(keepFault);
    if (rewards instanceof RpcFault) {
      deps.log.debug("read_failed.module_list", { error: rewards });
      return RETRY_MS;
    }
    current = new Map(
      [...rewards].flatMap(([module, reward]) => reward > 0n ? [[toHex(fromHex(module)), reward]] : []),
    );
    return READ_EVERY_MS;
  };
  const worker: Worker = {
    name: "rewarded modules",
    run: async (signal) => {
      while (!signal.aborted) await deps.clock.sleep(await read(signal), signal);
    },
  };
  return { current: () => current, worker };
}

const NONE: ReadonlyMap<Hex, bigint> = new Map();
