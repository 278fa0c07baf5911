/**
 * Consensus proofs of the hub sent without messages: rotations that the hub's reward pays for, and proofs sent ahead of
 * messages that pay for them because not everything fits into one transaction.
 */
import type { CounterpartyView, Delivery, Simulation } from "../../../core/chains/port.ts";
import { formatDecimal } from "../../../core/encoding/decimal.ts";
import { type BatchOffer, decideBatch } from "../decisions/profit.ts";
import { coveringPriceWei, signingBoundWei } from "../decisions/gas_price.ts";
import {
  decideRotations,
  type OfferedReward,
  rewardFor,
  type RotationDecision,
} from "../decisions/rotation_reward.ts";
import { listReady } from "../due_messages.ts";
import { type Leg, legName, type PipelineDeps, type PipelineSettings } from "../leg.ts";
import { type Candidate, hold, stillOpen } from "../messages.ts";
import { takeDelivered } from "../receipts.ts";
import { readRevenues } from "./revenue.ts";
import { type ConsensusResult, sendConsensus } from "./send.ts";
import { leaveSuspended } from "../limits/suspension.ts";

/** Proofs to send in one transaction without messages. */
export interface ProofsAlone {
  readonly proofs: readonly Uint8Array[];
  /** Number of further proofs that the messages need before they can be delivered. */
  readonly left: number;
}

type Accepted = Extract<Simulation, { kind: "accepted" }>;

/**
 * Estimated gas of a message that cannot be simulated before the chain knows its proof: the host's gas for a typical
 * one (docs/protocol/evm-host.md section 9).
 */
const USUAL_MESSAGE_GAS = 200_000n;

/** Simulates proofs alone; `undefined`: the chain does not accept them, which was logged. */
export async function simulateAlone(
  deps: PipelineDeps,
  leg: Leg,
  proofs: readonly Uint8Array[],
  signal: AbortSignal,
): Promise<{ readonly delivery: Delivery; readonly simulation: Accepted } | undefined> {
  const delivery: Delivery = { steps: proofs.map((proof) => ({ kind: "consensus", proof })) };
  const simulation = await leg.target.simulate(delivery, signal);
  if (simulation.kind === "accepted") return { delivery, simulation };
  const { code, detail } = simulation.refusal;
  deps.log.warn("rotations_rejected", { leg: legName(leg), code, detail });
  return undefined;
}

/** Outcome of proofs that may be sent alone. `held`: no reward or fee covers their cost. */
export type RotationResult = ConsensusResult | "held";

/** Rotations that the hub's reward may pay for, with what was logged about them. */
export class RewardedRotations {
  readonly #deps: PipelineDeps;
  readonly #settings: PipelineSettings;
  readonly #leg: Leg;
  #reported: string | undefined;

  constructor(deps: PipelineDeps, settings: PipelineSettings, leg: Leg) {
    this.#deps = deps;
    this.#settings = settings;
    this.#leg = leg;
  }

  /** Reads the hub's rewards for these sets; `undefined`: it certainly does not pay, which was logged. */
  async fetchRewards(
    sets: readonly bigint[],
    signal: AbortSignal,
  ): Promise<readonly OfferedReward[] | undefined> {
    const { rewards, target } = this.#leg;
    if (rewards === undefined) return undefined;
    const chain = target.id.stateMachine;
    const offered = await Promise.all(sets.map((set) => rewards.fetchRotationReward(chain, set, signal)));
    const { reward18, hold: reason } = rewardFor(offered, this.#settings.hubTokenPrice27);
    if (reason === undefined) return offered;
    this.#log({ kind: "hold", reason, reward18, required18: undefined });
    return undefined;
  }

  /** Sends the rotations if the reward covers their cost. */
  async send(
    proofs: readonly Uint8Array[],
    rewards: readonly OfferedReward[],
    signal: AbortSignal,
  ): Promise<RotationResult> {
    const deps = this.#deps;
    const simulated = await simulateAlone(deps, this.#leg, proofs, signal);
    if (simulated === undefined) return "refused";
    const { gasUsed, dataCostWei, gasPriceWei } = simulated.simulation;
    const { profit } = this.#leg;
    const price = await profit?.price.fetchPrice(signal);
    const profitPercent = profit?.minimumPercent ?? 0;
    const price27 = price?.kind === "known" ? price.price27 : undefined;
    const usage = { gas: gasUsed, dataCostWei };
    const tokenPrice27 = this.#settings.hubTokenPrice27;
    const offered = { rewards: rewards.slice(0, proofs.length), tokenPrice27, profitPercent };
    const decision = decideRotations(offered, usage, { gasPriceWei, price27 });
    this.#log(decision);
    if (decision.kind === "hold") return "held";
    const { reward18 } = decision;
    // Rotations are only sent for the reward, even when every message is delivered.
    const maxGasPriceWei = coveringPriceWei({ ...usage, offered18: reward18, price27 });
    const work = { ...simulated, why: "rewarded", reward18, maxGasPriceWei } as const;
    return await sendConsensus(deps, this.#leg, work, signal);
  }

  /** Logs once why rotations are left to other relayers. */
  #log(decision: RotationDecision): void {
    const reason = decision.kind === "hold" ? decision.reason : undefined;
    if (reason === this.#reported) return;
    this.#reported = reason;
    if (decision.kind !== "hold") return;
    const { reward18, required18 } = decision;
    this.#deps.log.info(
      "rotations_unprofitable",
      {
        leg: legName(this.#leg),
        reason: decision.reason,
        rewardUsd: formatDecimal(reward18, 18),
        ...(required18 === undefined ? {} : { requiredUsd: formatDecimal(required18, 18) }),
      },
    );
  }
}

/**
 * Sends proofs ahead of due messages whose fees cover these proofs, those that must follow, and the messages
 * themselves. The cost of such a message is estimated, since no chain can simulate it before it knows the proof.
 */
export async function sendAhead(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: ProofsAlone & { readonly view: CounterpartyView; readonly height: bigint },
  signal: AbortSignal,
): Promise<RotationResult> {
  const { view, height, proofs, left } = work;
  const isWanted = (kind: Candidate["row"]["kind"]): boolean => kind !== "get";
  const { ready } = listReady(deps, settings, leg, { view, proofHeight: height, isWanted });
  const travelling = deps.ledger.transaction(() => leaveSuspended(deps, settings, leg, ready));
  const above = travelling.filter(({ row }) => row.seenAtHeight > view.height);
  if (above.length === 0) return "held";
  const receipts = await leg.target.fetchReceipts(above.map(({ message }) => message), signal);
  const open = await takeDelivered(deps, settings, leg, { candidates: above, receipts }, signal);
  if (open.length === 0) return "held";
  const simulated = await simulateAlone(deps, leg, proofs, signal);
  if (simulated === undefined) return "refused";
  const { isPaid, maxGasPriceWei } = await paysFor(
    deps,
    settings,
    leg,
    { open, ...simulated, ...work, total: proofs.length + left },
    signal,
  );
  if (!isPaid) return "held";
  return await sendConsensus(deps, leg, { ...simulated, why: "ahead of messages", maxGasPriceWei }, signal);
}

/**
 * Decides whether the messages pay for the proofs, and up to which gas price; otherwise they are held with the numbers.
 */
async function paysFor(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: {
    readonly open: readonly Candidate[];
    readonly proofs: readonly Uint8Array[];
    readonly total: number;
    readonly simulation: Accepted;
  },
  signal: AbortSignal,
): Promise<{ readonly isPaid: boolean; readonly maxGasPriceWei?: bigint | undefined }> {
  const { profit, target } = leg;
  if (profit === undefined || profit.minimumPercent === 0) return { isPaid: true };
  const revenues = await readRevenues(deps, settings, { target, profit }, work.open, signal);
  const price = await profit.price.fetchPrice(signal);
  const { gasUsed, dataCostWei, gasPriceWei } = work.simulation;
  const forAll = (one: bigint): bigint => one * BigInt(work.total) / BigInt(work.proofs.length);
  const offers = work.open.flatMap(({ row }, index): BatchOffer[] => {
    const revenue = revenues[index];
    if (revenue === undefined) return [];
    const { paymentClass, fee } = revenue;
    const fee18 = fee.kind === "fee" ? fee.fee18 : undefined;
    return [{ id: row.commitment, paymentClass, fee18, gas: USUAL_MESSAGE_GAS, dataCostWei: 0n }];
  });
  const consensusProofs = { gas: forAll(gasUsed), dataCostWei: forAll(dataCostWei), isSentAnyway: false };
  const price27 = price.kind === "known" ? price.price27 : undefined;
  const profitPercent = profit.minimumPercent;
  const { deliver, hold: rest, numbers } = decideBatch(offers, consensusProofs, {
    gasPriceWei,
    price27,
    profitPercent,
  });
  if (deliver.length > 0) {
    const gas = consensusProofs.gas + USUAL_MESSAGE_GAS * BigInt(deliver.length);
    const { dataCostWei } = consensusProofs;
    const { offered18 } = numbers;
    const maxGasPriceWei = signingBoundWei({ gas, dataCostWei, offered18, price27, profitPercent });
    return { isPaid: true, maxGasPriceWei };
  }
  const held = new Map(rest.map((verdict) => [verdict.id, verdict.numbers]));
  deps.ledger.transaction(() => {
    for (const { row } of stillOpen(deps, work.open)) {
      const { required18, fee18 } = held.get(row.commitment) ?? {};
      hold(deps, settings, row, {
        reason: "consensus_proofs_unprofitable",
        retryClass: "transient",
        detail: `${work.total} consensus proofs of the hub must be sent ahead of it`,
        ...(required18 === undefined ? {} : { requiredUsd18: required18 }),
        ...(fee18 === undefined ? {} : { offeredUsd18: fee18 }),
      });
    }
  });
  return { isPaid: false };
}
