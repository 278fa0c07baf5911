/** Simulates a delivery: the pool's own check, and the reason of a refusal. */
import type { Delivery, Refusal, Simulation } from "../port.ts";
import { dryRunExtrinsic, toSizeRefusal } from "./dry_run.ts";
import { deliveryExtrinsic, type MessageSigner, readDelivery } from "./extrinsics.ts";
import type { SubstrateNode } from "./node.ts";
import { fetchProofContext } from "./proof_context.ts";
import { fetchReceipts } from "./receipts.ts";
import { findRefusal, type StepContext } from "./refusal.ts";

/**
 * Checks whether the runtime would accept the delivery. One round trip if it would, else two. An extrinsic above
 * `maxCallBytes`, or above the transport's limit, is refused as `too_large`; what no Substrate host accepts is
 * refused without a request.
 */
export async function simulate(
  node: SubstrateNode,
  delivery: Delivery,
  options: { readonly signer: MessageSigner; readonly maxCallBytes: number },
  signal: AbortSignal,
): Promise<Simulation> {
  const posts = readDelivery(delivery);
  if (posts.kind === "refused") return posts;
  const { signer, maxCallBytes } = options;
  try {
    const { result } = await dryRunExtrinsic(node, {
      build: (runtime) => deliveryExtrinsic(node, runtime, posts.steps, signer),
      maxCallBytes,
    }, signal);
    if (result.kind === "valid") return accepted(delivery);
    return { kind: "refused", refusal: await explain(node, delivery, result.reason, signal) };
  } catch (fault) {
    return { kind: "refused", refusal: toSizeRefusal(fault) };
  }
}

function accepted(delivery: Delivery): Simulation {
  const messages = delivery.steps.flatMap((step) => step.kind === "messages" ? step.messages : []);
  return {
    kind: "accepted",
    handled: messages.map(() => true),
    gasUsed: 0n,
    gasLimit: 0n,
    messageGas: messages.map(() => 0n),
    gasPriceWei: 0n,
    dataCostWei: 0n,
  };
}

async function explain(
  node: SubstrateNode,
  delivery: Delivery,
  reason: string,
  signal: AbortSignal,
): Promise<Refusal> {
  const facts = await Promise.all(delivery.steps.map((_, step) => fetchFacts(node, delivery, step, signal)));
  const host = { stateMachine: node.id.stateMachine, isHub: node.isHub };
  return findRefusal(host, delivery, facts) ??
    { code: "unspecified", detail: `${reason}: the proof, the receiving module or its bandwidth` };
}

async function fetchFacts(
  node: SubstrateNode,
  delivery: Delivery,
  index: number,
  signal: AbortSignal,
): Promise<StepContext | undefined> {
  const step = delivery.steps[index];
  if (step?.kind !== "messages") return undefined;
  const [proof, receipts] = await Promise.all([
    fetchProofContext(node, step.proof.height, signal),
    fetchReceipts(node, step.messages, signal),
  ]);
  return { ...proof, receipts };
}
