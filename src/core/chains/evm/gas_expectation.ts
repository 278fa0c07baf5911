/**
 * Expected gas of a delivery, from those simulated before: what the bytes cost is computed, what the receiving modules
 * and the host use is remembered. With an expectation one simulation, with the gas limit of the transaction, is enough;
 * without one a first simulation has to find out the limit. A wrong expectation costs a simulation and nothing else.
 */
import { dropOldest } from "../../runtime/slices.ts";
import { fromHex, type Hex, toHex } from "../../encoding/bytes.ts";
import type { StepFrame } from "../../evm/trace.ts";
import type { Message } from "../../ismp/message.ts";
import type { Delivery } from "../submission.ts";
import { gasLimitFor } from "./gas.ts";

/** Gas of every transaction, of a zero byte of its data and of another (EIP-2028). */
const [TRANSACTION_GAS, ZERO_BYTE_GAS, BYTE_GAS] = [21_000n, 4n, 16n];

/** Modules whose gas is remembered; the oldest is forgotten first. */
const MAX_MODULES = 256;

/** A limit is this much above the expected one, percent: gas differs a little from batch to batch. */
const MARGIN_PERCENT = 6n;

/** A limit may be this much above what is needed, percent: a module may use all the gas that it is given. */
const MAX_EXCESS_PERCENT = 25n;

/** Gas of some messages beside their bytes and modules. */
interface Overhead {
  readonly count: number;
  readonly gas: bigint;
}

/** A simulated delivery. */
export interface ObservedGas {
  readonly delivery: Delivery;
  readonly data: Hex;
  readonly gasUsed: bigint;
  /** From its trace. */
  readonly steps: readonly StepFrame[];
}

/** Memory of what deliveries to one chain used. */
export class GasExpectation {
  /** Gas of the latest dispatch to each module. */
  readonly #modules = new Map<string, bigint>();
  /** Latest overhead of one number of messages, and the latest of another. */
  #overheads: readonly Overhead[] = [];

  /** Remembers a delivery of messages of which all were handled. */
  note({ delivery, data, gasUsed, steps }: ObservedGas): void {
    const messages = messagesOf(delivery);
    const [step] = steps;
    if (messages === undefined || steps.length !== 1 || step?.dispatches.length !== messages.length) return;
    const dispatched = step.dispatches.reduce((sum, dispatch) => sum + dispatch.gasUsed, 0n);
    const gas = gasUsed - gasOfBytes(data) - dispatched;
    // Which dispatch was whose is not told: with several modules each is taken for the average one.
    const average = dispatched / BigInt(messages.length);
    for (const module of new Set(messages.map(moduleOf))) this.#noteModule(module, average);
    const others = this.#overheads.filter(({ count }) => count !== messages.length);
    this.#overheads = [{ count: messages.length, gas }, ...others.slice(0, 1)];
  }

  /** Gas limit to simulate a delivery with; `undefined` when too little is known about such a one. */
  expectLimit(delivery: Delivery, data: Hex): bigint | undefined {
    const messages = messagesOf(delivery);
    const overhead = messages && this.#expectOverhead(messages.length);
    if (messages === undefined || overhead === undefined) return undefined;
    let gas = gasOfBytes(data) + overhead;
    for (const message of messages) {
      const own = this.#modules.get(moduleOf(message));
      if (own === undefined) return undefined;
      gas += own;
    }
    return gas <= 0n ? undefined : gasLimitFor(gas) * (100n + MARGIN_PERCENT) / 100n;
  }

  #noteModule(module: string, gas: bigint): void {
    this.#modules.delete(module);
    this.#modules.set(module, gas);
    dropOldest(this.#modules, MAX_MODULES);
  }

  /** Between and beyond two known numbers of messages the overhead is taken to grow evenly. */
  #expectOverhead(count: number): bigint | undefined {
    const [latest, other] = this.#overheads;
    if (latest === undefined || latest.count === count) return latest?.gas;
    if (other === undefined) return undefined;
    return other.gas +
      (latest.gas - other.gas) * BigInt(count - other.count) / BigInt(latest.count - other.count);
  }
}

/** True when a transaction with this limit may be sent: it needs no more, and not much less. */
export function isFittingLimit(limit: bigint, needed: bigint): boolean {
  return limit >= needed && limit * 100n <= needed * (100n + MAX_EXCESS_PERCENT);
}

/** Messages of a delivery without consensus proofs, whose verification is most of the gas of others. */
function messagesOf({ steps }: Delivery): readonly Message[] | undefined {
  const [step, second] = steps;
  return step?.kind === "messages" && second === undefined && step.messages.length > 0
    ? step.messages
    : undefined;
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
