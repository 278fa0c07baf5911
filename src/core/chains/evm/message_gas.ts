/**
 * Attributes a transaction's gas to its messages. Pure. Rules: docs/protocol/messaging.md section 9.2: a message is
 * charged what it adds, so that consensus steps (the consensus proofs) are left for the messages to pay together.
 */
import type { StepFrame } from "../../evm/trace.ts";
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
  if (!isKnown) return spread(gas.gasUsed, count);
  const own = delivery.steps.flatMap((step, index) => ownGas(step, steps[index]));
  // Base, calldata and the batch itself, on Arbitrum also layer 1: left for consensus proofs where there are any.
  const isAlone = delivery.steps.every(({ kind }) => kind === "messages");
  const outside = gas.gasUsed - steps.reduce((sum, frame) => sum + frame.gasUsed, 0n);
  const rest = spread(isAlone ? outside : 0n, count);
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
