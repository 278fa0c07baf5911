/**
 * Gas of deliveries: what the next one is expected to use, and what each message of one has used. Pure. Rules:
 * docs/protocol/messaging.md section 9.2: a message is charged its own module and its own bytes; what consensus steps (the
 * consensus proofs) use is left for the messages to pay together.
 */
import { fromHex, type Hex, toHex } from "../../encoding/bytes.ts";
import type { StepFrame } from "../../evm/trace.ts";
import type { Message } from "../../ismp/message.ts";
import { dropOldest } from "../../runtime/slices.ts";
import type { Delivery, DeliveryStep } from "../submission.ts";
import { gasLimitFor } from "./gas.ts";

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

/** Gas of every transaction, of a zero byte of its data and of another (EIP-2028). */
const [TRANSACTION_GAS, ZERO_BYTE_GAS, BYTE_GAS] = [21_000n, 4n, 16n];

/** Kinds of deliveries that are remembered; the oldest is forgotten first. */
const MAX_SHAPES = 256;

/** A limit is this much above the expected one, percent: gas differs a little from batch to batch. */
const MARGIN_PERCENT = 6n;

/** A limit may be this much above what is needed, percent: a module may use all the gas that it is given. */
const MAX_EXCESS_PERCENT = 25n;

/** A simulated delivery. */
export interface ObservedGas {
  readonly delivery: Delivery;
  readonly data: Hex;
  readonly gasUsed: bigint;
}

/** Memory of what deliveries to one chain used beside their bytes, by the number of messages and their modules. */
export class GasExpectation {
  readonly #gas = new Map<string, bigint>();

  /** Remembers a delivery of messages of which all were handled. */
  note({ delivery, data, gasUsed }: ObservedGas): void {
    const shape = shapeOf(delivery);
    if (shape === undefined) return;
    this.#gas.delete(shape);
    this.#gas.set(shape, gasUsed - gasOfBytes(data));
    dropOldest(this.#gas, MAX_SHAPES);
  }

  /** Gas limit to simulate a delivery with; `undefined` when none like it was seen. */
  expectLimit(delivery: Delivery, data: Hex): bigint | undefined {
    const known = this.#gas.get(shapeOf(delivery) ?? "");
    return known === undefined
      ? undefined
      : gasLimitFor(known + gasOfBytes(data)) * (100n + MARGIN_PERCENT) / 100n;
  }
}

/** True when a transaction with this limit may be sent: it needs no more, and not much less. */
export function isFittingLimit(limit: bigint, needed: bigint): boolean {
  return limit >= needed && limit * 100n <= needed * (100n + MAX_EXCESS_PERCENT);
}

/** What deliveries of the same gas share; `undefined` with consensus proofs, whose verification is most of their gas. */
function shapeOf({ steps }: Delivery): string | undefined {
  const [step, second] = steps;
  if (step?.kind !== "messages" || second !== undefined) return undefined;
  return `${step.messages.length} ${[...new Set(step.messages.map(moduleOf))].sort().join()}`;
}

/** Kind and receiver of a message. */
function moduleOf(message: Message): string {
  switch (message.kind) {
    case "post":
      return `post ${toHex(message.request.to)}`;
    case "get":
      return `get ${toHex(message.request.from)}`;
    case "getResponse":
      return `response ${toHex(message.response.get.from)}`;
  }
}

function gasOfBytes(data: Hex): bigint {
  const bytes = fromHex(data);
  let zeros = 0;
  for (let index = 0; index < bytes.length; index++) if (bytes[index] === 0) zeros++;
  return TRANSACTION_GAS + BigInt(zeros) * ZERO_BYTE_GAS + BigInt(bytes.length - zeros) * BYTE_GAS;
}
