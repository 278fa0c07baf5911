/** Fees of a host's requests, their token, and what gas costs. Source: docs/protocol/evm-host.md sections 3 and 10. */
import type { Hash256, Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import {
  arbGasInfo,
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
import { feeTokenDecimals, type HostParams, hostReads } from "../../evm/host_reads.ts";
import {
  decodeRouterPrice,
  decodeWrappedNative,
  encodeRouterQuote,
  encodeWrappedNative,
  ONE_DOLLAR_27,
} from "../../evm/native_price.ts";
import { type FaultPlace, RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { ChainFees, ChainGas, GasQuote, PaidFees } from "../fees.ts";
import { type EvmContext, EvmPart } from "./evm_context.ts";
import { flooredPrice, type GasMarket, highest, isArbitrum, lowest, lowestTip } from "./gas.ts";
import {
  accountBalance,
  callResult,
  contractRead,
  gasPrice,
  newestBlock,
  type SimulatedCall,
} from "./queries.ts";
import {
  askWitnesses,
  callAll,
  callOne,
  faultAt,
  orFault,
  RpcBatch,
  WITNESS_TIMEOUT_MS,
} from "./rpc_batch.ts";
import type { Block, Receipt } from "./rpc_schemas.ts";

/** Maximum decimals of a fee that can be compared with costs: both are scaled to 18 decimals. */
const MAX_DECIMALS = 18;

/** One endpoint's word about fees, at one block. */
interface ToldFees extends PaidFees {
  readonly params: HostParams;
}

/** Fees of the host's requests. */
export class EvmFees extends EvmPart implements ChainFees {
  /**
   * Fetches the fee per commitment, and the decimals of the fee token at the same block: profits depend on both, so no
   * endpoint speaks alone. Of two that know a request the lower fee counts, and one that does not know it may be behind.
   * One request to each of two endpoints.
   * @throws {RpcFault} `malformed` when they name other tokens or decimals
   */
  async fetchFees(commitments: readonly Hash256[], signal: AbortSignal): Promise<PaidFees> {
    const { endpoints } = this.context.at;
    const { feeToken } = await this.context.hostParams.read(signal);
    const ask = (endpoint: RpcEndpointSet): Promise<ToldFees> =>
      this.#ask(endpoint, { commitments, feeToken }, signal);
    const told = await askWitnesses(endpoints.each(), ask);
    const [first, ...others] = told.length === 0 ? [await ask(endpoints)] : told;
    if (first === undefined) throw new Error("Nobody was asked");
    const { decimals, params } = first;
    const isAgreed = others.every((other) =>
      other.decimals === decimals && other.params.feeToken === params.feeToken
    );
    if (isAgreed) this.context.hostParams.note(params);
    if (!isAgreed || params.feeToken !== feeToken) {
      const detail = "the fee token is another than before, or than at the other endpoint";
      throw this.context.fault("malformed", "eth_call", detail);
    }
    return {
      decimals,
      units: commitments.map((_, index) => lowestKnown(told.map(({ units }) => units[index]))),
    };
  }

  async #ask(
    endpoint: RpcEndpointSet,
    { commitments, feeToken }: { readonly commitments: readonly Hash256[]; readonly feeToken: Address },
    signal: AbortSignal,
  ): Promise<ToldFees> {
    const { host } = this.context.at;
    const batch = new RpcBatch(endpoint);
    const found = commitments.map((each) =>
      batch.add(contractRead(host, hostReads.requestCommitments, each))
    );
    const params = batch.add(this.context.hostParams.query);
    const decimals = batch.add(contractRead(feeToken, feeTokenDecimals));
    const check = (place: FaultPlace): RpcFault | undefined =>
      decimals() <= MAX_DECIMALS
        ? undefined
        : faultAt("malformed", place, `fee token ${feeToken} has ${decimals()} decimals`);
    await batch.send({ signal, check, timeoutMs: WITNESS_TIMEOUT_MS });
    return { units: found.map((metadata) => metadata()?.fee), decimals: decimals(), params: params() };
  }
}

function lowestKnown(fees: readonly (bigint | undefined)[]): bigint | undefined {
  const [first, ...others] = fees.flatMap((fee) => fee ?? []);
  return first === undefined ? undefined : lowest(first, ...others);
}

/** Cost of transactions and the means to pay for it. */
export class EvmGas extends EvmPart implements ChainGas {
  /**
   * Fetches the dollars per native token with 27 decimals from the host's router; `undefined` if it is not available,
   * for whatever reason, also where two endpoints disagree: limits and profits depend on it, so none speaks alone. Two
   * requests to each of two endpoints. Hosts of a test hub have no liquidity pools: there it is one dollar.
   */
  async fetchRouterPrice(signal: AbortSignal): Promise<bigint | undefined> {
    try {
      const params = await this.context.hostParams.read(signal);
      if (params.hyperbridge.startsWith("KUSAMA")) return ONE_DOLLAR_27;
      const { uniswapV2: router, feeToken } = params;
      if (router === undefined) return undefined;
      const quotes = await askWitnesses(
        this.context.at.endpoints.each(),
        async (endpoint) => ({ price27: await this.#fetchQuote(endpoint, { router, feeToken }, signal) }),
      );
      return agreedPrice(quotes.map(({ price27 }) => price27));
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      this.context.at.log.debug("read_failed.swap_price", { error });
      return undefined;
    }
  }

  /** Fetches the current gas price. One request. */
  async fetchGasQuote(signal: AbortSignal): Promise<GasQuote> {
    const batch = new RpcBatch(this.context.at.endpoints);
    const costs = addCosts(this.context, batch);
    await batch.send({ signal });
    const { gasPriceWei } = await this.context.prices.bound(costs(), batch.host, signal);
    return { gasPriceWei };
  }

  /** Fetches the native balance of our account, wei. One request. */
  fetchBalance(signal: AbortSignal): Promise<bigint> {
    const { endpoints, sender } = this.context.at;
    return callOne(endpoints, accountBalance(sender), { signal });
  }

  /**
   * One endpoint's quote of the router, dollars per native token x 10^27; `undefined`: there is no pool, or its host names
   * another router or fee token.
   */
  async #fetchQuote(
    endpoint: RpcEndpointSet,
    { router, feeToken }: { readonly router: Address; readonly feeToken: Address },
    signal: AbortSignal,
  ): Promise<bigint | undefined> {
    const named = await callOne(endpoint, callResult({ to: router, data: encodeWrappedNative() }), {
      signal,
    });
    const token = decodeWrappedNative(named);
    if (token === undefined) return undefined;
    const [answer, decimals, now] = await callAll(endpoint, [
      callResult({ to: router, data: encodeRouterQuote(feeToken, token) }),
      contractRead(feeToken, feeTokenDecimals),
      this.context.hostParams.query,
    ], { signal });
    if (now.uniswapV2 !== router || now.feeToken !== feeToken || decimals > MAX_DECIMALS) return undefined;
    const quotation = decodeRouterPrice(answer, decimals);
    return quotation.kind === "price" ? quotation.price27 : undefined;
  }
}

/** The higher of prices that differ by twice at most, so that costs are never underrated; `undefined`: they disagree. */
function agreedPrice(quotes: readonly (bigint | undefined)[]): bigint | undefined {
  const known = quotes.flatMap((quote) => quote ?? []);
  if (known.length === 0 || known.length < quotes.length) return undefined;
  const most = highest(0n, ...known);
  return known.every((quote) => quote * 2n >= most) ? most : undefined;
}

/** Costs of a transaction, as one endpoint tells them; of its data only if requested. */
export interface Costs extends GasMarket {
  /** The newest block. */
  readonly block: Block;
  /** Cost besides gas when the transaction uses `gas`, wei: data and operator fee of the OP stack, 0 elsewhere. */
  readonly dataCostWei: (gas: bigint) => bigint;
  /** Maximum gas for the data, which traces do not include: on Arbitrum; 0 elsewhere. */
  readonly layer1Gas: bigint;
}

/** What the contracts of a rollup say about costs. */
type RollupCosts = Partial<Pick<Costs, "dataCostWei" | "layer1Gas">> & {
  /** Price of gas, wei. */
  readonly priceWei?: bigint | undefined;
};

type RawAnswer = () => Hex | RpcFault;

/**
 * Adds the queries for the costs of a transaction to a batch. The result is available after the batch was sent. Whether the chain uses the OP stack is detected once on the way.
 * @param makeUnsigned the transaction without its signature; made only where its bytes cost something of their own
 * @throws {RpcFault} (the result) when an OP-stack chain does not report the data cost: it is never taken for 0.
 */
export function addCosts(context: EvmContext, batch: RpcBatch, makeUnsigned?: () => Hex): () => Costs {
  const { chainId } = context.at;
  const named = batch.add(gasPrice);
  const head = batch.add(newestBlock);
  const rollup = isArbitrum(chainId)
    ? addArbitrumCosts(batch, makeUnsigned)
    : addOpStackCosts(context, batch, makeUnsigned);
  return () => {
    const block = head();
    const { priceWei, ...rest } = rollup();
    return {
      gasPriceWei: highest(flooredPrice(named(), block, chainId), priceWei),
      baseFeeWei: block.baseFeePerGas,
      lowestTipWei: lowestTip(chainId),
      block,
      dataCostWei: () => 0n,
      layer1Gas: 0n,
      ...rest,
    };
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

function addArbitrumCosts(batch: RpcBatch, makeUnsigned: (() => Hex) | undefined): () => RollupCosts {
  const answer = addRaw(batch, arbGasInfo, encodeArbPrices);
  return () => {
    const prices = read(answer, decodeArbPrices);
    if (prices === undefined) return {};
    const layer1Gas = makeUnsigned === undefined ? 0n : computeLayer1Gas(makeUnsigned(), prices);
    return { priceWei: prices.gasPriceWei, layer1Gas };
  };
}

/** Adds the queries to the OP stack's oracle; that a chain has none is believed for a while. */
function addOpStackCosts(
  context: EvmContext,
  batch: RpcBatch,
  makeUnsigned: (() => Hex) | undefined,
): () => RollupCosts {
  if (context.isUnsupported("opStack", context.at.endpoints.hosts[0])) return () => ({});
  const price = addRaw(batch, opStackOracle, encodeOraclePrice);
  const dataCost = makeUnsigned && addDataCost(context, batch, makeUnsigned());
  return () => {
    const priceWei = read(price, decodeOracleWei);
    context.isOpStack ||= priceWei !== undefined;
    if (context.isOpStack) return { priceWei, ...dataCost?.() };
    context.noteUnsupported("opStack", batch.host);
    return {};
  };
}

/** Adds the queries for the OP stack's charges besides gas. */
function addDataCost(context: EvmContext, batch: RpcBatch, unsigned: Hex): () => Pick<Costs, "dataCostWei"> {
  const ask = (data: Hex): RawAnswer => addRaw(batch, opStackOracle, data);
  const layer1 = ask(encodeDataCost(unsigned));
  const [atZero, atProbe] = [ask(encodeOperatorFee(0n)), ask(encodeOperatorFee(OPERATOR_FEE_PROBE_GAS))];
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

function requireWei(context: EvmContext, answer: Hex | RpcFault): bigint {
  if (answer instanceof RpcFault) throw answer;
  const wei = decodeOracleWei(answer);
  if (wei !== undefined) return wei;
  // Whether there is an oracle at all is asked again.
  context.isOpStack = false;
  const detail = "the oracle of the OP stack does not report what a transaction costs besides gas";
  throw context.fault("malformed", "eth_call", detail);
}
