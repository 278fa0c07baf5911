/**
 * Detects when logs lack requests of the host, as those of lagging indexes and of inconsistent nodes behind one URL do: a
 * host numbers its requests without gaps, posts and gets together, and its nonce at both ends of a range gives their
 * number. Such an answer is a fault of its endpoint, and the next one is asked. Where no endpoint keeps the states of
 * those blocks, the nonces must follow each other and the last one that was passed on; a gap that only a later range
 * shows is read again. Start reading at {@link RequestGaps.begin}. Source: polytope-labs/hyperbridge:
 * evm/src/core/EvmHost.sol (`_nextNonce`).
 */
import { hostReads } from "../../evm/host_reads.ts";
import { hostEventTopics } from "../../evm/host_abi.ts";
import { decodeHostLog, type HostLog } from "../../evm/host_events.ts";
import { type FaultPlace, RpcFault } from "../../rpc/call.ts";
import { dropOldest, mapInSlices } from "../../runtime/slices.ts";
import { EvmPart } from "./evm_context.ts";
import { highest } from "./gas.ts";
import type { Log, LogRange } from "./rpc_schemas.ts";
import type { BatchGuard } from "./log_reader.ts";
import { contractReadAt, readable } from "./queries.ts";
import { faultAt, type RpcBatch } from "./rpc_batch.ts";

/** Requests decoded at once, about 5 ms. */
export const LOGS_AT_ONCE = 50;

/** Requests that no endpoint returns are given up when the same ones are missing for this time ... */
const GIVE_UP_AFTER_MS = 10 * 60_000;
/** ... or, where more and more are missing, when the first one is for this time. */
const GIVE_UP_GROWING_AFTER_MS = 60 * 60_000;
/** Maximum number of remembered gaps: a lagging index shows another one at every poll. */
const KNOWN_GAPS = 256;

/** Requests that are missing in logs. */
export interface MissingRequests {
  readonly count: bigint;
  /** Range of their nonces, both inclusive. */
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * Finds missing requests; `undefined`: none, as far as can be known. @param facts.first nonce of the first request in
 * the range or after it, `end` the host's next nonce at its end, `undefined` where not known; `unreadable`: number of
 * logs of requests that could not be read, each of which stands for one nonce
 */
export function findMissingRequests(facts: {
  readonly first: bigint | undefined;
  readonly end: bigint | undefined;
  readonly nonces: readonly bigint[];
  readonly unreadable: number;
}): MissingRequests | undefined {
  const sorted = [...new Set(facts.nonces)].sort((a, b) => a < b ? -1 : 1);
  const { first = sorted[0], end = nextAfter(sorted) } = facts;
  if (first === undefined || end === undefined) return undefined;
  const count = end - first - BigInt(sorted.length + facts.unreadable);
  if (count <= 0n) return undefined;
  let [from, to] = [first, end - 1n];
  for (const nonce of sorted) if (nonce === from) from++;
  for (const nonce of sorted.toReversed()) if (nonce === to) to--;
  return { count, from, to };
}

/** What is known of the requests that were passed on. */
interface Known {
  /** Before this block the host had dispatched `next` requests, all of which were passed on: a gap is read again from it. */
  readonly from: bigint;
  readonly next: bigint;
  /** Last block that was read, and the nonce after the last request up to it. */
  readonly to: bigint;
  readonly expected: bigint;
}

/** Answer for a range of blocks. */
interface Answer {
  readonly range: LogRange;
  /** The host's next nonce before and after the range; `undefined`: not known. */
  readonly first: bigint | undefined;
  readonly end: bigint | undefined;
  /** Requests in the logs: block by nonce. */
  readonly blocks: ReadonlyMap<bigint, bigint>;
  readonly unreadable: number;
  /** What was known before. */
  readonly known: Known | undefined;
}

/** Read of a range, which may take several queries. */
export interface GapRead {
  /** First block to read so that nothing before the range is omitted. */
  readonly from: bigint;
  /** Adds the host's nonce to a batch with logs and rejects incomplete logs. */
  readonly guard: BatchGuard;
  /** Decodes a log, each only once: the guard has decoded those of requests to count them. */
  readonly decode: (log: Log) => HostLog;
  /** Called when the whole range was read and passed on. */
  commit(): void;
}

/** Request bookkeeping of one host. */
export class RequestGaps extends EvmPart {
  #known: Known | undefined;
  /** A gap before the range that showed it: at the end of `block` the host's next nonce is `next` or higher. */
  #open: { readonly block: bigint; readonly next: bigint } | undefined;
  /** When gaps were seen first and last, ms; the one seen last is the last one. */
  readonly #seenMs = new Map<string, { readonly first: number; readonly last: number }>();

  /** Begins a read of the blocks from `from` on. */
  begin(from: bigint): GapRead {
    const { host } = this.context.at;
    const decoded = new Map<Log, HostLog>();
    const decode = (log: Log): HostLog => {
      const found = decoded.get(log) ?? decodeHostLog(log, host);
      decoded.set(log, found);
      return found;
    };
    const last = this.#known;
    let known = last !== undefined && last.from <= from && from <= last.to + 1n ? last : undefined;
    const start = known !== undefined && this.#open !== undefined ? known.from : from;
    const guard: BatchGuard = (batch, range) => {
      if (range === undefined) return { check: () => undefined };
      const base = known;
      const before = range.from === 0n ? () => 0n : this.#addNonce(batch, range.from - 1n);
      const after = this.#addNonce(batch, range.to);
      const answerOf = (logs: readonly Log[]): Answer => {
        const first = before() ?? (base?.from === range.from ? base.next : undefined);
        return { range, first, end: after(), known: base, ...requestsIn(logs, decode) };
      };
      return {
        check: async (place, logs) => {
          await mapInSlices(logs.filter(isRequest), LOGS_AT_ONCE, decode);
          return this.#judge(place, answerOf(logs));
        },
        done: (logs) => void (known = this.#accept(answerOf(logs))),
      };
    };
    const commit = (): void => {
      if (known !== undefined && known.to >= (this.#known?.to ?? 0n)) this.#known = known;
      this.#open = undefined;
    };
    return { from: start, guard, decode, commit };
  }

  /** Fault of an answer that lacks requests, or that shows that earlier ones did; `undefined`: it is taken. */
  #judge(place: FaultPlace, answer: Answer): RpcFault | undefined {
    const { range, first, end, blocks, unreadable, known } = answer;
    const nonces = [...blocks.keys()];
    const top = end ?? this.#leastEnd(range, nonces);
    const missing = findMissingRequests({ first, end: top, nonces, unreadable });
    if (missing !== undefined) {
      if (this.#isGivenUp(range, missing)) return undefined;
      this.context.reportFault(place.endpointHost, "endpoint_data_invalid.logs", fieldsOf(range, missing));
      return incomplete(place, range, missing);
    }
    const start = first ?? lowestOf(nonces) ?? end;
    if (known === undefined || known.from === range.from) return undefined;
    if (start === undefined || start <= known.expected) return undefined;
    const earlier = { count: start - known.expected, from: known.expected, to: start - 1n };
    const again = { from: known.from, to: range.to };
    if (this.#isGivenUp(again, earlier)) return undefined;
    if (this.#open === undefined) {
      this.context.at.log.warn("endpoint_data_invalid.logs_reread", fieldsOf(again, earlier));
    }
    this.#open = { block: range.to, next: start };
    return incomplete(place, again, earlier);
  }

  /** What is known after an answer that was taken. */
  #accept({ range, first, end, blocks, known }: Answer): Known | undefined {
    const { from, to } = range;
    const nonces = [...blocks.keys()];
    const least = lowestOf(nonces);
    const start = first ?? least ?? end;
    if (start === undefined) return known && { ...known, to };
    const expected = end ?? this.#leastEnd(range, nonces) ?? nextAfter(nonces) ?? start;
    if (end !== undefined || least === undefined) return { from, next: start, to, expected };
    // Requests after the newest one may be missing, also in its own block.
    const newest = (nextAfter([...blocks.values()]) ?? 1n) - 1n;
    const next = lowestOf(nonces.filter((nonce) => blocks.get(nonce) === newest)) ?? start;
    return { from: newest, next, to, expected };
  }

  /** Lower bound of the nonce at the end of a range without its state: requests up to there are missing. */
  #leastEnd({ to }: LogRange, nonces: readonly bigint[]): bigint | undefined {
    if (this.#open === undefined || to < this.#open.block) return undefined;
    return highest(this.#open.next, nextAfter(nonces));
  }

  /** True when no endpoint has returned these requests for long. */
  #isGivenUp(range: LogRange, missing: MissingRequests): boolean {
    const { clock, log } = this.context.at;
    const nowMs = clock.now();
    const ageOf = (gap: string): number => {
      const { first = nowMs, last = 0 } = this.#seenMs.get(gap) ?? {};
      const sinceMs = nowMs - last <= GIVE_UP_AFTER_MS ? first : nowMs;
      this.#seenMs.delete(gap);
      this.#seenMs.set(gap, { first: sinceMs, last: nowMs });
      return nowMs - sinceMs;
    };
    const [sameMs, growingMs] = [ageOf(`${missing.from} to ${missing.to}`), ageOf(`${missing.from}`)];
    dropOldest(this.#seenMs, KNOWN_GAPS);
    if (sameMs < GIVE_UP_AFTER_MS && growingMs < GIVE_UP_GROWING_AFTER_MS) return false;
    log.warn("messages_skipped.not_served", fieldsOf(range, missing));
    return true;
  }

  /** Adds the host's nonce at the end of a block; `undefined`: no endpoint keeps its state, or there is no host yet. */
  #addNonce(batch: RpcBatch, height: bigint): () => bigint | undefined {
    const read = readable(contractReadAt(height, this.context.at.host, hostReads.nonce));
    const slot = batch.addOptional(read);
    return () => {
      const nonce = slot();
      return nonce instanceof RpcFault ? undefined : nonce;
    };
  }
}

/** Requests of a range. Some endpoints repeat a log. */
function requestsIn(logs: readonly Log[], decode: GapRead["decode"]): Pick<Answer, "blocks" | "unreadable"> {
  const blocks = new Map<bigint, bigint>();
  const unreadable = new Set<string>();
  for (const log of logs.filter(isRequest)) {
    const decoded = decode(log);
    if (decoded.kind === "undecodable") unreadable.add(`${log.blockNumber} ${log.logIndex}`);
    if (decoded.kind !== "event") continue;
    const { tag, value } = decoded.event;
    if (tag === "PostRequestEvent" || tag === "GetRequestEvent") {
      blocks.set(value.message.request.nonce, log.blockNumber);
    }
  }
  return { blocks, unreadable: unreadable.size };
}

function isRequest({ topics: [topic] }: Log): boolean {
  return topic === hostEventTopics.PostRequestEvent || topic === hostEventTopics.GetRequestEvent;
}

function lowestOf([first, ...others]: readonly bigint[]): bigint | undefined {
  return first === undefined
    ? undefined
    : others.reduce((least, nonce) => nonce < least ? nonce : least, first);
}

function nextAfter([first, ...others]: readonly bigint[]): bigint | undefined {
  return first === undefined
    ? undefined
    : others.reduce((most, nonce) => nonce > most ? nonce : most, first) + 1n;
}

function fieldsOf(range: LogRange, missing: MissingRequests): Readonly<Record<string, bigint>> {
  return {
    from_block: range.from,
    to_block: range.to,
    requests: missing.count,
    first_nonce: missing.from,
    last_nonce: missing.to,
  };
}

function incomplete(place: FaultPlace, { from, to }: LogRange, { count }: MissingRequests): RpcFault {
  return faultAt("lagging", place, `${count} requests are missing in the logs of blocks ${from} to ${to}`);
}
