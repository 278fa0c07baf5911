/**
 * Gas that each message of a delivery used. Pure. Rules: docs/protocol/messaging.md section 9.2: a message is charged its
 * own module and its own bytes; what consensus steps (the consensus proofs) use is left for the messages to pay together.
 */
import type { StepFrame } from "../../evm/trace.ts";
import type { Message } from "../../ismp/message.ts";
import type { Delivery, DeliveryStep } from "../submission.ts";

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
  if (!isKnown) return spread(gas.gasUsed, Array.from({ length: count }, () => 1));
  const own = delivery.steps.flatMap((step, index) => ownGas(step, steps[index]));
  // Base and call data, on Arbitrum also layer 1: consensus proofs pay for their own bytes.
  const outside = gas.gasUsed - steps.reduce((sum, frame) => sum + frame.gasUsed, 0n);
  const sizes = delivery.steps.flatMap((step) => step.kind === "messages" ? step.messages.map(sizeOf) : []);
  const proofs = delivery.steps.flatMap((step) => step.kind === "consensus" ? [step.proof.length] : []);
  const rest = spread(outside, [...sizes, ...proofs]);
  return bounded(own.map((each, index) => each + (rest[index] ?? 0n)), gas.gasUsed);
}

/** Call data that a message needs whatever it says, bytes: its other fields and its part of the proof. */
const MESSAGE_BYTES = 640;

/** Bytes that cost the host as much to copy and hash as what it does for a message of any size (measured). */
const PROOF_BYTES = 1_000;

/** Bytes of call data of a message, about: nobody pays for what another one carries. */
function sizeOf(message: Message): number {
  const parts = message.kind === "post"
    ? [message.request.from, message.request.to, message.request.body]
    : message.kind === "getResponse"
    ? message.response.values.flatMap(({ key, value }) => [key, key, ...value === undefined ? [] : [value]])
    : [];
  return parts.reduce((sum, { length }) => sum + length, MESSAGE_BYTES);
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
  const shares = spread(frame.gasUsed - dispatched, messages.map((message) => sizeOf(message) + PROOF_BYTES));
  const own = messages.map(() => 0n);
  order.forEach((message, place) => {
    own[message] = (frame.dispatches[place]?.gasUsed ?? 0n) + (shares[message] ?? 0n);
  });
  return own;
}

/** Divides gas by weights, to the last unit; what rounding leaves goes to the first ones. */
function spread(gas: bigint, weights: readonly number[]): readonly bigint[] {
  const sum = BigInt(weights.reduce((total, weight) => total + weight, 0));
  if (sum === 0n || gas <= 0n) return weights.map(() => 0n);
  const parts = weights.map((weight) => gas * BigInt(weight) / sum);
  const over = gas - parts.reduce((total, part) => total + part, 0n);
  return parts.map((part, index) => BigInt(index) < over ? part + 1n : part);
}

/** Scales the parts down: refunds may make a transaction cheaper than the sum of its parts. */
function bounded(parts: readonly bigint[], most: bigint): readonly bigint[] {
  const sum = parts.reduce((total, part) => total + part, 0n);
  return sum <= most ? parts : parts.map((part) => part * most / sum);
}
