/**
 * The relay carries messages over legs. A leg is one hop of a message, from the source chain that is scanned to the
 * target chain that is delivered to: a message from A to B takes two legs (A to hub, hub to B), each with its own row.
 *
 * Start reading here: a leg is the one context that everything on its way is handed. Then `leg_worker.ts` (one round),
 * `scan.ts` (events become rows), `due_messages.ts` (which rows are due), `deliver/` (a batch: prove, simulate, select,
 * send) and `settle/` (what became of it). `messages.ts` and `receipts.ts` change rows, `limits/` remembers what a
 * target allows now, `decisions/` decides and does nothing else.
 */
import type { Chain } from "../../core/chains/port.ts";
import type { CertainReads } from "../../core/chains/reads.ts";
import type { ChainProofs } from "../../core/chains/proofs.ts";
import type { HubRewards, RelayerHubCalls, SenderLimits } from "../../core/chains/hub.ts";
import type { Replacement } from "../../core/chains/replacement.ts";
import type { Bundles } from "../../core/hub_proofs/proof_follower.ts";
import type { HoldReason, Ledger } from "../ledger/ledger.ts";
import type { PriceSource } from "../../core/pricing/price_source.ts";
import type { Hex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Clock, Randomness } from "../../core/runtime/clock.ts";
import type { Limit } from "../../core/runtime/limit.ts";
import type { Wake } from "../../core/runtime/waiting.ts";
import type { Log } from "../../core/telemetry/log.ts";

/** Dependencies shared by the pipeline's workers. */
export interface RelayDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
}

/** Place of one relayer in its fleet. */
export interface FleetShare {
  /** From 0. */
  readonly index: number;
  /** Number of relayers. */
  readonly count: number;
  /** Time that each relayer has before the next one takes over, ms. */
  readonly takeOverMs: number;
}

/** Operator settings used by the pipeline. */
export interface RelaySettings {
  readonly hub: StateMachine;
  readonly moduleFilter: ReadonlySet<Hex> | undefined;
  readonly configured: ReadonlySet<StateMachine>;
  /** `unprofitable_retry_frequency`; `undefined` disables retries of failed messages. */
  readonly retryFrequencySec: number | undefined;
  /** `retry_modules`: receivers whose messages are never given up, lower-case hex. */
  readonly retryModules: ReadonlySet<Hex>;
  /** `maximum_daily_loss` of each chain, millionths of a dollar; absent: no limit. */
  readonly maxDailyLossMicroUsd?: bigint | undefined;
  /** `[relayer.fleet]`; absent: messages to the hub are shared with nobody. */
  readonly fleet?: FleetShare | undefined;
  /** `reconciliation_frequency`. */
  readonly reconciliationFrequencySec: number;
  /**
   * Modules of the hub whose requests the hub rewards, lower-case hex, with the reward in units of the hub's token;
   * `undefined`: could not be read yet. Empty without a hub account that could be paid.
   */
  readonly listedModules: () => ReadonlyMap<Hex, bigint> | undefined;
  /** Dollars per whole token of the hub x 10^27; `undefined`: unknown, so that rewards count for nothing. */
  readonly hubTokenPrice27: bigint | undefined;
}

/** Context of everything that relays messages: its dependencies and the operator's settings. */
export interface RelayContext extends RelayDeps {
  readonly settings: RelaySettings;
}

/** Context of one chain to which we send transactions. */
export interface TargetContext extends RelayContext {
  readonly target: Chain;
}

/** Chain on which fees are paid. */
export type FeeReader = Pick<Chain, "id" | "fees"> & {
  readonly certain: Pick<CertainReads, "fetchCertainFees">;
};

/** Chain whose state can be proved. */
export type StateProver = Pick<Chain, "id"> & { readonly proofs: Pick<ChainProofs, "proveState"> };

/** Context of profit decisions on one leg. */
export interface LegProfit {
  /** `minimum_profit_percentage`: percent; 0 delivers everything. */
  readonly minimumPercent: number;
  /** Chains on which fees are paid: every configured one. */
  readonly feeChains: ReadonlyMap<StateMachine, FeeReader>;
  /** Price of the target's native token. */
  readonly price: PriceSource;
}

/** The hub and the chains whose state can be proved to it. */
export interface GetAnswering {
  readonly hub: RelayerHubCalls;
  readonly chains: ReadonlyMap<StateMachine, StateProver>;
}

/** One leg: its chains, its timing, and everything that its worker needs. */
export interface Leg extends TargetContext {
  readonly source: Chain;
  /** `initial_height` of the source, if configured. */
  readonly initialHeight: bigint | undefined;
  readonly pollIntervalMs: number;
  /** Time of a poll, Unix milliseconds: of all legs of a process the same, and left to chance. */
  readonly pollPhaseMs: number;
  /** Woken when submissions of the target are settled. */
  readonly wake: Wake;
  /** Wakes the worker that settles the target's submissions. */
  readonly settleWake: Wake;
  /** Lock of everything that signs for the account on the target, from reading the nonce to the broadcast (I10). */
  readonly turn?: Limit | undefined;
  /** Context of profit decisions; absent on legs to the hub, where everything is delivered. */
  readonly profit?: LegProfit | undefined;
  /** Bundling of the hub's consensus proofs with its messages; absent when not possible. */
  readonly bundles?: Bundles | undefined;
  /** The hub's rewards for rotations; absent without a hub account that could be paid. */
  readonly rewards?: Pick<HubRewards, "fetchRotationReward"> | undefined;
  /** Reads what the target accepts from a sender; only on legs to the hub. */
  readonly senderLimits?: SenderLimits | undefined;
  /** Context for answering GET requests; only on legs to the hub. */
  readonly answering?: GetAnswering | undefined;
  /** Detects obstacles that block the whole leg; absent: there are none. */
  readonly findObstacle?: FindObstacle | undefined;
  /** True: only payments of our own fees are delivered, and nothing is read from the source. */
  readonly isForPayments?: boolean | undefined;
}

/** Leg while its worker runs. */
export interface LegRun extends Leg {
  /** Aborted when the worker has to stop. */
  readonly signal: AbortSignal;
}

/** Formats a leg for logs, e.g. `EVM-1 -> POLKADOT-3367`. */
export function legName(leg: Pick<Leg, "source" | "target">): string {
  return `${leg.source.id.stateMachine} -> ${leg.target.id.stateMachine}`;
}

/** Reasons for which a whole leg waits. */
export const obstacleReasons = [
  "target_unprovable",
  "source_not_accepted",
  "runtime_unsupported",
] as const satisfies readonly HoldReason[];

/** Obstacle that blocks a leg. */
export interface Obstacle {
  readonly reason: typeof obstacleReasons[number];
  /** Description of what is missing, for message rows and logs. */
  readonly detail: string;
}

/** Detects an obstacle that blocks the leg; only throws on abort. */
export type FindObstacle = (signal: AbortSignal) => Promise<Obstacle | undefined>;

/** Target whose submissions are being settled. */
export interface Settling extends TargetContext {
  /** Replacement of transactions; absent when they have no nonces. */
  readonly replacement?: Replacement | undefined;
  /** Profit required of the target's messages, and its price; absent when everything is delivered. */
  readonly profit?: LegProfit | undefined;
  readonly signal: AbortSignal;
}
