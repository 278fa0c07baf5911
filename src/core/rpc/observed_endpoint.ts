/**
 * Endpoint that reports what its requests came to. Where nobody observes, endpoints are used without it.
 */
import type { CallConditions, RpcAnswer, RpcCall, RpcEndpoint, RpcFaultCode } from "./call.ts";
import { RpcFault } from "./call.ts";
import { isJsonObject, type Json } from "./json.ts";

/** One request to an endpoint, as it ended. */
export interface ObservedRequest {
  readonly chain: string;
  /** Host and port; safe to log. */
  readonly endpointHost: string;
  /** `signer`: it signs for our account; absent: it is a node of the chain. */
  readonly role?: "signer";
  /** Each call of the request by its method; a fault of the whole request is the outcome of each. */
  readonly calls: readonly { readonly method: string; readonly outcome: "ok" | RpcFaultCode }[];
  readonly tookMs: number;
  /** Newest block that the endpoint named in an answer; `undefined`: it was not asked. */
  readonly head?: bigint | undefined;
  /** Newest final block that it named; `undefined`: it was not asked. */
  readonly final?: bigint | undefined;
}

/** Observer of requests. Must not throw. */
export interface RpcObserver {
  /** Notified of a request before it is sent; returns what is called when it has ended, however it did. */
  noteAsked(chain: string, endpointHost: string): () => void;
  noteRequest(request: ObservedRequest): void;
  /** Notified of heights that an endpoint announced without being asked. */
  noteHeights(chain: string, endpointHost: string, heights: NamedHeights): void;
}

/** Heights that an endpoint named. */
export type NamedHeights = Pick<ObservedRequest, "head" | "final">;

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
  const heights = new HeightsInAnswers(chain);
  return {
    host: endpoint.host,
    send: (calls, conditions) =>
      observeSend({ observer, clock }, { chain, endpoint, calls, heights }, conditions),
  };
}

/** A request to be observed. */
interface SentCalls {
  readonly chain: string;
  readonly endpoint: RpcEndpoint;
  readonly calls: readonly RpcCall[];
  readonly heights: HeightsInAnswers;
}

const NO_HEIGHTS: NamedHeights = {};

async function observeSend(
  { observer, clock }: Required<RpcObservation> & { readonly observer: RpcObserver },
  { chain, endpoint, calls, heights }: SentCalls,
  conditions: CallConditions,
): Promise<readonly RpcAnswer[]> {
  const startMs = clock.now();
  const note = (outcomeOf: (index: number) => "ok" | RpcFaultCode, named: NamedHeights): void =>
    observer.noteRequest({
      chain,
      endpointHost: endpoint.host,
      calls: calls.map(({ method }, index) => ({ method, outcome: outcomeOf(index) })),
      tookMs: clock.now() - startMs,
      ...named,
    });
  const ended = observer.noteAsked(chain, endpoint.host);
  try {
    const answers = await endpoint.send(calls, conditions);
    note((index) => {
      const answer = answers[index];
      return answer?.kind === "fault" ? answer.fault.code : "ok";
    }, heights.find(calls, answers));
    return answers;
  } catch (fault) {
    // What this program aborted says nothing about the endpoint.
    if (fault instanceof RpcFault) note(() => fault.code, NO_HEIGHTS);
    throw fault;
  } finally {
    ended();
  }
}

/** Finds the heights that one endpoint names in its answers. */
class HeightsInAnswers {
  readonly #chain: string;
  /** Hash of the newest final block that a Substrate node named: its height is in the header that is asked for next. */
  #finalHash: Json | undefined;
  /** True for an EVM node that serves another chain: its heights say nothing about this one. */
  #isForeign = false;

  constructor(chain: string) {
    this.#chain = chain;
  }

  find(calls: readonly RpcCall[], answers: readonly RpcAnswer[]): NamedHeights {
    let head: bigint | undefined;
    let final: bigint | undefined;
    for (const [index, { method, params: [first] }] of calls.entries()) {
      const answer = answers[index];
      if (answer?.kind !== "result") continue;
      const { result } = answer;
      switch (method) {
        case "eth_chainId":
          this.#isForeign = `EVM-${parseHeight(result)}` !== this.#chain;
          break;
        case "eth_blockNumber":
          head ??= parseHeight(result);
          break;
        case "eth_getBlockByNumber":
          if (first === "latest") head ??= numberOf(result);
          if (first === "finalized") final = numberOf(result);
          break;
        case "chain_getFinalizedHead":
          this.#finalHash = result;
          break;
        case "chain_getHeader":
          if (first === undefined) head ??= numberOf(result);
          else if (first === this.#finalHash) final = numberOf(result);
          break;
      }
    }
    return this.#isForeign ? NO_HEIGHTS : { head, final };
  }
}

/** Number of a header. */
function numberOf(header: Json): bigint | undefined {
  return isJsonObject(header) ? parseHeight(header.number) : undefined;
}

function parseHeight(value: Json | undefined): bigint | undefined {
  return typeof value === "string" && /^0x[0-9a-f]{1,16}$/i.test(value) ? BigInt(value) : undefined;
}
