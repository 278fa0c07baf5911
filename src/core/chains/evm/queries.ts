/**
 * Queries of EVM nodes: each is a JSON-RPC call and the reader of its answer. Source: ethereum/execution-apis
 * (src/eth/execute.yaml for eth_simulateV1); EIP-1186 (proofs); ethereum/go-ethereum: eth/tracers (traces).
 */
import { recover } from "../../encoding/coded_error.ts";
import { formatTransactionRequest, type RpcTransactionRequest } from "viem";
import * as z from "zod";
import { type Hash256, type Hex, toHex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { BlockHeaderError, type EvmBlockHeader, parseHashedBlock } from "../../evm/block_header.ts";
import type { HostRead } from "../../evm/host_reads.ts";
import { SchemaError } from "../../evm/schema.ts";
import { callTracerOptions, HandledLogs, readTrace, type TraceOutcome } from "../../evm/trace.ts";
import type { AccountProofAnswer } from "../../merkle/evm_proof.ts";
import type { RpcCall, RpcFault } from "../../rpc/call.ts";
import type { Json } from "../../rpc/json.ts";
import { type GasPrice, lowest } from "./gas.ts";
import * as shape from "./rpc_schemas.ts";

/** Call with the reader of its result. */
export interface Query<T> {
  readonly call: RpcCall;
  /** @throws {SchemaError} when the result does not fit the method. */
  readonly read: (result: Json) => T;
  /** Value of a fault; absent: it is thrown. */
  readonly readFault?: (fault: RpcFault) => T;
}

/** The query with `undefined` for an answer of another shape: no fault of the endpoint, which means something else by it. */
export function readable<T>({ call, read }: Query<T>): Query<T | undefined> {
  return {
    call,
    read: (result) => recover(SchemaError, () => read(result), () => undefined),
  };
}

/** Block by number or by tag; `pending` is the newest block with the mempool's transactions on top. */
export type BlockTag = bigint | "latest" | "pending" | "finalized";

/** Call that a node simulates. Without a price nothing is charged, and contracts see a price of 0. */
export interface SimulatedCall {
  readonly from?: Address | undefined;
  readonly to: Address;
  readonly data: Hex;
  readonly gas?: bigint | undefined;
  readonly price?: GasPrice | undefined;
  /** Base fee of the newest block, for a simulation that would assume 0. */
  readonly baseFeeWei?: bigint | undefined;
  /** Balance override of the sender, for traces and simulations; its own if absent. */
  readonly balanceWei?: bigint | undefined;
  /** Number and time of the block in which it is traced; those of the newest one if absent. */
  readonly block?: { readonly number: bigint; readonly timestamp: bigint } | undefined;
}

/** Simulated effects of a transaction, as far as its logs show. */
export type SimulatedOutcome = Omit<TraceOutcome, "logCount" | "steps">;

/** Hex quantity of a non-negative integer. */
export function toQuantity(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}

function tagOf(tag: BlockTag): string {
  return typeof tag === "bigint" ? toQuantity(tag) : tag;
}

function query<S extends z.ZodType>(
  method: string,
  params: readonly unknown[],
  schema: S,
): Query<z.output<S>> {
  return { call: { method, params }, read: (result) => shape.parseResponse(schema, result, method) };
}

/** A call as nodes take it; absent fields are left out. */
function callObject({ from, to, data, gas, price }: SimulatedCall): RpcTransactionRequest {
  const call = { from, to, data, gas };
  return formatTransactionRequest(
    price?.type === "legacy"
      ? { ...call, gasPrice: price.gasPriceWei }
      : { ...call, maxFeePerGas: price?.maxFeeWei, maxPriorityFeePerGas: price?.maxPriorityFeeWei },
  );
}

/** The state override set of eth_call, for the sender's balance alone. */
function overrides({ from, balanceWei }: SimulatedCall): { readonly stateOverrides?: unknown } {
  if (from === undefined || balanceWei === undefined) return {};
  return { stateOverrides: { [from]: { balance: toQuantity(balanceWei) } } };
}

/** Chain id of the endpoint. */
export const chainId: Query<bigint> = query("eth_chainId", [], shape.quantity);

/** Height of the newest block. */
export const blockNumber: Query<bigint> = query("eth_blockNumber", [], shape.counter);

/** Current gas price by the node, wei. */
export const gasPrice: Query<bigint> = query("eth_gasPrice", [], shape.quantity);

/**
 * Base fee of the next block, 0 on chains without one, and the median of the third quartiles of tips of the last twenty
 * blocks with transactions, `undefined` without any.
 */
export const feeHistory: Query<{ readonly baseFeeWei: bigint; readonly tipWei: bigint | undefined }> = query(
  "eth_feeHistory",
  ["0x14", "latest", [75]],
  shape.feeHistory,
);

/** Header of the newest block. */
export const newestBlock: Query<shape.Block> = query("eth_getBlockByNumber", ["latest", false], shape.block);

/** Header of a block; `undefined` when the node does not have it. */
export function blockAt(tag: BlockTag): Query<shape.Block | undefined> {
  return query(
    "eth_getBlockByNumber",
    [tagOf(tag), false],
    shape.block.nullable().transform((found) => found ?? undefined),
  );
}

/** Block by number, by hash, or the newest (final) one. */
export type BlockReference = bigint | Hash256 | "latest" | "finalized";

/** Header with its hash, which was computed from the fields. */
export interface HashedHeader {
  readonly header: EvmBlockHeader;
  readonly hash: Hash256;
}

/**
 * Complete header of a block; `undefined` when the node does not have it. An answer whose fields do not match the
 * hash that it names, or that is about another block, is malformed, unless it shows a fork that this version does not
 * know ({@link BlockHeaderError} `unknown_fork`).
 */
export function headerAt(which: BlockReference): Query<HashedHeader | undefined> {
  const isHash = typeof which === "string" && which.startsWith("0x");
  const method = isHash ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  const name = typeof which === "bigint" ? toQuantity(which) : which;
  return {
    call: { method, params: [name, false] },
    read: (result) => result === null ? undefined : readHeader(result, which, method),
  };
}

function readHeader(result: Json, which: BlockReference, method: string): HashedHeader {
  let block: HashedHeader;
  try {
    block = parseHashedBlock(result);
  } catch (cause) {
    if (!(cause instanceof BlockHeaderError) || cause.code === "unknown_fork") throw cause;
    const field = cause.field === "" ? method : `${method}.${cause.field}`;
    throw new SchemaError(cause.code === "hash_mismatch" ? `${field}, not the hash of the fields` : field, {
      cause,
    });
  }
  const isOther = which !== "latest" && which !== "finalized" && which !== block.hash &&
    which !== block.header.number;
  if (isOther) throw new SchemaError(`${method}, not the requested block`);
  return block;
}

/** Root of the account trie at a block; `undefined` when the node does not have it. */
export function stateRootAt(height: bigint): Query<Hash256 | undefined> {
  return query(
    "eth_getBlockByNumber",
    [toQuantity(height), false],
    z.object({ stateRoot: shape.hash }).nullable().transform((found) => found?.stateRoot),
  );
}

/** Result bytes of a call. */
export function callResult(call: SimulatedCall, tag: BlockTag = "latest"): Query<Hex> {
  return query("eth_call", [callObject(call), tagOf(tag)], shape.hexBytes);
}

/** Getter of a contract. */
export function contractRead<Args extends readonly unknown[], T>(
  to: Address,
  getter: HostRead<Args, T>,
  ...args: Args
): Query<T> {
  return contractReadAt("latest", to, getter, ...args);
}

/** Getter of a contract at a block by number or tag. */
export function contractReadAt<Args extends readonly unknown[], T>(
  tag: BlockTag,
  to: Address,
  getter: HostRead<Args, T>,
  ...args: Args
): Query<T> {
  const { call, read } = callResult({ to, data: getter.encode(...args) }, tag);
  return { call, read: (result) => getter.decode(read(result)) };
}

/** Code of a contract at the newest block; `0x` for none. */
export function contractCode(account: Address): Query<Hex> {
  return query("eth_getCode", [account, "latest"], shape.hexBytes);
}

/** Balance in wei at the newest block. */
export function accountBalance(account: Address): Query<bigint> {
  return query("eth_getBalance", [account, "latest"], shape.quantity);
}

/** Next nonce of an account, counting blocks only; at `pending` also executable transactions of the mempool. */
export function accountNonce(account: Address, tag: "latest" | "pending" = "latest"): Query<bigint> {
  return query("eth_getTransactionCount", [account, tag], shape.counter);
}

/** Logs of one contract with one of the topics first, blocks `from` to `to` inclusive. */
export function logs(asked: shape.AskedLogs): Query<readonly shape.Log[]> {
  const { address, topics, from, to } = asked;
  const filter = { address, fromBlock: toQuantity(from), toBlock: toQuantity(to), topics: [topics] };
  return {
    call: { method: "eth_getLogs", params: [filter] },
    read: (result) => shape.readLogs(result, asked),
  };
}

/** Merkle proof of storage slots of a contract at a block. */
export function storageProof(
  account: Address,
  slots: readonly Hash256[],
  tag: BlockTag,
): Query<AccountProofAnswer & { readonly storageProof: readonly { readonly value: string }[] }> {
  return query("eth_getProof", [account, slots, tagOf(tag)], shape.accountProof);
}

/** Effects of a transaction, found by tracing it on top of the newest block. */
export function trace(call: SimulatedCall, host: Address): Query<TraceOutcome> {
  const block = call.block && {
    blockOverrides: { number: toQuantity(call.block.number), time: toQuantity(call.block.timestamp) },
  };
  return {
    call: {
      method: "debug_traceCall",
      params: [callObject(call), "latest", { ...callTracerOptions, ...overrides(call), ...block }],
    },
    read: (result) => readTrace(result, host),
  };
}

/** Effects of a transaction, found by simulating it in a block after the newest one: its logs, not its inner calls. */
export function simulatedCall(call: SimulatedCall, host: Address): Query<SimulatedOutcome> {
  const { price, baseFeeWei } = call;
  // Without validation the base fee is 0: the price is set as contracts will see it.
  const paid = price === undefined ? undefined : effectivePrice(price, baseFeeWei ?? 0n);
  const base = price === undefined || baseFeeWei === undefined
    ? {}
    : { blockOverrides: { baseFeePerGas: toQuantity(baseFeeWei) } };
  const calls = [callObject({ ...call, price: paid })];
  const blocks = {
    blockStateCalls: [{ ...base, ...overrides(call), calls }],
    validation: false,
    traceTransfers: false,
  };
  return {
    call: { method: "eth_simulateV1", params: [blocks, "latest"] },
    read: (result) =>
      readSimulated(shape.parseResponse(shape.simulatedBlocks, result, "eth_simulateV1"), host),
  };
}

/** Effective gas price in a block with that base fee (EIP-1559). */
function effectivePrice(price: GasPrice, baseFeeWei: bigint): GasPrice {
  if (price.type === "legacy") return price;
  return { type: "legacy", gasPriceWei: lowest(price.maxFeeWei, baseFeeWei + price.maxPriorityFeeWei) };
}

function readSimulated([block]: shape.SimulatedBlocks, host: Address): SimulatedOutcome {
  const [ran] = block.calls;
  const handled = new HandledLogs(host);
  for (const log of ran.logs ?? []) handled.add(log);
  const { posts, gets } = handled;
  const revertData = ran.returnData === "0x" ? ran.error?.data ?? "0x" : ran.returnData;
  return { posts, gets, gasUsed: ran.gasUsed, revertData: ran.status === 0n ? revertData : undefined };
}

/** Gas with which the transaction does not revert; says nothing about callbacks that fail silently. */
export function gasEstimate(call: SimulatedCall): Query<bigint> {
  return query("eth_estimateGas", [callObject(call)], shape.counter);
}

/** Broadcasts a signed transaction; returns its hash. */
export function rawTransaction(raw: Uint8Array): Query<Hash256> {
  return query("eth_sendRawTransaction", [toHex(raw)], shape.hash);
}

/** Receipt of a transaction; `undefined` until it is mined. */
export function transactionReceipt(transaction: Hash256): Query<shape.Receipt | undefined> {
  const method = "eth_getTransactionReceipt";
  return {
    call: { method, params: [transaction] },
    read: (result) => {
      const found = shape.parseResponse(shape.receipt.nullable(), result, method);
      if (found === null) return undefined;
      if ((found.transactionHash ?? transaction) !== transaction) throw new SchemaError(`${method}, another`);
      return found;
    },
  };
}

/** True when the node has the transaction, in a block or in its mempool. */
export function isTransactionKnown(transaction: Hash256): Query<boolean> {
  const found = z.object({ hash: shape.hash }).nullable().transform((found) => found !== null);
  return query("eth_getTransactionByHash", [transaction], found);
}
