/** Answers that are not quite what the specification of the JSON-RPC says. */
import { changingResults, type Of, type Stage, type Strike } from "./stage.ts";

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
export function loglessTracesStage(strike: Strike): Stage {
  return changingResults(
    strike,
    (trace, { method }) => method === "debug_traceCall" ? without(trace, new Set(["logs"])) : undefined,
  );
}

/** Another result than the node's. */
export function changedStage(
  { method: wanted, every = 1, times = Infinity, change }: Of<"changed">,
  strike: Strike,
): Stage {
  let [seen, changed] = [0, 0];
  return changingResults(strike, (result, { method }) => {
    if (method !== wanted || result === null || ++seen % every !== 0 || changed === times) return undefined;
    changed++;
    return change(result);
  });
}

/** Null instead of what is there. */
export function nullBlocksStage({ every }: Of<"nullBlocks">, strike: Strike): Stage {
  let seen = 0;
  return changingResults(
    strike,
    (_, { method }) => LOOKUPS.has(method) && ++seen % every === 0 ? null : undefined,
  );
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
  const changing = changingResults(
    strike,
    (result, { method }) => QUANTITY_METHODS.has(method) ? zeros(change(result)) : change(result),
  );
  return async (request) => {
    const { answer } = await changing(request);
    if (answer === undefined || behaviour.nullError !== true) return { answer };
    return {
      answer: async (call, next) => {
        const changed = await answer(call, next);
        return changed.result === undefined ? changed : { ...changed, error: null };
      },
    };
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
