/**
 * Calls to one Substrate node: reads survive one lost connection, throttling is waited for, and answers that do not
 * have the shape of the method are faults.
 */
import { type Hash256, toHex } from "../encoding/bytes.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Randomness } from "../runtime/randomness.ts";
import {
  type CallConditions,
  formatMethods,
  type RpcAnswer,
  type RpcCall,
  type RpcEndpoint,
} from "./call.ts";
import { TrackedEndpoint } from "./endpoint_health.ts";
import { reactionTo, RpcFault, type RpcFaultCode } from "./fault.ts";
import { sendToOnly } from "./patience.ts";
import { calls, type StorageValues, type TypedCall } from "./substrate_calls.ts";

/** Results of several typed calls, in their order. */
export type TypedResults<Calls extends readonly TypedCall<unknown>[]> = {
  readonly [Index in keyof Calls]: Calls[Index] extends TypedCall<infer T> ? T : never;
};

/** Results or faults of several typed calls, in their order. */
export type TypedOutcomes<Calls extends readonly TypedCall<unknown>[]> = {
  readonly [Index in keyof Calls]: Calls[Index] extends TypedCall<infer T> ? T | RpcFault : never;
};

/** Keys that are read at one block. */
export interface StorageSet {
  readonly keys: readonly Uint8Array[];
  /** `undefined`: the node's best block. */
  readonly block: Hash256 | undefined;
}

/** Options of a client. */
export interface SubstrateClientOptions {
  /** Maximum number of concurrent requests (a batch is one); default 10. */
  readonly maxConcurrent?: number | undefined;
  /** Called once when the node turns out to lack `state_queryStorageAt`; default: nothing. */
  readonly onSetsRefused?: () => void;
}

/** Client of one chain's node. */
export class SubstrateClient {
  readonly #clock: Clock;
  readonly #endpoint: TrackedEndpoint;
  readonly #chain: string;
  readonly #onSetsRefused: () => void;
  #canReadSets = true;

  constructor(
    deps: { readonly clock: Clock; readonly randomness: Randomness },
    endpoint: RpcEndpoint,
    chain: string,
    options: SubstrateClientOptions = {},
  ) {
    this.#clock = deps.clock;
    this.#endpoint = new TrackedEndpoint(deps, endpoint, options.maxConcurrent ?? 10);
    this.#chain = chain;
    this.#onSetsRefused = options.onSetsRefused ?? (() => {});
  }

  /** Host and port; safe to log. */
  get host(): string {
    return this.#endpoint.endpoint.host;
  }

  /** Sends one call. @throws {RpcFault} */
  async call<T>(call: TypedCall<T>, signal: AbortSignal): Promise<T> {
    const [result] = await this.callAll([call], signal);
    return result;
  }

  /** Sends several calls in one round trip; the first fault among them is thrown. @throws {RpcFault} */
  async callAll<const Calls extends readonly TypedCall<unknown>[]>(
    wanted: Calls,
    signal: AbortSignal,
  ): Promise<TypedResults<Calls>> {
    return allOrFault(await this.callAllSettled(wanted, signal));
  }

  /** As {@link callAll}, once and within its own time: what is wrong with the node is told then. @throws {RpcFault} */
  async probe<const Calls extends readonly TypedCall<unknown>[]>(
    wanted: Calls,
    conditions: CallConditions,
  ): Promise<TypedResults<Calls>> {
    return allOrFault(this.#readAll(wanted, await this.#sendOnce(wanted, conditions)));
  }

  /** Sends several calls in one round trip; a failed call has its fault as the result. */
  async callAllSettled<const Calls extends readonly TypedCall<unknown>[]>(
    wanted: Calls,
    signal: AbortSignal,
  ): Promise<TypedOutcomes<Calls>> {
    return this.#readAll(wanted, await this.#send(wanted, signal));
  }

  /** Reads the values of the keys at one block. See {@link readStorageSets}. @throws {RpcFault} */
  async readStorage(
    keys: readonly Uint8Array[],
    block: Hash256 | undefined,
    signal: AbortSignal,
  ): Promise<StorageValues> {
    const [values] = await this.readStorageSets([{ keys, block }], signal);
    return values ?? new Map();
  }

  /**
   * Reads the values of sets of keys, in the order of the sets, in one round trip. Some gateways deny
   * `state_queryStorageAt`: from then on every key is a call of its own, still in one request. @throws {RpcFault}
   */
  async readStorageSets(
    sets: readonly StorageSet[],
    signal: AbortSignal,
  ): Promise<readonly StorageValues[]> {
    if (this.#canReadSets) {
      try {
        return await this.callAll(sets.map(({ keys, block }) => calls.storageAt(keys, block)), signal);
      } catch (fault) {
        if (!(fault instanceof RpcFault) || fault.code !== "missing_method") throw fault;
        if (this.#canReadSets) this.#onSetsRefused();
        this.#canReadSets = false;
      }
    }
    return await this.#readOneByOne(sets, signal);
  }

  async #readOneByOne(sets: readonly StorageSet[], signal: AbortSignal): Promise<readonly StorageValues[]> {
    // The best block may change between two reads, so its hash is fixed first.
    const isNamed = sets.every(({ block }) => block !== undefined);
    const best = isNamed ? undefined : await this.call(calls.bestHash(), signal);
    const single = sets.flatMap(({ keys, block = best }) => keys.map((key) => calls.storage(key, block)));
    const found = await this.callAll(single, signal);
    let next = 0;
    return sets.map(({ keys }) => new Map(keys.map((key) => [toHex(key), found[next++]])));
  }

  /** Creates a fault of this node. */
  fault(code: RpcFaultCode, method: string, detail?: string): RpcFault {
    const where = { chain: this.#chain, endpointHost: this.host, method };
    return new RpcFault(code, reactionTo(code), where, { detail });
  }

  async #send(sent: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]> {
    if (sent.length === 0) return [];
    try {
      return await this.#sendOnce(sent, { signal });
    } catch (fault) {
      const isLost = fault instanceof RpcFault && fault.code === "unreachable";
      // Whether a submission arrived is unknown; the caller has to find out.
      if (!isLost || sent.some((call) => call.method.startsWith("author_submit"))) throw fault;
      return await this.#sendOnce(sent, { signal });
    }
  }

  #sendOnce(sent: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const wire = sent.map(({ method, params }) => ({ method, params }));
    return sendToOnly(this.#clock, this.#endpoint, wire, conditions);
  }

  #readAll<const Calls extends readonly TypedCall<unknown>[]>(
    wanted: Calls,
    answers: readonly RpcAnswer[],
  ): TypedOutcomes<Calls> {
    // Checked: each element is the result of the reader of the call at its index.
    return wanted.map((call, index) => this.#read(call, answers[index])) as TypedOutcomes<Calls>;
  }

  #read<T>(call: TypedCall<T>, answer: RpcAnswer | undefined): T | RpcFault {
    if (answer === undefined) return this.fault("malformed", formatMethods([call]), "no answer");
    if (answer.kind === "fault") return answer.fault;
    try {
      return call.read(answer.result, (detail) => {
        throw this.fault("malformed", call.method, detail);
      });
    } catch (fault) {
      if (fault instanceof RpcFault) return fault;
      throw fault;
    }
  }
}

function allOrFault<Calls extends readonly TypedCall<unknown>[]>(
  outcomes: TypedOutcomes<Calls>,
): TypedResults<Calls> {
  for (const outcome of outcomes) if (outcome instanceof RpcFault) throw outcome;
  // Checked: no element is a fault, so each is the result of its call's reader.
  return outcomes as TypedResults<Calls>;
}
