/**
 * Schemas of answers of EVM nodes (ethereum/execution-apis: src/schemas), checked before anything is trusted.
 */
import * as z from "zod";
import { type Hash256, type Hex, toHash256 } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { hexBytes, parseResponse, SchemaError } from "../../evm/schema.ts";

export { hexBytes, parseResponse };

/** Hex quantity (`0x10`). */
export const quantity = z.string().regex(/^0x[0-9a-fA-F]{1,64}$/).transform((text) => BigInt(text));

/** Height, time, nonce or gas: no chain's has more than 63 bits, which is what the programs store. */
export const counter = quantity.refine((value) => value < 1n << 63n);

/** An amount or a price, wei, of at most 128 bits. */
const wei = quantity.refine((value) => value < 2n ** 128n);

/** 32 bytes. */
export const hash = z.string().regex(/^0x[0-9a-fA-F]{64}$/).transform((text): Hash256 => toHash256(text));

/** Fields of a block header that are used. */
export const block = z.object({
  number: counter,
  hash,
  timestamp: counter,
  /** Absent before EIP-1559. */
  baseFeePerGas: quantity.nullish().transform((wei) => wei ?? undefined),
});

/** Fees of recent blocks; the median of the tips leaves out blocks without transactions, whose tip is 0. */
export const feeHistory = z.object({
  baseFeePerGas: z.array(quantity).max(1_025),
  reward: z.array(z.array(quantity)).max(1_025).nullish(),
}).transform(({ baseFeePerGas, reward }) => {
  const tips = (reward ?? []).flatMap(([tip = 0n]) => tip === 0n ? [] : [tip])
    .sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
  return { baseFeeWei: baseFeePerGas.at(-1) ?? 0n, tipWei: tips[tips.length >> 1] };
});

/** A block header. */
export type Block = z.output<typeof block>;

const receiptLog = z.object({ address: hexBytes, topics: z.array(hexBytes), data: hexBytes });

/** Log with its position. */
export type Log = Omit<z.output<typeof positionedLog>, "removed">;

/** Filter of logs. */
export interface LogFilter {
  readonly address: Address;
  /** Alternatives for the first topic. */
  readonly topics: readonly Hex[];
}

/** Blocks of one query, both inclusive. */
export interface LogRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** What was asked for, in lower case: an answer with other logs is another question's. */
export type AskedLogs = LogFilter & LogRange;

const positionedLog = receiptLog.extend({
  blockNumber: counter,
  transactionHash: hash,
  logIndex: counter,
  removed: z.boolean().nullish(),
});

/**
 * Reads the answer of `eth_getLogs`. Logs of blocks that were reorganised away are left out.
 * @throws {SchemaError} also for a log that was not asked for
 */
export function readLogs(value: unknown, asked: AskedLogs): readonly Log[] {
  if (!Array.isArray(value)) throw new SchemaError("eth_getLogs");
  return value.flatMap((entry: unknown, index) => {
    const place = `eth_getLogs.${index}`;
    const { removed, ...log } = parseResponse(positionedLog, entry, place);
    const other = otherThanAsked(log, asked);
    if (other !== undefined) throw new SchemaError(`${place}.${other}`);
    return removed === true ? [] : [log];
  });
}

/** Field of a log that was not asked for; `undefined`: it was. */
function otherThanAsked(
  { address, topics: [topic = "0x"], blockNumber }: Log,
  asked: AskedLogs,
): keyof Log | undefined {
  if (address !== asked.address) return "address";
  if (!asked.topics.includes(topic)) return "topics";
  return blockNumber < asked.from || blockNumber > asked.to ? "blockNumber" : undefined;
}

/** Fields of a receipt that are used. */
export const receipt = z.object({
  transactionHash: hash.nullish(),
  blockNumber: counter,
  blockHash: hash,
  status: quantity.nullish(),
  gasUsed: counter,
  effectiveGasPrice: wei.nullish(),
  /** Fee for data on the L1, wei (ethereum-optimism/op-geth: core/types, receipt fields of rollups). */
  l1Fee: wei.nullish().catch(undefined),
  /** Parameters of the operator fee since Isthmus; what they mean depends on the fork. */
  operatorFeeScalar: wei.nullish().catch(undefined),
  operatorFeeConstant: wei.nullish().catch(undefined),
  logs: z.array(receiptLog),
});

/** A receipt. */
export type Receipt = z.output<typeof receipt>;

/** Fields of `eth_getProof` (EIP-1186) that are used; values are quantities. */
export const accountProof = z.object({
  address: z.string(),
  accountProof: z.array(hexBytes),
  storageHash: z.string(),
  storageProof: z.array(z.object({ value: z.string(), proof: z.array(hexBytes) })),
});

/**
 * Single call of the single block of an `eth_simulateV1` answer. `data` of the error is revert data in some nodes.
 */
export const simulatedBlocks = z.tuple([
  z.object({
    calls: z.tuple([
      z.object({
        status: quantity,
        gasUsed: counter,
        returnData: hexBytes,
        logs: z.array(z.object({ address: hexBytes, topics: z.array(hexBytes) })).optional(),
        error: z.object({ data: hexBytes.optional().catch(undefined) }).nullish(),
      }),
    ]),
  }),
]);

/** Answer of `eth_simulateV1` to one call. */
export type SimulatedBlocks = z.output<typeof simulatedBlocks>;
