/**
 * Logs of one contract in a range of blocks, complete and in order, whatever limits the endpoints have.
 */
import { hostEventTopics } from "../../evm/host_abi.ts";
import { decodeHostLog, type HostLog } from "../../evm/host_events.ts";
import { hostReads } from "../../evm/host_reads.ts";
import { type FaultPlace, keepFault, onFault, RpcFault, type RpcFaultCode } from "../../rpc/call.ts";
import type { Objection, RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import { mapInSlices } from "../../runtime/slices.ts";
import type { Log as TelemetryLog } from "../../telemetry/log.ts";
import { EvmPart } from "./evm_context.ts";
import { Sightings } from "../../runtime/refreshed.ts";
import { lowest } from "./gas.ts";
import { blockNumber, contractReadAt, logs, readable } from "./queries.ts";
import { callOne, faultAt, RpcBatch } from "./rpc_batch.ts";
import type { AskedLogs, Log, LogFilter, LogRange } from "./rpc_schemas.ts";

/** An endpoint that does not return its head within this time is down, not busy with a query that is too wide. */
const ALIVE_TIMEOUT_MS = 5_000;

/**
 * Adds queries to the batch for a range. The check that it returns is called when all answers of an endpoint are read,
 * with its logs (none if the batch is about something else) and its newest block; it may reject the endpoint.
 */
export type BatchGuard = (
  batch: RpcBatch,
  range?: LogRange,
) => (place: FaultPlace, found: readonly Log[], head: bigint) => Objection;

/** Options of a {@link LogReader}. */
export interface LogReaderOptions {
  readonly endpoints: RpcEndpointSet;
  readonly log: TelemetryLog;
  /** Maximum number of blocks of one `eth_getLogs`; `undefined`: no limit. */
  readonly blocksPerQuery: bigint | undefined;
}

/** How a range is read. */
interface ReadConditions {
  readonly signal: AbortSignal;
  readonly guard: BatchGuard | undefined;
}

/** Reads logs and remembers the maximum range of each endpoint. */
export class LogReader {
  readonly #widths = new LogWidths();

  constructor(readonly options: LogReaderOptions) {}

  /**
   * Fetches the logs of blocks `from` to `to`, both inclusive, in the order of the chain. One request, more only if a
   * range limit, the answer's size or its time requires it.
   * @throws {RpcFault} `lagging` when no endpoint has reached `to` yet.
   */
  async fetch(
    filter: LogFilter,
    range: LogRange,
    signal: AbortSignal,
    guard?: BatchGuard,
  ): Promise<readonly Log[]> {
    const all: Log[] = [];
    let next = range.from;
    /** Maximum number of blocks of the next query, where the endpoint called first is not the one that required fewer. */
    let most = range.to - range.from + 1n;
    while (next <= range.to) {
      const wanted = { from: next, to: lowest(range.to, next + most - 1n) };
      const last = this.#lastOf(filter, wanted);
      const found = await this.#fetchRange({ ...filter, from: next, to: last }, { signal, guard });
      if (found === "too_wide") {
        if (this.#lastOf(filter, wanted) >= last) most = (last - next + 2n) / 2n;
        continue;
      }
      all.push(...found);
      next = last + 1n;
    }
    return all;
  }

  #lastOf(filter: LogFilter, { from, to }: LogRange): bigint {
    const { endpoints, blocksPerQuery } = this.options;
    const host = endpoints.firstHost([blockNumber.call, logs({ ...filter, from, to }).call]);
    return from + lowest(to - from + 1n, blocksPerQuery, this.#widths.of(host)) - 1n;
  }

  /** Fetches one range from the first endpoint that can answer it. */
  async #fetchRange(
    wanted: AskedLogs,
    { signal, guard }: ReadConditions,
  ): Promise<readonly Log[] | "too_wide"> {
    const { from, to } = wanted;
    const slow = new Set<string>();
    let isNarrowed = false;
    const noteFault = ({ code }: RpcFault, host: string): void => {
      if (code === "timeout") slow.add(host);
      // What is too much of one block for an endpoint need not be for the next one.
      if (!isTooWide(code) || from === to) return;
      this.#narrow(host, wanted);
      isNarrowed = true;
    };
    const batch = new RpcBatch(this.options.endpoints);
    // Read first: when the head is at `to`, the logs that follow are those of all blocks.
    const head = batch.add(blockNumber);
    const answer = batch.add(logs(wanted));
    const judge = guard?.(batch, { from, to });
    const check = (place: FaultPlace): Objection =>
      head() < to
        ? faultAt("lagging", place, `head ${head()} is below ${to}`)
        : judge?.(place, inOrder(answer()), head());
    const fault = await batch.send({ signal, check, onFault: noteFault }).catch(keepFault);
    if (fault !== undefined) {
      isNarrowed = await this.#narrowSlow(slow, wanted, signal) || isNarrowed;
      if (from < to && isNarrowed) return "too_wide";
      throw fault;
    }
    await this.#narrowSlow(slow, wanted, signal);
    this.#widths.noteSuccess(batch.host, to - from + 1n);
    return inOrder(answer());
  }

  /** Narrows the range of endpoints that return their head but no logs in time. True when one was narrowed. */
  async #narrowSlow(hosts: ReadonlySet<string>, range: LogRange, signal: AbortSignal): Promise<boolean> {
    let isNarrowed = false;
    for (const endpoint of hosts.size === 0 ? [] : this.options.endpoints.each()) {
      const [host = ""] = endpoint.hosts;
      if (!hosts.has(host) || !await isAlive(endpoint, signal)) continue;
      this.#narrow(host, range);
      isNarrowed = true;
    }
    return isNarrowed;
  }

  #narrow(host: string, { from, to }: LogRange): void {
    this.#widths.narrow(host, to - from + 1n);
    const span = this.#widths.of(host);
    this.options.log.debug("read_failed.log_range", { endpoint: host, from, to, span });
  }
}

function isTooWide(code: RpcFaultCode): boolean {
  return code === "range_too_wide" || code === "too_large";
}

async function isAlive(endpoint: RpcEndpointSet, signal: AbortSignal): Promise<boolean> {
  return await callOne(endpoint, blockNumber, { signal, timeoutMs: ALIVE_TIMEOUT_MS })
    .then(() => true, onFault(() => false));
}

/** Nodes name logs in the order of the chain, endpoints that join answers need not. */
function inOrder(found: readonly Log[]): readonly Log[] {
  return found.toSorted((a, b) => Number(a.blockNumber - b.blockNumber) || Number(a.logIndex - b.logIndex));
}

/** Consecutive successful queries after which a learned width is doubled again. */
const SUCCESSES_BEFORE_GROWTH = 16;

/**
 * Maximum number of blocks of one `eth_getLogs`, learned per endpoint: plans and nodes differ by factors of a thousand.
 */
class LogWidths {
  readonly #learned = new Map<string, { readonly blocks: bigint; readonly successes: number }>();

  /** Maximum number of blocks of the next query of an endpoint; `undefined`: it has not rejected any yet. */
  of(host: string): bigint | undefined {
    return this.#learned.get(host)?.blocks;
  }

  /** Records that an endpoint rejected `blocks` blocks in one query. */
  narrow(host: string, blocks: bigint): void {
    this.#learned.set(host, { blocks: blocks > 1n ? blocks / 2n : 1n, successes: 0 });
  }

  /** Records that an endpoint answered `blocks` blocks in one query. */
  noteSuccess(host: string, blocks: bigint): void {
    const known = this.#learned.get(host);
    if (known === undefined || blocks < known.blocks) return;
    const successes = known.successes + 1;
    const isEnough = successes >= SUCCESSES_BEFORE_GROWTH;
    this.#learned.set(host, isEnough ? { blocks: known.blocks * 2n, successes: 0 } : { ...known, successes });
  }
}

/** Requests decoded at once, about 5 ms. */
export const LOGS_AT_ONCE = 50;

/** Requests that no endpoint returns are given up when the first of them has been missing for this time. */
const GIVE_UP_AFTER_MS = 30 * 60_000;
/** Newest blocks whose states every node keeps (Geth 128, Nethermind 64 or more). */
const KEPT_STATES = 64n;

/** Requests that are missing in logs. */
export interface MissingRequests {
  readonly count: bigint;
  /** Range of their nonces, both inclusive. */
  readonly from: bigint;
  readonly to: bigint;
}

/** Requests in the logs of a range, and the host's nonces. */
interface RequestFacts {
  /** Nonce of the first request in the range or after it; `undefined`: not known. */
  readonly first: bigint | undefined;
  /** The host's next nonce at the end of the range; `undefined`: not known. */
  readonly end: bigint | undefined;
  readonly nonces: readonly bigint[];
  /** Number of logs that could not be read, each of which stands for one nonce. */
  readonly unreadable: number;
}

/** Finds missing requests; `undefined`: none, as far as can be known. */
export function findMissingRequests(facts: RequestFacts): MissingRequests | undefined {
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

/** Request bookkeeping of one host. */
export class RequestGaps extends EvmPart {
  /** First requests of gaps, by their nonces: a lagging index shows another gap at every poll. */
  readonly #missing = new Sightings(this.context.at.clock);
  readonly #decoded = new WeakMap<Log, HostLog>();

  /** Adds the host's nonces to a batch with logs, and rejects incomplete logs. */
  readonly guard: BatchGuard = (batch, range) => {
    if (range === undefined) return () => undefined;
    const before = range.from === 0n ? () => 0n : this.#addNonce(batch, range.from - 1n);
    const after = this.#addNonce(batch, range.to);
    return async (place, logs, head) => {
      const [first, end] = [before(), after()];
      // Nothing is pruned yet: of several nodes behind one URL one has not reached the block, perhaps that of the logs.
      if (first instanceof RpcFault && head - range.from < KEPT_STATES) return first;
      if (end instanceof RpcFault && head - range.to < KEPT_STATES) return end;
      const requests = logs.filter(isRequest);
      await mapInSlices(requests, LOGS_AT_ONCE, (log) => this.decode(log));
      return this.#judge(place, range, { first: known(first), end: known(end), ...this.#count(requests) });
    };
  };

  /** Decodes a log, each only once: {@link guard} has decoded those of requests to count them. */
  decode(log: Log): HostLog {
    const found = this.#decoded.get(log) ?? decodeHostLog(log, this.context.at.host);
    this.#decoded.set(log, found);
    return found;
  }

  /** Fault of an answer that lacks requests; `undefined`: it is complete, or what it lacks is given up. */
  #judge(
    place: FaultPlace,
    range: LogRange,
    facts: RequestFacts,
  ): RpcFault | undefined {
    const missing = findMissingRequests(facts);
    if (missing === undefined) {
      for (const nonce of facts.nonces) this.#missing.forget(String(nonce));
      return undefined;
    }
    const { from, to } = range;
    const fields = {
      from_block: from,
      to_block: to,
      requests: missing.count,
      first_nonce: missing.from,
      last_nonce: missing.to,
    };
    if (this.#missing.ageMs(String(missing.from)) >= GIVE_UP_AFTER_MS) {
      this.context.at.log.warn("messages_skipped.not_served", fields);
      return undefined;
    }
    this.context.at.log.warn("endpoint_data_invalid.logs", { endpoint: place.endpointHost, ...fields });
    const detail = `${missing.count} requests are missing in the logs of blocks ${from} to ${to}`;
    return faultAt("lagging", place, detail);
  }

  /** Adds the host's nonce at the end of a block; `undefined`: there is no host yet. */
  #addNonce(batch: RpcBatch, height: bigint): () => bigint | RpcFault | undefined {
    return batch.addOptional(readable(contractReadAt(height, this.context.at.host, hostReads.nonce)));
  }

  /** What the logs of requests hold. Some endpoints repeat a log. */
  #count(logs: readonly Log[]): Pick<RequestFacts, "nonces" | "unreadable"> {
    const nonces = new Set<bigint>();
    const unreadable = new Set<string>();
    for (const log of logs) {
      const decoded = this.decode(log);
      if (decoded.kind === "undecodable") unreadable.add(`${log.blockNumber} ${log.logIndex}`);
      if (decoded.kind !== "event") continue;
      if (decoded.event.kind === "message") nonces.add(decoded.event.message.request.nonce);
    }
    return { nonces: [...nonces], unreadable: unreadable.size };
  }
}

function isRequest({ topics: [topic] }: Log): boolean {
  return topic === hostEventTopics.PostRequestEvent || topic === hostEventTopics.GetRequestEvent;
}

/** The nonce, where the endpoint keeps the state. */
function known(nonce: bigint | RpcFault | undefined): bigint | undefined {
  return nonce instanceof RpcFault ? undefined : nonce;
}

/** The number after the highest one. */
function nextAfter(sorted: readonly bigint[]): bigint | undefined {
  const last = sorted.at(-1);
  return last === undefined ? undefined : last + 1n;
}
