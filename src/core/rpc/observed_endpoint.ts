/**
 * Reports of endpoints to their observer: how each request ended, the heights that answers named, and the state of
 * the endpoint.
 */
import type { RpcAnswer, RpcCall, RpcFaultCode } from "./call.ts";
import { RpcFault } from "./call.ts";
import { isJsonObject, type Json } from "./json.ts";

/** State of an endpoint of a set, since when (Unix milliseconds), and the methods that it recently lacked. */
export type EndpointState =
  & { readonly sinceMs: number; readonly lacking: readonly string[] }
  & (
    | { readonly kind: "ready" }
    /** Its newest block is older than that of another endpoint: it is used last. */
    | { readonly kind: "behind"; readonly blocks: number; readonly seconds: number }
    /** It limits the rate; asked again at `untilMs`, Unix milliseconds. */
    | { readonly kind: "throttled"; readonly untilMs: number }
    /** It refuses everything: the key in the URL, or the plan. */
    | { readonly kind: "unauthorized" }
    /** It named another chain several times in a row. */
    | { readonly kind: "wrong_chain" }
    /** Its last request failed with this code. */
    | { readonly kind: "down"; readonly code: RpcFaultCode }
  );

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
  /** Reads the endpoint's state at any later time; absent: it has none beside the outcome of its last request. */
  readonly readState?: (() => EndpointState) | undefined;
}

/** Observer of requests. Must not throw. */
export interface RpcObserver {
  noteRequest(request: ObservedRequest): void;
}

/** Heights that an endpoint named. */
export type NamedHeights = Pick<ObservedRequest, "head" | "final">;

/** What observing needs. */
export interface RpcObservation {
  /** Absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  readonly clock: { now(): number };
}

/** Where requests go. */
export type ObservedPlace = Pick<ObservedRequest, "chain" | "endpointHost" | "role" | "readState">;

/** Runs a request, and reports how it ended. @param read how each of its calls ended, in their order */
export async function observeRequest<T>(
  { observer, clock }: RpcObservation,
  { place, calls }: { readonly place: ObservedPlace; readonly calls: readonly Pick<RpcCall, "method">[] },
  work: () => Promise<T>,
  read: (result: T) => NamedHeights & { readonly outcomes: readonly ("ok" | RpcFaultCode)[] },
): Promise<T> {
  if (observer === undefined) return await work();
  const startMs = clock.now();
  const note = (outcomes: readonly ("ok" | RpcFaultCode)[], named: NamedHeights): void =>
    observer.noteRequest({
      ...place,
      calls: calls.map(({ method }, index) => ({ method, outcome: outcomes[index] ?? "ok" })),
      tookMs: clock.now() - startMs,
      ...named,
    });
  try {
    const result = await work();
    const { outcomes, ...named } = read(result);
    note(outcomes, named);
    return result;
  } catch (fault) {
    // What this program aborted says nothing about the endpoint.
    if (fault instanceof RpcFault) note(calls.map(() => fault.code), {});
    throw fault;
  }
}

/** Finds the heights that one endpoint names in its answers. */
export class HeightsInAnswers {
  /** Hash of the newest final block that a Substrate node named: its height is in the header that is asked for next. */
  #finalHash: Json | undefined;
  /** True for an EVM node that serves another chain: its heights say nothing about this one. */
  #isForeign = false;

  constructor(readonly chain: string) {}

  find(calls: readonly RpcCall[], answers: readonly RpcAnswer[]): NamedHeights {
    let head: bigint | undefined;
    let final: bigint | undefined;
    for (const [index, { method, params: [first] }] of calls.entries()) {
      const answer = answers[index];
      if (answer?.kind !== "result") continue;
      const { result } = answer;
      switch (method) {
        case "eth_chainId":
          this.#isForeign = `EVM-${parseQuantity(result)}` !== this.chain;
          break;
        case "eth_blockNumber":
          head ??= parseQuantity(result);
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
    return this.#isForeign ? {} : { head, final };
  }
}

/** Number of a header. */
function numberOf(header: Json): bigint | undefined {
  return isJsonObject(header) ? parseQuantity(header.number) : undefined;
}

/** A number of up to 64 bits as nodes write it; `undefined`: something else. */
export function parseQuantity(value: Json | undefined): bigint | undefined {
  return typeof value === "string" && /^0x[0-9a-f]{1,16}$/i.test(value) ? BigInt(value) : undefined;
}
