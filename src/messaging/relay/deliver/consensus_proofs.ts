/**
 * Delivery of the hub's consensus proofs: in front of messages that pay for them, ahead of such messages when not
 * everything fits into one transaction, and alone when they are rotations that the hub's reward pays for. Which proofs a
 * target lacks is in `proof_follower.ts`.
 */
import { MAX_PROOFS_AT_ONCE } from "../../../core/chains/transaction_bytes.ts";
import { toHash256 } from "../../../core/encoding/bytes.ts";
import type { MessageRow } from "../../ledger/ledger.ts";
import { hasRoom, maxTransactionBytes, roomForMessages } from "../limits/capacity.ts";
import { countCallBytes } from "../decisions/batch.ts";
import { deliverDue, type DeliveryInput } from "./deliver.ts";
import { type Bundles, type NextProofs, ProofFollower } from "./proof_follower.ts";
import type { CounterpartyView } from "../../../core/chains/reads.ts";
import type { Delivery, Simulation } from "../../../core/chains/submission.ts";
import { formatDecimal } from "../../../core/encoding/bytes.ts";
import {
  type BatchOffer,
  decideBatch,
  decideRotations,
  type OfferedReward,
  rewardFor,
  type RotationDecision,
} from "../decisions/profit.ts";
import { coveringPriceWei, signingBoundWei } from "../decisions/gas_price.ts";
import { listReady } from "../due_messages.ts";
import { type Leg, legName, type LegRun } from "../leg.ts";
import { type Candidate, findOwnPayment, hold, stillOpen } from "../messages.ts";
import { endDelivered } from "../receipts.ts";
import { readRevenues } from "./revenue.ts";
import { type ConsensusResult, isProofUnderWay, sendConsensus, USUAL_MESSAGE_GAS } from "./send.ts";
import { holdBack } from "../limits/suspension.ts";

/** Proofs to send in one transaction without messages. */
export interface ProofsAlone {
  readonly proofs: readonly Uint8Array[];
  /** Number of further proofs that the messages need before they can be delivered. */
  readonly left: number;
}

type Accepted = Extract<Simulation, { kind: "accepted" }>;

/** Simulates proofs alone; `undefined`: the chain does not accept them, which was logged. */
export async function simulateAlone(
  leg: LegRun,
  proofs: readonly Uint8Array[],
): Promise<{ readonly delivery: Delivery; readonly simulation: Accepted } | undefined> {
  const delivery: Delivery = { steps: proofs.map((proof) => ({ kind: "consensus", proof })) };
  const simulation = await leg.target.simulator.simulate(delivery, leg.signal);
  if (simulation.kind === "accepted") return { delivery, simulation };
  const { code, detail } = simulation.refusal;
  leg.log.warn("rotations_rejected", { leg: legName(leg), code, detail });
  return undefined;
}

/** Outcome of proofs that may be sent alone. `held`: no reward or fee covers their cost. */
export type RotationResult = ConsensusResult | "held";

/** Rotations that the hub's reward may pay for, with what was logged about them. */
class RewardedRotations {
  readonly #leg: Leg;
  #reported: string | undefined;

  constructor(leg: Leg) {
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
    const { reward18, hold: reason } = rewardFor(offered, this.#leg.settings.hubTokenPrice27);
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
    const leg: LegRun = { ...this.#leg, signal };
    const simulated = await simulateAlone(leg, proofs);
    if (simulated === undefined) return "refused";
    const { gasUsed, dataCostWei, gasPriceWei } = simulated.simulation;
    const { profit } = leg;
    const price = await profit?.price.fetchPrice(signal);
    const profitPercent = profit?.minimumPercent ?? 0;
    const price27 = price?.kind === "known" ? price.price27 : undefined;
    const usage = { gas: gasUsed, dataCostWei };
    const tokenPrice27 = this.#leg.settings.hubTokenPrice27;
    const offered = { rewards: rewards.slice(0, proofs.length), tokenPrice27, profitPercent };
    const decision = decideRotations(offered, usage, { gasPriceWei, price27 });
    this.#log(decision);
    if (decision.kind === "hold") return "held";
    const { reward18 } = decision;
    // Rotations are only sent for the reward, even when every message is delivered.
    const maxGasPriceWei = coveringPriceWei({ ...usage, offered18: reward18, price27 });
    const work = { ...simulated, why: "rewarded", reward18, maxGasPriceWei } as const;
    return await sendConsensus(leg, work);
  }

  /** Logs once why rotations are left to other relayers. */
  #log(decision: RotationDecision): void {
    const reason = decision.kind === "hold" ? decision.reason : undefined;
    if (reason === this.#reported) return;
    this.#reported = reason;
    if (decision.kind !== "hold") return;
    const { reward18, required18 } = decision;
    this.#leg.log.info(
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

/** Pause after proofs without messages were refused or are not paid for, ms: each attempt costs a simulation. */
const ROTATION_PAUSE_MS = 60_000;

/** Upper bounds that sort after every message of a height in the ledger's order. */
const LAST_NONCE = 2n ** 64n - 1n;

const LAST_COMMITMENT = toHash256(`0x${"f".repeat(64)}`);

/** Proofs that the hub accepted and the target lacks. */
export interface LackedProofs {
  /** Height of the hub that the newest of them shows. */
  readonly height: bigint;
  /** True while a transaction of ours with proofs is pending: a second one would have no effect. */
  readonly isUnderWay: boolean;
}

/**
 * Delivery of the hub's consensus proofs on one leg. Its state can be read again. Proof bytes are fetched only when
 * they are paid for.
 */
export class ProofDelivery {
  readonly #follower: ProofFollower;
  readonly #rewarded: RewardedRotations;
  /** Rotations alone, and proofs ahead of messages, are not attempted before this time. */
  #rotateAfterMs = 0;
  #aheadAfterMs = 0;

  /** @param everyMs minimum interval between polls of the hub, ms */
  constructor(leg: Leg, bundles: Bundles, everyMs: number) {
    this.#rewarded = new RewardedRotations(leg);
    this.#follower = new ProofFollower(bundles, { clock: leg.clock, log: leg.log, everyMs });
  }

  /**
   * Polls the hub for proofs that the target lacks, and sends rotations that its reward pays for. `undefined`: there is
   * nothing with which messages could be proved now.
   */
  async poll(leg: LegRun, view: CounterpartyView): Promise<LackedProofs | undefined> {
    const seen = await this.#follower.poll(view, leg.signal);
    if (seen === undefined) return undefined;
    const isUnderWay = isProofUnderWay(leg, view.height);
    const isRotating = !isUnderWay && seen.missingSets.length > 0 &&
      await this.#rotate(leg, view, seen.missingSets);
    return isRotating || seen.height === undefined ? undefined : { height: seen.height, isUnderWay };
  }

  /** Delivers the due messages that the target can verify only with proofs, if they pay for them. */
  async deliver(leg: LegRun, view: CounterpartyView): Promise<void> {
    if (listDueAbove(leg, view, 1).length === 0 || !hasRoom(leg)) return;
    const wanted = { what: "all", maxBytes: maxTransactionBytes(leg) } as const;
    const next = await this.#follower.load(view, wanted, leg.signal);
    if (next !== undefined) await this.#carry(leg, view, next);
  }

  /**
   * Sends messages with the proofs in front; if not everything fits into one transaction, the first proofs ahead of
   * them.
   */
  async #carry(leg: LegRun, view: CounterpartyView, next: NextProofs): Promise<void> {
    const { proofs, left, height } = next;
    const room = roomForMessages(leg, proofs);
    const page = leg.target.limits.maxMessagesPerStep;
    const fits = left === 0 && listDueAbove(leg, view, page).some((row) => countCallBytes({ row }) <= room);
    // Together with what is due now they may pay for the proofs.
    if (fits) {
      wakeUnpaid(leg);
      await deliverWith(leg, { view, proofHeight: height, consensusProofs: proofs });
      return;
    }
    if (leg.clock.now() < this.#aheadAfterMs) return;
    wakeUnpaid(leg);
    this.#aheadAfterMs = pauseUntilMs(leg, await sendAhead(leg, { view, ...next }));
  }

  /**
   * Sends rotations alone when the hub's reward pays for them, one transaction at a time: the next ones follow when the
   * host knows the authorities. True when they were sent.
   */
  async #rotate(leg: LegRun, view: CounterpartyView, sets: readonly bigint[]): Promise<boolean> {
    if (leg.rewards === undefined || leg.clock.now() < this.#rotateAfterMs || !hasRoom(leg)) return false;
    const wanted = { what: "rotations", maxBytes: maxTransactionBytes(leg) } as const;
    const rewards = await this.#rewarded.fetchRewards(sets.slice(0, MAX_PROOFS_AT_ONCE), leg.signal);
    const next = rewards === undefined ? undefined : await this.#follower.load(view, wanted, leg.signal);
    // The node does not have the bytes yet, or the host already has the sets.
    if (rewards !== undefined && next === undefined) return false;
    const result = rewards === undefined || next === undefined
      ? "held"
      : await this.#rewarded.send(next.proofs, rewards, leg.signal);
    this.#rotateAfterMs = pauseUntilMs(leg, result);
    return result === "sent" || result === "known";
  }
}

function pauseUntilMs({ clock }: Leg, result: RotationResult): number {
  return result === "sent" || result === "known" ? 0 : clock.now() + ROTATION_PAUSE_MS;
}

/** Sends one batch with proofs in front: where the first one does not pay for the proofs, the next one may. */
async function deliverWith(leg: LegRun, facts: DeliveryInput): Promise<void> {
  for (;;) {
    const { sent, hasMore } = await deliverDue(leg, facts);
    if (sent > 0 || !hasMore) return;
  }
}

/** Makes messages due that did not pay for a proof, regardless of their schedule. */
export function wakeUnpaid({ ledger, bundles, source, target }: Leg): void {
  if (bundles === undefined) return;
  ledger.messages.wake(source.id.stateMachine, target.id.stateMachine, "consensus_proofs_unprofitable");
}

/** Lists due messages that the target cannot verify yet. */
function listDueAbove(
  { ledger, clock, source, target, isForPayments }: Leg,
  { height, nowSec }: CounterpartyView,
  limit: number,
): readonly MessageRow[] {
  return ledger.messages.listDue({
    source: source.id.stateMachine,
    target: target.id.stateMachine,
    nowMs: clock.now(),
    limit,
    isForPayments,
    targetNowSec: nowSec,
    afterKey: { seenAtHeight: height, nonce: LAST_NONCE, commitment: LAST_COMMITMENT },
  });
}

/**
 * Sends proofs ahead of due messages whose fees cover these proofs, those that must follow, and the messages
 * themselves. The cost of such a message is estimated, since no chain can simulate it before it knows the proof.
 */
async function sendAhead(
  leg: LegRun,
  work: ProofsAlone & { readonly view: CounterpartyView; readonly height: bigint },
): Promise<RotationResult> {
  const { view, height, proofs, left } = work;
  const isWanted = (kind: Candidate["row"]["kind"]): boolean => kind !== "get";
  const { ready } = listReady(leg, { view, proofHeight: height, isWanted });
  const travelling = await holdBack(leg, ready);
  const above = travelling.filter(({ row }) => row.seenAtHeight > view.height);
  if (above.length === 0) return "held";
  const receipts = await leg.target.reads.fetchReceipts(above.map(({ message }) => message), leg.signal);
  const open = await endDelivered(leg, { candidates: above, receipts });
  if (open.length === 0) return "held";
  const simulated = await simulateAlone(leg, proofs);
  if (simulated === undefined) return "refused";
  const { isPaid, maxGasPriceWei } = await decideAhead(
    leg,
    { open, ...simulated, ...work, total: proofs.length + left },
  );
  if (!isPaid) return "held";
  return await sendConsensus(leg, { ...simulated, why: "ahead of messages", maxGasPriceWei });
}

/**
 * Decides whether the messages pay for the proofs, and up to which gas price; otherwise they are held with the numbers.
 */
async function decideAhead(
  leg: LegRun,
  work: {
    readonly open: readonly Candidate[];
    readonly proofs: readonly Uint8Array[];
    readonly total: number;
    readonly simulation: Accepted;
  },
): Promise<{ readonly isPaid: boolean; readonly maxGasPriceWei?: bigint | undefined }> {
  const { profit } = leg;
  // Even when everything is delivered, a payment to us must not be spent on its own delivery.
  const isOwnMoney = work.open.every(({ row }) => findOwnPayment(leg, row) !== undefined);
  if (profit === undefined || (profit.minimumPercent === 0 && !isOwnMoney)) return { isPaid: true };
  const revenues = await readRevenues({ ...leg, profit }, work.open);
  const price = await profit.price.fetchPrice(leg.signal);
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
    const bound = { gas, dataCostWei, offered18, price27, profitPercent };
    const maxGasPriceWei = isOwnMoney ? coveringPriceWei(bound) : signingBoundWei(bound);
    return { isPaid: true, maxGasPriceWei };
  }
  const held = new Map(rest.map((verdict) => [verdict.id, verdict.numbers]));
  leg.ledger.transaction(() => {
    for (const { row } of stillOpen(leg, work.open)) {
      const { required18, fee18 } = held.get(row.commitment) ?? {};
      hold(leg, row, {
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
