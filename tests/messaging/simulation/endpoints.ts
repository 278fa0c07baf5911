/**
 * Endpoints of an EVM chain in a simulation, as the network shows them: a `fetch` before a node in memory, with faults,
 * delays and lies. The process passes a step before and after each request.
 */
import { fromHex, type Hash256, type Hex, keccak256, toHash256 } from "../../../src/core/encoding/bytes.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import type { Fetch } from "../../../src/core/rpc/http_exchange.ts";
import type { Clock } from "../../../src/core/runtime/clock.ts";
import { type MemoryRpc, NodeRpcError, type View } from "../../support/memory_rpc.ts";
import type { Process } from "./chains.ts";

/** How one request goes. */
export interface Mood {
  readonly view: View;
  readonly fault?: HttpFault | undefined;
}

/** How a request goes wrong. */
export type HttpFault =
  /** No connection. */
  | { readonly kind: "unreachable" }
  | { readonly kind: "status"; readonly status: number; readonly retryAfterSec?: number }
  /** Every call is answered with this error. */
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  /** The answer takes longer. */
  | { readonly kind: "delay"; readonly ms: number }
  /** The thing is done, but its answer is lost. */
  | { readonly kind: "lost" };

/** What a {@link simFetch} stands on. */
export interface SimNetwork {
  readonly chain: StateMachine;
  readonly rpc: MemoryRpc;
  /** The life whose requests these are. */
  readonly life: Pick<Process, "step" | "requested" | "leaving">;
  /** Called when a transaction has arrived at a node. */
  readonly onSent: (hash: Hash256) => void;
  readonly clock: Clock;
  readonly latencyMs: () => number;
  /** How the next request to an endpoint goes. */
  readonly moodOf: (endpoint: number) => Mood;
}

/** URLs of the two endpoints of a chain. */
export function urlsOf(chain: StateMachine): readonly string[] {
  return [0, 1].map((index) => `http://node${index}.${chain.toLowerCase()}.test`);
}

interface WireCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The network of a process to one chain. */
export function simFetch({ chain, rpc, life, onSent, clock, latencyMs, moodOf }: SimNetwork): Fetch {
  return async (url, { body, signal }) => {
    life.step();
    life.requested();
    const aborted = signal ?? new AbortController().signal;
    const { view, fault } = moodOf(url.includes("node0.") ? 0 : 1);
    const waitMs = latencyMs() + (fault?.kind === "delay" ? fault.ms : 0);
    if (waitMs > 0) await clock.sleep(waitMs, aborted);
    if (fault?.kind === "unreachable") throw new TypeError("connection refused");
    if (fault?.kind === "status") {
      const headers: Record<string, string> = fault.retryAfterSec === undefined
        ? {}
        : { "retry-after": String(fault.retryAfterSec) };
      return new Response("no", { status: fault.status, headers });
    }
    const asked: WireCall | readonly WireCall[] = JSON.parse(String(body));
    const answerOf = (call: WireCall): unknown =>
      fault?.kind === "error"
        ? { jsonrpc: "2.0", id: call.id, error: { code: fault.code, message: fault.message } }
        : answer(rpc, call, view);
    const sent = asList(asked).filter(({ method }) =>
      method === "eth_sendRawTransaction" && fault?.kind !== "error"
    )
      .map(({ params: [raw] }) => toHash256(keccak256(fromHex(String(raw)))));
    for (const hash of sent) life.leaving({ hash, chain }, undefined);
    life.step();
    const answers = Array.isArray(asked) ? asked.map(answerOf) : asList(asked).map(answerOf)[0];
    for (const hash of sent) onSent(hash);
    life.step();
    if (fault?.kind === "lost") throw new TypeError("connection closed before message completed");
    return responseOf(answers);
  };
}

const headers = new Headers();

/** A response as far as it is read, without the streams that take most of the time of a real one. */
function responseOf(answer: unknown): Response {
  const body = [new TextEncoder().encode(JSON.stringify(answer))];
  return Object.create(null, { status: { value: 200 }, headers: { value: headers }, body: { value: body } });
}

function asList(asked: WireCall | readonly WireCall[]): readonly WireCall[] {
  return "id" in asked ? [asked] : asked;
}

function answer(rpc: MemoryRpc, { id, method, params }: WireCall, view: View): unknown {
  try {
    return { jsonrpc: "2.0", id, result: rpc.answer(method, params, view) };
  } catch (error) {
    if (!(error instanceof NodeRpcError)) throw error;
    const { code, message, data }: { code: number; message: string; data?: Hex | undefined } = error;
    return { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } };
  }
}
