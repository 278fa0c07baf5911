/**
 * Logs in answers of EVM nodes, checked before anything is trusted (ethereum/execution-apis: src/schemas/receipt.yaml).
 * By hand: an answer may hold ten thousand of them, for which a schema takes twice as long (measured: 20 ms and 40 ms).
 */
import { type Hash256, type Hex, isHexBytes, toLowerHex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { isJsonObject } from "../../rpc/json.ts";
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

/** What was asked for, in lower case: an answer with other logs is another question's. */
export interface AskedLogs {
  readonly address: Address;
  readonly topics: readonly Hex[];
  readonly from: bigint;
  readonly to: bigint;
}

const ADDRESS_CHARACTERS = 2 + 40;
const HASH_CHARACTERS = 2 + 64;
/** Heights and indexes have 64 bits. */
const quantityText = /^0x0*[0-9a-fA-F]{1,16}$/;

/** Reads the answer of `eth_getLogs`. @throws {SchemaError} also for a log that was not asked for */
export function readLogs(value: unknown, asked: AskedLogs): readonly Log[] {
  if (!Array.isArray(value)) throw new SchemaError("eth_getLogs");
  return value.map((entry: unknown, index) => {
    const place = `eth_getLogs.${index}`;
    const log = readLog(entry, place);
    const [topic] = log.topics;
    if (log.address !== asked.address) throw new SchemaError(`${place}.address`);
    if (topic === undefined || !asked.topics.includes(topic)) throw new SchemaError(`${place}.topics`);
    if (log.blockNumber < asked.from || log.blockNumber > asked.to) {
      throw new SchemaError(`${place}.blockNumber`);
    }
    return log;
  });
}

/** Reads the logs of a receipt. @throws {SchemaError} */
export function readReceiptLogs(values: readonly unknown[]): readonly ReceiptLog[] {
  return values.map((value, index) => readReceiptLog(value, `eth_getTransactionReceipt.logs.${index}`));
}

function readLog(value: unknown, place: string): Log {
  const { address, topics, data } = readReceiptLog(value, place);
  if (address.length !== ADDRESS_CHARACTERS) throw new SchemaError(`${place}.address`);
  const { blockNumber, transactionHash, logIndex, removed } = isJsonObject(value) ? value : {};
  if (typeof removed !== "boolean" && removed !== null && removed !== undefined) {
    throw new SchemaError(`${place}.removed`);
  }
  const transaction = readHex(transactionHash, `${place}.transactionHash`);
  if (transaction.length !== HASH_CHARACTERS) throw new SchemaError(`${place}.transactionHash`);
  return {
    address,
    topics,
    data,
    blockNumber: readQuantity(blockNumber, `${place}.blockNumber`),
    transactionHash: transaction,
    logIndex: readQuantity(logIndex, `${place}.logIndex`),
    removed,
  };
}

function readReceiptLog(value: unknown, place: string): ReceiptLog {
  if (!isJsonObject(value)) throw new SchemaError(place);
  const { address, topics, data } = value;
  if (!Array.isArray(topics)) throw new SchemaError(`${place}.topics`);
  return {
    address: readHex(address, `${place}.address`),
    topics: topics.map((topic: unknown) => readHex(topic, `${place}.topics`)),
    data: readHex(data, `${place}.data`),
  };
}

function readHex(value: unknown, place: string): Hex {
  if (!isHexBytes(value)) throw new SchemaError(place);
  return toLowerHex(value);
}

function readQuantity(value: unknown, place: string): bigint {
  if (typeof value !== "string" || !quantityText.test(value)) throw new SchemaError(place);
  return BigInt(value);
}
