/**
 * What a transaction costs now: price per gas, and on the OP stack what publishing its data costs beside gas. Asked
 * along with other things, so that no trip is spent on it. Source: protocol notes 02, section 10.
 */
import type { Hex } from "../../protocol/bytes.ts";
import type { Address } from "../../protocol/evm/address.ts";
import {
  arbGasInfo,
  decodeArbPrice,
  decodeOracleWei,
  encodeArbPrices,
  encodeDataCost,
  encodeOraclePrice,
  opStackOracle,
} from "../../protocol/evm/fee_oracles.ts";
import { type FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type { GasTerms } from "../fees.ts";
import type { EvmContext } from "./evm_context.ts";
import { isArbitrum } from "./gas.ts";
import { callResult, codeOf, gasPrice } from "./queries.ts";
import { faultAt, Question } from "./question.ts";

/** Costs of a transaction. */
export interface Costs extends GasTerms {
  /** Cost beside gas, wei; 0 without calldata to ask about. */
  readonly dataCostWei: bigint;
}

/** A call whose data cost is asked for. */
export interface PricedCall {
  readonly to: Address;
  readonly data: Hex;
}

type RawAnswer = () => Hex | RpcFault;

/**
 * Adds the questions for the costs of a transaction, of `call` if one is given. The result is there after the
 * question was asked. Whether the chain is of the OP stack is found out on the way, once.
 * @throws {RpcFault} (the result) when an OP-stack chain does not tell the data cost: it is never taken for 0.
 */
export function addCosts(context: EvmContext, question: Question, call?: PricedCall): () => Costs {
  const nodePrice = question.add(gasPrice);
  if (isArbitrum(context.at.chainId)) {
    const prices = addRaw(question, arbGasInfo, encodeArbPrices);
    return () => ({ gasPriceWei: higher(nodePrice(), read(prices, decodeArbPrice)), dataCostWei: 0n });
  }
  if (context.isOpStack === false) return () => ({ gasPriceWei: nodePrice(), dataCostWei: 0n });
  const code = context.isOpStack === undefined ? question.addTolerant(codeOf(opStackOracle)) : undefined;
  const price = addRaw(question, opStackOracle, encodeOraclePrice);
  const dataCost = call && addRaw(question, opStackOracle, encodeDataCost(call.to, call.data));
  return () => {
    const priceWei = read(price, decodeOracleWei);
    if (code !== undefined) noteKind(context, code(), priceWei);
    if (context.isOpStack !== true) return { gasPriceWei: nodePrice(), dataCostWei: 0n };
    return {
      gasPriceWei: higher(nodePrice(), priceWei),
      dataCostWei: dataCost === undefined ? 0n : requireWei(context, dataCost()),
    };
  };
}

function addRaw(question: Question, to: Address, data: Hex): RawAnswer {
  return question.addTolerant(callResult({ to, data }));
}

function read(answer: RawAnswer, decode: (result: Hex) => bigint | undefined): bigint | undefined {
  const result = answer();
  return result instanceof RpcFault ? undefined : decode(result);
}

/** Code that answers like the oracle makes the chain one of the OP stack; a fault decides nothing. */
function noteKind(context: EvmContext, code: Hex | RpcFault, priceWei: bigint | undefined): void {
  if (code instanceof RpcFault) return;
  context.isOpStack = code !== "0x" && priceWei !== undefined;
}

function requireWei(context: EvmContext, answer: Hex | RpcFault): bigint {
  if (answer instanceof RpcFault) throw answer;
  const wei = decodeOracleWei(answer);
  if (wei !== undefined) return wei;
  const place: FaultPlace = { chain: context.at.pool.chain, endpointHost: "", method: "eth_call" };
  throw faultAt("malformed", place, "the oracle of the OP stack gives no data cost");
}

function higher(a: bigint, b: bigint | undefined): bigint {
  return b !== undefined && b > a ? b : a;
}

/** Price per gas now. One request. */
export async function fetchGasTerms(context: EvmContext, signal: AbortSignal): Promise<GasTerms> {
  const question = new Question(context.at.pool);
  const costs = addCosts(context, question);
  await question.ask({ signal });
  return { gasPriceWei: costs().gasPriceWei };
}

/** Cost of publishing a call of the handler, wei. One request on the OP stack, none on other chains once known. */
export async function fetchDataCost(context: EvmContext, data: Hex, signal: AbortSignal): Promise<bigint> {
  if (isArbitrum(context.at.chainId) || context.isOpStack === false) return 0n;
  const { handler } = await context.hostParams(signal);
  const question = new Question(context.at.pool);
  const costs = addCosts(context, question, { to: handler, data });
  await question.ask({ signal });
  return costs().dataCostWei;
}
