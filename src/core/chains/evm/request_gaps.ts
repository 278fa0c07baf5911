/**
 * Detects when an endpoint omits requests from its logs, as lagging indexes and inconsistent nodes behind one URL do:
 * the host's nonce, read at fixed block numbers, gives the expected number. Such an answer is discarded for another
 * endpoint's. Start reading at {@link RequestGaps.begin}.
 */
import { dropOldest, mapInSlices } from "../../runtime/slices.ts";
import { HostReadError, hostReads } from "../../evm/host_reads.ts";
import { hostEventTopics } from "../../evm/host_abi.ts";
import { decodeHostLog, type HostLog } from "../../evm/host_events.ts";
import { findMissingRequests, type MissingRequests } from "../../evm/request_nonces.ts";
import { type FaultPlace, RpcFault } from "../../rpc/call.ts";
import type { EvmContext } from "./evm_context.ts";
import type { BatchGuard, LogRange } from "./log_reader.ts";
import { contractReadAt, type Query } from "./queries.ts";
import { faultAt, type RpcBatch } from "./rpc_batch.ts";
import { SchemaError } from "./schema_error.ts";
import type { Log } from "./log_answers.ts";
import type { LogFields } from "../../telemetry/log.ts";

/** Requests decoded at once, about 5 ms. */
export const LOGS_AT_ONCE = 50;

/** A block whose state no endpoint keeps is not read again for this time, nor are blocks just above it. */
const UNREADABLE_MS = 10 * 60_000;
/** Blocks for which most nodes keep the state. */
const KEPT_STATES = 128n;
/** Maximum number of remembered gaps: a lagging index shows another one at every poll. */
const KNOWN_GAPS = 256;
/** Requests that no endpoint returns for this time are given up: the leg continues without them, and logs it. */
const GIVE_UP_AFTER_MS = 10 * 60_000;

/** Progress of reported requests of a host, and what was reported after it. */
interface Progress {
  /** At the end of this block the host's next nonce was `next`, and nothing below is missing; absent: not known yet. */
  readonly anchor: { readonly block: bigint; readonly next: bigint } | undefined;
  /** Requests after the anchor: block by nonce. */
  readonly seen: ReadonlyMap<bigint, bigint>;
  /** Unreadable logs of requests after the anchor. */
  readonly unreadable: number;
  /** Last block that was read. */
  readonly to: bigint;
}

/** Requests of a range according to the logs. */
interface Found {
  /** Block by nonce. */
  readonly blocks: ReadonlyMap<bigint, bigint>;
  readonly unreadable: number;
}

/** Answer for a range, and what is known before it. */
interface Seen {
  /** The host's next nonce before and after the range; `undefined`: no endpoint keeps the state. */
  readonly first: bigint | undefined;
  readonly end: bigint | undefined;
  readonly found: Found;
  readonly progress: Progress;
}

/** Verdict about an answer. */
type Verdict =
  | { readonly kind: "complete" }
  | { readonly kind: "refused"; readonly fault: RpcFault }
  /** Requests are missing permanently. */
  | { readonly kind: "given_up"; readonly progress: Progress };

/** Missing requests: up to which nonce, and since when. */
interface KnownGap {
  readonly to: bigint;
  readonly sinceMs: number;
}

type DecodeLog = (log: Log) => HostLog;

/** Read of a range, which may take several queries. */
export interface GapRead {
  /** First block to read so that nothing before the range is omitted. */
  readonly from: bigint;
  /** Adds the host's nonce to a batch with logs and rejects incomplete logs. */
  readonly guard: BatchGuard;
  /** Decodes a log, each only once: the guard has decoded those of requests to count them. */
  readonly decode: DecodeLog;
  /** Called when the whole range was read and passed on. */
  commit(): void;
}

/** Request bookkeeping of one host. */
export class RequestGaps {
  readonly #context: EvmContext;
  /** Progress of what was passed on. */
  #progress: Progress | undefined;
  /** Requests are missing after the anchor: at the end of that block the host's next nonce is `next` or higher. */
  #open: { readonly block: bigint; readonly next: bigint } | undefined;
  #unreadable: { readonly height: bigint; readonly untilMs: number } | undefined;
  /** Gaps by their lowest nonce, each as it grew. */
  readonly #gaps = new Map<bigint, readonly KnownGap[]>();

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /** Begins a read of the blocks from `from` on. */
  begin(from: bigint): GapRead {
    const known = this.#progressBefore(from);
    const anchor = known?.anchor;
    const isAgain = this.#open !== undefined && anchor !== undefined;
    const start = isAgain ? anchor.block + 1n : from;
    let progress: Progress = isAgain
      ? { anchor, seen: new Map(), unreadable: 0, to: anchor.block }
      : known ?? { anchor: undefined, seen: new Map(), unreadable: 0, to: from - 1n };
    const decode = this.#decodeOnce();
    const guard: BatchGuard = (batch, range) => {
      if (range === undefined) return { check: () => undefined };
      const base = progress;
      const before = this.#nonceBefore(batch, range.from);
      const after = this.#nonceAt(batch, range.to);
      let given: Progress | undefined;
      const seenIn = (logs: readonly Log[]): Seen => {
        return { first: before(), end: after(), found: requestsIn(logs, decode), progress: base };
      };
      return {
        check: async (place, logs) => {
          await mapInSlices(logs.filter(isRequest), LOGS_AT_ONCE, decode);
          const verdict = this.#judge(place, range, seenIn(logs));
          given = verdict.kind === "given_up" ? verdict.progress : undefined;
          return verdict.kind === "refused" ? verdict.fault : undefined;
        },
        done: (logs) => void (progress = given ?? this.#accept(range, seenIn(logs))),
      };
    };
    const commit = (): void => {
      this.#progress = progress;
      if (progress.anchor?.block !== progress.to && !isAgain) return;
      this.#open = undefined;
      this.#gaps.clear();
    };
    return { from: start, guard, decode, commit };
  }

  #decodeOnce(): DecodeLog {
    const decoded = new Map<Log, HostLog>();
    return (log) => {
      const found = decoded.get(log) ?? decodeHostLog(log, this.#context.at.host);
      decoded.set(log, found);
      return found;
    };
  }

  /** Progress before a block. */
  #progressBefore(from: bigint): Progress | undefined {
    const known = this.#progress;
    if (known?.anchor === undefined || known.anchor.block >= from || known.to < from - 1n) return undefined;
    const seen = new Map([...known.seen].filter(([, block]) => block < from));
    return { ...known, seen, to: from - 1n };
  }

  #judge(place: FaultPlace, range: LogRange, seen: Seen): Verdict {
    const { end, first, found, progress } = seen;
    const { anchor } = progress;
    const nonces = [...found.blocks.keys()];
    const isBehindAnchor = anchor?.block === range.from - 1n;
    const top = end ?? this.#minEnd(range, nonces);
    const here = findMissingRequests({
      first: first ?? (isBehindAnchor ? anchor.next : undefined),
      end: top,
      nonces,
      unreadable: found.unreadable,
    });
    if (here !== undefined) return this.#rejectIncomplete(place, range, here, endOf(here, top, nonces));
    if (anchor === undefined || isBehindAnchor) return { kind: "complete" };
    const before = findMissingRequests({
      first: anchor.next,
      end: top ?? (nonces.length === 0 ? first : undefined),
      nonces: [...progress.seen.keys(), ...nonces],
      unreadable: progress.unreadable + found.unreadable,
    });
    if (before === undefined) return { kind: "complete" };
    const again = { from: anchor.block + 1n, to: range.to };
    return this.#readAgain(place, again, before, endOf(before, top, nonces));
  }

  /** Lower bound of the nonce at the end of a range without its state: requests up to there are missing. */
  #minEnd({ to }: LogRange, nonces: readonly bigint[]): bigint | undefined {
    if (this.#open === undefined || to < this.#open.block) return undefined;
    return nextAfter(nonces, this.#open.next);
  }

  /** Fault of an endpoint that omitted requests: the next endpoint is used. */
  #rejectIncomplete(place: FaultPlace, range: LogRange, missing: MissingRequests, end: bigint): Verdict {
    const fields = fieldsOf(range, missing);
    if (this.#isGivenUp(fields, missing)) return givenUp(range, end);
    this.#context.reportFault(
      place.endpointHost,
      "endpoint_logs_incomplete",
      fields,
    );
    return refused(place, range, missing);
  }

  /** Records that an unverifiable answer omitted requests: the next read begins there. */
  #readAgain(place: FaultPlace, range: LogRange, missing: MissingRequests, end: bigint): Verdict {
    const fields = fieldsOf(range, missing);
    if (this.#isGivenUp(fields, missing)) return givenUp(range, end);
    if (this.#open === undefined) {
      this.#context.at.log.warn(
        "host_logs_reread",
        fields,
      );
    }
    this.#open = { block: range.to, next: missing.to + 1n };
    return refused(place, range, missing);
  }

  /** True when no endpoint has returned these requests for long. */
  #isGivenUp(fields: LogFields, missing: MissingRequests): boolean {
    const { at } = this.#context;
    const nowMs = at.clock.now();
    const known = this.#gaps.get(missing.from) ?? [];
    const grown = known.some(({ to }) => to >= missing.to)
      ? known
      : [...known, { to: missing.to, sinceMs: nowMs }];
    this.#gaps.set(missing.from, grown);
    dropOldest(this.#gaps, KNOWN_GAPS);
    const sinceMs = grown.find(({ to }) => to >= missing.to)?.sinceMs ?? nowMs;
    if (nowMs - sinceMs < GIVE_UP_AFTER_MS) return false;
    at.log.warn(
      "requests_missing",
      fields,
    );
    return true;
  }

  #accept({ from, to }: LogRange, { first, end, found, progress }: Seen): Progress {
    if (end !== undefined) return { anchor: { block: to, next: end }, seen: new Map(), unreadable: 0, to };
    const lowest = lowestOf(found.blocks.keys());
    const next = first ?? lowest;
    // Requests below a nonce that was read, or below the first request ever seen, are not missing.
    const isNew = first !== undefined || progress.anchor === undefined;
    const anchor = isNew && next !== undefined ? { block: from - 1n, next } : progress.anchor;
    const seen = new Map([...isNew ? [] : progress.seen, ...found.blocks]);
    const unreadable = (isNew ? 0 : progress.unreadable) + found.unreadable;
    return advanced({ anchor, seen, unreadable, to });
  }

  /** Adds the nonce at the end of the block before `from`. */
  #nonceBefore(batch: RpcBatch, from: bigint): () => bigint | undefined {
    return from === 0n ? () => 0n : this.#nonceAt(batch, from - 1n);
  }

  /** Adds the host's nonce at the end of a block; `undefined`: no endpoint keeps its state. */
  #nonceAt(batch: RpcBatch, height: bigint): () => bigint | undefined {
    if (this.#isUnreadable(height)) return () => undefined;
    const slot = batch.addOptional(nonceQuery(this.#context, height));
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
}

/** Requests of a range. Some endpoints repeat a log. */
function requestsIn(logs: readonly Log[], decode: DecodeLog): Found {
  const blocks = new Map<bigint, bigint>();
  const unreadable = new Set<string>();
  for (const log of logs) {
    if (!isRequest(log)) continue;
    const decoded = decode(log);
    const isMessage = decoded.kind === "event" &&
      (decoded.event.tag === "PostRequestEvent" || decoded.event.tag === "GetRequestEvent");
    if (isMessage) blocks.set(decoded.event.value.message.request.nonce, log.blockNumber);
    else if (decoded.kind === "undecodable") unreadable.add(`${log.blockNumber} ${log.logIndex}`);
  }
  return { blocks, unreadable: unreadable.size };
}

/** Advances the anchor to the block of the newest request, if everything before it was seen. */
function advanced(progress: Progress): Progress {
  const { seen } = progress;
  const newest = [...seen.values()].reduce((most, block) => block > most ? block : most, 0n);
  const ofNewest = new Map([...seen].filter(([, block]) => block === newest));
  const next = lowestOf(ofNewest.keys());
  if (next === undefined) return progress;
  return { ...progress, anchor: { block: newest - 1n, next }, seen: ofNewest, unreadable: 0 };
}

function lowestOf(nonces: Iterable<bigint>): bigint | undefined {
  let lowest: bigint | undefined;
  for (const nonce of nonces) if (lowest === undefined || nonce < lowest) lowest = nonce;
  return lowest;
}

function fieldsOf(range: LogRange, missing: MissingRequests): LogFields {
  return {
    from_block: range.from,
    to_block: range.to,
    requests: missing.count,
    first_nonce: missing.from,
    last_nonce: missing.to,
  };
}

function refused(place: FaultPlace, { from, to }: LogRange, { count }: MissingRequests): Verdict {
  const detail = `${count} requests are missing in the logs of blocks ${from} to ${to}`;
  return { kind: "refused", fault: faultAt("lagging", place, detail) };
}

/** Gives up: the leg continues after the range as if nothing were missing. */
function givenUp({ to }: LogRange, next: bigint): Verdict {
  const anchor = { block: to, next };
  return { kind: "given_up", progress: { anchor, seen: new Map(), unreadable: 0, to } };
}

/** The host's next nonce after a range as far as it is known. */
function endOf(missing: MissingRequests, end: bigint | undefined, nonces: readonly bigint[]): bigint {
  return end ?? nextAfter(nonces, missing.to + 1n);
}

function nextAfter(nonces: readonly bigint[], least: bigint): bigint {
  return nonces.reduce((most, nonce) => nonce >= most ? nonce + 1n : most, least);
}

function isRequest({ topics: [topic] }: Log): boolean {
  const name = topic?.toLowerCase();
  return name === hostEventTopics.PostRequestEvent || name === hostEventTopics.GetRequestEvent;
}

/** Query of the host's next nonce at a block; `undefined` before the host was deployed. */
function nonceQuery({ at: { host } }: EvmContext, height: bigint): Query<bigint | undefined> {
  const { call, read } = contractReadAt(height, host, hostReads.nonce);
  return {
    call,
    read: (result) => {
      try {
        return read(result);
      } catch (error) {
        if (error instanceof HostReadError || error instanceof SchemaError) return undefined;
        throw error;
      }
    },
  };
}
