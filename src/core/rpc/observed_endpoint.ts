/**
 * Endpoint that reports what its requests came to. Where nobody observes, endpoints are used without it.
 */
import type { CallConditions, RpcAnswer, RpcCall, RpcEndpoint } from "./call.ts";
import { RpcFault, type RpcFaultCode } from "./fault.ts";
import { isJsonObject, type Json } from "./json.ts";

/** One request to an endpoint, as it ended. */
export interface ObservedRequest {
  readonly chain: string;
  /** Host and port; safe to log. */
  readonly endpointHost: string;
  /** Each call of the request by its method; a fault of the whole request is the outcome of each. */
  readonly calls: readonly { readonly method: string; readonly outcome: "ok" | RpcFaultCode }[];
  readonly tookMs: number;
  /** Newest block that the endpoint named in an answer; `undefined`: it was not asked. */
  readonly head: bigint | undefined;
}

/** Observer of requests. Must not throw. */
export interface RpcObserver {
  noteRequest(request: ObservedRequest): void;
}

/** What an observed endpoint needs besides the endpoint. */
export interface RpcObservation {
  /** Absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  readonly clock: { now(): number };
}

/** Returns an endpoint that reports to the observer; without one the endpoint itself. */
export function observeEndpoint<E extends RpcEndpoint>(
  { observer, clock }: RpcObservation,
  chain: string,
  endpoint: E,
): Pick<E, "host"> & RpcEndpoint {
  if (observer === undefined) return endpoint;
  return {
    host: endpoint.host,
    send: (calls, conditions) => observeSend({ observer, clock }, { chain, endpoint, calls }, conditions),
  };
}

/** A request to be observed. */
interface SentCalls {
  readonly chain: string;
  readonly endpoint: RpcEndpoint;
  readonly calls: readonly RpcCall[];
}

async function observeSend(
  { observer, clock }: Required<RpcObservation> & { readonly observer: RpcObserver },
  { chain, endpoint, calls }: SentCalls,
  conditions: CallConditions,
): Promise<readonly RpcAnswer[]> {
  const startMs = clock.now();
  const note = (outcomeOf: (index: number) => "ok" | RpcFaultCode, head: bigint | undefined): void =>
    observer.noteRequest({
      chain,
      endpointHost: endpoint.host,
      calls: calls.map(({ method }, index) => ({ method, outcome: outcomeOf(index) })),
      tookMs: clock.now() - startMs,
      head,
    });
  try {
    const answers = await endpoint.send(calls, conditions);
    note((index) => {
      const answer = answers[index];
      return answer?.kind === "fault" ? answer.fault.code : "ok";
    }, findHead(calls, answers));
    return answers;
  } catch (fault) {
    // What this program aborted says nothing about the endpoint.
    if (fault instanceof RpcFault) note(() => fault.code, undefined);
    throw fault;
  }
}

/** Finds the newest block in the answers: the number itself, or that of a header that was asked for without a block. */
function findHead(calls: readonly RpcCall[], answers: readonly RpcAnswer[]): bigint | undefined {
  for (const [index, { method, params }] of calls.entries()) {
    const answer = answers[index];
    if (answer?.kind !== "result") continue;
    if (method === "eth_blockNumber") return parseHeight(answer.result);
    const isNewest = (method === "eth_getBlockByNumber" && params[0] === "latest") ||
      (method === "chain_getHeader" && params.length === 0);
    if (isNewest && isJsonObject(answer.result)) return parseHeight(answer.result.number);
  }
  return undefined;
}

function parseHeight(value: Json | undefined): bigint | undefined {
  return typeof value === "string" && /^0x[0-9a-f]{1,16}$/i.test(value) ? BigInt(value) : undefined;
}
