/** Plans the legs and the work for fees, rewards and withdrawals, with their dependencies and the prices they use. */
import type { HubConfig, MessagingConfig } from "./config/schema.ts";
import { fromHex, type Hex, toHex } from "../core/encoding/bytes.ts";
import type { StateMachine } from "../core/ismp/state_machine.ts";
import type { Fetch } from "../core/rpc/http_exchange.ts";
import { Limit } from "../core/runtime/limit.ts";
import { Wake } from "../core/runtime/waiting.ts";
import type { Worker } from "../core/runtime/worker.ts";
import { toTokenUnits } from "../core/encoding/bytes.ts";
import {
  findRuntimeSupport,
  findSourceAcceptance,
  findTargetProvability,
  firstObstacle,
} from "./relay/obstacles.ts";
import type { Leg, LegProfit, RelayContext, RelayDeps, RelaySettings } from "./relay/leg.ts";
import { legWorker } from "./relay/leg_worker.ts";
import { noteLegKnown } from "./relay/scan.ts";
import { settleWorker } from "./relay/settle/settle_worker.ts";
import { behindGates, type ChainGate } from "../core/chains/check.ts";
import type { ConfiguredChain, Session } from "./session.ts";
import type { Chain } from "../core/chains/port.ts";
import { claimsWorker } from "./fees/claims/claims_worker.ts";
import { type FeeContext, FeeUnits, toFeeKey } from "./fees/fee_context.ts";
import { HubCalls, NonceTurns } from "./fees/hub_calls.ts";
import { rewardsWorker } from "./fees/rewards/rewards_worker.ts";
import { withdrawalWorker } from "./fees/withdrawals/withdrawal_worker.ts";
import { type GoodPrice, ONE_DOLLAR_27 } from "../core/evm/native_price.ts";
import type { Clock } from "../core/runtime/clock.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { PriceContext } from "../core/pricing/price_quote.ts";
import { createPriceSource, listPriceQuotes, type PriceSource } from "../core/pricing/price_source.ts";
import * as z from "zod";

/** Input for planning legs. */
export interface LegPlanInput extends Pick<Session, "hub" | "hubGate" | "chains"> {
  readonly config: MessagingConfig;
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

/** Range of the times at which relayers poll, ms: those that were started together do so at different times. */
const POLL_PHASES_MS = 3_600_000;

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
  const pollPhaseMs = Math.floor(context.random.fraction() * POLL_PHASES_MS);
  const shared = { ...parts, feeChains, hubSettle, pollPhaseMs };
  const inboundLegs: Leg[] = [];
  const outbound = new Map<StateMachine, Leg>();
  const workers: Worker[] = [];
  for (const { entry, gate } of parts.chains) {
    const inbound = inboundLeg(context, shared, entry);
    inboundLegs.push(inbound);
    workers.push(gatedLeg(inbound, gate));
    const leg = outboundLeg(context, shared, entry);
    const name = entry.chain.id.stateMachine;
    outbound.set(name, leg);
    const settling = {
      ...context,
      target: leg.target,
      replacement: entry.chain.replacement,
      profit: leg.profit,
      sources: [hub],
      everyMs: Math.min(leg.pollIntervalMs, SETTLE_EVERY_MS),
      wake: leg.settleWake,
      legs: [leg.wake],
    };
    workers.push(behindGates(settleWorker(settling), [gate]));
    if (entry.config.inboundOnly || config.relayer.deliveryEndpoints?.includes(name) === false) continue;
    workers.push(gatedLeg(leg, gate));
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
    workers: [...workers, behindGates(settleWorker(hubSettling), [parts.hubGate])],
    legs: [...inboundLegs, ...outbound.values()],
    outbound,
  };
}

/** Worker of a leg: notes at once since when the leg is known, and begins when its chain may be used. */
function gatedLeg(leg: Leg, gate: ChainGate): Worker {
  const { name, run } = behindGates(legWorker(leg), [gate]);
  return {
    name,
    run: (signal) => {
      noteLegKnown(leg, gate.sinceMs);
      return run(signal);
    },
  };
}

/** What the legs of all chains share. */
interface SharedParts extends LegPlanInput, Pick<Leg, "pollPhaseMs"> {
  readonly feeChains: ReadonlyMap<StateMachine, Chain>;
  /** Wakes the worker that settles the hub's submissions. */
  readonly hubSettle: Wake;
}

function inboundLeg(
  context: RelayContext,
  { config, hub, hubSettle, feeChains, pollPhaseMs }: SharedParts,
  entry: ConfiguredChain,
): Leg {
  return {
    ...context,
    source: entry.chain,
    target: hub,
    initialHeight: entry.config.initialHeight,
    pollIntervalMs: config.hub.pollIntervalSec * 1000,
    pollPhaseMs,
    wake: new Wake(context.clock),
    settleWake: hubSettle,
    senderLimits: hub.senderLimits,
    answering: { hub: hub.hubCalls, chains: feeChains },
    findObstacle: firstObstacle([
      findRuntimeSupport(context, hub),
      findSourceAcceptance(context, hub, entry.chain.id),
    ]),
  };
}

function outboundLeg(
  context: RelayContext,
  shared: SharedParts,
  entry: ConfiguredChain,
): Leg {
  const { config, hub, feeChains, pollPhaseMs } = shared;
  const base: Leg = {
    ...context,
    source: hub,
    target: entry.chain,
    initialHeight: config.hub.initialHeight,
    pollIntervalMs: entry.config.pollIntervalSec * 1000,
    pollPhaseMs,
    wake: new Wake(context.clock),
    settleWake: new Wake(context.clock),
    turn: new Limit(1),
    findObstacle: findRuntimeSupport(context, entry.chain),
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

/** Input for planning the fee workers. */
export interface FeePlanInput extends Pick<Session, "hub" | "chains"> {
  readonly config: MessagingConfig;
  readonly settings: RelaySettings;
  /** The leg from the hub to each chain. */
  readonly outbound: ReadonlyMap<StateMachine, Leg>;
  /** True in the running relayer, whose other workers deliver and settle. */
  readonly isRunning?: boolean;
}

/** Creates the context shared by the fee workers and the commands. */
export function createFeeContext(deps: RelayDeps, parts: FeePlanInput): FeeContext {
  const { config, hub, isRunning = false } = parts;
  const gates = new Map(parts.chains.map(({ entry, gate }) => [entry.chain.id.stateMachine, gate] as const));
  const hosts = new Map<StateMachine, Uint8Array>(
    config.chains.flatMap((chain) =>
      chain.type === "substrate" ? [] : [[chain.stateMachine, fromHex(chain.ismpHost)] as const]
    ),
  );
  const legTo = (chain: StateMachine): Leg => {
    const leg = parts.outbound.get(chain);
    if (leg === undefined) throw new Error(`No leg from the hub to ${chain}`);
    return leg;
  };
  return {
    ...deps,
    hub,
    chains: new Map(parts.chains.map(({ entry }) => [entry.chain.id.stateMachine, entry.chain])),
    isUp: (chain) => gates.get(chain)?.isOpen === true,
    hubKey: config.hub.signer && toFeeKey(hub),
    calls: new HubCalls({ hub, ledger: deps.ledger, log: deps.log }),
    turns: new NonceTurns(),
    claimTurn: new Limit(1),
    withdrawalTurn: new Limit(1),
    isSettledElsewhere: isRunning,
    isServed: (chain) => isRunning && config.relayer.deliveryEndpoints?.includes(chain) !== false,
    units: new FeeUnits(),
    settings: parts.settings,
    withdrawals: {
      frequencySec: config.relayer.withdrawalFrequencySec,
      minimumAmount: config.relayer.minimumWithdrawalAmount,
    },
    legTo,
    hostOf: (chain) => hosts.get(chain),
  };
}

/** Plans the fee workers of the long-running relayer. */
export function planFees(context: FeeContext, config: MessagingConfig): readonly Worker[] {
  const everyMs = config.hub.pollIntervalSec * 1000;
  const claims = config.relayer.disableFeeAccumulation ? [] : [claimsWorker(context, everyMs)];
  return [...claims, withdrawalWorker(context, everyMs), rewardsWorker(context)];
}

/** Dependencies of price sources. */
export interface PriceDeps {
  readonly clock: Clock;
  readonly fetch: Fetch;
  readonly log: Log;
  readonly ledger: Pick<Ledger, "notes" | "transaction">;
}

/**
 * Dollars per whole token of the hub x 10^27; `undefined`: unknown. Neither explorers nor routers price this token, so
 * the operator configures it. Tokens of a test hub (`KUSAMA-`) count as one dollar, as native tokens do there.
 */
export function hubTokenPrice27(hub: Pick<HubConfig, "stateMachine" | "tokenPrice">): bigint | undefined {
  if (hub.tokenPrice !== undefined) return toTokenUnits(hub.tokenPrice, 27);
  return hub.stateMachine.startsWith("KUSAMA-") ? ONE_DOLLAR_27 : undefined;
}

/**
 * Creates the price source of an EVM chain. The last valid price is kept in the ledger, with the time at which it was
 * read, so that it survives a restart.
 */
export function createNativePriceSource(
  deps: PriceDeps,
  facts: Pick<PriceContext, "config" | "router" | "hub">,
): PriceSource {
  const { stateMachine } = facts.config;
  const quotes = listPriceQuotes({ ...facts, fetch: deps.fetch });
  const { notes, transaction } = deps.ledger;
  const onGood = ({ price27, ...price }: GoodPrice): void => {
    if (price.origin === "fixed") return;
    transaction(() => notes.write("price", stateMachine, { ...price, price27: price27.toString() }));
  };
  return createPriceSource(deps, { quotes, last: notes.find("price", stateMachine, keptPrice), onGood });
}

const keptPrice = z.object({
  price27: z.string().regex(/^[1-9][0-9]*$/).transform(BigInt),
  origin: z.string().min(1),
  readAtMs: z.int().min(0),
});
