/** What would happen if a delivery were sent now: the pool's own check, and the reason where it says no. */
import { RpcFault } from "../../rpc/fault.ts";
import { calls, type RuntimeVersion } from "../../rpc/substrate_calls.ts";
import type { Delivery, Refusal, Simulation } from "../chain.ts";
import {
  type BareExtrinsic,
  deliveryExtrinsic,
  type MessageSigner,
  type PostStep,
  readDelivery,
  VALIDATE_METHOD,
  validationCall,
} from "./extrinsics.ts";
import type { SubstrateNode } from "./node.ts";
import { fetchProofFacts } from "./proof_facts.ts";
import { fetchReceipts } from "./receipts.ts";
import { findRefusal, type StepFacts } from "./refusal.ts";
import type { Runtime } from "./runtime.ts";
import { readDryRun, readValidation, type Verdict } from "./validity.ts";

/**
 * Asks the runtime whether it would take the delivery. One round trip when it would, two when not. An extrinsic
 * above `maxCallBytes`, or above what the transport carries, is refused as `too_large`; what no Substrate host takes
 * is refused without asking.
 */
export async function simulate(
  node: SubstrateNode,
  delivery: Delivery,
  options: { readonly signer: MessageSigner; readonly maxCallBytes: number },
  signal: AbortSignal,
): Promise<Simulation> {
  const posts = readDelivery(delivery);
  if (posts.kind === "refused") return posts;
  try {
    return await ask(node, { delivery, posts: posts.steps }, options, signal);
  } catch (fault) {
    if (!(fault instanceof RpcFault) || fault.code !== "too_large") throw fault;
    return { kind: "refused", refusal: { code: "too_large", detail: fault.detail ?? fault.code } };
  }
}

async function ask(
  node: SubstrateNode,
  { delivery, posts }: { readonly delivery: Delivery; readonly posts: readonly PostStep[] },
  options: { readonly signer: MessageSigner; readonly maxCallBytes: number },
  signal: AbortSignal,
): Promise<Simulation> {
  const { runtime, extrinsic, answer } = await withCurrentRuntime(node, async (current) => {
    const built = deliveryExtrinsic(node, current, posts, options.signer);
    requireSize(node, built, options.maxCallBytes);
    const [version, validated] = await node.client.tryAll(
      [calls.runtimeVersion(), validationCall(built)],
      signal,
    );
    if (version instanceof RpcFault) throw version;
    return { version, runtime: current, extrinsic: built, answer: validated };
  }, signal);
  const verdict = answer instanceof RpcFault
    ? await dryRun(node, runtime, extrinsic, answer, signal)
    : requireReadable(node, readValidation(answer), VALIDATE_METHOD);
  if (verdict.kind === "valid") return accepted(delivery);
  return { kind: "refused", refusal: await explain(node, delivery, verdict.reason, signal) };
}

/**
 * Runs `work` with the runtime that was current last; if the chain has another version by now, once more with that
 * one, so that nothing is built with stale metadata.
 */
export async function withCurrentRuntime<T extends { readonly version: RuntimeVersion }>(
  node: SubstrateNode,
  work: (runtime: Runtime) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const runtime = await node.runtimes.current(signal);
  const result = await work(runtime);
  if (result.version.specVersion === runtime.version.specVersion) return result;
  node.log.info("The runtime was upgraded", {
    from: runtime.version.specVersion,
    to: result.version.specVersion,
  });
  return await work(await node.runtimes.ofVersion(result.version, signal));
}

/** @throws {RpcFault} `too_large`. */
export function requireSize(node: SubstrateNode, extrinsic: BareExtrinsic, maxCallBytes: number): void {
  const size = extrinsic.bytes.length;
  if (size <= maxCallBytes) return;
  throw node.client.fault("too_large", "author_submitExtrinsic", `${size} of at most ${maxCallBytes} bytes`);
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

/** A verdict that is one. @throws {RpcFault} `malformed`. */
export function requireReadable(
  node: SubstrateNode,
  verdict: Verdict,
  method: string,
): Exclude<Verdict, { kind: "unreadable" }> {
  if (verdict.kind === "unreadable") throw node.client.fault("malformed", method, "no verdict");
  return verdict;
}

/** For nodes without the runtime API; needs a node that allows unsafe methods. */
async function dryRun(
  node: SubstrateNode,
  runtime: Runtime,
  extrinsic: BareExtrinsic,
  fault: RpcFault,
  signal: AbortSignal,
): Promise<Exclude<Verdict, { kind: "unreadable" }>> {
  if (fault.code !== "missing_method") throw fault;
  const answer = await node.client.ask(calls.dryRun(extrinsic.bytes), signal);
  return requireReadable(node, readDryRun(runtime, answer), "system_dryRun");
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
): Promise<StepFacts | undefined> {
  const step = delivery.steps[index];
  if (step?.kind !== "messages") return undefined;
  const [proof, receipts] = await Promise.all([
    fetchProofFacts(node, step.proof.height, signal),
    fetchReceipts(node, step.messages, signal),
  ]);
  return { ...proof, receipts };
}
