/**
 * Logs of one contract in a range of blocks, complete and in order, whatever limits the endpoints have.
 */
import { type FaultPlace, resultOf, RpcFault, type RpcFaultCode } from "../../rpc/call.ts";
import type { Objection, RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Log as TelemetryLog } from "../../telemetry/log.ts";
import { lowest } from "./gas.ts";
import { blockNumber, logs } from "./queries.ts";
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

  async #fetchRange(
    wanted: AskedLogs,
    conditions: ReadConditions,
  ): Promise<readonly Log[] | "too_wide"> {
    const slow = new Set<string>();
    const onFault = ({ code }: RpcFault, host: string): void => {
      if (isTooWide(code)) this.#narrow(host, wanted);
      else if (code === "timeout") slow.add(host);
    };
    try {
      const found = await this.#send(wanted, conditions, onFault);
      await this.#narrowSlow(slow, wanted, conditions.signal);
      return found;
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      const isNarrowed = await this.#narrowSlow(slow, wanted, conditions.signal);
      if (wanted.from < wanted.to && (isNarrowed || isTooWide(fault.code))) return "too_wide";
      throw fault;
    }
  }

  /** Sends one batch to the first endpoint that can answer it. */
  async #send(
    wanted: AskedLogs,
    { signal, guard }: ReadConditions,
    onFault: (fault: RpcFault, host: string) => void,
  ): Promise<readonly Log[]> {
    const { from, to } = wanted;
    const batch = new RpcBatch(this.options.endpoints);
    // Read first: when the head is at `to`, the logs that follow are those of all blocks.
    const head = batch.add(blockNumber);
    const answer = batch.addOptional(logs(wanted));
    const judge = guard?.(batch, { from, to });
    let tooWide: RpcFault | undefined;
    const check = (place: FaultPlace): Objection => {
      if (head() < to) return faultAt("lagging", place, `head ${head()} is below ${to}`);
      const found = answer();
      if (!(found instanceof RpcFault)) return judge?.(place, inOrder(found), head());
      if (!isTooWide(found.code) || from < to) return found;
      // What is too much of one block for an endpoint need not be for the next one.
      tooWide = found;
      return faultAt("refused", place, found.message);
    };
    try {
      await batch.send({ signal, check, onFault });
    } catch (fault) {
      throw fault instanceof RpcFault && fault.code === "refused" ? tooWide ?? fault : fault;
    }
    const found = inOrder(resultOf(answer()));
    this.#widths.noteSuccess(batch.host, to - from + 1n);
    return found;
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
  try {
    await callOne(endpoint, blockNumber, { signal, timeoutMs: ALIVE_TIMEOUT_MS });
    return true;
  } catch (fault) {
    if (fault instanceof RpcFault) return false;
    throw fault;
  }
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
