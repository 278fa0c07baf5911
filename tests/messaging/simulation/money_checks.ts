/** Money in a simulation: what our deliveries earned is on our accounts or paid out, and what they cost was worth it. */
import { equalBytes, toHex } from "../../../src/core/encoding/bytes.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import type { MemoryBlock } from "../../support/memory_block.ts";
import type { MemoryNode } from "../../support/memory_node.ts";
import type { PaidFacts } from "../../support/relayer_invariants.ts";
import { type AttackKind, spentOn } from "./attacks.ts";
import {
  canonical,
  costAloneWei,
  feeWhenDelivered,
  finalState,
  handledIn,
  mostProofsFor,
  paymentsIn,
} from "./chain_facts.ts";
import { chainNames, type Course, PRICE_27, type Sent } from "./course.ts";

/** What an attack made us lose, and what it cost, dollars. */
export interface AttackCost {
  readonly kind: AttackKind;
  readonly lost: number;
  readonly spent: number;
}

/** Checks the money of one course. */
export class MoneyChecks {
  readonly #course: Course;
  readonly #stopped: ReadonlySet<StateMachine>;

  /** @param stopped chains to which nothing is sent any more. */
  constructor(course: Course, stopped: ReadonlySet<StateMachine>) {
    this.#course = course;
    this.#stopped = stopped;
  }

  get #hub(): MemoryNode {
    return this.#course.nodes[2];
  }

  /** What our accounts paid for on the EVM chains. */
  paid(): readonly PaidFacts[] {
    return this.#course.nodes.slice(0, 2).flatMap((node) => {
      const chain = node.id.stateMachine;
      return node.paidBy(toHex(this.#course.relayerOn(chain))).map(({ hash, refusal, ...spent }) => ({
        chain,
        hash,
        isReverted: refusal !== undefined,
        costWei: spent.gasUsed * spent.gasPriceWei + spent.dataCostWei,
      }));
    });
  }

  /** What the attack of the course cost both sides; `undefined`: there is none. */
  attacked(): AttackCost | undefined {
    const { attack } = this.#course.plan;
    if (attack === undefined) return undefined;
    const spent = this.#course.sent.filter(({ plan }) => plan.isHostile === true)
      .reduce(
        (sum, { plan, source }) => sum + spentOn(plan, source.priceWei, PRICE_27),
        this.#spentOnRaces(),
      );
    const lost = this.#course.nodes.slice(0, 2).reduce((sum, node) => sum + this.#lostOn(node), 0n);
    return { kind: attack.kind, lost: Number(lost) / 1e18, spent: Number(spent) / 1e18 };
  }

  /** What it costs to deliver messages ahead of us: each by itself, with the proofs of the hub that it needs. */
  #spentOnRaces(): bigint {
    const plans = new Map(this.#course.sent.map(({ message, plan }) => [message.commitment, plan]));
    return this.#course.races.reduce(
      (sum, { node, message: { commitment }, proofs }) =>
        sum + costAloneWei(plans.get(commitment) ?? {}, node, BigInt(proofs)) * PRICE_27 / 10n ** 27n,
      0n,
    );
  }

  /**
   * What our transactions on a chain cost beyond what they earned, each for itself, dollars x 10^18; proofs that go ahead
   * are paid by the messages of the next one.
   */
  #lostOn(node: MemoryNode): bigint {
    const own = toHex(this.#course.relayerOn(node.id.stateMachine));
    const feeOf = new Map<string, bigint>(
      this.#course.sent.map((sent) => [sent.message.commitment, this.#course.feeOf(sent)]),
    );
    const earnedBy = new Map<string, bigint>();
    for (const { commitment, relayer, transaction } of handledIn(node.id.stateMachine, canonical(node))) {
      if (relayer !== own) continue;
      // What is no application's is a payment to us.
      const fee = feeOf.get(commitment) ?? 10n ** 21n;
      earnedBy.set(transaction, (earnedBy.get(transaction) ?? 0n) + fee);
    }
    let lost = 0n;
    let ahead = 0n;
    for (const { hash, refusal, gasUsed, gasPriceWei, dataCostWei } of node.paidBy(own)) {
      if (refusal === "handler_replaced") continue; // governance's doing
      const costUsd18 = ahead + (gasUsed * gasPriceWei + dataCostWei) * PRICE_27 / 10n ** 27n;
      const { delivery } = node.transactionOf(hash);
      const isProofsAlone = delivery.steps.length > 0 &&
        delivery.steps.every(({ kind }) => kind === "consensus");
      ahead = isProofsAlone && refusal === undefined ? costUsd18 : 0n;
      const loss = costUsd18 - ahead - (earnedBy.get(hash) ?? 0n);
      if (loss > 0n) lost += loss;
    }
    return lost + ahead;
  }

  /** I9; where proofs travel along, rich messages of a batch may carry poor ones. */
  soldTooCheap(): readonly string[] {
    const { chains, minimumProfitPercent } = this.#course.plan;
    if (minimumProfitPercent === 0) return [];
    return this.#course.sent.filter(({ plan, message, dest, source }) => {
      const receipt = dest.head.state.receipts.get(message.commitment);
      const isPoor = plan.fee === 1n && source.head.state.fees.get(message.commitment) === 1n;
      const isOurs = receipt !== undefined &&
        equalBytes(receipt, this.#course.relayerOn(dest.id.stateMachine));
      return isPoor && isOurs && chains[1 - plan.from]?.driver === "updates";
    }).map(({ message }) => `I9: ${message.commitment} was delivered for less than it costs`);
  }

  /** Every own delivery that earned something is claimed on the hub. */
  unpaid(): readonly string[] {
    const { claimed } = finalState(this.#hub).accounts;
    return this.#earned().filter(({ message }) => !claimed.has(message.commitment)).map(({ message }) =>
      `Our delivery of ${message.commitment} was never claimed`
    );
  }

  /** What was earned is on our accounts or paid out, to the last unit: nothing was credited twice (I8). */
  lost(histories: ReadonlyMap<string, readonly MemoryBlock[]>): readonly string[] {
    const { balances } = finalState(this.#hub).accounts;
    const ours = [...new Set(chainNames.map((chain) => toHex(this.#course.relayerOn(chain))))];
    const hub = chainNames[2];
    return this.#course.nodes.slice(0, 2).flatMap((node) => {
      const chain = node.id.stateMachine;
      const earned = this.#earned().filter(({ source }) => source === node);
      // What is added after the delivery may be too late for the claim; what was there before is not.
      const least = earned.reduce((sum, sent) => sum + feeWhenDelivered(sent), 0n);
      const most = earned.reduce(
        (sum, { message }) => sum + (node.head.state.fees.get(message.commitment) ?? 0n),
        0n,
      );
      const held = ours.reduce((sum, each) => sum + (balances.get(`${chain} ${each}`) ?? 0n), 0n);
      const payments = paymentsIn(histories.get(hub) ?? [], chain);
      const paid = payments.reduce((sum, { amount }) => sum + amount, 0n);
      const own = this.#course.relayerOn(chain);
      return [
        ...held + paid >= least && held + paid <= most
          ? []
          : [`${chain}: earned ${least} to ${most}, but ${held} held and ${paid} paid out`],
        ...payments.filter(({ beneficiary }) => !equalBytes(beneficiary, own))
          .map(({ commitment }) => `${chain}: payment ${commitment} goes to another account`),
        ...this.missingPayments(node).map((commitment) => `${chain}: payment ${commitment} did not arrive`),
      ];
    });
  }

  /** Payments of the hub that a chain could have by now. */
  missingPayments(node: MemoryNode): readonly string[] {
    const chain = node.id.stateMachine;
    if (this.#stopped.has(chain)) return [];
    return paymentsIn(canonical(this.#hub), chain).filter(({ amount, commitment }) =>
      !finalState(node).receipts.has(commitment) && !this.isTooDear(chain, amount)
    ).map(({ commitment }) => commitment);
  }

  /** A payment waits while bringing it costs more than a tenth of it, with proofs of the hub where they are needed. */
  isTooDear(chain: string, amount: bigint): boolean {
    const index = chainNames.findIndex((name) => name === chain);
    const node = this.#course.nodes[index];
    if (node === undefined) throw new Error(`No chain ${chain}`);
    const costWei = costAloneWei({}, node, mostProofsFor(node, this.#hub));
    return costWei * PRICE_27 / 10n ** 26n >= this.#course.toDollars(node, amount);
  }

  /** Posts with a fee that carry our receipt on their destination. */
  #earned(): readonly Sent[] {
    return this.#course.sent.filter(({ message, dest, source }) => {
      const receipt = finalState(dest).receipts.get(message.commitment);
      const fee = source.head.state.fees.get(message.commitment) ?? 0n;
      const isPaid = message.kind === "post" && fee > 0n && receipt !== undefined;
      return isPaid && equalBytes(receipt, this.#course.relayerOn(dest.id.stateMachine));
    });
  }
}
