/** What providers do to `eth_getLogs`. */
import { playedOf } from "./profile.ts";
import { refuseCall } from "./refusal.ts";
import type { Ask, Call } from "./rpc_behaviour.ts";
import { byCall, type Of, type Stage, type Strike } from "./stage.ts";

/** The range that is asked for, resolved. */
interface Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** Too many blocks at once. */
export function logRangeStage({ blocks, refusal }: Of<"logRange">, strike: Strike): Stage {
  const max = BigInt(playedOf(blocks));
  return byCall(async (call, next, ask) => {
    const range = await rangeOf(call, ask);
    if (range === undefined || widthOf(range) <= max) return await next(call);
    strike();
    return refuseCall(call, refusal, numbersOf(range, max));
  });
}

/** Too many results. */
export function logResultsStage({ results, refusal }: Of<"logResults">, strike: Strike): Stage {
  const max = BigInt(playedOf(results));
  return byCall(async (call, next, ask) => {
    const answer = await next(call);
    const range = await rangeOf(call, ask);
    if (range === undefined || listOf(answer.result).length <= Number(max)) return answer;
    strike();
    return refuseCall(call, refusal, numbersOf(range, max));
  });
}

/** Each block takes its time. */
export function slowLogsStage({ msPerBlock, timeoutMs, refusal }: Of<"slowLogs">, strike: Strike): Stage {
  return byCall(async (call, next, ask) => {
    const range = await rangeOf(call, ask);
    if (range === undefined) return await next(call);
    const neededMs = Number(widthOf(range)) * msPerBlock;
    await pause(Math.min(neededMs, playedOf(timeoutMs)));
    if (neededMs <= playedOf(timeoutMs)) return await next(call);
    strike();
    return refuseCall(call, refusal, numbersOf(range, 0n));
  });
}

/** The newest logs are not in the index yet. */
export function lateLogsStage({ blocks }: Of<"lateLogs">, strike: Strike): Stage {
  return byCall(async (call, next, ask) => {
    if (call.method !== "eth_getLogs") return await next(call);
    const indexed = await headOf(ask) - BigInt(blocks);
    const answer = await next(call);
    const all = listOf(answer.result);
    const known = all.filter((log) => BigInt(Object(log).blockNumber ?? 0) <= indexed);
    if (known.length === all.length) return answer;
    strike();
    return { id: call.id, result: known };
  });
}

/** The newest block of the node. */
export async function headOf(ask: Ask): Promise<bigint> {
  return BigInt(String((await ask({ id: 0, method: "eth_blockNumber", params: [] })).result));
}

async function rangeOf({ method, params: [filter] }: Call, ask: Ask): Promise<Range | undefined> {
  if (method !== "eth_getLogs" || typeof filter !== "object" || filter === null) return undefined;
  if ("blockHash" in filter) return undefined;
  const { fromBlock, toBlock } = { fromBlock: "latest", toBlock: "latest", ...filter };
  const from = await resolve(fromBlock, ask);
  return { from, to: await resolve(toBlock, ask) };
}

/** Height of a block parameter. */
async function resolve(tag: unknown, ask: Ask): Promise<bigint> {
  if (typeof tag === "string" && tag.startsWith("0x")) return BigInt(tag);
  if (tag === "latest" || tag === "pending") return await headOf(ask);
  if (tag === "earliest") return 0n;
  const { result } = await ask({ id: 0, method: "eth_getBlockByNumber", params: [tag, false] });
  return BigInt(Object(result).number ?? 0);
}

function widthOf({ from, to }: Range): bigint {
  return to < from ? 0n : to - from + 1n;
}

function numbersOf({ from, to }: Range, max: bigint): Parameters<typeof refuseCall>[2] {
  const hex = (height: bigint): string => `0x${height.toString(16)}`;
  return { max, width: to - from + 1n, from: hex(from), to: hex(to), last: hex(from + max - 1n) };
}

function listOf(result: unknown): readonly unknown[] {
  return Array.isArray(result) ? result : [];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
