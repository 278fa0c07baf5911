/**
 * Detects when logs lack requests of the host, as those of lagging indexes and of inconsistent nodes behind one URL do: a
 * host numbers its requests without gaps, posts and gets together, and its nonce at both ends of a range gives their
 * number. Such an answer is a fault of its endpoint, and the next one is asked. Where an endpoint does not keep the state
 * of an end any longer, the nonces in the logs must follow each other. Start reading at {@link RequestGaps.guard}. Source:
 * polytope-labs/hyperbridge: evm/src/core/EvmHost.sol (`_nextNonce`).
 */
import { hostReads } from "../../evm/host_reads.ts";
import { hostEventTopics } from "../../evm/host_abi.ts";
import { decodeHostLog, type HostLog } from "../../evm/host_events.ts";
import { type FaultPlace, RpcFault } from "../../rpc/call.ts";
import { dropOldest, mapInSlices } from "../../runtime/slices.ts";
import { EvmPart } from "./evm_context.ts";
import type { Log, LogRange } from "./rpc_schemas.ts";
import type { BatchGuard } from "./log_reader.ts";
import { contractReadAt, readable } from "./queries.ts";
import { faultAt, type RpcBatch } from "./rpc_batch.ts";

/** Requests decoded at once, about 5 ms. */
export const LOGS_AT_ONCE = 50;

/** Requests that no endpoint returns are given up when the first of them has been missing for this time. */
const GIVE_UP_AFTER_MS = 30 * 60_000;
/** Newest blocks whose states every node keeps (Geth 128, Nethermind 64 or more). */
const KEPT_STATES = 64n;
/** Maximum number of remembered gaps: a lagging index shows another one at every poll. */
const KNOWN_GAPS = 256;

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
  /** Since when the first request of a gap is missing, Unix milliseconds, by its nonce. */
  readonly #missingSinceMs = new Map<bigint, number>();
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
      for (const nonce of facts.nonces) this.#missingSinceMs.delete(nonce);
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
    if (this.#isGivenUp(missing)) {
      this.context.at.log.warn("messages_skipped.not_served", fields);
      return undefined;
    }
    this.context.reportFault(place.endpointHost, "endpoint_data_invalid.logs", fields);
    const detail = `${missing.count} requests are missing in the logs of blocks ${from} to ${to}`;
    return faultAt("lagging", place, detail);
  }

  /** True when no endpoint has returned the first of these requests for long. */
  #isGivenUp({ from }: MissingRequests): boolean {
    const nowMs = this.context.at.clock.now();
    const sinceMs = this.#missingSinceMs.get(from) ?? nowMs;
    this.#missingSinceMs.set(from, sinceMs);
    dropOldest(this.#missingSinceMs, KNOWN_GAPS);
    return nowMs - sinceMs >= GIVE_UP_AFTER_MS;
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
