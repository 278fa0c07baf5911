/**
 * Delivery of the hub's consensus proofs: in front of messages that pay for them, ahead of such messages when not
 * everything fits into one transaction, and alone when they are rotations that the hub's reward pays for. Which proofs a
 * target lacks is in `proof_follower.ts`.
 */
import { MAX_PROOFS_AT_ONCE } from "../../../core/chains/transaction_bytes.ts";
import { toHash256 } from "../../../core/encoding/bytes.ts";
import type { MessageRow } from "../../ledger/ledger.ts";
import { countCallBytes, hasRoom, maxTransactionBytes, roomForMessages } from "../limits/capacity.ts";
import { type Bundles, type NextProofs, ProofFollower } from "../../../core/hub_proofs/proof_follower.ts";
import { deliverDue, type DeliveryInput, prepare } from "./deliver.ts";
import type { CounterpartyView } from "../../../core/chains/reads.ts";
import type { Delivery, Simulation } from "../../../core/chains/submission.ts";
import { formatDecimal } from "../../../core/encoding/bytes.ts";
import { costUsd18, coveringPriceWei, requiredUsd18, toReward18 } from "../decisions/profit.ts";
import { listReady } from "../due_messages.ts";
import { type Leg, legName, type LegRun } from "../leg.ts";
import { type Candidate, screen } from "../messages.ts";
import { endDelivered } from "../receipts.ts";
import { type ConsensusResult, isProofUnderWay, sendConsensus, type SendInput } from "./send.ts";
import { judgeGates, judgeSuspended } from "../limits/suspension.ts";
import { judgeBought, noteBought, readProofPatienceMs } from "../limits/proof_costs.ts";

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
  leg.log.warn("proofs_failed.rotations_rejected", { leg: legName(leg), reason: code, detail });
  return undefined;
}

/** Outcome of proofs that may be sent alone. `held`: no reward or fee covers their cost. */
export type RotationResult = ConsensusResult | "held";

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
  /** Rotations alone, and proofs ahead of messages, are not attempted before this time. */
  #rotateAfterMs = 0;
  #aheadAfterMs = 0;
  /** Why rotations are left to others, as it was logged last. */
  #reported: string | undefined;
  /** Height that the target knows, and the time since which messages need a newer one. */
  #lacking: { readonly known: bigint; readonly sinceMs: number } | undefined;

  /** @param everyMs minimum interval between polls of the hub, ms */
  constructor(leg: Leg, bundles: Bundles, everyMs: number) {
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
    if (listDueAbove(leg, view, 1).length === 0 || !hasRoom(leg) || this.#leavesToOther(leg, view)) return;
    const wanted = { what: "all", maxBytes: maxTransactionBytes(leg) } as const;
    const next = await this.#follower.load(view, wanted, leg.signal);
    if (next !== undefined) await this.#carry(leg, view, next);
  }

  /** True while another relayer whose proof was mined before ours last time is given time for the next one. */
  #leavesToOther(leg: LegRun, { height: known }: CounterpartyView): boolean {
    const nowMs = leg.clock.now();
    if (this.#lacking?.known !== known) this.#lacking = { known, sinceMs: nowMs };
    return nowMs < this.#lacking.sinceMs + readProofPatienceMs(leg);
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
      const facts = { view, proofHeight: height, consensusProofs: proofs };
      // Where the first batch does not pay for the proofs, the next one may.
      for (let round = await deliverDue(leg, facts); round.sent === 0 && round.hasMore;) {
        round = await deliverDue(leg, facts);
      }
      return;
    }
    if (leg.clock.now() < this.#aheadAfterMs) return;
    wakeUnpaid(leg);
    this.#aheadAfterMs = pauseUntilMs(leg, await sendAhead(leg, view, next));
  }

  /**
   * Sends rotations alone when the hub's reward pays for them, one transaction at a time: the next ones follow when the
   * host knows the authorities. True when they were sent. Rules: docs/protocol/messaging.md sections 9.4 and 17.1;
   * polytope-labs/hyperbridge: modules/pallets/relayer/src/outbound_consensus.rs (one reward per set and chain, in the
   * hub's own token, to the relayer that the host names as first).
   */
  async #rotate(leg: LegRun, view: CounterpartyView, missing: readonly bigint[]): Promise<boolean> {
    const { rewards, target, signal } = leg;
    if (rewards === undefined || leg.clock.now() < this.#rotateAfterMs || !hasRoom(leg)) return false;
    const chain = target.id.stateMachine;
    const sets = missing.slice(0, MAX_PROOFS_AT_ONCE);
    const offered = await Promise.all(sets.map((set) => rewards.fetchRotationReward(chain, set, signal)));
    const reward = sumRewards(offered);
    const wanted = { what: "rotations", maxBytes: maxTransactionBytes(leg) } as const;
    const hold = findRewardHold(leg, reward);
    const next = hold === undefined ? await this.#follower.load(view, wanted, signal) : undefined;
    // The node does not have the bytes yet, or the host already has the sets.
    if (hold === undefined && next === undefined) return false;
    const result = next === undefined
      ? this.#leaveToOthers(leg, { reason: hold, reward })
      : await this.#sendRewarded(leg, next.proofs, sumRewards(offered.slice(0, next.proofs.length)));
    this.#rotateAfterMs = pauseUntilMs(leg, result);
    return result === "sent" || result === "known";
  }

  /** Sends the rotations if the reward covers their cost, with the profit that is required of fees. */
  async #sendRewarded(leg: LegRun, proofs: readonly Uint8Array[], reward: bigint): Promise<RotationResult> {
    const { profit, settings: { hubTokenPrice27 } } = leg;
    const simulated = await simulateAlone(leg, proofs);
    if (simulated === undefined) return "refused";
    const { gasUsed: gas, dataCostWei, gasPriceWei } = simulated.simulation;
    const price27 = (await profit?.price.fetchPrice(leg.signal))?.price27;
    const cost18 = costUsd18({ gas, dataCostWei }, { gasPriceWei, price27 });
    const required18 = cost18 === undefined ? undefined : requiredUsd18(cost18, profit?.minimumPercent ?? 0);
    const offeredUsd18 = toReward18(reward, hubTokenPrice27);
    const reason = findRewardHold(leg, reward) ??
      (required18 === undefined ? "price_unknown" : offeredUsd18 < required18 ? "unprofitable" : undefined);
    if (reason !== undefined) return this.#leaveToOthers(leg, { reason, reward, required18 });
    this.#reported = undefined;
    // Rotations are only sent for the reward, even when every message is delivered.
    const maxGasPriceWei = coveringPriceWei({ gas, dataCostWei, offered18: offeredUsd18, price27 });
    const allowance = { rule: "consensus_proofs", offeredUsd18 } as const;
    return await sendConsensus(leg, { ...simulated, why: "rewarded", allowance, maxGasPriceWei });
  }

  /** Logs once why rotations are left to others. */
  #leaveToOthers(leg: Leg, { reason, reward, required18 }: {
    readonly reason: RewardHold | undefined;
    /** Units of the hub's own token. */
    readonly reward: bigint;
    /** Dollars x 10^18, once they are known. */
    readonly required18?: bigint | undefined;
  }): "held" {
    if (reason !== this.#reported) {
      leg.log.info("rotations_unprofitable", {
        leg: legName(leg),
        reason,
        rewardUsd: formatDecimal(toReward18(reward, leg.settings.hubTokenPrice27), 18),
        ...required18 !== undefined && { requiredUsd: formatDecimal(required18, 18) },
      });
    }
    this.#reported = reason;
    return "held";
  }
}

/** Why rotations are left to others: without a reward or a price, or where the reward is below the cost. */
type RewardHold = "no_reward" | "token_price_unknown" | "price_unknown" | "unprofitable";

/** Finds out, before anything is loaded, why the hub's reward pays for nothing. */
function findRewardHold({ settings }: Leg, reward: bigint): RewardHold | undefined {
  if (reward === 0n) return "no_reward";
  return settings.hubTokenPrice27 === undefined ? "token_price_unknown" : undefined;
}

function pauseUntilMs({ clock }: Leg, result: RotationResult): number {
  return result === "sent" || result === "known" ? 0 : clock.now() + ROTATION_PAUSE_MS;
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

/** Maximum number of times that a batch is judged again because some of its messages do not pay. */
const MAX_JUDGEMENTS = 3;

/** Maximum number of batches among whose messages those that pay for proofs ahead of them are searched. */
const MAX_BATCHES = 10;

/**
 * Sends proofs ahead of due messages that pay for these proofs, those that must follow, and themselves. All of it is
 * simulated together first: nodes simulate more than they take in one transaction.
 */
async function sendAhead(leg: LegRun, view: CounterpartyView, next: NextProofs): Promise<RotationResult> {
  const { proofs, all, height, left } = next;
  const isWanted = (kind: Candidate["row"]["kind"]): boolean => kind !== "get";
  const { ready } = listReady(leg, { view, proofHeight: height, isWanted, batches: MAX_BATCHES });
  const above = ready.filter(({ row }) => row.seenAtHeight > view.height).toSorted(byOffer);
  const gates = await judgeGates(leg, above);
  const payable = screen(leg, above, gates, judgeSuspended(leg, above), judgeBought(leg));
  const open = await endDelivered(leg, payable);
  if (all === undefined) {
    // They wait for updates of others.
    const detail = `${
      proofs.length + left
    } consensus proofs of the hub must come before it, more than are sent for messages`;
    screen(leg, open, () => ({ reason: "consensus_proofs_unprofitable", retryClass: "transient", detail }));
    return "held";
  }
  const paid = await findPaying(leg, { view, proofHeight: height, consensusProofs: all }, open);
  if (paid === undefined) return "held";
  const simulated = await simulateAlone(leg, proofs);
  if (simulated === undefined) return "refused";
  const { maxGasPriceWei, candidates } = paid;
  const { gasUsed: gas, dataCostWei } = simulated.simulation;
  const price27 = (await leg.profit?.price.fetchPrice(leg.signal))?.price27;
  // What they are worth at the highest price that the fees allow.
  const offeredUsd18 = maxGasPriceWei === undefined
    ? undefined
    : costUsd18({ gas, dataCostWei }, { gasPriceWei: maxGasPriceWei, price27 });
  const allowance = offeredUsd18 === undefined ? undefined : { rule: "profit", offeredUsd18 } as const;
  const work = { ...simulated, why: "ahead of messages", maxGasPriceWei, allowance } as const;
  const result = await sendConsensus(leg, work);
  if (result === "sent") leg.ledger.transaction(() => noteBought(leg, candidates, left));
  return result;
}

/** Orders messages that were not judged yet before the others, and those by what they offer: the poor hide no rich one. */
function byOffer({ row: one }: Candidate, { row: other }: Candidate): number {
  if (one.offeredUsd18 === undefined || other.offeredUsd18 === undefined) {
    return Number(other.offeredUsd18 === undefined) - Number(one.offeredUsd18 === undefined);
  }
  return Number(other.offeredUsd18 - one.offeredUsd18);
}

/** Finds messages that the target would take behind the proofs, and that pay for all of it. */
async function findPaying(
  leg: LegRun,
  facts: DeliveryInput,
  open: readonly Candidate[],
): Promise<SendInput | undefined> {
  let batch = open.slice(0, leg.target.limits.maxMessagesPerStep);
  for (let judged = 0; judged < MAX_JUDGEMENTS && batch.length > 0; judged++) {
    const { ready: [first], again } = await prepare({ leg, facts }, batch);
    if (first !== undefined) return first;
    batch = [...again];
  }
  return undefined;
}

/** Sums what the hub still offers for rotations, units of its own token. */
function sumRewards(offered: readonly { readonly amount: bigint; readonly isClaimed: boolean }[]): bigint {
  return offered.reduce((sum, { amount, isClaimed }) => sum + (isClaimed ? 0n : amount), 0n);
}
