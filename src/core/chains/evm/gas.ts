/**
 * Gas limit and gas price of a delivery. Pure. Rules: docs/protocol/evm-host.md section 9; docs/protocol/messaging.md
 * section 9.2.
 */
import type { Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
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
} from "../../evm/fee_oracles.ts";
import { type FaultPlace, RpcFault } from "../../rpc/call.ts";
import type { GasQuote } from "../port.ts";
import type { EvmContext } from "./evm_context.ts";
import { blockAt, callResult, contractCode, gasPrice } from "./queries.ts";
import { faultAt, type RpcBatch } from "./rpc_batch.ts";

/** Transaction gas limits that nodes, gateways or the chain itself allow, by chain id. */
const chainGasLimits: ReadonlyMap<number, bigint> = new Map([
  [42161, 32_000_000n], // Arbitrum
  [421614, 32_000_000n],
  [1329, 4_000_000n], // Sei
  [1328, 4_000_000n],
  [25, 18_000_000n], // Cronos
  [338, 18_000_000n],
  [1440, 15_000_000n], // Injective
  [1439, 15_000_000n],
]);
const OTHER_GAS_LIMIT = 16_000_000n;

/** Maximum gas of one transaction on a chain (polytope-labs/hyperbridge: tesseract/messaging/evm). */
export function chainGasLimit(chainId: number): bigint {
  return chainGasLimits.get(chainId) ?? OTHER_GAS_LIMIT;
}

/** True for chains where a trace's gas lacks the part paid for layer 1, so that the estimate counts instead. */
export function isArbitrum(chainId: number): boolean {
  return chainId === 42161 || chainId === 421614;
}

/**
 * Lowest tips that the nodes of a chain take, by chain id. Bor's pool turns away whatever offers less (PIP-35), while
 * many of its providers suggest less: 0xPolygon/launch#62, hyperlane-xyz/hyperlane-monorepo#1933.
 */
const lowestTips: ReadonlyMap<number, bigint> = new Map([
  [137, 25_000_000_000n], // Polygon
  [80002, 25_000_000_000n],
]);

/** Lowest tip with which nodes of a chain take a transaction, wei; 0 where nodes suggest what they take. */
export function lowestTip(chainId: number): bigint {
  return lowestTips.get(chainId) ?? 0n;
}

/** Gas of a plain transfer, which is what a cancelling transaction is; chains that charge for layer 1 need more. */
export const TRANSFER_GAS = 21_000n;

/** One gwei, wei. */
const GWEI = 1_000_000_000n;

/**
 * Gas prices that a transaction offers at most unless the configuration says otherwise, gwei by chain id: well above
 * the peaks of recent years, so that only a false price meets it. Testnets have their mainnet's.
 */
const maximumPricesGwei: ReadonlyMap<number, bigint> = new Map([
  ...[1, 11155111, 560048].map((id) => [id, 500n] as const), // Ethereum
  ...[56, 97].map((id) => [id, 25n] as const), // BSC
  ...[100, 10200].map((id) => [id, 500n] as const), // Gnosis
  ...[137, 80002].map((id) => [id, 5_000n] as const), // Polygon
  ...[42161, 421614].map((id) => [id, 10n] as const), // Arbitrum
  ...[10, 8453, 130, 1868].map((id) => [id, 10n] as const), // OP Mainnet, Base, Unichain, Soneium
  ...[11155420, 84532, 1301, 1946].map((id) => [id, 10n] as const), // and their testnets
]);

/** Maximum gas price of a chain, wei, where the configuration has none; `undefined`: the chain is not known. */
export function defaultMaximumPrice(chainId: number): bigint | undefined {
  const gwei = maximumPricesGwei.get(chainId);
  return gwei === undefined ? undefined : gwei * GWEI;
}

/**
 * Gas limit for a transaction that uses `gasUsed` according to a trace: 64/63 because a call keeps a 64th back, 5/4
 * because `gasUsed` is net of refunds of up to a fifth (EIP-3529), and 5 % for state that changes until inclusion.
 * Unused gas is not paid; too little makes callbacks fail silently.
 */
export function gasLimitFor(gasUsed: bigint): bigint {
  return gasUsed * 64n * 5n * 105n / (63n * 4n * 100n) + 1n;
}

/** Expected gas of a transaction with this limit: the inverse of {@link gasLimitFor}. */
export function expectedGas(gasLimit: bigint): bigint {
  return gasLimit * 63n * 4n * 100n / (64n * 5n * 105n);
}

/**
 * Gas limit without a trace. The estimate is of little use, since the host swallows callbacks that run out of gas: a
 * quarter of the chain's limit for each message up to four fifths for all, or twice the estimate if that is more.
 */
export function untracedGasLimit(
  limit: bigint,
  messages: number,
  estimate: bigint | undefined,
): bigint {
  const shares = limit / 4n * BigInt(Math.max(1, messages));
  const maxGas = limit * 8n / 10n;
  const share = shares < maxGas ? shares : maxGas;
  const doubled = (estimate ?? 0n) * 2n;
  const wanted = doubled > share ? doubled : share;
  return wanted < limit ? wanted : limit;
}

/** Gas price that a transaction offers, wei. */
export type GasPrice =
  | { readonly type: "legacy"; readonly gasPriceWei: bigint }
  | { readonly type: "eip1559"; readonly maxFeeWei: bigint; readonly maxPriorityFeeWei: bigint };

/** What gas costs on a chain now. */
export interface GasMarket {
  /** Price that the node names. */
  readonly gasPriceWei: bigint;
  /** `undefined` before EIP-1559. */
  readonly baseFeeWei: bigint | undefined;
  /** See {@link lowestTip}. */
  readonly lowestTipWei: bigint;
}

/**
 * Price to offer. With a base fee (EIP-1559) the tip is the part of the node's price above it, at least the chain's
 * lowest, and the maximum fee covers two full blocks of rising base fee (9/8 each, rounded to 5/4) and the tip: only the
 * block's actual price is paid. `bufferPercent` raises the maximum and never the tip: nodes suggest what recent
 * transactions tipped, so a tip with a buffer would raise the next one on a chain with few other senders.
 */
export function gasPriceFor(
  { gasPriceWei, baseFeeWei, lowestTipWei }: GasMarket,
  bufferPercent: number,
): GasPrice {
  const buffered = (wei: bigint): bigint => wei + wei * BigInt(bufferPercent) / 100n;
  if (baseFeeWei === undefined) {
    return { type: "legacy", gasPriceWei: buffered(highest(gasPriceWei, lowestTipWei)) };
  }
  const baseWei = lowest(baseFeeWei, 2n * gasPriceWei);
  const tip = highest(gasPriceWei - baseWei, lowestTipWei);
  return { type: "eip1559", maxFeeWei: buffered(baseWei * 5n / 4n + tip), maxPriorityFeeWei: tip };
}

/**
 * Minimum gas price in the next block, as far as the node knows. A node names at least its base fee as the price: one
 * far above the bounded price counts as twice that, here and in an offer.
 */
export function currentPriceWei({ gasPriceWei, baseFeeWei = 0n, lowestTipWei }: GasMarket): bigint {
  return highest(gasPriceWei, lowest(baseFeeWei, 2n * gasPriceWei) + lowestTipWei);
}

/** The highest of the integers that are there. */
export function highest(first: bigint, ...others: readonly (bigint | undefined)[]): bigint {
  return others.reduce<bigint>((most, other) => other !== undefined && other > most ? other : most, first);
}

/** The lowest of the integers that are there. */
export function lowest(first: bigint, ...others: readonly (bigint | undefined)[]): bigint {
  return others.reduce<bigint>((least, other) => other !== undefined && other < least ? other : least, first);
}

/** Caps a price at `capWei` per gas: the buffer and the margin for a rising base fee shrink. */
export function capPrice(price: GasPrice, capWei: bigint): GasPrice {
  const capped = (wei: bigint): bigint => wei < capWei ? wei : capWei;
  return price.type === "legacy" ? { type: "legacy", gasPriceWei: capped(price.gasPriceWei) } : {
    type: "eip1559",
    maxFeeWei: capped(price.maxFeeWei),
    maxPriorityFeeWei: capped(price.maxPriorityFeeWei),
  };
}

/**
 * What is left of a maximum gas price when the data of a transaction costs more than in its simulation: what the
 * data takes more is missing for each gas. Cheaper data raises nothing. Wei per gas, 0 when nothing is left.
 */
export function capAfterDataCost(
  capWei: bigint,
  { gasUsed, simulatedWei, nowWei }: {
    /** Gas of the transaction according to its simulation. */
    readonly gasUsed: bigint;
    /** Cost besides gas according to the simulation, wei. */
    readonly simulatedWei: bigint;
    /** Cost besides gas now, wei. */
    readonly nowWei: bigint;
  },
): bigint {
  const moreWei = nowWei - simulatedWei;
  if (moreWei <= 0n || gasUsed === 0n) return capWei;
  const perGas = (moreWei + gasUsed - 1n) / gasUsed;
  return perGas < capWei ? capWei - perGas : 0n;
}

/** Maximum cost of one gas under a price. */
export function highestPriceWei(price: GasPrice): bigint {
  return price.type === "legacy" ? price.gasPriceWei : price.maxFeeWei;
}

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
  if (context.isOpStack === false) return () => ({ gasPriceWei: nodePrice(), ...free });
  const code = context.isOpStack === undefined ? batch.addOptional(contractCode(opStackOracle)) : undefined;
  const price = addRaw(batch, opStackOracle, encodeOraclePrice);
  const dataCost = makeUnsigned && addDataCost(context, batch, makeUnsigned());
  return () => {
    const isOpStack = code === undefined ? context.isOpStack : findKind(context, code(), price());
    if (isOpStack !== true) return { gasPriceWei: nodePrice(), ...free };
    return { ...free, gasPriceWei: highest(nodePrice(), read(price, decodeOracleWei)), ...dataCost?.() };
  };
}

/** Adds the price that the node names; where it may name less than it takes, at least base fee and lowest tip. */
function addNodePrice(batch: RpcBatch, lowestTipWei: bigint): () => bigint {
  const named = batch.add(gasPrice);
  if (lowestTipWei === 0n) return named;
  const head = batch.add(blockAt("latest"));
  return () => highest(named(), (head()?.baseFeePerGas ?? 0n) + lowestTipWei);
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
function addDataCost(
  context: EvmContext,
  batch: RpcBatch,
  unsigned: Hex,
): () => Pick<Costs, "dataCostWei"> {
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
 * True if code that answers like the oracle makes the chain an OP-stack chain; remembered once the code was read.
 * @throws {RpcFault} when the oracle may exist and did not answer: its fee is never omitted.
 */
function findKind(context: EvmContext, code: Hex | RpcFault, price: Hex | RpcFault): boolean {
  const isOpStack = code !== "0x" && read(() => price, decodeOracleWei) !== undefined;
  if (!(code instanceof RpcFault)) context.isOpStack = isOpStack;
  return isOpStack;
}

function requireWei(context: EvmContext, answer: Hex | RpcFault): bigint {
  if (answer instanceof RpcFault) throw answer;
  const wei = decodeOracleWei(answer);
  if (wei !== undefined) return wei;
  const place: FaultPlace = { chain: context.at.endpoints.chain, endpointHost: "", method: "eth_call" };
  throw faultAt(
    "malformed",
    place,
    "the oracle of the OP stack does not report what a transaction costs besides gas",
  );
}
