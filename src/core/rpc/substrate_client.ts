/**
 * Calls to one Substrate node: reads survive one lost connection, and answers that do not have the shape of the
 * method are faults.
 */
import { Limit } from "../runtime/limit.ts";
import { methodsOf, type RpcAnswer, type RpcCall, type RpcEndpoint } from "./call.ts";
import { reactionTo, RpcFault, type RpcFaultCode } from "./fault.ts";
import type { TypedCall } from "./substrate_calls.ts";

/** Results of several typed calls, in their order. */
export type TypedResults<Calls extends readonly TypedCall<unknown>[]> = {
  readonly [Index in keyof Calls]: Calls[Index] extends TypedCall<infer T> ? T : never;
};

/** Results or faults of several typed calls, in their order. */
export type TypedOutcomes<Calls extends readonly TypedCall<unknown>[]> = {
  readonly [Index in keyof Calls]: Calls[Index] extends TypedCall<infer T> ? T | RpcFault : never;
};

/** A node of one chain. */
export class SubstrateClient {
  readonly #endpoint: RpcEndpoint;
  readonly #chain: string;
  readonly #limit: Limit;

  /** @param maxConcurrent most requests at a time (a batch is one); default 10. */
  constructor(endpoint: RpcEndpoint, chain: string, maxConcurrent = 10) {
    this.#endpoint = endpoint;
    this.#chain = chain;
    this.#limit = new Limit(maxConcurrent);
  }

  /** Host and port, fit to be shown. */
  get host(): string {
    return this.#endpoint.host;
  }

  /** One call. @throws {RpcFault} */
  async ask<T>(call: TypedCall<T>, signal: AbortSignal): Promise<T> {
    const [result] = await this.askAll([call], signal);
    return result;
  }

  /** Several calls in one round trip; the first fault among them is thrown. @throws {RpcFault} */
  async askAll<const Calls extends readonly TypedCall<unknown>[]>(
    calls: Calls,
    signal: AbortSignal,
  ): Promise<TypedResults<Calls>> {
    const outcomes = await this.tryAll(calls, signal);
    for (const outcome of outcomes) if (outcome instanceof RpcFault) throw outcome;
    // Checked: no element is a fault, so each is what its own call's reader made.
    return outcomes as TypedResults<Calls>;
  }

  /** Several calls in one round trip, with a fault in the place of each that failed. */
  async tryAll<const Calls extends readonly TypedCall<unknown>[]>(
    calls: Calls,
    signal: AbortSignal,
  ): Promise<TypedOutcomes<Calls>> {
    const answers = await this.#send(calls, signal);
    // Checked: each element is what the reader of the call at its index made.
    return calls.map((call, index) => this.#read(call, answers[index])) as TypedOutcomes<Calls>;
  }

  /** A fault of this node. */
  fault(code: RpcFaultCode, method: string, detail?: string): RpcFault {
    const where = { chain: this.#chain, endpointHost: this.host, method };
    return new RpcFault(code, reactionTo(code), where, { detail });
  }

  async #send(calls: readonly RpcCall[], signal: AbortSignal): Promise<readonly RpcAnswer[]> {
    if (calls.length === 0) return [];
    const wire = calls.map(({ method, params }) => ({ method, params }));
    const send = (): Promise<readonly RpcAnswer[]> =>
      this.#limit.run(() => this.#endpoint.send(wire, { signal }), signal);
    try {
      return await send();
    } catch (fault) {
      const isLost = fault instanceof RpcFault && fault.code === "unreachable";
      // Whether a submission arrived is not known; asking about it is the caller's business.
      if (!isLost || calls.some((call) => call.method.startsWith("author_submit"))) throw fault;
      return await send();
    }
  }

  #read<T>(call: TypedCall<T>, answer: RpcAnswer | undefined): T | RpcFault {
    if (answer === undefined) return this.fault("malformed", methodsOf([call]), "no answer");
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
