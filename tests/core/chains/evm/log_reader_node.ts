/** A chain's endpoints in memory: JSON-RPC over a `fetch` that goes wrong as a {@link LogPlan} says. */
import { hostReads } from "../../../../src/core/evm/host_reads.ts";
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import type { Clock } from "../../../../src/core/runtime/clock.ts";
import type { Draw } from "../../../support/draw.ts";
import type { LogPlan, LogTrouble, LogTroubleKind } from "./log_reader_plan.ts";
import { requestLog } from "./scripted_node.ts";

/** The chain's newest block when a seed begins. */
export const FIRST_BLOCK = 1_000;

/** A request of the host. */
export interface PlannedRequest {
  readonly nonce: number;
  readonly block: number;
  readonly log: Readonly<Record<string, unknown>>;
}

/** An answer about logs that lacks requests, with what a reader can know of it. */
export interface Incomplete {
  readonly host: string;
  readonly from: number;
  readonly to: number;
  readonly missing: number;
  /** True: the same answer has the head and the nonces from which the gap is seen. */
  readonly isSeen: boolean;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

type Answer = { readonly result: unknown } | {
  readonly error: { readonly code: number; readonly message: string };
};

/** The endpoints of one chain. */
export class LogEndpoints {
  /** Answers that lack requests, in the order in which they were given. */
  readonly incomplete: Incomplete[] = [];
  readonly requests: readonly PlannedRequest[];
  readonly #plan: LogPlan;
  readonly #clock: Clock;
  readonly #draw: Draw;
  readonly #startMs: number;

  constructor(plan: LogPlan, clock: Clock, draw: Draw) {
    this.#plan = plan;
    this.#clock = clock;
    this.#draw = draw;
    this.#startMs = clock.now();
    this.requests = plan.requests.map((after, index, all) => {
      const [nonce, block] = [plan.earlier + index, FIRST_BLOCK + after];
      return { nonce, block, log: requestLog(nonce, block, index - all.indexOf(after)) };
    });
  }

  /** URLs in order of preference. */
  get urls(): readonly string[] {
    return Array.from({ length: this.#plan.endpoints }, (_, index) => `http://node-${index}`);
  }

  /** Newest block now. */
  get head(): number {
    return FIRST_BLOCK + Math.floor(this.nowSec / this.#plan.blockSec);
  }

  /** Seconds since the seed began. */
  get nowSec(): number {
    return (this.#clock.now() - this.#startMs) / 1_000;
  }

  /** Requests of blocks `from` to `to`, both inclusive. */
  requestsIn(from: number, to: number): readonly PlannedRequest[] {
    return this.requests.filter(({ block }) => block >= from && block <= to);
  }

  readonly fetch: Fetch = async (url, { body, signal }) => {
    const { host } = new URL(url);
    const parsed: Call | readonly Call[] = JSON.parse(String(body));
    const calls = [parsed].flat();
    const troubles = this.#troublesOf(Number(host.slice("node-".length)));
    if (troubles.some(({ kind }) => kind === "down")) throw new TypeError("connection refused");
    if (troubles.some(({ kind }) => kind === "throttled")) return new Response("slow down", { status: 429 });
    if (calls.some((call) => isTooSlow(call, troubles))) {
      const wait = signal ?? new AbortController().signal;
      await this.#clock.sleep(3_600_000, wait);
    }
    const answers = calls.map((call) => this.#answer(call, troubles));
    this.#noteIncomplete(host, calls, answers);
    const wire = calls.map(({ id }, index) => ({ jsonrpc: "2.0", id, ...answers[index] }));
    return new Response(streamOf(JSON.stringify(Array.isArray(parsed) ? wire : wire[0])));
  };

  #troublesOf(endpoint: number): readonly LogTrouble[] {
    return this.#plan.troubles.filter((trouble) =>
      trouble.endpoint === endpoint && trouble.atSec <= this.nowSec &&
      this.nowSec < trouble.atSec + trouble.forSec
    );
  }

  #answer({ method, params }: Call, troubles: readonly LogTroubleKind[]): Answer {
    const head = this.#headOf(troubles);
    switch (method) {
      case "eth_chainId":
        return { result: "0x1" };
      case "eth_blockNumber":
        return { result: hex(head) };
      case "eth_call":
        return this.#nonce(params, head);
      case "eth_getLogs":
        return this.#logs(rangeOf(params), head, troubles);
      default:
        return { error: { code: -32601, message: `the method ${method} does not exist` } };
    }
  }

  /** The newest block of the node that answers a call. */
  #headOf(troubles: readonly LogTroubleKind[]): number {
    return troubles.reduce((head, trouble) => {
      if (trouble.kind === "behind") return head - trouble.blocks;
      return trouble.kind === "outOfStep" && this.#draw.chance(50) ? head - trouble.blocks : head;
    }, this.head);
  }

  #nonce([call, tag]: readonly unknown[], head: number): Answer {
    if (!JSON.stringify(call).includes(hostReads.nonce.encode())) throw new Error("Nothing else is called");
    const height = Number(tag);
    if (height > head) return { error: { code: -32000, message: "header not found" } };
    const nonce = this.#plan.earlier + this.requestsIn(FIRST_BLOCK, height).length;
    return { result: `0x${nonce.toString(16).padStart(64, "0")}` };
  }

  #logs(
    { from, to }: { readonly from: number; readonly to: number },
    head: number,
    troubles: readonly LogTroubleKind[],
  ): Answer {
    const isTooWide = troubles.some((trouble) => trouble.kind === "narrow" && to - from >= trouble.blocks);
    if (isTooWide) return { error: { code: -32005, message: "block range is too wide" } };
    const found = this.requestsIn(from, Math.min(to, head)).filter((request) =>
      this.#isIndexed(request, troubles)
    );
    return { result: found.map(({ log }) => log) };
  }

  #isIndexed({ block, nonce }: PlannedRequest, troubles: readonly LogTroubleKind[]): boolean {
    const { earlier, lost } = this.#plan;
    if (lost !== undefined && nonce === earlier + lost) return false;
    return troubles.every((trouble) => {
      switch (trouble.kind) {
        case "empty":
          return false;
        case "indexBehind":
          return block <= this.head - trouble.blocks;
        case "holes":
          return nonce % 3 !== trouble.rest;
        default:
          return true;
      }
    });
  }

  #noteIncomplete(host: string, calls: readonly Call[], answers: readonly Answer[]): void {
    const at = calls.findIndex(({ method }) => method === "eth_getLogs");
    const [call, answer] = [calls[at], answers[at]];
    if (call === undefined || answer === undefined || !("result" in answer)) return;
    const { from, to } = rangeOf(call.params);
    const found = Array.isArray(answer.result) ? answer.result.length : 0;
    const missing = this.requestsIn(from, to).length - found;
    if (missing === 0) return;
    const head = answers[calls.findIndex(({ method }) => method === "eth_blockNumber")];
    const nonces = answers.filter((_, index) => calls[index]?.method === "eth_call");
    const isAtHead = head !== undefined && "result" in head && Number(head.result) >= to;
    this.incomplete.push({
      host,
      from,
      to,
      missing,
      isSeen: isAtHead && nonces.length > 0 && nonces.every((nonce) => "result" in nonce),
    });
  }
}

/** Nobody waits for the answer. */
function isTooSlow({ method, params }: Call, troubles: readonly LogTroubleKind[]): boolean {
  if (method !== "eth_getLogs") return false;
  const { from, to } = rangeOf(params);
  return troubles.some((trouble) => trouble.kind === "slow" && to - from >= trouble.blocks);
}

function rangeOf(params: readonly unknown[]): { readonly from: number; readonly to: number } {
  const text = JSON.stringify(params);
  const read = (field: string): number => Number(new RegExp(`"${field}":"(0x[0-9a-f]+)"`).exec(text)?.[1]);
  return { from: read("fromBlock"), to: read("toBlock") };
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}

/** A body that is read without waiting for the runtime, so that the same seed takes the same course. */
function streamOf(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller): void {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
}
