/** Simulates a delivery: the pool's own check, and the reason of a refusal. */
import type { Delivery, Refusal, Simulation, Simulator } from "../submission.ts";
import type { Message } from "../../ismp/message.ts";
import { dryRunWithReads, toSizeRefusal } from "./dry_run.ts";
import {
  collectMessages,
  deliveryExtrinsic,
  type ExtrinsicOptions,
  readDelivery,
  toSubmission,
} from "./extrinsics.ts";
import type { SubstrateNode } from "./node.ts";
import { fetchProofContext, findRefusal, type StepContext } from "./refusal.ts";
import { readReceipts, receiptSet } from "./fees.ts";
import { SubstrateSigningFacts } from "./sender.ts";
import type { ChainReads } from "../reads.ts";

/** Simulation by the transaction pool's own check. */
export class SubstrateSimulator implements Simulator {
  readonly #node: SubstrateNode;
  readonly #options: ExtrinsicOptions;
  readonly #reads: Pick<ChainReads, "fetchReceipts">;

  constructor(node: SubstrateNode, options: ExtrinsicOptions, reads: Pick<ChainReads, "fetchReceipts">) {
    this.#node = node;
    this.#options = options;
    this.#reads = reads;
  }

  /**
   * Checks whether the runtime would accept the delivery. One round trip if it would, which also reads what a signature
   * needs, else two. An extrinsic above
   * `maxCallBytes`, or above the transport's limit, is refused as `too_large`; what no Substrate host accepts is
   * refused without a request.
   */
  async simulate(
    delivery: Delivery,
    signal: AbortSignal,
  ): Promise<Simulation> {
    const posts = readDelivery(delivery);
    if (posts.kind === "refused") return posts;
    const { signer, maxCallBytes } = this.#options;
    const node = this.#node;
    const messages = collectMessages(delivery);
    try {
      const set = await receiptSet(node, messages, signal);
      const atMs = node.clock.now();
      const { result, extrinsic, values, height } = await dryRunWithReads(node, {
        build: (runtime) => deliveryExtrinsic(node, runtime, posts.steps, signer),
        maxCallBytes,
        set,
      }, signal);
      if (result.kind !== "valid") {
        return { kind: "refused", refusal: await this.#explain(delivery, result.reason, signal) };
      }
      const receipts = readReceipts(node, messages, values);
      const submission = toSubmission(node, extrinsic, height);
      return accepted(messages, new SubstrateSigningFacts({ atMs, delivery, receipts, submission }));
    } catch (fault) {
      return { kind: "refused", refusal: toSizeRefusal(fault) };
    }
  }

  async #explain(
    delivery: Delivery,
    reason: string,
    signal: AbortSignal,
  ): Promise<Refusal> {
    const facts = await Promise.all(
      delivery.steps.map((_, step) => this.#fetchFacts(delivery, step, signal)),
    );
    const host = { stateMachine: this.#node.id.stateMachine, isHub: this.#node.isHub };
    return findRefusal(host, delivery, facts) ??
      { code: "unspecified", detail: `${reason}: the proof, the receiving module or its bandwidth` };
  }

  async #fetchFacts(
    delivery: Delivery,
    index: number,
    signal: AbortSignal,
  ): Promise<StepContext | undefined> {
    const step = delivery.steps[index];
    if (step?.kind !== "messages") return undefined;
    const [proof, receipts] = await Promise.all([
      fetchProofContext(this.#node, step.proof.height, signal),
      this.#reads.fetchReceipts(step.messages, signal),
    ]);
    return { ...proof, receipts };
  }
}

function accepted(messages: readonly Message[], facts: SubstrateSigningFacts): Simulation {
  return {
    kind: "accepted",
    handled: messages.map(() => true),
    gasUsed: 0n,
    gasLimit: 0n,
    messageGas: messages.map(() => 0n),
    gasPriceWei: 0n,
    dataCostWei: 0n,
    facts,
  };
}
