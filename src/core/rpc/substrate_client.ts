/**
 * Calls to one Substrate node: reads survive one lost connection, throttling is waited for, and answers that do not
 * have the shape of the method are faults.
 */
import { type Hash256, toHex } from "../encoding/bytes.ts";
import type { CallConditions, RpcAnswer, RpcCall, RpcEndpoint, RpcFaultCode } from "./call.ts";
import { formatMethods, METHOD_SEPARATOR, RpcFault } from "./call.ts";
import type { EndpointLineDeps } from "./endpoint_line.ts";
import { RpcEndpointSet } from "./endpoint_set.ts";
import { calls, type StorageValues, type TypedCall } from "./substrate_calls.ts";
import { partsOf } from "../runtime/slices.ts";

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

/** Keys of a child trie. */
export interface ChildSet {
  readonly trie: Uint8Array;
  readonly keys: readonly Uint8Array[];
  /** Block at which they are read; the best one when absent. */
  readonly block?: Hash256 | undefined;
}

/** Values of a {@link ChildSet}, in the order of its keys, and the results or faults of the calls made with it. */
export interface ChildValues<Calls extends readonly TypedCall<unknown>[]> {
  readonly values: readonly (Uint8Array | undefined)[];
  readonly outcomes: TypedOutcomes<Calls>;
}

/**
 * Keys of a child trie in one call: with keys of about 50 bytes and values of about 100, request and answer stay far
 * below the limits of narrow gateways.
 */
const CHILD_KEYS_PER_CALL = 100;

/** Faults of a node that answers for single values only, or cannot answer for as many. */
const REFUSALS: ReadonlySet<RpcFaultCode> = new Set(["missing_method", "too_large", "malformed"]);

/** Options of a client. */
export interface SubstrateClientOptions {
  /** Maximum number of concurrent requests (a batch is one); default 10. */
  readonly maxConcurrent?: number | undefined;
  /** Called once per method for many values that the node turns out to lack; default: nothing. */
  readonly onSetsRefused?: (method: string) => void;
}

/** Client of one chain's node. */
export class SubstrateClient {
  readonly #node: RpcEndpointSet;
  readonly #onSetsRefused: (method: string) => void;
  /** Methods for many values that the node lacks. */
  readonly #lacking = new Set<string>();

  constructor(
    deps: EndpointLineDeps,
    endpoint: RpcEndpoint,
    chain: string,
    options: SubstrateClientOptions = {},
  ) {
    const { maxConcurrent = 10 } = options;
    this.#node = new RpcEndpointSet(deps, { chain, endpoints: [endpoint], maxConcurrent });
    this.#onSetsRefused = options.onSetsRefused ?? (() => {});
  }

  /** Host and port; safe to log. */
  get host(): string {
    return this.#node.hosts.join();
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

  /** Reads the values of sets of keys, in the order of the sets, in one round trip. @throws {RpcFault} */
  async readStorageSets(sets: readonly StorageSet[], signal: AbortSignal): Promise<readonly StorageValues[]> {
    const wanted = sets.map(({ keys, block }) => calls.storageAt(keys, block));
    return await this.#orSingly(
      wanted,
      () => this.callAll(wanted, signal),
      () => this.#readOneByOne(sets, signal),
    );
  }

  /**
   * Reads values of a child trie, in the order of the keys, and makes the other calls in the same round trip; one of
   * these that failed has its fault as the result. @throws {RpcFault}
   */
  async readChildWith<const Calls extends readonly TypedCall<unknown>[]>(
    { trie, keys, block }: ChildSet,
    others: Calls,
    signal: AbortSignal,
  ): Promise<ChildValues<Calls>> {
    const read = async (
      parts: readonly TypedCall<readonly (Uint8Array | undefined)[]>[],
    ): Promise<ChildValues<Calls>> => {
      const answers = await this.#send([...parts, ...others], signal);
      const lists = allOrFault<typeof parts>(this.#readAll(parts, answers.slice(0, parts.length)));
      return { values: lists.flat(), outcomes: this.#readAll(others, answers.slice(parts.length)) };
    };
    const parts = partsOf(keys, CHILD_KEYS_PER_CALL).map((part) =>
      calls.childStorageEntries(trie, part, block)
    );
    const single = keys.map((key) => oneOf(calls.childStorage(trie, key, block)));
    return await this.#orSingly(keys.length > 1 ? parts : [], () => read(parts), () => read(single));
  }

  /** Reads values of a child trie, in the order of the keys. @throws {RpcFault} */
  async readChild(set: ChildSet, signal: AbortSignal): Promise<readonly (Uint8Array | undefined)[]> {
    return (await this.readChildWith(set, [], signal)).values;
  }

  /**
   * Asks by calls for many values. Some gateways deny those: from then on every value is a call of its own, still in one
   * request; so it is for once when the node cannot answer for as many.
   */
  async #orSingly<T>(
    many: readonly RpcCall[],
    ask: () => Promise<T>,
    askSingly: () => Promise<T>,
  ): Promise<T> {
    const methods = new Set(many.map(({ method }) => method));
    if (methods.size === 0 || !methods.isDisjointFrom(this.#lacking)) return await askSingly();
    try {
      return await ask();
    } catch (fault) {
      if (!(fault instanceof RpcFault) || !REFUSALS.has(fault.code)) throw fault;
      const isOthers = fault.where.method.split(METHOD_SEPARATOR).every((method) => !methods.has(method));
      if (isOthers) throw fault;
      if (fault.code === "missing_method") {
        for (const method of methods.difference(this.#lacking)) {
          this.#lacking.add(method);
          this.#onSetsRefused(method);
        }
      }
      return await askSingly();
    }
  }

  async #readOneByOne(sets: readonly StorageSet[], signal: AbortSignal): Promise<readonly StorageValues[]> {
    // The best block may change between two reads, so its hash is fixed first.
    const isNamed = sets.every(({ block }) => block !== undefined);
    const best = isNamed ? undefined : await this.call(calls.bestHash(), signal);
    const single = sets.flatMap(({ keys, block = best }) => keys.map((key) => calls.storage(key, block)));
    const found = (await this.callAll(single, signal)).values();
    return sets.map(({ keys }) => new Map(keys.map((key) => [toHex(key), found.next().value])));
  }

  /** Creates a fault of this node. */
  fault(code: RpcFaultCode, method: string, detail?: string): RpcFault {
    const where = { chain: this.#node.chain, endpointHost: this.host, method };
    return new RpcFault(code, where, { detail });
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
    return this.#node.batch(wire, conditions);
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
    const { length } = typeof answer.result === "string" ? answer.result : "";
    if (length > (call.maxLength ?? Infinity)) {
      return this.fault("too_large", call.method, `an answer of ${length} characters`);
    }
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

/** The call, with its result as a list of one. */
function oneOf<T>({ method, params, read }: TypedCall<T>): TypedCall<readonly T[]> {
  return { method, params, read: (result, fail) => [read(result, fail)] };
}

function allOrFault<Calls extends readonly TypedCall<unknown>[]>(
  outcomes: TypedOutcomes<Calls>,
): TypedResults<Calls> {
  for (const outcome of outcomes) if (outcome instanceof RpcFault) throw outcome;
  // Checked: no element is a fault, so each is the result of its call's reader.
  return outcomes as TypedResults<Calls>;
}
