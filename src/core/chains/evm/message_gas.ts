/**
 * Attributes a transaction's gas to its messages. Pure. Rules: docs/protocol/messaging.md section 9.2: a message is
 * charged what it adds, so that consensus steps (the consensus proofs) are left for the messages to pay together.
 */
import type { StepFrame } from "../../evm/trace.ts";
import type { Delivery, DeliveryStep } from "../submission.ts";

/** Base gas of every transaction (Ethereum yellow paper, appendix G). */
const TRANSACTION_GAS = 21_000n;

/** Gas of a transaction as far as it is known. */
export interface TransactionGas {
  readonly gasUsed: bigint;
  /** From a trace, in the order of the steps; `undefined` or of another shape if nothing is known about them. */
  readonly steps: readonly StepFrame[] | undefined;
}

/**
 * Gas per message, over all steps in order, rounded so that nothing is left over without consensus steps. Equal
 * shares if the frames say no more; together never more than the transaction uses.
 */
export function attributeGas(delivery: Delivery, gas: TransactionGas): readonly bigint[] {
  const counts = delivery.steps.map((step) => step.kind === "messages" ? step.messages.length : 0);
  const count = counts.reduce((sum, each) => sum + each, 0);
  const { steps } = gas;
  const isKnown = steps !== undefined && steps.length === counts.length &&
    counts.every((each, index) => steps[index]?.dispatches.length === each);
  if (!isKnown) return spread(gas.gasUsed, count);
  const own = delivery.steps.flatMap((step, index) => ownGas(step, steps[index]));
  const rest = spread(restOf(delivery, gas.gasUsed, steps), count);
  return bounded(own.map((each, index) => each + (rest[index] ?? 0n)), gas.gasUsed);
}

/** Dispatch of each message of a step and its share of the step's other gas, in the order of the messages. */
function ownGas(step: DeliveryStep, frame: StepFrame | undefined): readonly bigint[] {
  if (step.kind === "consensus" || frame === undefined) return [];
  const { messages, proof } = step;
  // The handler processes the leaves in ascending order.
  const order = messages.map((_, index) => index).sort((a, b) => {
    const [left, right] = proof.kind === "mmr" ? [proof.leafIndices[a], proof.leafIndices[b]] : [];
    return (left ?? 0n) < (right ?? 0n) ? -1 : 1;
  });
  const dispatched = frame.dispatches.reduce((sum, { gasUsed }) => sum + gasUsed, 0n);
  const shares = spread(frame.gasUsed - dispatched, messages.length);
  const own = messages.map(() => 0n);
  order.forEach((message, place) => {
    own[message] = (frame.dispatches[place]?.gasUsed ?? 0n) + (shares[message] ?? 0n);
  });
  return own;
}

/**
 * Share of the messages in the gas outside the steps: base, calldata, the batch itself, on Arbitrum also layer 1. A
 * consensus step keeps the base and the share of its bytes. With one step there is no such gas beyond what the node
 * counts outside the trace.
 */
function restOf(delivery: Delivery, gasUsed: bigint, frames: readonly StepFrame[]): bigint {
  const rest = gasUsed - frames.reduce((sum, frame) => sum + frame.gasUsed, 0n);
  const preludeBytes = delivery.steps.reduce(
    (sum, step) => sum + (step.kind === "consensus" ? step.proof.length : 0),
    0,
  );
  if (delivery.steps.every(({ kind }) => kind === "messages")) return rest;
  const messageBytes = delivery.steps.reduce((sum, step) => sum + bytesOf(step), 0);
  const total = BigInt(preludeBytes + messageBytes);
  return total === 0n ? 0n : (rest - TRANSACTION_GAS) * BigInt(messageBytes) / total;
}

/** Approximate size of a step's messages; only proportions matter. */
function bytesOf(step: DeliveryStep): number {
  if (step.kind === "consensus") return 0;
  const items = step.proof.kind === "mmr" ? step.proof.items.length * 32 : 0;
  return step.messages.reduce((sum, message) => {
    if (message.kind === "post") return sum + PLAIN_BYTES + message.request.body.length;
    if (message.kind === "get") return sum + PLAIN_BYTES;
    return sum +
      message.response.values.reduce((bytes, { value }) => bytes + 192 + (value?.length ?? 0), PLAIN_BYTES);
  }, items);
}

/** Calldata of a request without its body: words of the struct, its names and lengths. */
const PLAIN_BYTES = 640;

function spread(gas: bigint, count: number): readonly bigint[] {
  if (count === 0) return [];
  const positive = gas > 0n ? gas : 0n;
  const share = positive / BigInt(count);
  const over = positive % BigInt(count);
  return Array.from({ length: count }, (_, index) => BigInt(index) < over ? share + 1n : share);
}

/** Scales the parts down: refunds may make a transaction cheaper than the sum of its parts. */
function bounded(parts: readonly bigint[], most: bigint): readonly bigint[] {
  const sum = parts.reduce((total, part) => total + part, 0n);
  return sum <= most ? parts : parts.map((part) => part * most / sum);
}
