/** Creates the extrinsics of deliveries, submits them to the transaction pool, and maps its answers to outcomes. */
import { resultOf, RpcFault } from "../../rpc/call.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import {
  type BroadcastResult,
  type Delivery,
  isFresh,
  type Sender,
  type SignedSubmission,
  type SigningFacts,
  type SigningInput,
  type SigningResult,
} from "../submission.ts";
import type { SubstrateNode } from "./node.ts";
import {
  collectMessages,
  deliveryExtrinsic,
  type ExtrinsicOptions,
  readDelivery,
  toSubmission,
} from "./extrinsics.ts";
import { readReceipts, receiptSet } from "./fees.ts";
import { requireSize, withCurrentRuntime } from "./dry_run.ts";

/** Makes extrinsics, and submits them to the transaction pool. */
export class SubstrateSender implements Sender {
  readonly #node: SubstrateNode;
  readonly #options: ExtrinsicOptions;

  constructor(node: SubstrateNode, options: ExtrinsicOptions) {
    this.#node = node;
    this.#options = options;
  }

  /**
   * One round trip: version, best block and receipts are read together, unless the dry run has just done so. Unsigned
   * extrinsics have no nonce.
   */
  async sign(delivery: Delivery, input: SigningInput, signal: AbortSignal): Promise<SigningResult> {
    const { facts } = input.simulation;
    if (facts !== undefined && isFresh(facts, { delivery, nowMs: this.#node.clock.now() })) {
      return await facts.sign(input, signal);
    }
    const posts = readDelivery(delivery);
    if (posts.kind === "refused") return posts;
    const { signer, maxCallBytes } = this.#options;
    const node = this.#node;
    const messages = collectMessages(delivery);
    const set = await receiptSet(node, messages, signal);
    const { extrinsic, header, receipts } = await withCurrentRuntime(node, async (runtime) => {
      const built = deliveryExtrinsic(node, runtime, posts.steps, signer);
      const asked = [calls.runtimeVersion(), calls.header()] as const;
      const { values, outcomes: [version, best] } = await node.client.readChildWith(set, asked, signal);
      const header = resultOf(best);
      const receipts = readReceipts(node, messages, values);
      return { version: resultOf(version), extrinsic: built, header, receipts };
    }, signal);
    if (header === undefined) throw node.client.fault("malformed", "chain_getHeader", "no best block");
    if (receipts.some((receipt) => receipt !== undefined)) return { kind: "overtaken", receipts };
    requireSize(node, extrinsic, maxCallBytes);
    return { kind: "signed", submission: toSubmission(node, extrinsic, header.height) };
  }

  /**
   * Submits an extrinsic. One round trip. @throws {RpcFault} also `pool_dropped`: the pool is full, or bans these bytes
   * for a while.
   */
  async broadcast(
    submission: SignedSubmission,
    signal: AbortSignal,
  ): Promise<BroadcastResult> {
    try {
      await this.#node.client.call(calls.submit(submission.raw), signal);
      return { kind: "sent" };
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      if (fault.code === "already_known" || fault.code === "pool_conflict") return { kind: "alreadyKnown" };
      if (fault.code !== "pool_invalid") throw fault;
      return { kind: "refused", refusal: { code: "unspecified", detail: fault.detail ?? fault.code } };
    }
  }
}

/** What a dry run hands to the sender. */
export interface DryRunFacts extends Omit<SigningFacts, "sign"> {
  /** Per message the relayer that delivered it already. */
  readonly receipts: readonly (Uint8Array | undefined)[];
  /** The extrinsic of the dry run, made with the runtime of the best block. */
  readonly submission: SignedSubmission;
}

/** Facts for a signature soon after the dry run. */
export function factsOfDryRun({ atMs, delivery, receipts, submission }: DryRunFacts): SigningFacts {
  const isOvertaken = receipts.some((receipt) => receipt !== undefined);
  const result: SigningResult = isOvertaken
    ? { kind: "overtaken", receipts }
    : { kind: "signed", submission };
  return { atMs, delivery, sign: () => Promise.resolve(result) };
}
