/**
 * A leg: one hop on which messages travel, from the chain that is read to the chain that is delivered to.
 * A message from A to B crosses two legs (A to hub, hub to B), and each leg has its own row for it.
 */
import type { Chain } from "../../core/chains/port.ts";
import type { FeeChain } from "../../core/chains/fees.ts";
import type { RelayerHub, SenderLimits } from "../../core/chains/hub_accounts.ts";
import type { Bundles } from "./proof_follower.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { PriceSource } from "../pricing/price_source.ts";
import type { Hex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { Limit } from "../../core/runtime/limit.ts";
import type { Randomness } from "../../core/runtime/randomness.ts";
import type { Wake } from "../../core/runtime/wake.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { FindObstacle } from "./decisions/obstacle.ts";
import type { RouteInput } from "./decisions/route.ts";

/** What the workers of the pipeline share. */
export interface PipelineDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
}

/** The operator's settings that the pipeline heeds. */
export interface PipelineSettings {
  readonly hub: StateMachine;
  readonly moduleFilter: ReadonlySet<Hex> | undefined;
  readonly configured: ReadonlySet<StateMachine>;
  /** `unprofitable_retry_frequency`; `undefined` disables retries of failed messages. */
  readonly retryFrequencySec: number | undefined;
  /** `maximum_daily_loss` of each chain, millionths of a dollar; absent: no limit. */
  readonly maxDailyLossMicroUsd?: bigint | undefined;
  /**
   * Modules of the hub whose requests the hub rewards, lower-case hex, with the reward in units of the hub's token;
   * `undefined`: could not be read yet. Empty without a hub account that could be paid.
   */
  readonly listedModules: () => ReadonlyMap<Hex, bigint> | undefined;
  /** Dollars per whole token of the hub x 10^27; `undefined`: unknown, so that rewards count for nothing. */
  readonly hubTokenPrice27: bigint | undefined;
}

/** A chain on which fees are put up. */
export type FeeReader = Pick<FeeChain, "id" | "fetchFees" | "fetchCertainFees" | "fetchFeeTokenDecimals">;

/** A chain whose state can be proved. */
export type StateProver = Pick<FeeChain, "id" | "proveState">;

/** The hub as far as it takes calls beside messages. */
export type AnswerTaker = Pick<RelayerHub, "dryRunCall" | "prepareCall">;

/** What deciding about profit on one leg needs. */
export interface LegProfit {
  /** `minimum_profit_percentage`: percent; 0 delivers everything. */
  readonly minimumPercent: number;
  /** Chains on which fees are put up: every configured one. */
  readonly feeChains: ReadonlyMap<StateMachine, FeeReader>;
  /** Price of the target's native token. */
  readonly price: PriceSource;
}

/** The hub as far as it rewards rotations of its authorities. */
export type RotationRewards = Pick<RelayerHub, "fetchRotationReward">;

/** The hub and the chains whose state can be proved to it. */
export interface GetAnswering {
  readonly hub: AnswerTaker;
  readonly chains: ReadonlyMap<StateMachine, StateProver>;
}

/** One hop with its chains and timing. */
export interface Leg {
  readonly source: Chain;
  readonly target: Chain;
  /** `initial_height` of the source, if configured. */
  readonly initialHeight: bigint | undefined;
  readonly pollIntervalMs: number;
  /** Woken when submissions of the target are settled. */
  readonly wake: Wake;
  /** Wakes the worker that settles the target's submissions. */
  readonly settleWake: Wake;
  /** Turns of all that sign for the account on the target, from reading the nonce to handing the bytes over (I10). */
  readonly turn?: Limit | undefined;
  /** What deciding about profit needs; absent on legs to the hub, where everything is delivered. */
  readonly profit?: LegProfit | undefined;
  /** How consensus proofs of the hub travel with its messages; absent where they cannot. */
  readonly bundles?: Bundles | undefined;
  /** What the hub pays for its rotations; absent without a hub account that could be paid. */
  readonly rewards?: RotationRewards | undefined;
  /** Tells what the target takes from a sender; only on legs to the hub. */
  readonly senderLimits?: SenderLimits | undefined;
  /** What answering GET requests needs; only on legs to the hub. */
  readonly answering?: GetAnswering | undefined;
  /** Looks whether anything keeps the whole leg from delivering; absent: nothing does. */
  readonly findObstacle?: FindObstacle | undefined;
}

/** `EVM-1 -> POLKADOT-3367`, as logs name a leg. */
export function legName(leg: Pick<Leg, "source" | "target">): string {
  return `${leg.source.id.stateMachine} -> ${leg.target.id.stateMachine}`;
}

/** Facts for routing a message of this leg at the target's time `targetNowSec`. */
export function toRouteInput(leg: Leg, settings: PipelineSettings, targetNowSec: bigint): RouteInput {
  return {
    hub: settings.hub,
    source: leg.source.id.stateMachine,
    target: leg.target.id.stateMachine,
    moduleFilter: settings.moduleFilter,
    configured: settings.configured,
    listedModules: settings.listedModules(),
    takesResponses: leg.target.family === "evm",
    targetNowSec,
  };
}
