/**
 * Finds out when an endpoint leaves requests out of its logs, as lagging indexes and nodes out of step behind one URL
 * do: the host's nonce, read at the blocks' own numbers, says how many there must be. Such an answer is passed over for
 * another endpoint's. Start reading at {@link RequestGaps.guard}.
 */
import { HostReadError, hostReads } from "../../protocol/evm/host_reads.ts";
import { hostEventTopics } from "../../protocol/evm/host_abi.ts";
import { decodeHostLog } from "../../protocol/evm/host_events.ts";
import { findMissingRequests, type MissingRequests } from "../../protocol/evm/request_nonces.ts";
import { type FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type { EvmContext } from "./evm_context.ts";
import type { LogRange, QuestionGuard } from "./log_reader.ts";
import { contractReadAt, type Query } from "./queries.ts";
import { faultAt, type Question } from "./question.ts";
import { type Log, ShapeError } from "./shape.ts";

/** Blocks whose nonce is remembered. */
const KNOWN_BLOCKS = 64;
/** A block whose state no endpoint kept is not asked for again in this time, nor are blocks just above it. */
const UNREADABLE_MS = 10 * 60_000;
/** Blocks for which most nodes keep the state. */
const KEPT_STATES = 128n;
/** Requests that nobody tells of after this time are given up: the leg goes on without them, and says so. */
const GIVE_UP_AFTER_MS = 10 * 60_000;

/** Blocks at the end of what was read whose state nobody keeps: logs may be missing there. */
interface Unverified {
  readonly from: bigint;
  readonly to: bigint;
  /** Nonce that follows the highest one that was seen. */
  readonly next: bigint;
}

/** The memory of one host's requests. */
export class RequestGaps {
  readonly #context: EvmContext;
  /** The host's nonce at the end of blocks, oldest first. */
  readonly #known = new Map<bigint, bigint>();
  #unverified: Unverified | undefined;
  /** A read that starts at `at` has to start at `from`: something is missing before it. */
  #again: { readonly at: bigint; readonly from: bigint } | undefined;
  #unreadable: { readonly height: bigint; readonly untilMs: number } | undefined;
  /** When each gap was found first, by its lowest nonce, ms. */
  readonly #gaps = new Map<bigint, number>();

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /** First block to read so that nothing stays left out before `from`. */
  startOf(from: bigint): bigint {
    return this.#again?.at === from ? this.#again.from : from;
  }

  /** Adds the host's nonce to a question about logs and refuses logs that do not hold all requests. */
  readonly guard: QuestionGuard = (question, range) => {
    if (range === undefined) return () => undefined;
    const before = this.#nonceBefore(question, range.from);
    const after = this.#nonceAt(question, range.to);
    return (place, found) => {
      const [first, end] = [before(), after()];
      const requests = this.#requestsIn(found);
      const missing = findMissingRequests({ first: first ?? this.#nextAt(range.from), end, ...requests });
      const fault = missing === undefined ? undefined : this.#object(place, range, missing);
      if (fault === undefined) this.#accept(range, { first, end, requests });
      return fault;
    };
  };

  /** Nonces of the requests in logs. Some endpoints repeat a log. */
  #requestsIn(found: readonly Log[]): { readonly nonces: readonly bigint[]; readonly unreadable: number } {
    const nonces: bigint[] = [];
    const unreadable = new Set<string>();
    for (const log of found) {
      const decoded = decodeHostLog(log, this.#context.at.host);
      const isMessage = decoded.kind === "event" &&
        (decoded.event.tag === "PostRequestEvent" || decoded.event.tag === "GetRequestEvent");
      if (isMessage) nonces.push(decoded.event.value.message.request.nonce);
      else if (decoded.kind === "undecodable" && isRequest(log)) {
        unreadable.add(`${log.blockNumber} ${log.logIndex}`);
      }
    }
    return { nonces, unreadable: unreadable.size };
  }

  /** The nonce that follows what was read up to a block, where the state there is not to be had. */
  #nextAt(from: bigint): bigint | undefined {
    return this.#unverified?.to === from - 1n ? this.#unverified.next : undefined;
  }

  #object(place: FaultPlace, range: LogRange, missing: MissingRequests): RpcFault | undefined {
    const { at } = this.#context;
    const nowMs = at.clock.now();
    const sinceMs = this.#gaps.get(missing.from) ?? nowMs;
    this.#gaps.set(missing.from, sinceMs);
    const fields = {
      from_block: range.from,
      to_block: range.to,
      requests: missing.count,
      first_nonce: missing.from,
      last_nonce: missing.to,
    };
    if (nowMs - sinceMs >= GIVE_UP_AFTER_MS) {
      at.log.warn(
        "Requests that no endpoint tells of are given up; set initial_height to the block before to look for them again",
        fields,
      );
      return undefined;
    }
    if (this.#unverified?.to === range.from - 1n) {
      this.#again = { at: range.from, from: this.#unverified.from };
    }
    this.#context.accuse(
      place.endpointHost,
      "Logs of the host are missing: the endpoint's index is behind or incomplete; others are asked",
      fields,
    );
    const detail = `${missing.count} requests are missing in the logs of blocks ${range.from} to ${range.to}`;
    return faultAt("lagging", place, detail);
  }

  #accept(
    { from, to }: LogRange,
    seen: {
      readonly first: bigint | undefined;
      readonly end: bigint | undefined;
      readonly requests: { readonly nonces: readonly bigint[]; readonly unreadable: number };
    },
  ): void {
    if (this.#again !== undefined && from <= this.#again.at && this.#again.at <= to) this.#again = undefined;
    if (seen.end !== undefined) {
      this.#remember(to, seen.end);
      this.#unverified = undefined;
      this.#gaps.clear();
      return;
    }
    const continued = this.#unverified?.to === from - 1n ? this.#unverified : undefined;
    const highest = seen.requests.nonces.reduce<bigint | undefined>(
      (most, nonce) => most === undefined || nonce >= most ? nonce + 1n : most,
      undefined,
    );
    const next = highest ?? seen.first ?? continued?.next;
    this.#unverified = next === undefined ? undefined : { from: continued?.from ?? from, to, next };
  }

  /** The nonce at the end of the block before `from`. */
  #nonceBefore(question: Question, from: bigint): () => bigint | undefined {
    return from === 0n ? () => 0n : this.#nonceAt(question, from - 1n);
  }

  /** The host's nonce at the end of a block; `undefined`: no endpoint keeps its state. */
  #nonceAt(question: Question, height: bigint): () => bigint | undefined {
    const known = this.#known.get(height);
    if (known !== undefined) return () => known;
    if (this.#isUnreadable(height)) return () => undefined;
    const slot = question.addTolerant(nonceQuery(this.#context, height));
    return () => {
      const nonce = slot();
      if (!(nonce instanceof RpcFault)) {
        if (this.#unreadable?.height === height) this.#unreadable = undefined;
        return nonce;
      }
      this.#unreadable = { height, untilMs: this.#context.at.clock.now() + UNREADABLE_MS };
      return undefined;
    };
  }

  #isUnreadable(height: bigint): boolean {
    if (this.#unreadable === undefined || this.#context.at.clock.now() >= this.#unreadable.untilMs) {
      return false;
    }
    return height <= this.#unreadable.height + KEPT_STATES;
  }

  #remember(height: bigint, nonce: bigint): void {
    this.#known.set(height, nonce);
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_BLOCKS && oldest !== undefined) this.#known.delete(oldest);
  }
}

function isRequest({ topics: [topic] }: Log): boolean {
  const name = topic?.toLowerCase();
  return name === hostEventTopics.PostRequestEvent || name === hostEventTopics.GetRequestEvent;
}

/** The host's next nonce at a block; `undefined` where there was no host yet. */
function nonceQuery({ at: { host } }: EvmContext, height: bigint): Query<bigint | undefined> {
  const { call, read } = contractReadAt(height, host, hostReads.nonce);
  return {
    call,
    read: (result) => {
      try {
        return read(result);
      } catch (error) {
        if (error instanceof HostReadError || error instanceof ShapeError) return undefined;
        throw error;
      }
    },
  };
}
