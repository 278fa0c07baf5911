/** Answers that are not quite what the specification of the JSON-RPC says, and prices that are not enough. */
import { parseTransaction } from "viem";
import type { NodeRefusal } from "./profile.ts";
import { refuseCall } from "./refusal.ts";
import { type Ask, byCall, type Call, changingResults, type RpcBehaviour } from "./rpc_behaviour.ts";

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

/** `debug_traceCall` answers without logs although they were asked for. */
export const loglessTraces: RpcBehaviour = {
  kind: "loglessTraces",
  start: (strike) =>
    changingResults(
      strike,
      (trace, { method }) => method === "debug_traceCall" ? without(trace, new Set(["logs"])) : undefined,
    ),
};

/** A method has another result: in one of so many calls (default in each), so many times at most. */
export function changed(
  wanted: string,
  change: (result: unknown) => unknown,
  { every = 1, times = Infinity }: { readonly every?: number; readonly times?: number } = {},
): RpcBehaviour {
  return {
    kind: "changed",
    start: (strike) => {
      let [seen, struck] = [0, 0];
      return changingResults(strike, (result, { method }) => {
        if (method !== wanted || result === null || ++seen % every !== 0 || struck === times) {
          return undefined;
        }
        struck++;
        return change(result);
      });
    },
  };
}

/** Each so many questions for a block, receipt or transaction are answered with null. */
export function nullBlocks(every: number): RpcBehaviour {
  return {
    kind: "nullBlocks",
    start: (strike) => {
      let seen = 0;
      return changingResults(
        strike,
        (_, { method }) => LOOKUPS.has(method) && ++seen % every === 0 ? null : undefined,
      );
    },
  };
}

/**
 * Hex that the specification does not allow, and fields that are not there: quantities with a zero in front, digits `A` to
 * `F`, `"error": null` beside each result. @param gone left out of blocks, receipts and logs
 */
export function oddHex(...gone: readonly string[]): RpcBehaviour {
  const names = new Set(gone);
  const zeros = (value: unknown): unknown =>
    typeof value === "string" && /^0x[0-9a-f]+$/i.test(value) ? `0x0${value.slice(2)}` : value;
  const change = (value: unknown): unknown => {
    if (typeof value === "string") {
      return /^0x[0-9a-f]+$/.test(value) ? `0x${value.slice(2).toUpperCase()}` : value;
    }
    if (Array.isArray(value)) return value.map(change);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).filter(([name]) => !names.has(name))
        .map(([name, field]) => [name, QUANTITIES.has(name) ? zeros(change(field)) : change(field)]),
    );
  };
  return {
    kind: "oddHex",
    start: (strike) =>
      byCall(async (call, next) => {
        const answer = await next(call);
        if (answer.result === undefined) return answer;
        strike();
        const result = change(answer.result);
        return {
          id: call.id,
          result: QUANTITY_METHODS.has(call.method) ? zeros(result) : result,
          error: null,
        };
      }),
  };
}

/** Transactions with a lower tip than `takesWei` are refused, while the prices that are asked for hold less. */
export function tipFloor(takesWei: bigint, suggestsWei: bigint, refusal: NodeRefusal): RpcBehaviour {
  return {
    kind: "tipFloor",
    start: (strike) =>
      byCall(async (call, next, ask) => {
        switch (call.method) {
          case "eth_gasPrice":
            strike();
            return quantity(call, await baseFee(ask) + suggestsWei);
          case "eth_maxPriorityFeePerGas":
            strike();
            return quantity(call, suggestsWei);
          case "eth_sendRawTransaction": {
            const tip = tipOf(call);
            if (tip >= takesWei) return await next(call);
            strike();
            return refuseCall(call, refusal, { max: takesWei, count: tip });
          }
          default:
            return await next(call);
        }
      }),
  };
}

function quantity({ id }: Call, wei: bigint): { readonly id: unknown; readonly result: string } {
  return { id, result: `0x${wei.toString(16)}` };
}

async function baseFee(ask: Ask): Promise<bigint> {
  const { result } = await ask({ id: 0, method: "eth_getBlockByNumber", params: ["latest", false] });
  return BigInt(Object(result).baseFeePerGas ?? 0);
}

/** What a transaction offers beside the base fee; of a legacy one the whole price, as pools count it. */
function tipOf({ params: [raw] }: Call): bigint {
  const { maxPriorityFeePerGas, gasPrice } = parseTransaction(`0x${String(raw).slice(2)}`);
  return maxPriorityFeePerGas ?? gasPrice ?? 0n;
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
