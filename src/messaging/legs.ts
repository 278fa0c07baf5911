/** Plans the legs, their dependencies, and the workers that serve them. */
import type { MessagingConfig } from "./config/schema.ts";
import { type Hex, toHex, toTokenUnits } from "../core/encoding/bytes.ts";
import type { StateMachine } from "../core/ismp/state_machine.ts";
import type { Fetch } from "../core/rpc/http.ts";
import { Limit } from "../core/runtime/limit.ts";
import { Wake } from "../core/runtime/waiting.ts";
import type { Worker } from "../core/runtime/worker.ts";
import {
  findRuntimeSupport,
  findSourceAcceptance,
  findTargetProvability,
  firstObstacle,
} from "./relay/obstacles.ts";
import type {
  FindObstacle,
  Leg,
  LegProfit,
  RelayContext,
  RelaySettings,
  ReplacementContext,
} from "./relay/leg.ts";
import { legWorker } from "./relay/leg_worker.ts";
import { settleWorker } from "./relay/settle/settle_worker.ts";
import { createNativePriceSource, hubTokenPrice27 } from "./prices.ts";
import { type ConfiguredChain, gated } from "./startup.ts";
import type { HubChain } from "../core/chains/hub.ts";
import type { Chain } from "../core/chains/port.ts";

/** Configured chain with a promise that resolves once it may be used. */
export interface GatedChain {
  readonly entry: ConfiguredChain;
  readonly passed: Promise<void>;
}

/** Input for planning legs. */
export interface LegPlanInput {
  readonly config: MessagingConfig;
  readonly hub: HubChain;
  readonly chains: readonly GatedChain[];
  /** For price sources. */
  readonly fetch: Fetch;
}

/** Legs with their workers. */
export interface LegPlan {
  readonly workers: readonly Worker[];
  /** All legs, in both directions. */
  readonly legs: readonly Leg[];
  /** Leg from the hub to each chain, including chains left out of `delivery_endpoints`. */
  readonly outbound: ReadonlyMap<StateMachine, Leg>;
}

/** Maximum poll interval for pending transactions, ms. */
const SETTLE_EVERY_MS = 4_000;

/** Converts the operator's settings for the pipeline. */
export function toRelaySettings(
  config: MessagingConfig,
  listedModules: RelaySettings["listedModules"],
): RelaySettings {
  const { fleet, maximumDailyLoss, moduleFilter, retryModules, reconciliationFrequencySec } = config.relayer;
  return {
    hub: config.hub.stateMachine,
    moduleFilter: moduleFilter === undefined
      ? undefined
      : new Set(moduleFilter.map((module): Hex => toHex(module))),
    configured: new Set([config.hub.stateMachine, ...config.chains.map(({ stateMachine }) => stateMachine)]),
    retryFrequencySec: config.relayer.unprofitableRetryFrequencySec,
    retryModules: new Set(retryModules.map((module): Hex => toHex(module))),
    reconciliationFrequencySec,
    maxDailyLossMicroUsd: maximumDailyLoss === undefined ? undefined : toTokenUnits(maximumDailyLoss, 6),
    listedModules,
    ...fleet !== undefined && {
      fleet: { index: fleet.index, count: fleet.count, takeOverMs: fleet.takeOverSec * 1_000 },
    },
    hubTokenPrice27: hubTokenPrice27(config.hub),
  };
}

/** Plans two legs per chain, and the settling worker of every target. */
export function planLegs(context: RelayContext, parts: LegPlanInput): LegPlan {
  const { config, hub } = parts;
  const feeChains = new Map<StateMachine, Chain>(
    parts.chains.map(({ entry }) => [entry.chain.id.stateMachine, entry.chain]),
  );
  const hubSettle = new Wake(context.clock);
  const shared = { ...parts, feeChains, hubSettle };
  const inboundLegs: Leg[] = [];
  const outbound = new Map<StateMachine, Leg>();
  const workers: Worker[] = [];
  for (const { entry, passed } of parts.chains) {
    const inbound = inboundLeg(context, shared, entry);
    inboundLegs.push(inbound);
    workers.push(gated(legWorker(inbound), [passed]));
    const leg = outboundLeg(context, shared, entry);
    const name = entry.chain.id.stateMachine;
    outbound.set(name, leg);
    const settling = {
      ...context,
      target: leg.target,
      replacing: createReplacement(entry, leg),
      sources: [hub],
      everyMs: Math.min(leg.pollIntervalMs, SETTLE_EVERY_MS),
      wake: leg.settleWake,
      legs: [leg.wake],
    };
    workers.push(gated(settleWorker(settling), [passed]));
    if (entry.config.inboundOnly || config.relayer.deliveryEndpoints?.includes(name) === false) continue;
    workers.push(gated(legWorker(leg), [passed]));
  }
  const hubSettling = {
    ...context,
    target: hub,
    sources: parts.chains.map(({ entry }) => entry.chain),
    everyMs: Math.min(config.hub.pollIntervalSec * 1000, SETTLE_EVERY_MS),
    wake: hubSettle,
    legs: inboundLegs.map(({ wake }) => wake),
  };
  return {
    workers: [...workers, settleWorker(hubSettling)],
    legs: [...inboundLegs, ...outbound.values()],
    outbound,
  };
}

/**
 * Creates the replacement context of EVM chains, whose transactions have nonces; a replacement's price stays below the
 * revenue of its messages.
 */
function createReplacement({ chain }: ConfiguredChain, { profit }: Leg): ReplacementContext | undefined {
  const { replacement, gas } = chain;
  return replacement === undefined || gas === undefined ? undefined : { replacement, gas, profit };
}

/** What the legs of all chains share. */
interface SharedParts extends LegPlanInput {
  readonly feeChains: ReadonlyMap<StateMachine, Chain>;
  /** Wakes the worker that settles the hub's submissions. */
  readonly hubSettle: Wake;
}

function inboundLeg(
  context: RelayContext,
  { config, hub, hubSettle, feeChains }: SharedParts,
  entry: ConfiguredChain,
): Leg {
  return {
    ...context,
    source: entry.chain,
    target: hub,
    initialHeight: entry.config.initialHeight,
    pollIntervalMs: config.hub.pollIntervalSec * 1000,
    wake: new Wake(context.clock),
    settleWake: hubSettle,
    senderLimits: hub.senderLimits,
    answering: { hub: hub.hubCalls, chains: feeChains },
    findObstacle: firstObstacle([
      runtimeSupportOf(context, hub),
      findSourceAcceptance(context, hub, entry.chain.id),
    ]),
  };
}

function runtimeSupportOf(context: RelayContext, { id, runtime }: Chain): FindObstacle | undefined {
  return runtime && findRuntimeSupport(context, { id, runtime });
}

function outboundLeg(
  context: RelayContext,
  shared: SharedParts,
  entry: ConfiguredChain,
): Leg {
  const { config, hub, feeChains } = shared;
  const base: Leg = {
    ...context,
    source: hub,
    target: entry.chain,
    initialHeight: config.hub.initialHeight,
    pollIntervalMs: entry.config.pollIntervalSec * 1000,
    wake: new Wake(context.clock),
    settleWake: new Wake(context.clock),
    turn: new Limit(1),
    findObstacle: runtimeSupportOf(context, entry.chain),
  };
  const { id, gas, hubClient, proofChecks } = entry.chain;
  if (entry.config.type === "substrate" || gas === undefined) return base;
  const facts = { config: entry.config, router: gas, hub: config.hub.stateMachine };
  const profit: LegProfit = {
    minimumPercent: config.relayer.minimumProfitPercent,
    feeChains,
    price: createNativePriceSource({ ...context, fetch: shared.fetch }, facts),
  };
  const findObstacle = firstObstacle([
    base.findObstacle,
    proofChecks && findTargetProvability(context, hub, { id, proofChecks }),
  ]);
  const bundles = hubClient && { hub, receiver: { id, hubClient } };
  const rewards = config.hub.signer === undefined ? undefined : hub.rewards;
  return { ...base, profit, bundles, rewards, findObstacle };
}
