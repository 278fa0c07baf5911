/**
 * Events of the host over a range of blocks, complete and in order, whatever limits the endpoints have.
 */
import { fromHex } from "../../protocol/bytes.ts";
import { hostEventTopics } from "../../protocol/evm/host_abi.ts";
import { decodeHostLog, type HostEvent } from "../../protocol/evm/host_events.ts";
import { type FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type { ChainEvent, EventPosition } from "../chain.ts";
import type { EvmContext } from "./evm_context.ts";
import { blockNumber, logs } from "./queries.ts";
import { faultAt, Question } from "./question.ts";
import type { Log } from "./shape.ts";

/** The events that anybody consumes (protocol notes 04, section 6.3). */
const topics = [
  hostEventTopics.PostRequestEvent,
  hostEventTopics.GetRequestEvent,
  hostEventTopics.RequestFunded,
  hostEventTopics.PostRequestHandled,
  hostEventTopics.GetRequestHandled,
  hostEventTopics.PostRequestTimeoutHandled,
  hostEventTopics.GetRequestTimeoutHandled,
  hostEventTopics.StateMachineUpdated,
  hostEventTopics.StateCommitmentVetoed,
  hostEventTopics.NewEpoch,
];

/** Queries in a row without complaint after which a learned span is doubled again. */
const SUCCESSES_BEFORE_GROWTH = 16;

/** Reads the events of one host and remembers how wide a range its endpoints allow. */
export class EventReader {
  readonly #context: EvmContext;
  /** Most blocks of one query, as learned; `undefined`: nobody complained yet. */
  #span: bigint | undefined;
  #successes = 0;

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /** One request, more only where a range limit or the answer's size demands it. */
  async fetch(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]> {
    const events: ChainEvent[] = [];
    let next = from;
    while (next <= to) {
      const last = this.#lastOf(next, to);
      const found = await this.#fetchRange(next, last, signal);
      if (found === "too_wide") continue;
      events.push(...found);
      next = last + 1n;
    }
    return events;
  }

  #lastOf(from: bigint, to: bigint): bigint {
    let width = to - from + 1n;
    for (const most of [this.#context.at.blocksPerEventQuery, this.#span]) {
      if (most !== undefined && most < width) width = most;
    }
    return from + width - 1n;
  }

  async #fetchRange(
    from: bigint,
    to: bigint,
    signal: AbortSignal,
  ): Promise<readonly ChainEvent[] | "too_wide"> {
    const { pool, host } = this.#context.at;
    const question = new Question(pool);
    // Asked first: when the head is at `to` by then, the logs that follow are those of all blocks.
    const head = question.add(blockNumber);
    const found = question.add(logs({ address: host, topics, from, to }));
    const check = (place: FaultPlace): RpcFault | undefined =>
      head() < to ? faultAt("lagging", place, `head ${head()} is below ${to}`) : undefined;
    try {
      await question.ask({ signal, check });
    } catch (fault) {
      const isTooWide = fault instanceof RpcFault && ["range_too_wide", "too_large"].includes(fault.code);
      if (!isTooWide || from === to) throw fault;
      this.#span = (to - from + 1n) / 2n;
      this.#successes = 0;
      this.#context.at.log.debug("Event range is too wide; it is halved", { from, to, span: this.#span });
      return "too_wide";
    }
    this.#noteSuccess(to - from + 1n);
    return this.#decode(found());
  }

  #noteSuccess(width: bigint): void {
    if (this.#span === undefined || width < this.#span || ++this.#successes < SUCCESSES_BEFORE_GROWTH) return;
    this.#span *= 2n;
    this.#successes = 0;
  }

  #decode(found: readonly Log[]): readonly ChainEvent[] {
    const { host, log } = this.#context.at;
    const events: ChainEvent[] = [];
    for (const entry of found.filter(({ removed }) => removed !== true).sort(byPlace)) {
      const decoded = decodeHostLog(entry, host);
      const at: EventPosition = { height: entry.blockNumber, transaction: entry.transactionHash };
      if (decoded.kind === "undecodable") {
        log.warn("A log of the host cannot be read and is skipped", { ...at, error: decoded.error });
      }
      const event = decoded.kind === "event" ? toChainEvent(decoded.event, at) : undefined;
      if (event !== undefined) events.push(event);
    }
    return events;
  }
}

function byPlace(a: Log, b: Log): number {
  const difference = a.blockNumber === b.blockNumber
    ? a.logIndex - b.logIndex
    : a.blockNumber - b.blockNumber;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The event as the programs see it; `undefined` for administration. */
function toChainEvent(event: HostEvent, at: EventPosition): ChainEvent | undefined {
  switch (event.tag) {
    case "PostRequestEvent":
    case "GetRequestEvent":
      return { kind: "message", message: event.value.message, at };
    case "PostRequestHandled":
    case "GetRequestHandled": {
      const { commitment, relayer } = event.value;
      const of = event.tag === "PostRequestHandled" ? "post" : "get";
      return { kind: "handled", of, commitment, relayer: fromHex(relayer), at };
    }
    case "PostRequestTimeoutHandled":
      return { kind: "timeoutHandled", of: "post", commitment: event.value.commitment, at };
    case "GetRequestTimeoutHandled":
      return { kind: "timeoutHandled", of: "get", commitment: event.value.commitment, at };
    case "RequestFunded":
      return { kind: "funded", commitment: event.value.commitment, fee: event.value.newFee, at };
    case "StateMachineUpdated": {
      const { stateMachine, height } = event.value;
      return { kind: "updated", stateMachine, id: undefined, height, at };
    }
    case "StateCommitmentVetoed":
      return { kind: "vetoed", stateMachine: event.value.stateMachine, height: event.value.height, at };
    case "NewEpoch": {
      const { authoritySetId, relayer } = event.value;
      return { kind: "newEpoch", setId: authoritySetId, relayer: fromHex(relayer), at };
    }
    case "HostFrozen":
    case "HostWithdrawal":
    case "HostParamsUpdated":
      return undefined;
  }
}
