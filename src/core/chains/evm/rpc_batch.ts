/** Several queries as one HTTP request, with typed answers; and the same queries to several endpoints. */
import { BlockHeaderError } from "../../evm/block_header.ts";
import { SchemaError } from "../../evm/schema.ts";
import {
  type CallConditions,
  type FaultPlace,
  keepFault,
  type RpcAnswer,
  type RpcCall,
  RpcFault,
} from "../../rpc/call.ts";
import type { BatchConditions, Objection, RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Query } from "./queries.ts";

/** Options of a {@link RpcBatch}. */
export interface RpcBatchOptions extends Omit<BatchConditions, "accept"> {
  /** Called when all answers are read; a fault that it returns sends the batch to the next endpoint. */
  readonly check?: ((place: FaultPlace) => Objection) | undefined;
}

/** Creates a fault of a whole batch. */
export function faultAt(code: RpcFault["code"], place: FaultPlace, detail: string): RpcFault {
  return new RpcFault(code, place, { detail });
}

/**
 * Batch of queries: add queries, send the batch once, then read each answer. All answers come from one endpoint.
 */
export class RpcBatch {
  readonly #entries: { readonly call: RpcCall; fill(answer: RpcAnswer, place: FaultPlace): void }[] = [];
  /** Answers that were read last. */
  #filled: readonly RpcAnswer[] | undefined;
  #host = "";

  constructor(readonly endpoints: RpcEndpointSet) {}

  /** Host of the endpoint whose answers are read; empty before {@link send}. */
  get host(): string {
    return this.#host;
  }

  /**
   * Adds a query. The returned function returns the value after {@link send}; a fault of this query fails the batch.
   */
  add<T>(query: Query<T>): () => T {
    let slot: { readonly value: T } | undefined;
    this.#entries.push({
      call: query.call,
      fill: (answer, place) => void (slot = { value: readAnswer(query, answer, place) }),
    });
    return () => {
      if (slot === undefined) throw new Error("The batch was not sent");
      return slot.value;
    };
  }

  /** Adds the query as {@link orFault} makes it. */
  addOptional<T>(query: Query<T>): () => T | RpcFault {
    return this.add(orFault(query));
  }

  /** Sends the batch. @throws {RpcFault} of the request, or of the first query that is not optional. */
  async send(options: RpcBatchOptions): Promise<void> {
    const calls = this.#entries.map(({ call }) => call);
    const accept = (answers: readonly RpcAnswer[], place: FaultPlace): Objection =>
      this.#fill(answers, place) ?? options.check?.(place);
    const answers = await this.endpoints.batch(calls, { ...options, accept });
    // An endpoint that was called later may have done worse: the answers returned by the endpoint set count.
    const fault = this.#fill(answers, { chain: this.endpoints.chain, endpointHost: "", method: "" });
    if (fault !== undefined) throw fault;
  }

  #fill(answers: readonly RpcAnswer[], place: FaultPlace): RpcFault | undefined {
    // Traces and logs of many blocks are long: what was read to check it is not read again.
    if (answers === this.#filled) return undefined;
    this.#filled = undefined;
    try {
      this.#entries.forEach(({ fill }, index) => {
        const answer = answers[index];
        if (answer === undefined) throw new Error("Query without an answer");
        fill(answer, place);
      });
      this.#filled = answers;
      if (place.endpointHost !== "") this.#host = place.endpointHost;
      return undefined;
    } catch (fault) {
      if (fault instanceof RpcFault) return fault;
      throw fault;
    }
  }
}

/** Values of queries, in their order. */
type Values<Queries extends readonly Query<unknown>[]> = {
  readonly [Index in keyof Queries]: Queries[Index] extends Query<infer T> ? T : never;
};

/** Sends queries in one request and returns their values. @throws {RpcFault} */
export async function callAll<const Queries extends readonly Query<unknown>[]>(
  endpoints: RpcEndpointSet,
  queries: Queries,
  options: RpcBatchOptions,
): Promise<Values<Queries>> {
  const batch = new RpcBatch(endpoints);
  const slots = queries.map((query) => batch.add(query));
  await batch.send(options);
  // Checked: each element is the result of the reader of the query at its index.
  return slots.map((slot) => slot()) as Values<Queries>;
}

/** Sends one query and returns its value. @throws {RpcFault} */
export async function callOne<T>(
  endpoints: RpcEndpointSet,
  query: Query<T>,
  options: RpcBatchOptions,
): Promise<T> {
  const [value] = await callAll(endpoints, [query], options);
  return value;
}

/** The query with its fault as a value: the other answers of a request stay valid. */
export function orFault<T>(query: Query<T>): Query<T | RpcFault> {
  return { ...query, readFault: (fault) => fault };
}

/** Answers or faults of queries, in their order. */
type Answers<Queries extends readonly Query<unknown>[]> = {
  readonly [Index in keyof Queries]: Queries[Index] extends Query<infer T> ? T | RpcFault : never;
};

/** Sends queries to a set of one endpoint, whatever its state; a fault stands for the answer of each that it concerns. */
export async function probeAll<const Queries extends readonly Query<unknown>[]>(
  endpoint: RpcEndpointSet,
  queries: Queries,
  conditions: CallConditions,
): Promise<Answers<Queries>> {
  const { chain, hosts } = endpoint;
  const calls = queries.map(({ call }) => call);
  const answers = await settle(() => endpoint.probe(calls, conditions));
  const found = await Promise.all(queries.map((query, index) =>
    settle(() => {
      if (answers instanceof RpcFault) throw answers;
      const answer = answers[index];
      if (answer === undefined) throw new Error("Query without an answer");
      return readAnswer(query, answer, { chain, endpointHost: hosts.join(), method: query.call.method });
    })
  ));
  // Checked: each element is the result of the reader of the query at its index.
  return found as Answers<Queries>;
}

/** The result, or the fault that was thrown instead. */
async function settle<T>(work: () => T | Promise<T>): Promise<T | RpcFault> {
  return await Promise.try(work).catch(keepFault);
}

/** Reads an answer. @throws {RpcFault} also when its shape does not fit the method. */
function readAnswer<T>(query: Query<T>, answer: RpcAnswer, place: FaultPlace): T {
  if (answer.kind === "fault") {
    if (query.readFault !== undefined) return query.readFault(answer.fault);
    throw answer.fault;
  }
  try {
    return query.read(answer.result);
  } catch (cause) {
    // The node of an unknown fork is not at fault; another one may be behind the fork.
    const isUnknownFork = cause instanceof BlockHeaderError && cause.code === "unknown_fork";
    if (!(cause instanceof SchemaError) && !isUnknownFork) throw cause;
    const where = { ...place, method: query.call.method };
    const code = isUnknownFork ? "refused" : "malformed";
    throw new RpcFault(code, where, { detail: cause.message, cause });
  }
}

/** Number of endpoints that must agree, if there are as many. */
export const WITNESSES = 2;

/** Timeout of an endpoint that is asked for comparison, ms; a slower one is skipped. */
export const WITNESS_TIMEOUT_MS = 10_000;

/**
 * Answers of the first endpoints that give one, in order of preference; fewer than `count`, or none, where others fail.
 * @param ask asks a set of one endpoint; `undefined`, or a fault: it is no witness.
 */
export async function askWitnesses<T>(
  endpoints: readonly RpcEndpointSet[],
  ask: (endpoint: RpcEndpointSet) => Promise<T | undefined>,
  count = WITNESSES,
): Promise<readonly T[]> {
  const found: T[] = [];
  for (const endpoint of endpoints) {
    if (found.length === count) break;
    const value = await settle(() => ask(endpoint));
    if (value !== undefined && !(value instanceof RpcFault)) found.push(value);
  }
  return found;
}
