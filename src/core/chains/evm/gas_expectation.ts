/**
 * Expected gas of a delivery, from the last one like it: what the bytes cost is computed, what the receiving modules and
 * the host use is remembered. With an expectation one simulation, with the gas limit of the transaction, is enough;
 * without one a first simulation has to find out the limit. A wrong expectation costs a simulation and nothing else.
 */
import { dropOldest } from "../../runtime/slices.ts";
import { fromHex, type Hex, toHex } from "../../encoding/bytes.ts";
import type { Message } from "../../ismp/message.ts";
import type { Delivery } from "../submission.ts";
import { gasLimitFor } from "./gas.ts";

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
