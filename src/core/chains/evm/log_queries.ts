/**
 * Log queries of a request that are about the same blocks as one, whatever their contracts: several callers' requests
 * were merged. Start reading at {@link joinLogQueries}.
 */
import * as z from "zod";
import type { RpcCall } from "../../rpc/call.ts";
import type { Json } from "../../rpc/json.ts";
import { partsOf } from "../../runtime/parts.ts";
import type { JoinedCall } from "./joining_endpoint.ts";

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
