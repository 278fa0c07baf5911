/**
 * Current cost of a transaction: gas price, and on rollups the price of publishing its data. Read along with other
 * queries, so it needs no round trip of its own. Source: docs/protocol/evm-host.md section 10.
 */
import type { Hex } from "../../encoding/bytes.ts";
import {
  arbGasInfo,
  type ArbitrumPrices,
  computeLayer1Gas,
  decodeArbPrices,
  decodeOracleWei,
  encodeArbPrices,
  encodeDataCost,
  encodeOperatorFee,
  encodeOraclePrice,
  OPERATOR_FEE_PROBE_GAS,
  type OperatorFee,
  operatorFeeWei,
  opStackOracle,
  unsignedCall,
} from "../../evm/fee_oracles.ts";
import type { Address } from "../../evm/address.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { GasQuote } from "../fees.ts";
import type { EvmContext } from "./evm_context.ts";
import { highest, isArbitrum, lowestTip } from "./gas.ts";
import { callResult, contractCode, gasPrice, newestBlock, type SimulatedCall } from "./queries.ts";
import { callAll, orFault, type RpcBatch } from "./rpc_batch.ts";
import type { Receipt } from "./rpc_schemas.ts";

/** Costs of a transaction; of its data only if requested. */
export interface Costs extends GasQuote {
  /** Lowest tip with which the chain's nodes take a transaction, wei; part of the price. */
  readonly lowestTipWei: bigint;
  /** Cost besides gas when the transaction uses `gas`, wei: data and operator fee of the OP stack, 0 elsewhere. */
  readonly dataCostWei: (gas: bigint) => bigint;
  /** Maximum gas for the data, which traces do not include: on Arbitrum; 0 elsewhere. */
  readonly layer1Gas: bigint;
}

type RawAnswer = () => Hex | RpcFault;

/**
 * Adds the queries for the costs of a transaction to a batch. The result is available after the batch was sent. Whether the chain uses the OP stack is detected once on the way.
 * @param makeUnsigned the transaction without its signature; made only where its bytes cost something of their own
 * @throws {RpcFault} (the result) when an OP-stack chain does not report the data cost: it is never taken for 0.
 */
export function addCosts(context: EvmContext, batch: RpcBatch, makeUnsigned?: () => Hex): () => Costs {
  const lowestTipWei = lowestTip(context.at.chainId);
  const nodePrice = addNodePrice(batch, lowestTipWei);
  const free = { lowestTipWei, dataCostWei: () => 0n, layer1Gas: 0n };
  if (isArbitrum(context.at.chainId)) {
    const answer = addRaw(batch, arbGasInfo, encodeArbPrices);
    return () => arbitrumCosts(nodePrice(), read(answer, decodeArbPrices), makeUnsigned);
  }
  if (context.isUnsupported("opStack", context.at.endpoints.hosts[0])) {
    return () => ({ gasPriceWei: nodePrice(), ...free });
  }
  const code = context.isOpStack ? undefined : batch.addOptional(contractCode(opStackOracle));
  const price = addRaw(batch, opStackOracle, encodeOraclePrice);
  const dataCost = makeUnsigned && addDataCost(context, batch, makeUnsigned());
  return () => {
    const isOpStack = code === undefined ||
      findKind(context, { code: code(), price: price(), host: batch.host });
    if (!isOpStack) return { gasPriceWei: nodePrice(), ...free };
    return { ...free, gasPriceWei: highest(nodePrice(), read(price, decodeOracleWei)), ...dataCost?.() };
  };
}

/** Adds the queries for what a simulated call costs, whose transaction is not known yet. */
export function addCallCosts(
  context: EvmContext,
  batch: RpcBatch,
  call: Pick<SimulatedCall, "to" | "data">,
): () => Costs {
  return addCosts(context, batch, () => unsignedCall({ chainId: context.at.chainId, ...call }));
}

/** Adds the price that the node names; where it may name less than it takes, at least base fee and lowest tip. */
function addNodePrice(batch: RpcBatch, lowestTipWei: bigint): () => bigint {
  const named = batch.add(gasPrice);
  if (lowestTipWei === 0n) return named;
  const head = batch.add(newestBlock);
  return () => highest(named(), (head().baseFeePerGas ?? 0n) + lowestTipWei);
}

function arbitrumCosts(
  nodePriceWei: bigint,
  prices: ArbitrumPrices | undefined,
  makeUnsigned: (() => Hex) | undefined,
): Costs {
  return {
    gasPriceWei: highest(nodePriceWei, prices?.gasPriceWei),
    lowestTipWei: 0n,
    dataCostWei: () => 0n,
    layer1Gas: makeUnsigned === undefined || prices === undefined
      ? 0n
      : computeLayer1Gas(makeUnsigned(), prices),
  };
}

/** Adds the queries for the OP stack's charges besides gas. */
function addDataCost(context: EvmContext, batch: RpcBatch, unsigned: Hex): () => Pick<Costs, "dataCostWei"> {
  const layer1 = addRaw(batch, opStackOracle, encodeDataCost(unsigned));
  const atZero = addRaw(batch, opStackOracle, encodeOperatorFee(0n));
  const atProbe = addRaw(batch, opStackOracle, encodeOperatorFee(OPERATOR_FEE_PROBE_GAS));
  return () => {
    const layer1Wei = requireWei(context, layer1());
    const operatorFee = readOperatorFee(context, atZero(), atProbe());
    return {
      dataCostWei: (gas) => layer1Wei + (operatorFee === undefined ? 0n : operatorFeeWei(operatorFee, gas)),
    };
  };
}

/**
 * Cost besides gas of a mined transaction, wei: what the receipt names for its data, and the operator fee as the oracle
 * computes it at that block, whatever the fork's formula is. One request on the OP stack, none elsewhere.
 */
export async function fetchMinedDataCost(
  context: EvmContext,
  { blockNumber, gasUsed, l1Fee, operatorFeeScalar, operatorFeeConstant }: Omit<Receipt, "logs">,
  signal: AbortSignal,
): Promise<bigint> {
  // Nodes of the OP stack always name the fee for data.
  const isFree = operatorFeeScalar === 0n && operatorFeeConstant === 0n;
  if (isFree || typeof l1Fee !== "bigint") return l1Fee ?? 0n;
  const call = { to: opStackOracle, data: encodeOperatorFee(gasUsed) };
  // The fee hardly ever changes: a node that has dropped the state of that block names the current one.
  const queries = [orFault(callResult(call, blockNumber)), orFault(callResult(call))] as const;
  const answers = await callAll(context.at.endpoints, queries, { signal });
  const told = answers.find((result) => !(result instanceof RpcFault) || result.code === "reverted");
  if (told === undefined) throw answers[0];
  return l1Fee + (told instanceof RpcFault ? 0n : decodeOracleWei(told) ?? 0n);
}

/** Reads the operator fee; `undefined` for chains before Isthmus, whose oracle does not have the function. */
function readOperatorFee(
  context: EvmContext,
  atZero: Hex | RpcFault,
  atProbe: Hex | RpcFault,
): OperatorFee | undefined {
  const isUnknown = [atZero, atProbe].every((answer) =>
    answer instanceof RpcFault && answer.code === "reverted"
  );
  if (isUnknown) return undefined;
  return { atZeroWei: requireWei(context, atZero), atProbeWei: requireWei(context, atProbe) };
}

function addRaw(batch: RpcBatch, to: Address, data: Hex): RawAnswer {
  return batch.addOptional(callResult({ to, data }));
}

/**
 * Reads an answer; `undefined`: the chain has no such contract. @throws {RpcFault} when the node could not answer
 * just now.
 */
function read<T>(answer: RawAnswer, decode: (result: Hex) => T | undefined): T | undefined {
  const result = answer();
  if (!(result instanceof RpcFault)) return decode(result);
  if (result.reaction === "retry") throw result;
  return undefined;
}

/**
 * True if code that answers like the oracle makes the chain an OP-stack chain; that it does not is believed for a while.
 * @throws {RpcFault} when the oracle may exist and did not answer: its fee is never omitted.
 */
function findKind(
  context: EvmContext,
  { code, price, host }: {
    readonly code: Hex | RpcFault;
    readonly price: Hex | RpcFault;
    readonly host: string;
  },
): boolean {
  const isOpStack = code !== "0x" && read(() => price, decodeOracleWei) !== undefined;
  if (isOpStack) context.isOpStack = true;
  else if (!(code instanceof RpcFault)) context.noteUnsupported("opStack", host);
  return isOpStack;
}

function requireWei(context: EvmContext, answer: Hex | RpcFault): bigint {
  if (answer instanceof RpcFault) throw answer;
  const wei = decodeOracleWei(answer);
  if (wei !== undefined) return wei;
  // Whether there is an oracle at all is asked again.
  context.isOpStack = false;
  const detail = "the oracle of the OP stack does not report what a transaction costs besides gas";
  throw context.fault("malformed", "eth_call", detail);
}
