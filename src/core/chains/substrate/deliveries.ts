/** Deliveries to a Substrate chain: dry-run, made as extrinsics, and submitted to the transaction pool. */
import { onFault } from "../../rpc/call.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { ChainReads } from "../reads.ts";
import {
  type BroadcastResult,
  collectMessages,
  type Delivery,
  type Refusal,
  type Sender,
  type SignedSubmission,
  type SigningInput,
  type SigningResult,
  type Simulation,
  type Simulator,
} from "../submission.ts";
import { dryRunExtrinsic, type ExtrinsicRecipe, makeExtrinsic, toSizeRefusal } from "./dry_run.ts";
import { deliveryExtrinsic, type ExtrinsicOptions, readDelivery } from "./extrinsics.ts";
import { readReceipts, receiptSet } from "./fees.ts";
import type { SubstrateNode } from "./node.ts";
import { fetchProofContext, findRefusal, type StepContext } from "./refusal.ts";

/** A delivery as an extrinsic; `undefined`: no Substrate host accepts it. */
function toRecipe(
  node: SubstrateNode,
  delivery: Delivery,
  { signer, maxCallBytes }: ExtrinsicOptions,
): ExtrinsicRecipe | undefined {
  const steps = readDelivery(delivery);
  return steps && { build: (runtime) => deliveryExtrinsic(node, runtime, steps, signer), maxCallBytes };
}

const NOT_ACCEPTED = {
  kind: "refused",
  refusal: { code: "bad_destination", detail: "a Substrate host accepts requests with state proofs only" },
} as const satisfies Simulation & SigningResult;

/** Simulation by the transaction pool's own check. */
export class SubstrateSimulator implements Simulator {
  constructor(
    readonly node: SubstrateNode,
    readonly options: ExtrinsicOptions,
    readonly reads: Pick<ChainReads, "fetchReceipts">,
  ) {}

  /**
   * Checks whether the runtime would accept the delivery. One round trip if it would, else two. An extrinsic above
   * `maxCallBytes`, or above the transport's limit, is refused as `too_large`; what no Substrate host accepts is refused
   * without a request.
   */
  async simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation> {
    const node = this.node;
    try {
      const recipe = toRecipe(node, delivery, this.options);
      if (recipe === undefined) return NOT_ACCEPTED;
      const messages = collectMessages(delivery);
      const { result } = await dryRunExtrinsic(node, recipe, signal);
      if (result.kind !== "valid") {
        return { kind: "refused", refusal: await this.#explain(delivery, result.reason, signal) };
      }
      return {
        kind: "accepted",
        handled: messages.map(() => true),
        gasUsed: 0n,
        gasLimit: 0n,
        messageGas: messages.map(() => 0n),
        gasPriceWei: 0n,
        dataCostWei: 0n,
      };
    } catch (fault) {
      return { kind: "refused", refusal: toSizeRefusal(fault) };
    }
  }

  async #explain(delivery: Delivery, reason: string, signal: AbortSignal): Promise<Refusal> {
    const facts = await Promise.all(delivery.steps.map(async (step): Promise<StepContext | undefined> => {
      if (step.kind !== "messages") return undefined;
      const [proof, receipts] = await Promise.all([
        fetchProofContext(this.node, step.proof.height, signal),
        this.reads.fetchReceipts(step.messages, signal),
      ]);
      return { ...proof, receipts };
    }));
    const host = { stateMachine: this.node.id.stateMachine, isHub: this.node.isHub };
    return findRefusal(host, delivery, facts) ??
      { code: "unspecified", detail: `${reason}: the proof, the receiving module or its bandwidth` };
  }
}

/** Makes extrinsics, and submits them to the transaction pool. */
export class SubstrateSender implements Sender {
  constructor(readonly node: SubstrateNode, readonly options: ExtrinsicOptions) {}

  /** One round trip: version, best block and receipts are read together. Unsigned extrinsics have no nonce. */
  async sign(delivery: Delivery, _input: SigningInput, signal: AbortSignal): Promise<SigningResult> {
    const node = this.node;
    const recipe = toRecipe(node, delivery, this.options);
    if (recipe === undefined) return NOT_ACCEPTED;
    const messages = collectMessages(delivery);
    const set = await receiptSet(node, messages, signal);
    const { submission, values } = await makeExtrinsic(node, { ...recipe, set }, signal);
    const receipts = readReceipts(node, messages, values);
    const isOvertaken = receipts.some((receipt) => receipt !== undefined);
    return isOvertaken ? { kind: "overtaken", receipts } : { kind: "signed", submission };
  }

  /**
   * Submits an extrinsic. One round trip. @throws {RpcFault} also `pool_dropped`: the pool is full, or bans these bytes
   * for a while.
   */
  async broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    const fault = await this.node.client.call(calls.submit(submission.raw), signal)
      .then(() => undefined, onFault((each) => each, "already_known", "pool_conflict", "pool_invalid"));
    if (fault === undefined) return { kind: "sent" };
    if (fault.code !== "pool_invalid") return { kind: "alreadyKnown" };
    return { kind: "refused", refusal: { code: "unspecified", detail: fault.detail ?? fault.code } };
  }
}
