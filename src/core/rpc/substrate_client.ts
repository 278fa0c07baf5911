/**
 * Calls to one Substrate node: reads survive one lost connection, throttling is waited for, and answers that do not
 * have the shape of the method are faults.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import type { CallConditions, RpcAnswer, RpcCall, RpcEndpoint, RpcFaultCode } from "./call.ts";
import { formatMethods, RpcFault } from "./call.ts";
import type { EndpointLineDeps } from "./endpoint_line.ts";
import { RpcEndpointSet } from "./endpoint_set.ts";
import { calls, type TypedCall } from "./substrate_calls.ts";
import { partsOf } from "../runtime/slices.ts";

/** Results of several typed calls, in their order. */
export type TypedResults<Calls extends readonly TypedCall<unknown>[]> = {
  readonly [Index in keyof Calls]: Calls[Index] extends TypedCall<infer T> ? T : never;
};

/** Results or faults of several typed calls, in their order. */
export type TypedOutcomes<Calls extends readonly TypedCall<unknown>[]> = {
  readonly [Index in keyof Calls]: Calls[Index] extends TypedCall<infer T> ? T | RpcFault : never;
};

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
}

/** Client of one chain's node. */
export class SubstrateClient {
  readonly #node: RpcEndpointSet;

  constructor(
    deps: EndpointLineDeps,
    endpoint: RpcEndpoint,
    chain: string,
    options: SubstrateClientOptions = {},
  ) {
    const { maxConcurrent = 10 } = options;
    this.#node = new RpcEndpointSet(deps, { chain, endpoints: [endpoint], maxConcurrent });
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

  /**
   * Sends several calls in one round trip; a failed call has its fault as the result. Some gateways deny calls for many
   * values: each value is then asked for by itself, all in one request.
   */
  async callAllSettled<const Calls extends readonly TypedCall<unknown>[]>(
    wanted: Calls,
    signal: AbortSignal,
  ): Promise<TypedOutcomes<Calls>> {
    const asked = wanted.filter(({ method, singly }) => singly === undefined || !this.#node.lacks(method));
    const answers = this.#readAll(asked, await this.#send(asked, signal));
    const outcomes = new Map<TypedCall<unknown>, unknown>(asked.map((call, at) => [call, answers[at]]));
    const denied = wanted.filter((call) =>
      call.singly !== undefined && (!outcomes.has(call) || isRefusal(outcomes.get(call)))
    );
    if (denied.length > 0) {
      // The best block may change between two reads, so its hash is fixed first.
      const best = await this.call(calls.bestHash(), signal);
      const single = denied.map(({ singly }) => singly?.calls(best) ?? []);
      const found = this.#readAll(single.flat(), await this.#send(single.flat(), signal)).values();
      denied.forEach((call, at) => {
        const values = single[at]?.map(() => found.next().value) ?? [];
        const fault = values.find((value) => value instanceof RpcFault);
        const read = values.flatMap((value) => value instanceof RpcFault ? [] : [value]);
        outcomes.set(call, fault ?? call.singly?.join(read));
      });
    }
    // Checked: each element is the result of the reader of the call at its index.
    return wanted.map((call) => outcomes.get(call)) as TypedOutcomes<Calls>;
  }

  /**
   * Reads values of a child trie, in the order of the keys, and makes the other calls in the same round trip; one of
   * these that failed has its fault as the result. @throws {RpcFault}
   */
  async readChildWith<const Calls extends readonly TypedCall<unknown>[]>(
    set: ChildSet,
    others: Calls,
    signal: AbortSignal,
  ): Promise<ChildValues<Calls>> {
    const reads = childReads(set);
    const all = await this.callAllSettled<readonly TypedCall<unknown>[]>([...reads, ...others], signal);
    // Checked: the outcomes are in the order of the calls.
    const lists = allOrFault<typeof reads>(all.slice(0, reads.length) as TypedOutcomes<typeof reads>);
    return { values: lists.flat(), outcomes: all.slice(reads.length) as TypedOutcomes<Calls> };
  }

  /** Reads values of a child trie, in the order of the keys. @throws {RpcFault} */
  async readChild(set: ChildSet, signal: AbortSignal): Promise<readonly (Uint8Array | undefined)[]> {
    return (await this.callAll(childReads(set), signal)).flat();
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

/** Calls for the values of a child trie, as few as the limit of keys allows. */
function childReads(
  { trie, keys, block }: ChildSet,
): readonly TypedCall<readonly (Uint8Array | undefined)[]>[] {
  const [only] = keys;
  if (only === undefined || keys.length > 1) {
    return partsOf(keys, CHILD_KEYS_PER_CALL).map((part) => calls.childStorageEntries(trie, part, block));
  }
  const { method, params, read } = calls.childStorage(trie, only, block);
  return [{ method, params, read: (result, fail) => [read(result, fail)] }];
}

function isRefusal(outcome: unknown): boolean {
  return outcome instanceof RpcFault && REFUSALS.has(outcome.code);
}

function allOrFault<Calls extends readonly TypedCall<unknown>[]>(
  outcomes: TypedOutcomes<Calls>,
): TypedResults<Calls> {
  for (const outcome of outcomes) if (outcome instanceof RpcFault) throw outcome;
  // Checked: no element is a fault, so each is the result of its call's reader.
  return outcomes as TypedResults<Calls>;
}
