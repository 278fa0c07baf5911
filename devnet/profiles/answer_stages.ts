/** Answers that are not quite what the specification of the JSON-RPC says. */
import type { RpcBehaviour } from "./rpc_behaviour.ts";
import type { Stage, Strike } from "./stage.ts";

type Of<K extends RpcBehaviour["kind"]> = Extract<RpcBehaviour, { kind: K }>;

/** Questions to which null is an answer of nodes that have not got there yet. */
const LOOKUPS = new Set([
  "eth_getBlockByNumber",
  "eth_getBlockByHash",
  "eth_getTransactionReceipt",
  "eth_getTransactionByHash",
]);

/** Fields that hold a quantity. Source: ethereum/execution-apis: src/schemas. */
const QUANTITIES = new Set([
  "baseFeePerGas",
  "blobGasUsed",
  "blockNumber",
  "cumulativeGasUsed",
  "difficulty",
  "effectiveGasPrice",
  "excessBlobGas",
  "gas",
  "gasLimit",
  "gasPrice",
  "gasUsed",
  "logIndex",
  "maxFeePerGas",
  "maxPriorityFeePerGas",
  "number",
  "size",
  "status",
  "timestamp",
  "transactionIndex",
  "type",
]);

/** Methods whose whole result is a quantity. */
const QUANTITY_METHODS = new Set([
  "eth_blockNumber",
  "eth_chainId",
  "eth_estimateGas",
  "eth_gasPrice",
  "eth_getBalance",
  "eth_getTransactionCount",
]);

/** Traces without logs. */
export function loglessTracesStage({ kind }: Of<"loglessTraces">, strike: Strike): Stage {
  return {
    kind,
    begin: () => ({
      answer: async (call, next) => {
        const answer = await next(call);
        if (call.method !== "debug_traceCall" || answer.result === undefined) return answer;
        strike();
        return { id: call.id, result: without(answer.result, new Set(["logs"])) };
      },
    }),
  };
}

/** Another result than the node's. */
export function changedStage(
  { kind, method, every = 1, times = Infinity, change }: Of<"changed">,
  strike: Strike,
): Stage {
  let [seen, changed] = [0, 0];
  return {
    kind,
    begin: () => ({
      answer: async (call, next) => {
        const answer = await next(call);
        const isNext = call.method === method && (answer.result ?? null) !== null && ++seen % every === 0;
        if (!isNext || changed === times) return answer;
        changed++;
        strike();
        return { id: call.id, result: change(answer.result) };
      },
    }),
  };
}

/** Null instead of what is there. */
export function nullBlocksStage({ kind, every }: Of<"nullBlocks">, strike: Strike): Stage {
  let seen = 0;
  return {
    kind,
    begin: () => ({
      answer: (call, next) => {
        if (!LOOKUPS.has(call.method) || ++seen % every !== 0) return next(call);
        strike();
        return Promise.resolve({ id: call.id, result: null });
      },
    }),
  };
}

/** Hex as some nodes write it. */
export function oddHexStage(behaviour: Of<"oddHex">, strike: Strike): Stage {
  const gone = new Set(behaviour.withoutFields ?? []);
  const zeros = (value: unknown): unknown =>
    behaviour.leadingZeros === true && typeof value === "string" && /^0x[0-9a-f]+$/i.test(value)
      ? `0x0${value.slice(2)}`
      : value;
  const upper = (value: string): string =>
    behaviour.uppercase === true && /^0x[0-9a-f]+$/.test(value) ? `0x${value.slice(2).toUpperCase()}` : value;
  const change = (value: unknown): unknown => {
    if (typeof value === "string") return upper(value);
    if (Array.isArray(value)) return value.map(change);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).filter(([name]) => !gone.has(name)).map(([name, field]) => {
        const changed = change(field);
        return [name, QUANTITIES.has(name) ? zeros(changed) : changed];
      }),
    );
  };
  return {
    kind: behaviour.kind,
    begin: () => ({
      answer: async (call, next) => {
        const answer = await next(call);
        if (answer.result === undefined) return answer;
        const changed = change(answer.result);
        const result = QUANTITY_METHODS.has(call.method) ? zeros(changed) : changed;
        strike();
        return { id: call.id, result, ...behaviour.nullError === true ? { error: null } : {} };
      },
    }),
  };
}

/** The value without these fields, at any depth. */
function without(value: unknown, names: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((entry) => without(entry, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !names.has(name))
      .map(([name, field]) => [name, without(field, names)]),
  );
}
