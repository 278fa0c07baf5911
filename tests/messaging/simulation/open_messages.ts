/** Which messages of a simulation are not over yet: neither delivered and noted, nor ended for a reason of the seed. */
import { equalBytes } from "../../../src/core/encoding/bytes.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import { findDestination, toReceiptKey } from "../../../src/messaging/relay/decisions/route.ts";
import type { MemoryNode } from "../../support/memory_node.ts";
import { costAloneWei, finalState, hasTimedOut, isBad, mostProofsFor } from "./chain_facts.ts";
import { chainNames, type Course, PRICE_27, type Sent } from "./course.ts";

/** Why a message waits whose receiving module fails; its fee may not be worth it besides. */
const FAILED: ReadonlySet<string> = new Set([
  "simulation_failed",
  "not_executed",
  "unprofitable",
  "reverted",
  "untraceable",
  "suspended",
]);

/** Proofs that are bought for messages at most: a chain further behind waits for a consensus relayer (A8). */
const MAX_PROOFS_AHEAD = 8n;

/** The messages of one course. */
export class OpenMessages {
  readonly #course: Course;

  constructor(course: Course) {
    this.#course = course;
  }

  get #hub(): MemoryNode {
    return this.#course.nodes[2];
  }

  /** True when nothing more is expected of a message. */
  isOver(sent: Sent): boolean {
    return this.hasArrived(sent) ? this.isNoted(sent) : this.#hasEndedOtherwise(sent);
  }

  /** Its receipt is final. */
  hasArrived({ message, dest }: Sent): boolean {
    return finalState(dest).receipts.has(toReceiptKey(message));
  }

  /** The relayer knows what it delivered itself, also with a new database: it has looked for the receipts. */
  isNoted({ message, dest }: Sent): boolean {
    const ledger = this.#course.program?.ledger;
    if (ledger === undefined) return false;
    return [dest, this.#hub].every((node) => {
      const target = node.id.stateMachine;
      const receipt = finalState(node).receipts.get(toReceiptKey(message));
      if (receipt === undefined || !equalBytes(receipt, this.#course.relayerOn(target))) return true;
      return ledger.deliveries.find(toReceiptKey(message), target) !== undefined;
    });
  }

  /** Ended without a delivery, for the reason that the seed gave it. */
  #hasEndedOtherwise(sent: Sent): boolean {
    // Nobody waits for what an attack sends.
    if (sent.plan.isHostile === true) return true;
    const { plan, message, dest, source } = sent;
    const ledger = this.#course.program?.ledger;
    if (ledger === undefined) return false;
    const rows = [dest.id.stateMachine, chainNames[2]].flatMap((target) => {
      const row = ledger.messages.find(message.commitment, target);
      return row === undefined ? [] : [row];
    });
    const isPoor = plan.fee === 1n && (source.head.state.fees.get(message.commitment) ?? 0n) === 1n;
    const answer = message.kind === "get"
      ? ledger.messages.findResponse(message.commitment, chainNames[2], dest.id.stateMachine)
      : undefined;
    if (answer !== undefined) rows.push(answer);
    return rows.some(({ attempts, state, reason }) =>
      (plan.timeoutSec !== undefined && state === "timed_out" && reason === "expired") ||
      // Tried again and again, as the operator wants it.
      (isBad(plan) && state === "submitted" && attempts > 0) ||
      (isBad(plan) && state === "held" && reason !== undefined && FAILED.has(reason)) ||
      (state === "held" && reason === "unprofitable" && (isPoor || !this.#paysForItself(sent))) ||
      (state === "held" && reason === "consensus_proofs_unprofitable" && !this.#paysForProofs(dest)) ||
      (state === "held" && reason === "height_unknown" && this.#mayLoseHeights())
    );
  }

  /** Answers that the hub refuses for long are made too late: it keeps a height for some minutes only. */
  #mayLoseHeights(): boolean {
    return this.#course.plan.troubles.some(({ kind }) => kind === "badProofs" || kind === "bandwidth");
  }

  /** False when the chain's gas has come to cost more than the fee: rushes add up. */
  #paysForItself(sent: Sent): boolean {
    return this.#isWorth(this.#course.feeOf(sent), costAloneWei(sent.plan, sent.dest));
  }

  #isWorth(offered: bigint, costWei: bigint): boolean {
    const costUsd18 = costWei * PRICE_27 / 10n ** 27n;
    return offered * 100n >= costUsd18 * BigInt(100 + this.#course.plan.minimumProfitPercent);
  }

  /** True when what waits for a chain pays for the proofs of the hub that must go ahead of it. */
  #paysForProofs(dest: MemoryNode): boolean {
    const nowSec = BigInt(Math.floor(this.#course.clock.now() / 1_000));
    const waiting = this.#course.sent.filter((sent) =>
      sent.dest === dest && !this.hasArrived(sent) && !isBad(sent.plan) && !hasTimedOut(sent.message, nowSec)
    );
    // A transaction carries messages of one kind.
    return [true, false].some((isRequest) =>
      this.#payForProofs(dest, waiting.filter(({ message }) => (message.kind === "post") === isRequest))
    );
  }

  #payForProofs(dest: MemoryNode, waiting: readonly Sent[]): boolean {
    const offered = waiting.reduce(
      (sum, sent) => sum + this.#course.feeOf(sent),
      0n,
    );
    // What cannot be simulated before the chain knows the proof is estimated, at twice of what it is here.
    const proofs = mostProofsFor(dest, this.#hub);
    if (proofs > MAX_PROOFS_AHEAD) return false;
    const costWei = waiting.reduce(
      (sum, { plan }) => sum + 2n * costAloneWei(plan, dest),
      proofs * (dest.proofGas * dest.priceWei + 1_200n * dest.dataWeiPerByte),
    );
    return this.#isWorth(offered, costWei);
  }

  /** Tells of a message that is not over. */
  describe({ plan, message, dest }: Sent): string {
    const ledger = this.#course.program?.ledger;
    const rows = [chainNames[2], dest.id.stateMachine].map((target: StateMachine) => {
      const row = ledger?.messages.find(message.commitment, target);
      return `${target}: ${row?.state} ${row?.reason ?? ""} ${row?.detail ?? ""} ${row?.attempts}`;
    });
    const what = `${message.kind} ${message.commitment} to ${findDestination(message)}`;
    return `${what} is not over (${rows.join("; ")}; ${Deno.inspect(plan, { breakLength: 200 })})`;
  }
}
