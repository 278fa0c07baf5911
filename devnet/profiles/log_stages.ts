/** What providers do to `eth_getLogs`. */
import { playedOf } from "./profile.ts";
import { refuseCall } from "./refusal.ts";
import type { Answer, Ask, Call, RpcBehaviour } from "./rpc_behaviour.ts";
import type { Stage, Strike } from "./stage.ts";

type Of<K extends RpcBehaviour["kind"]> = Extract<RpcBehaviour, { kind: K }>;

/** The range that is asked for, resolved. */
interface Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** Too many blocks at once. */
export function logRangeStage({ kind, blocks, refusal }: Of<"logRange">, strike: Strike): Stage {
  const max = BigInt(playedOf(blocks));
  return {
    kind,
    begin: ({ ask }) => ({
      answer: async (call, next) => {
        const range = await rangeOf(call, ask);
        if (range === undefined || widthOf(range) <= max) return await next(call);
        strike();
        return refuseCall(call, refusal, numbersOf(range, max));
      },
    }),
  };
}

/** Too many results. */
export function logResultsStage({ kind, results, refusal }: Of<"logResults">, strike: Strike): Stage {
  const max = BigInt(playedOf(results));
  return {
    kind,
    begin: ({ ask }) => ({
      answer: async (call, next) => {
        const answer = await next(call);
        const range = await rangeOf(call, ask);
        if (range === undefined || listOf(answer).length <= Number(max)) return answer;
        strike();
        return refuseCall(call, refusal, numbersOf(range, max));
      },
    }),
  };
}

/** Each block takes its time. */
export function slowLogsStage(behaviour: Of<"slowLogs">, strike: Strike): Stage {
  const { kind, msPerBlock, timeoutMs, refusal } = behaviour;
  return {
    kind,
    begin: ({ ask }) => ({
      answer: async (call, next) => {
        const range = await rangeOf(call, ask);
        if (range === undefined) return await next(call);
        const neededMs = Number(widthOf(range)) * msPerBlock;
        await pause(Math.min(neededMs, playedOf(timeoutMs)));
        if (neededMs <= playedOf(timeoutMs)) return await next(call);
        strike();
        return refuseCall(call, refusal, numbersOf(range, 0n));
      },
    }),
  };
}

/** The newest logs are not in the index yet. */
export function lateLogsStage({ kind, blocks }: Of<"lateLogs">, strike: Strike): Stage {
  return {
    kind,
    begin: ({ ask }) => ({
      answer: async (call, next) => {
        if (call.method !== "eth_getLogs") return await next(call);
        const indexed = await headOf(ask) - BigInt(blocks);
        const answer = await next(call);
        const all = listOf(answer);
        const known = all.filter((log) => blockOf(log) <= indexed);
        if (known.length === all.length) return answer;
        strike();
        return { id: call.id, result: known };
      },
    }),
  };
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
  if (typeof result !== "object" || result === null || !("number" in result)) return 0n;
  return BigInt(String(result.number));
}

function widthOf({ from, to }: Range): bigint {
  return to < from ? 0n : to - from + 1n;
}

function numbersOf({ from, to }: Range, max: bigint): Parameters<typeof refuseCall>[2] {
  const hex = (height: bigint): string => `0x${height.toString(16)}`;
  return { max, width: to - from + 1n, from: hex(from), to: hex(to), last: hex(from + max - 1n) };
}

function listOf({ result }: Answer): readonly unknown[] {
  return Array.isArray(result) ? result : [];
}

function blockOf(log: unknown): bigint {
  if (typeof log !== "object" || log === null || !("blockNumber" in log)) return 0n;
  return BigInt(String(log.blockNumber));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
