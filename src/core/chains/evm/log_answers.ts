/**
 * Logs in answers of EVM nodes, checked before anything is trusted (ethereum/execution-apis: src/schemas/receipt.yaml).
 * By hand: an answer may hold ten thousand of them, for which a schema takes five times as long.
 */
import { type Hash256, type Hex, isHexBytes, toLowerHex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { isJsonObject } from "../../rpc/json.ts";
import { mapInSlices } from "../../runtime/slices.ts";
import { SchemaError } from "./schema_error.ts";

/** Log as in receipts; hex is lower case. */
export interface ReceiptLog {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
}

/** Log with its position. `removed` logs belong to blocks that were reorganised away. */
export interface Log extends ReceiptLog {
  readonly address: Address;
  readonly blockNumber: bigint;
  readonly transactionHash: Hash256;
  readonly logIndex: bigint;
  readonly removed?: boolean | null | undefined;
}

/** Where a log is: the list, named in errors, and its index there. */
interface LogPlace {
  readonly list: string;
  readonly index: number;
}

const ADDRESS_CHARACTERS = 2 + 40;
const HASH_CHARACTERS = 2 + 64;
const quantityText = /^0x[0-9a-fA-F]{1,64}$/;

/** Logs of an answer that are still to be read: {@link readLogs}. */
export type UnreadLogs = readonly unknown[];

const LIST = "eth_getLogs";

/** Logs read at once, about 2 ms. */
const LOGS_AT_ONCE = 500;

/** The list that `eth_getLogs` answers. @throws {SchemaError} */
export function findLogs(value: unknown): UnreadLogs {
  if (!Array.isArray(value)) throw new SchemaError(LIST);
  return value;
}

/** Reads the logs of an answer. @throws {SchemaError} */
export function readLogs(found: UnreadLogs): Promise<readonly Log[]> {
  const entries = [...found.entries()];
  return mapInSlices(entries, LOGS_AT_ONCE, ([index, log]) => readLog(log, { list: LIST, index }));
}

/** Reads the logs of a receipt. @throws {SchemaError} */
export function readReceiptLogs(values: readonly unknown[]): readonly ReceiptLog[] {
  const list = "eth_getTransactionReceipt.logs";
  return values.map((value, index) => readReceiptLog(value, { list, index }));
}

function readLog(value: unknown, place: LogPlace): Log {
  const { address, topics, data } = readReceiptLog(value, place);
  if (address.length !== ADDRESS_CHARACTERS) throw wrong(place, "address");
  const { blockNumber, transactionHash, logIndex, removed } = isJsonObject(value) ? value : {};
  if (typeof removed !== "boolean" && removed !== null && removed !== undefined) {
    throw wrong(place, "removed");
  }
  const transaction = readHex(transactionHash, place, "transactionHash");
  if (transaction.length !== HASH_CHARACTERS) throw wrong(place, "transactionHash");
  return {
    address,
    topics,
    data,
    blockNumber: readQuantity(blockNumber, place, "blockNumber"),
    transactionHash: transaction,
    logIndex: readQuantity(logIndex, place, "logIndex"),
    removed,
  };
}

function readReceiptLog(value: unknown, place: LogPlace): ReceiptLog {
  if (!isJsonObject(value)) throw wrong(place);
  const { address, topics, data } = value;
  if (!Array.isArray(topics)) throw wrong(place, "topics");
  return {
    address: readHex(address, place, "address"),
    topics: topics.map((topic: unknown) => readHex(topic, place, "topics")),
    data: readHex(data, place, "data"),
  };
}

function readHex(value: unknown, place: LogPlace, field: string): Hex {
  if (!isHexBytes(value)) throw wrong(place, field);
  return toLowerHex(value);
}

function readQuantity(value: unknown, place: LogPlace, field: string): bigint {
  if (typeof value !== "string" || !quantityText.test(value)) throw wrong(place, field);
  return BigInt(value);
}

function wrong({ list, index }: LogPlace, field?: string): SchemaError {
  return new SchemaError(`${list}.${index}${field === undefined ? "" : `.${field}`}`);
}
