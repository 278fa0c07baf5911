/**
 * Endpoint that makes one `eth_getLogs` of those of a request that are about the same blocks, whatever their contracts:
 * several callers' requests were merged, and providers bill calls. Each has its own answer. One that fails together with
 * others is asked by itself, so that its fault is what the node says of it.
 */
import * as z from "zod";
import type { CallConditions, RpcAnswer, RpcCall, RpcEndpoint } from "../../rpc/call.ts";
import { BLOCK_FAULTS } from "../../rpc/fault.ts";
import type { Json } from "../../rpc/json.ts";
import type { Clock } from "../../runtime/clock.ts";
import { partsOf } from "../../runtime/parts.ts";

/** Contracts of one query; nodes and providers take more. */
const MAX_CONTRACTS = 50;
/** An endpoint that refused a joined query and answered single ones is asked for single ones for this time. */
const REFUSED_TTL_MS = 10 * 60_000;

/** A query of one contract, and its place among the calls of a request. */
interface PlacedQuery {
  readonly index: number;
  /** Lower case. */
  readonly address: string;
  /** Alternatives for the first topic, lower case. */
  readonly topics: readonly string[];
}

/** Queries about the same blocks. */
interface JoinedQuery {
  readonly queries: readonly PlacedQuery[];
  readonly call: RpcCall;
}

/** See the head of the file. */
export class LogMergingEndpoint implements RpcEndpoint {
  readonly #clock: Pick<Clock, "now">;
  readonly #endpoint: RpcEndpoint;
  #refusedUntilMs = 0;

  constructor(clock: Pick<Clock, "now">, endpoint: RpcEndpoint) {
    this.#clock = clock;
    this.#endpoint = endpoint;
  }

  get host(): string {
    return this.#endpoint.host;
  }

  /** As {@link RpcEndpoint.send}: one request, and another one for queries that were not answered together. */
  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const joined = this.#clock.now() < this.#refusedUntilMs ? [] : joinQueries(calls);
    if (joined.length === 0) return await this.#endpoint.send(calls, conditions);
    const inJoined = new Set(joined.flatMap(({ queries }) => queries.map(({ index }) => index)));
    const others = calls.flatMap((_, index) => inJoined.has(index) ? [] : [index]);
    // Logs come last: a caller that also asks for the head relies on the head being read first.
    const wire = [...callsAt(calls, others), ...joined.map(({ call }) => call)];
    const sent = await this.#endpoint.send(wire, conditions);
    const answers = new Map<number, RpcAnswer>();
    others.forEach((index, place) => note(answers, index, sent[place]));
    joined.forEach(({ queries }, place) => share(answers, queries, sent[others.length + place]));
    const open = calls.flatMap((_, index) => answers.has(index) ? [] : [index]);
    if (open.length > 0) {
      const single = await this.#endpoint.send(callsAt(calls, open), conditions);
      open.forEach((index, place) => note(answers, index, single[place]));
      if (single.some(({ kind }) => kind === "result")) {
        this.#refusedUntilMs = this.#clock.now() + REFUSED_TTL_MS;
      }
    }
    return calls.map((_, index) => {
      const answer = answers.get(index);
      if (answer === undefined) throw new Error("Call without an answer");
      return answer;
    });
  }
}

function callsAt(calls: readonly RpcCall[], indexes: readonly number[]): readonly RpcCall[] {
  return indexes.flatMap((index) => calls[index] ?? []);
}

function note(answers: Map<number, RpcAnswer>, index: number, answer: RpcAnswer | undefined): void {
  if (answer !== undefined) answers.set(index, answer);
}

/** Gives each query its own logs; what nothing follows from for a single query stays open. */
function share(
  answers: Map<number, RpcAnswer>,
  queries: readonly PlacedQuery[],
  answer: RpcAnswer | undefined,
): void {
  if (answer?.kind === "fault" && BLOCK_FAULTS.has(answer.fault.code)) {
    for (const { index } of queries) answers.set(index, answer);
    return;
  }
  const logs = answer?.kind === "result" ? readLogs(answer.result) : undefined;
  if (logs === undefined) return;
  for (const { index, address, topics } of queries) {
    const own = logs.filter((log) => log.address === address && topics.includes(log.topic));
    answers.set(index, { kind: "result", result: own.map(({ json }) => json) });
  }
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

const queryParams = z.tuple([
  z.strictObject({
    address: z.string(),
    fromBlock: z.string(),
    toBlock: z.string(),
    topics: z.tuple([z.array(z.string()).min(1)]),
  }),
]);

/** The queries among the calls that are about the same blocks, at least two together. */
function joinQueries(calls: readonly RpcCall[]): readonly JoinedQuery[] {
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
      queries: part,
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
