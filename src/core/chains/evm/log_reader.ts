/**
 * Logs of one contract over a range of blocks, complete and in order, whatever limits the endpoints have.
 */
import type { Hex } from "../../protocol/bytes.ts";
import type { Address } from "../../protocol/evm/address.ts";
import { type FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type { RpcPool } from "../../rpc/pool.ts";
import type { Log as TelemetryLog } from "../../telemetry/log.ts";
import { blockNumber, logs } from "./queries.ts";
import { faultAt, Question } from "./question.ts";
import type { Log } from "./shape.ts";

/** Queries in a row without complaint after which a learned span is doubled again. */
const SUCCESSES_BEFORE_GROWTH = 16;

/** Which logs are wanted. */
export interface LogFilter {
  readonly address: Address;
  /** One of these stands first. */
  readonly topics: readonly Hex[];
}

/** Adds queries to a question; what it returns is called when all answers are read and may refuse the endpoint. */
export type QuestionGuard = (question: Question) => (place: FaultPlace) => RpcFault | undefined;

/** What a {@link LogReader} is made of. */
export interface LogReaderOptions {
  readonly pool: RpcPool;
  readonly log: TelemetryLog;
  /** Most blocks of one `eth_getLogs`; `undefined`: no bound. */
  readonly blocksPerQuery: bigint | undefined;
}

/** Reads logs and remembers how wide a range the endpoints allow. */
export class LogReader {
  readonly #options: LogReaderOptions;
  /** Most blocks of one query, as learned; `undefined`: nobody complained yet. */
  #span: bigint | undefined;
  #successes = 0;

  constructor(options: LogReaderOptions) {
    this.#options = options;
  }

  /**
   * Logs of blocks `from` to `to`, both inclusive, in the order of the chain. One request, more only where a range
   * limit or the answer's size demands it.
   * @throws {RpcFault} `lagging` when no endpoint has reached `to` yet.
   */
  async fetch(
    filter: LogFilter,
    range: { readonly from: bigint; readonly to: bigint },
    signal: AbortSignal,
    guard?: QuestionGuard,
  ): Promise<readonly Log[]> {
    const all: Log[] = [];
    let next = range.from;
    while (next <= range.to) {
      const last = this.#lastOf(next, range.to);
      const found = await this.#fetchRange({ ...filter, from: next, to: last }, signal, guard);
      if (found === "too_wide") continue;
      all.push(...found.filter(({ removed }) => removed !== true).sort(byPlace));
      next = last + 1n;
    }
    return all;
  }

  #lastOf(from: bigint, to: bigint): bigint {
    let width = to - from + 1n;
    for (const most of [this.#options.blocksPerQuery, this.#span]) {
      if (most !== undefined && most < width) width = most;
    }
    return from + width - 1n;
  }

  async #fetchRange(
    wanted: LogFilter & { readonly from: bigint; readonly to: bigint },
    signal: AbortSignal,
    guard: QuestionGuard | undefined,
  ): Promise<readonly Log[] | "too_wide"> {
    const { from, to } = wanted;
    const question = new Question(this.#options.pool);
    // Asked first: when the head is at `to` by then, the logs that follow are those of all blocks.
    const head = question.add(blockNumber);
    const found = question.add(logs(wanted));
    const object = guard?.(question);
    const check = (place: FaultPlace): RpcFault | undefined =>
      head() < to ? faultAt("lagging", place, `head ${head()} is below ${to}`) : object?.(place);
    try {
      await question.ask({ signal, check });
    } catch (fault) {
      const isTooWide = fault instanceof RpcFault && ["range_too_wide", "too_large"].includes(fault.code);
      if (!isTooWide || from === to) throw fault;
      this.#span = (to - from + 1n) / 2n;
      this.#successes = 0;
      this.#options.log.debug("Event range is too wide; it is halved", { from, to, span: this.#span });
      return "too_wide";
    }
    this.#noteSuccess(to - from + 1n);
    return found();
  }

  #noteSuccess(width: bigint): void {
    if (this.#span === undefined || width < this.#span || ++this.#successes < SUCCESSES_BEFORE_GROWTH) return;
    this.#span *= 2n;
    this.#successes = 0;
  }
}

function byPlace(a: Log, b: Log): number {
  const difference = a.blockNumber === b.blockNumber
    ? a.logIndex - b.logIndex
    : a.blockNumber - b.blockNumber;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
