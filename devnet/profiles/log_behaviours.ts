/** What providers do to `eth_getLogs`. */
import { pause } from "../waiting.ts";
import type { NodeRefusal } from "./profile.ts";
import { refuseCall } from "./refusal.ts";
import {
  type Ask,
  byCall,
  type Call,
  headOf,
  heightOf,
  limited,
  type LimitedBehaviour,
  type RpcBehaviour,
} from "./rpc_behaviour.ts";

/** The range that is asked for, resolved. */
interface Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** `eth_getLogs` over more blocks than this is refused. */
export const logRange: LimitedBehaviour = limited(
  "logRange",
  (max, refusal, strike) =>
    byCall(async (call, next, ask) => {
      const range = await rangeOf(call, ask);
      if (range === undefined || widthOf(range) <= BigInt(max)) return await next(call);
      strike();
      return refuseCall(call, refusal, numbersOf(range, BigInt(max)));
    }),
);

/** `eth_getLogs` with more results than this is refused. */
export const logResults: LimitedBehaviour = limited(
  "logResults",
  (max, refusal, strike) =>
    byCall(async (call, next, ask) => {
      const answer = await next(call);
      const range = await rangeOf(call, ask);
      if (range === undefined || listOf(answer.result).length <= max) return answer;
      strike();
      return refuseCall(call, refusal, numbersOf(range, BigInt(max)));
    }),
);

/** `eth_getLogs` takes its time for each block; what takes longer than the node allows is refused after that time. */
export function slowLogs(
  msPerBlock: number,
  realMs: number,
  playedMs: number,
  refusal: NodeRefusal,
): RpcBehaviour {
  return limited("slowLogs", (timeoutMs, _refusal, strike) =>
    byCall(async (call, next, ask) => {
      const range = await rangeOf(call, ask);
      if (range === undefined) return await next(call);
      const neededMs = Number(widthOf(range)) * msPerBlock;
      await pause(Math.min(neededMs, timeoutMs));
      if (neededMs <= timeoutMs) return await next(call);
      strike();
      return refuseCall(call, refusal, numbersOf(range, 0n));
    }))(realMs, playedMs, refusal);
}

/** The index of logs is behind the head by so many blocks, and says nothing of it. */
export function lateLogs(blocks: number): RpcBehaviour {
  return {
    kind: "lateLogs",
    start: (strike) =>
      byCall(async (call, next, ask) => {
        if (call.method !== "eth_getLogs") return await next(call);
        const indexed = await headOf(ask) - BigInt(blocks);
        const answer = await next(call);
        const all = listOf(answer.result);
        const known = all.filter((log) => BigInt(Object(log).blockNumber ?? 0) <= indexed);
        if (known.length === all.length) return answer;
        strike();
        return { id: call.id, result: known };
      }),
  };
}

async function rangeOf({ method, params: [filter] }: Call, ask: Ask): Promise<Range | undefined> {
  if (method !== "eth_getLogs" || typeof filter !== "object" || filter === null) return undefined;
  if ("blockHash" in filter) return undefined;
  const { fromBlock, toBlock } = { fromBlock: "latest", toBlock: "latest", ...filter };
  const from = await heightOf(String(fromBlock), ask) ?? 0n;
  return { from, to: await heightOf(String(toBlock), ask) ?? 0n };
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
