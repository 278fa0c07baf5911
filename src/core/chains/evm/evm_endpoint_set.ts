/**
 * Endpoint set of an EVM chain: errors translated, the chain id of each endpoint checked, contract reads bundled.
 */
import * as z from "zod";
import type { EndpointUrl } from "../../config/redact.ts";
import { isHexBytes } from "../../encoding/bytes.ts";
import { type BundledRead, decodeBundleResult, encodeBundle } from "../../evm/call_bundle.ts";
import { evmChainId, type StateMachine } from "../../ismp/state_machine.ts";
import type { CallConditions, RpcAnswer, RpcCall, RpcEndpoint } from "../../rpc/call.ts";
import { BLOCK_FAULTS, RpcFault } from "../../rpc/call.ts";
import { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import { translateEvmError } from "../../rpc/evm_errors.ts";
import { createHttpEndpoint } from "../../rpc/http.ts";
import { type Fetch } from "../../rpc/http_exchange.ts";
import { isJsonObject, type Json } from "../../rpc/json.ts";
import { type Merging, MergingEndpoint } from "../../rpc/merging_endpoint.ts";
import { observeEndpoint, type RpcObserver } from "../../rpc/observed_endpoint.ts";
import type { Clock, Randomness } from "../../runtime/clock.ts";
import { partsOf } from "../../runtime/slices.ts";
import type { Log } from "../../telemetry/log.ts";
import { chainId } from "./queries.ts";

/** Dependencies of an endpoint set. */
export interface EvmEndpointSetDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Notified of every request; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  /** Names endpoints that do not run bundles of reads; absent: nobody is told. */
  readonly log?: Log | undefined;
}

/** Options of an endpoint set. */
export interface EvmEndpointSetOptions {
  /** `EVM-<chain id>`: the chain id of every endpoint is checked along with its first request. */
  readonly stateMachine: StateMachine;
  /** In order of preference, at least one. */
  readonly urls: readonly EndpointUrl[];
  /** Maximum number of concurrent HTTP requests to one endpoint; the default of the endpoint set if absent. */
  readonly maxConcurrent?: number | undefined;
  /** Several callers share the set, and what they ask at the same time is sent together; absent: it is not. */
  readonly merging?: Merging | undefined;
}

/** Creates an endpoint set that sends nothing before its first use. @throws {RangeError} without URLs. */
export function createEvmEndpointSet(
  deps: EvmEndpointSetDeps,
  options: EvmEndpointSetOptions,
): RpcEndpointSet {
  const chain = options.stateMachine;
  const number = BigInt(evmChainId(chain));
  const onRefused = (endpoint: string): void =>
    deps.log?.info("call_bundles_unavailable", { chain, endpoint });
  const endpoints = options.urls.map((url) => {
    const http = createHttpEndpoint(deps, { url: url.reveal(), chain, translate: translateEvmError });
    const { clock } = deps;
    const bundling = new JoiningEndpoint(
      { clock, onRefused, join: bundleReads },
      observeEndpoint(deps, chain, http),
    );
    if (options.merging === undefined) return bundling;
    const joining = new JoiningEndpoint({ clock, join: joinLogQueries }, bundling);
    return new MergingEndpoint(clock, joining, options.merging);
  });
  const isExpected = (result: Json): boolean =>
    typeof result === "string" && /^0x[0-9a-f]+$/i.test(result) && BigInt(result) === number;
  return new RpcEndpointSet(deps, {
    chain,
    endpoints,
    maxConcurrent: options.maxConcurrent,
    identity: { call: chainId.call, isExpected },
  });
}

/**
 * Reads of one bundle. A hundred receipts take about 3 million gas with what the code costs, less than any node allows
 * a call, and answer with 4 KB.
 */
const MAX_READS = 100;
/** Longer data is asked by itself, bytes: at {@link MAX_READS} of them a bundle would reach a contract's largest size. */
const MAX_DATA_BYTES = 200;

/** A read and its place among the calls of a request. */
interface PlacedRead extends BundledRead {
  readonly index: number;
}

/** Bundles the contract reads among the calls, at least two at one block together. */
export function bundleReads(calls: readonly RpcCall[]): readonly JoinedCall[] {
  const byTag = new Map<string, PlacedRead[]>();
  calls.forEach((call, index) => {
    const found = toRead(call);
    if (found === undefined) return;
    const reads = byTag.get(found.tag) ?? [];
    byTag.set(found.tag, reads);
    reads.push({ ...found.read, index });
  });
  return [...byTag].flatMap(([tag, reads]) =>
    partsOf(reads, MAX_READS).filter((part) => part.length > 1).map((part) => ({
      call: { method: "eth_call", params: [{ data: encodeBundle(part) }, tag] },
      indexes: part.map(({ index }) => index),
      split: (result) => decodeBundleResult(isHexBytes(result) ? result : "0x", part.length),
    }))
  );
}

/** The read that a call is, with its block; `undefined` for a call that cannot be in a bundle. */
function toRead(
  { method, params }: RpcCall,
): { readonly read: BundledRead; readonly tag: string } | undefined {
  const [call, tag, ...others] = params;
  if (method !== "eth_call" || others.length > 0 || typeof tag !== "string" || !isJsonObject(call)) {
    return undefined;
  }
  const { to, data, ...rest } = call;
  if (!isHexBytes(to) || !isHexBytes(data) || data.length > 2 + 2 * MAX_DATA_BYTES) return undefined;
  return Object.keys(rest).length === 0 ? { read: { to, data }, tag } : undefined;
}

/** Contracts of one query; nodes and providers take more. */
const MAX_CONTRACTS = 50;

/** A query of one contract, and its place among the calls of a request. */
interface PlacedQuery {
  readonly index: number;
  /** Lower case. */
  readonly address: string;
  /** Alternatives for the first topic, lower case. */
  readonly topics: readonly string[];
}

const queryParams = z.tuple([
  z.strictObject({
    address: z.string(),
    fromBlock: z.string(),
    toBlock: z.string(),
    topics: z.tuple([z.array(z.string()).min(1)]),
  }),
]);

/** Joins the queries among the calls that are about the same blocks, at least two together. */
export function joinLogQueries(calls: readonly RpcCall[]): readonly JoinedCall[] {
  const byRange = new Map<string, { from: string; to: string; queries: PlacedQuery[] }>();
  calls.forEach(({ method, params }, index) => {
    const parsed = method === "eth_getLogs" ? queryParams.safeParse(params) : undefined;
    if (parsed?.success !== true) return;
    const [{ address, fromBlock: from, toBlock: to, topics: [topics] }] = parsed.data;
    const known = byRange.get(`${from} ${to}`) ?? { from, to, queries: [] };
    known.queries.push({
      index,
      address: address.toLowerCase(),
      topics: topics.map((topic) => topic.toLowerCase()),
    });
    byRange.set(`${from} ${to}`, known);
  });
  return [...byRange.values()].flatMap(({ from, to, queries }) =>
    partsOf(queries, MAX_CONTRACTS).filter((part) => part.length > 1).map((part) => ({
      indexes: part.map(({ index }) => index),
      split: (result) => shareLogs(result, part),
      call: {
        method: "eth_getLogs",
        params: [{
          address: [...new Set(part.map(({ address }) => address))],
          fromBlock: from,
          toBlock: to,
          topics: [[...new Set(part.flatMap(({ topics }) => topics))]],
        }],
      },
    }))
  );
}

/** The logs of each query; `undefined` when one cannot be assigned to a query. */
function shareLogs(result: Json, queries: readonly PlacedQuery[]): readonly Json[] | undefined {
  const logs = readLogs(result);
  return logs &&
    queries.map(({ address, topics }) =>
      logs.filter((log) => log.address === address && topics.includes(log.topic)).map(({ json }) => json)
    );
}

interface SortableLog {
  readonly address: string;
  readonly topic: string;
  readonly json: Json;
}

const logShape = z.object({ address: z.string(), topics: z.tuple([z.string()], z.unknown()) });

/** The logs of an answer; `undefined` when one cannot be told to belong to a query. */
function readLogs(result: Json): readonly SortableLog[] | undefined {
  if (!Array.isArray(result)) return undefined;
  const logs: SortableLog[] = [];
  for (const json of result) {
    const parsed = logShape.safeParse(json);
    if (!parsed.success) return undefined;
    const { address, topics: [topic] } = parsed.data;
    logs.push({ address: address.toLowerCase(), topic: topic.toLowerCase(), json });
  }
  return logs;
}

/** An endpoint that did not run a joined call is tried again after this time; providers change nodes. */
const REFUSED_TTL_MS = 10 * 60_000;

/** A call in the place of several. */
interface JoinedCall {
  readonly call: RpcCall;
  /** Places of those calls in their request. */
  readonly indexes: readonly number[];
  /** Results of those calls, in their order, each `undefined` where it does not follow; `undefined`: the call was not run. */
  readonly split: (result: Json) => readonly (Json | undefined)[] | undefined;
}

/** How calls are joined. */
interface Joining {
  readonly clock: Pick<Clock, "now">;
  readonly join: (calls: readonly RpcCall[]) => readonly JoinedCall[];
  /** Called when the endpoint turns out not to run joined calls; default: nothing. */
  readonly onRefused?: ((endpointHost: string) => void) | undefined;
}

/** See the head of the file. */
export class JoiningEndpoint implements RpcEndpoint {
  readonly #joining: Joining;
  readonly #endpoint: RpcEndpoint;
  #refusedUntilMs = 0;

  constructor(joining: Joining, endpoint: RpcEndpoint) {
    this.#joining = joining;
    this.#endpoint = endpoint;
  }

  get host(): string {
    return this.#endpoint.host;
  }

  /** As {@link RpcEndpoint.send}: one request, and another one for calls that were not answered together. */
  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const isRefused = this.#joining.clock.now() < this.#refusedUntilMs;
    const joined = isRefused ? [] : this.#joining.join(calls);
    if (joined.length === 0) return await this.#endpoint.send(calls, conditions);
    const inJoined = new Set(joined.flatMap(({ indexes }) => indexes));
    const plain = calls.flatMap((_, index) => inJoined.has(index) ? [] : [index]);
    let sent: readonly RpcAnswer[];
    try {
      // Joined calls come last: a caller that also asks for the head relies on the head being read first.
      sent = await this.#endpoint.send(
        [...callsAt(calls, plain), ...joined.map(({ call }) => call)],
        conditions,
      );
    } catch (fault) {
      const mayBeJoined = fault instanceof RpcFault && ["refused", "missing_method"].includes(fault.code);
      if (!mayBeJoined) throw fault;
      const answers = await this.#endpoint.send(calls, conditions);
      this.#noteRefused();
      return answers;
    }
    const answers = new Map<number, RpcAnswer | undefined>(plain.map((index, place) => [index, sent[place]]));
    const unrun = new Set(joined.flatMap((each, place) => share(answers, each, sent[plain.length + place])));
    const open = calls.flatMap((_, index) => answers.has(index) ? [] : [index]);
    if (open.length > 0) {
      const single = await this.#endpoint.send(callsAt(calls, open), conditions);
      open.forEach((index, place) => answers.set(index, single[place]));
      if (open.some((index) => unrun.has(index) && answers.get(index)?.kind === "result")) {
        this.#noteRefused();
      }
    }
    return calls.map((_, index) => {
      const answer = answers.get(index);
      if (answer === undefined) throw new Error("Call without an answer");
      return answer;
    });
  }

  #noteRefused(): void {
    this.#refusedUntilMs = this.#joining.clock.now() + REFUSED_TTL_MS;
    this.#joining.onRefused?.(this.host);
  }
}

/** Gives each call its own answer, as far as it follows. Returns the calls of one that was not run. */
function share(
  answers: Map<number, RpcAnswer | undefined>,
  { indexes, split }: JoinedCall,
  answer: RpcAnswer | undefined,
): readonly number[] {
  if (answer?.kind === "fault" && BLOCK_FAULTS.has(answer.fault.code)) {
    for (const index of indexes) answers.set(index, answer);
    return [];
  }
  const results = answer?.kind === "result" ? split(answer.result) : undefined;
  indexes.forEach((index, place) => {
    const result = results?.[place];
    if (result !== undefined) answers.set(index, { kind: "result", result });
  });
  return results === undefined ? indexes : [];
}

function callsAt(calls: readonly RpcCall[], indexes: readonly number[]): readonly RpcCall[] {
  return indexes.flatMap((index) => calls[index] ?? []);
}
