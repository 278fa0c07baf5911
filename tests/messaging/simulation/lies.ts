/** What an endpoint says that is not so, within the schema of its answers; the other endpoint of the chain is honest. */
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { ReadPlace } from "../../support/memory_contracts.ts";
import type { Lie } from "../../support/memory_rpc.ts";
import { quantity } from "../../support/memory_logs.ts";

/** What is lied about. */
export const lieKinds = [
  "balance",
  "nonce",
  "price",
  "receipt",
  "fee",
  "logs",
  "delivered",
  "undelivered",
  "height",
  "hubHeight",
  "decimals",
  "router",
  "trace",
  "frozen",
  "place",
] as const;

/** Name of a lie. */
export type LieKind = typeof lieKinds[number];

/** Another relayer. */
const OTHER = new Uint8Array(20).fill(0x99);

/** Receipts of everything that is asked for. */
class EveryReceipt extends Map<`0x${string}`, Uint8Array> {
  override get(): Uint8Array {
    return OTHER;
  }
}

function withState(change: (state: ReadPlace["state"]) => Partial<ReadPlace["state"]>): Lie {
  return { ofReads: (at) => ({ ...at, state: { ...at.state, ...change(at.state) } }) };
}

function withResult(methods: readonly string[], change: (result: unknown) => unknown): Lie {
  return { ofResult: (method, result) => methods.includes(method) ? change(result) : result };
}

function times(value: unknown, factor: bigint, shift = 0n): unknown {
  return typeof value === "string" ? quantity(BigInt(value) * factor + shift) : value;
}

/** A lie of a kind; `size` 0 to 3 tells how it is told. */
export function lieOf(kind: LieKind, size: number): Lie {
  const isHigh = size % 2 === 0;
  switch (kind) {
    case "balance":
      return withResult(["eth_getBalance"], (value) => isHigh ? times(value, 1_000n) : "0x0");
    case "nonce":
      return withResult(["eth_getTransactionCount"], (value) => times(value, 1n, [1n, 2n, 40n, 400n][size]));
    case "price": {
      const factor = [1_000_000n, 100n, 10n, 0n][size] ?? 1n;
      const ofHistory = (value: object): unknown => {
        const { baseFeePerGas = [] }: { readonly baseFeePerGas?: readonly string[] } = value;
        return { ...value, baseFeePerGas: baseFeePerGas.map((fee) => times(fee, factor)) };
      };
      return {
        ofResult: (method, result) =>
          method === "eth_gasPrice"
            ? times(result, factor)
            : method === "eth_feeHistory"
            ? ofHistory(Object(result))
            : result,
      };
    }
    case "receipt":
      return withResult(["eth_getTransactionReceipt"], (value) => {
        if (value === null || size === 0) return null;
        const changes =
          [{}, { logs: [] }, { status: "0x0", logs: [] }, { blockHash: `0x${"ab".repeat(32)}` }][size];
        return { ...Object(value), ...changes };
      });
    case "place":
      return withResult(
        ["eth_getTransactionByHash"],
        (value) => isHigh || value === null ? null : { ...Object(value), blockNumber: null },
      );
    case "fee":
      return withState(({ fees }) => ({
        fees: new Map(
          [...fees].map(([each, fee]) => [each, [fee * 1_000_000n, 0n, fee / 2n, fee * 2n][size] ?? fee]),
        ),
      }));
    case "logs":
      return withResult(
        ["eth_getLogs"],
        (value) =>
          Array.isArray(value)
            ? value.filter((_, index) => size === 0 ? false : index % (size + 1) !== 0)
            : value,
      );
    case "delivered":
      return withState(() => ({ receipts: new EveryReceipt() }));
    case "undelivered":
      return withState(() => ({ receipts: new Map() }));
    case "height": {
      const shift = [1n, 3n, 50n, 100_000n][size] ?? 1n;
      return {
        ofResult: (method, result) => {
          if (method === "eth_blockNumber") return times(result, 1n, shift);
          if (method !== "eth_getBlockByNumber" || result === null) return result;
          const { number }: { readonly number?: string } = Object(result);
          return { ...Object(result), number: times(number, 1n, shift) };
        },
      };
    }
    case "hubHeight":
      return withState(({ counterparties }) => ({
        counterparties: new Map(
          [...counterparties].map(([key, { latest, heights }]) =>
            [key, { latest: isHigh ? latest + 3n : 1n, heights }] as const
          ),
        ),
      }));
    case "decimals":
      return { ofReads: (at) => ({ ...at, feeTokenDecimals: [6, 18, 0, 12][size] ?? 18 }) };
    case "router": {
      const factor = [1_000n, 100n, 3n, 1n][size] ?? 1n;
      return {
        ofReads: (at) => ({
          ...at,
          price27: () => {
            const price = at.price27();
            return price === undefined ? undefined : isHigh ? price * factor : price / factor;
          },
        }),
      };
    }
    case "trace":
      return withResult(["debug_traceCall"], (value) => {
        const { gasUsed }: { readonly gasUsed?: string } = Object(value);
        if (size === 0) return { type: "CALL", gasUsed: "0x5208", error: "execution reverted", output: "0x" };
        if (size === 1) return { ...Object(value), gasUsed: times(gasUsed, 10n) };
        if (size === 2) return { ...Object(value), gasUsed: "0x5208" };
        return { type: "CALL", gasUsed, input: toHex(OTHER), calls: [] };
      });
    case "frozen":
      return withState(() => ({ isFrozen: true }));
  }
}
