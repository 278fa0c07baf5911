/**
 * Several queries as one HTTP request, with typed answers.
 */
import { HostReadError } from "../../evm/host_reads.ts";
import { TraceError } from "../../evm/trace.ts";
import type { RpcAnswer } from "../../rpc/call.ts";
import { type FaultPlace, reactionTo, RpcFault } from "../../rpc/fault.ts";
import type { RpcPool } from "../../rpc/pool.ts";
import type { Query } from "./queries.ts";
import { SchemaError } from "./rpc_schemas.ts";

/** Conditions of a {@link RpcBatch}. */
export interface QuestionOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
  /** Called when all answers are read; a fault that it returns sends the question to the next endpoint. */
  readonly check?: ((place: FaultPlace) => RpcFault | undefined) | undefined;
  /** Told of each endpoint that failed, also when another one did better. */
  readonly onFault?: ((fault: RpcFault, endpointHost: string) => void) | undefined;
}

/** A fault with the place of a whole question. */
export function faultAt(code: RpcFault["code"], place: FaultPlace, detail: string): RpcFault {
  return new RpcFault(code, reactionTo(code), place, { detail });
}

/**
 * Queries are added, the question is asked once, then each answer is there. Answers of one question come from
 * one endpoint.
 */
export class RpcBatch {
  readonly #pool: RpcPool;
  readonly #entries: { readonly query: Query<unknown>; fill(answer: RpcAnswer, place: FaultPlace): void }[] =
    [];

  constructor(pool: RpcPool) {
    this.#pool = pool;
  }

  /** The returned function gives the value after {@link ask}; a fault of this query fails the question. */
  add<T>(query: Query<T>): () => T {
    let slot: { readonly value: T } | undefined;
    const fill = (answer: RpcAnswer, place: FaultPlace): void => {
      slot = { value: readAnswer(query, answer, place) };
    };
    this.#entries.push({ query, fill });
    return () => filled(slot);
  }

  /** As {@link add}, but a fault of this query is its value: the other answers stay good. */
  addOptional<T>(query: Query<T>): () => T | RpcFault {
    let slot: { readonly value: T | RpcFault } | undefined;
    const fill = (answer: RpcAnswer, place: FaultPlace): void => {
      slot = { value: answer.kind === "fault" ? answer.fault : readAnswer(query, answer, place) };
    };
    this.#entries.push({ query, fill });
    return () => filled(slot);
  }

  /** Asks. @throws {RpcFault} of the request, or of the first query that was not added as tolerant. */
  async ask(options: QuestionOptions): Promise<void> {
    const calls = this.#entries.map(({ query }) => query.call);
    const accept = (answers: readonly RpcAnswer[], place: FaultPlace): RpcFault | undefined =>
      this.#fill(answers, place) ?? options.check?.(place);
    const { signal, timeoutMs, onFault } = options;
    const answers = await this.#pool.batch(calls, { signal, timeoutMs, accept, onFault });
    // An endpoint that was asked later may have done worse: what counts is what the pool gives back.
    const fault = this.#fill(answers, { chain: this.#pool.chain, endpointHost: "", method: "" });
    if (fault !== undefined) throw fault;
  }

  #fill(answers: readonly RpcAnswer[], place: FaultPlace): RpcFault | undefined {
    try {
      this.#entries.forEach(({ fill }, index) => {
        const answer = answers[index];
        if (answer === undefined) throw new Error("A query without an answer");
        fill(answer, place);
      });
      return undefined;
    } catch (fault) {
      if (fault instanceof RpcFault) return fault;
      throw fault;
    }
  }
}

/** The value of one query alone. @throws {RpcFault} */
export async function askOne<T>(pool: RpcPool, query: Query<T>, options: QuestionOptions): Promise<T> {
  const question = new RpcBatch(pool);
  const value = question.add(query);
  await question.ask(options);
  return value();
}

/** Value of an answer. @throws {RpcFault} also when the shape is not that of the method. */
export function readAnswer<T>(query: Query<T>, answer: RpcAnswer, place: FaultPlace): T {
  if (answer.kind === "fault") throw answer.fault;
  try {
    return query.read(answer.result);
  } catch (cause) {
    const isShape = cause instanceof SchemaError || cause instanceof HostReadError ||
      cause instanceof TraceError;
    if (!isShape) throw cause;
    const where = { ...place, method: query.call.method };
    throw new RpcFault("malformed", reactionTo("malformed"), where, { detail: cause.message, cause });
  }
}

function filled<T>(slot: { readonly value: T } | undefined): T {
  if (slot === undefined) throw new Error("The question was not asked");
  return slot.value;
}
