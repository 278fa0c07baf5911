/** What would happen if a delivery were sent now: the pool's own check, and the reason where it says no. */
import { ismpKeys, otherKeys } from "../../protocol/ismp/storage_keys.ts";
import { bool, u64 } from "../../protocol/scale.ts";
import { RpcFault } from "../../rpc/fault.ts";
import { calls, type RuntimeVersion } from "../../rpc/substrate_calls.ts";
import type { Delivery, Refusal, Simulation } from "../chain.ts";
import {
  type BareExtrinsic,
  deliveryExtrinsic,
  type MessageSigner,
  validationArgument,
} from "./extrinsics.ts";
import type { SubstrateNode } from "./node.ts";
import { readReceipts, receiptCalls } from "./receipts.ts";
import { findRefusal, type StepFacts } from "./refusal.ts";
import type { Runtime } from "./runtime.ts";
import { readDryRun, readValidation, type Verdict } from "./validity.ts";
import { updateTimeKey, Values } from "./views.ts";

const VALIDATE = "TaggedTransactionQueue_validate_transaction";

/**
 * Asks the runtime whether it would take the delivery. One round trip when it would, two when not. An extrinsic
 * above `maxCallBytes`, or above what the transport carries, is refused as `too_large`.
 */
export async function simulate(
  node: SubstrateNode,
  delivery: Delivery,
  options: { readonly signer: MessageSigner; readonly maxCallBytes: number },
  signal: AbortSignal,
): Promise<Simulation> {
  try {
    return await ask(node, delivery, options, signal);
  } catch (fault) {
    if (!(fault instanceof RpcFault) || fault.code !== "too_large") throw fault;
    return { kind: "refused", refusal: { code: "too_large", detail: fault.detail ?? fault.code } };
  }
}

async function ask(
  node: SubstrateNode,
  delivery: Delivery,
  options: { readonly signer: MessageSigner; readonly maxCallBytes: number },
  signal: AbortSignal,
): Promise<Simulation> {
  const { runtime, extrinsic, answer } = await withCurrentRuntime(node, async (current) => {
    const built = deliveryExtrinsic(node, current, delivery, options.signer);
    requireSize(node, built, options.maxCallBytes);
    const [version, validated] = await node.client.tryAll(
      [calls.runtimeVersion(), calls.stateCall(VALIDATE, validationArgument(built.bytes))],
      signal,
    );
    if (version instanceof RpcFault) throw version;
    return { version, runtime: current, extrinsic: built, answer: validated };
  }, signal);
  const verdict = answer instanceof RpcFault
    ? await dryRun(node, runtime, extrinsic, answer, signal)
    : requireReadable(node, readValidation(answer), VALIDATE);
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
  const handled = delivery.steps.flatMap((step) =>
    step.kind === "messages" ? step.messages.map(() => true) : []
  );
  return { kind: "accepted", handled, gasUsed: 0n, gasLimit: 0n };
}

function requireReadable(
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
  const { height } = step.proof;
  const keys = {
    now: otherKeys.timestampNow(),
    frozen: ismpKeys.frozenConsensusClients(height.id.consensusStateId),
    period: ismpKeys.challengePeriod(height.id),
    updated: await updateTimeKey(node, height, signal),
  };
  const reads = receiptCalls(await node.childTrie.key(signal), step.messages);
  const [stored, receipts] = await Promise.all([
    node.client.ask(calls.storageAt(Object.values(keys)), signal),
    node.client.askAll(reads, signal),
  ]);
  const values = new Values(node, stored);
  return {
    isFrozen: values.read(keys.frozen, bool, "FrozenConsensusClients") ?? false,
    challengePeriodSec: values.read(keys.period, u64, "ChallengePeriod"),
    updateTimeSec: values.read(keys.updated, u64, "StateMachineUpdateTime"),
    nowSec: (values.read(keys.now, u64, "Timestamp.Now") ?? 0n) / 1000n,
    receipts: readReceipts(node, step.messages, receipts),
  };
}
