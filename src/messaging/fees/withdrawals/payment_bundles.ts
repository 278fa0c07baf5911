/** Consensus proofs that are sent in front of a payment, for chains that learn the hub's heights that way. */
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { coveringPriceWei } from "../../relay/decisions/gas_price.ts";
import { costUsd18 } from "../../relay/decisions/money.ts";
import { type NextProofs, ProofFollower } from "../../relay/deliver/proof_follower.ts";
import { simulateAlone } from "../../relay/deliver/consensus_proofs.ts";
import { isProofUnderWay, sendConsensus } from "../../relay/deliver/send.ts";
import type { Leg, LegRun, RelayDeps } from "../../relay/leg.ts";
import { hasRoom, maxTransactionBytes, roomForMessages } from "../../relay/limits/capacity.ts";

/** Call data of a payment, bytes: one message of some hundred bytes. */
const PAYMENT_BYTES = 1_500;

/** Payment that waits for a height of the hub. */
export interface WaitingPayment {
  readonly hubBlock: bigint;
  /** Maximum to be spent on its delivery, dollars x 10^18. */
  readonly budget18: bigint;
}

/** Finds consensus proofs for payments; one follower per chain. */
export class PaymentBundles {
  readonly #context: RelayDeps;
  readonly #legTo: (chain: StateMachine) => Leg;
  readonly #followers = new Map<StateMachine, ProofFollower>();

  constructor(context: RelayDeps, legTo: (chain: StateMachine) => Leg) {
    this.#context = context;
    this.#legTo = legTo;
  }

  /**
   * Finds a height at or above the payment's block with the proofs to send in front; `undefined`: none yet. Proofs that
   * do not fit into one transaction are sent ahead when the payment is worth the cost of all of them.
   */
  async find(
    chain: StateMachine,
    payment: WaitingPayment,
    signal: AbortSignal,
  ): Promise<ProvableHeight | undefined> {
    const leg = this.#legTo(chain);
    if (leg.bundles === undefined) return undefined;
    const { clock, log } = this.#context;
    const follower = this.#followers.get(chain) ??
      new ProofFollower(leg.bundles, { clock, log, everyMs: leg.pollIntervalMs });
    this.#followers.set(chain, follower);
    const view = await leg.target.reads.fetchView(leg.source.id, signal);
    const found = await follower.poll(view, signal);
    if (found?.height === undefined || found.height < payment.hubBlock) return undefined;
    // Proofs in flight are awaited, whoever paid for them.
    if (isProofUnderWay(leg, view.height)) return undefined;
    const wanted = { what: "all", maxBytes: maxTransactionBytes(leg) } as const;
    const next = await follower.load(view, wanted, signal);
    if (next === undefined || next.height < payment.hubBlock) return undefined;
    const room = roomForMessages(leg, next.proofs);
    if (next.left === 0 && room >= PAYMENT_BYTES) {
      return { height: next.height, consensusProofs: next.proofs };
    }
    if (hasRoom(leg)) await this.#sendAhead({ ...leg, signal }, { ...next, budget18: payment.budget18 });
    return undefined;
  }

  /** Sends the first proofs when all of them together cost no more than may be spent. */
  async #sendAhead(
    leg: LegRun,
    { proofs, left, budget18 }: Pick<NextProofs, "proofs" | "left"> & Pick<WaitingPayment, "budget18">,
  ): Promise<void> {
    const simulated = await simulateAlone(leg, proofs);
    if (simulated === undefined) return;
    const { gasUsed, dataCostWei, gasPriceWei } = simulated.simulation;
    const { profit } = leg;
    const price = await profit?.price.fetchPrice(leg.signal);
    const price27 = price?.kind === "known" ? price.price27 : undefined;
    const cost18 = costUsd18({ gas: gasUsed, dataCostWei }, { gasPriceWei, price27 });
    const forAll = (one: bigint): bigint => one * BigInt(proofs.length + left) / BigInt(proofs.length);
    const isWorth = cost18 === undefined ? profit?.minimumPercent === 0 : forAll(cost18) <= budget18;
    if (!isWorth) return;
    const usage = { gas: forAll(gasUsed), dataCostWei: forAll(dataCostWei) };
    const maxGasPriceWei = cost18 === undefined
      ? undefined
      : coveringPriceWei({ ...usage, offered18: budget18, price27 });
    const work = { ...simulated, why: "ahead of a payment", maxGasPriceWei } as const;
    await sendConsensus(leg, work);
  }
}

/** Height of the hub that the chain knows, or will know through the consensus proofs in front of the message. */
export interface ProvableHeight {
  readonly height: bigint;
  /** Consensus proofs; empty when the chain already knows the height. */
  readonly consensusProofs: readonly Uint8Array[];
}
