/**
 * Prices of transactions and of the native token, as the chain reports them, and our balance. Source:
 * docs/protocol/evm-host.md sections 3 and 10.
 */
import type { ChainGas, GasQuote } from "../fees.ts";
import type { EvmContext } from "./evm_context.ts";
import { RpcFault } from "../../rpc/fault.ts";
import { callOne, RpcBatch } from "./rpc_batch.ts";
import { addCosts } from "./costs.ts";
import { expectedGas, isArbitrum } from "./gas.ts";
import { withoutSignature } from "../../evm/fee_oracles.ts";
import { parseTransaction } from "viem";
import { toHex } from "../../encoding/bytes.ts";
import { accountBalance, callResult, contractRead } from "./queries.ts";
import { MAX_DECIMALS } from "./fees.ts";
import { feeTokenDecimals } from "../../evm/host_reads.ts";
import type { Address } from "../../evm/address.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import { ONE_DOLLAR_27 } from "../../evm/native_price.ts";
import {
  decodeRouterPrice,
  decodeWrappedNative,
  encodeRouterQuote,
  encodeWrappedNative,
} from "../../evm/price_router.ts";

/** Cost of transactions and the means to pay for it. */
export class EvmGas implements ChainGas {
  readonly #context: EvmContext;

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /**
   * Fetches the dollars per native token with 27 decimals from the host's router; `undefined` if it is not available,
   * for whatever reason, also where two endpoints disagree: limits and profits depend on it, so none speaks alone. Two
   * requests to each of two endpoints. Hosts of a test hub have no liquidity pools: there it is one dollar.
   */
  async fetchRouterPrice(
    signal: AbortSignal,
  ): Promise<bigint | undefined> {
    try {
      const params = await this.#context.hostParams.read(signal);
      if (params.hyperbridge.startsWith("KUSAMA")) return ONE_DOLLAR_27;
      const { uniswapV2: router, feeToken } = params;
      if (router === undefined) return undefined;
      const read = (endpoint: RpcEndpointSet): Promise<bigint | undefined> =>
        fetchQuote(endpoint, { router, feeToken }, signal);
      return agreedPrice(await firstAnswers(this.#context.at.endpoints, 2, read));
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      this.#context.at.log.debug("swap_price_unavailable", { error });
      return undefined;
    }
  }

  /** Fetches the current gas price. One request. */
  async fetchGasQuote(signal: AbortSignal): Promise<GasQuote> {
    const batch = new RpcBatch(this.#context.at.endpoints);
    const costs = addCosts(this.#context, batch);
    await batch.send({ signal });
    const { gasPriceWei } = await this.#context.prices.bound(costs(), batch.host, signal);
    return { gasPriceWei };
  }

  /**
   * Cost of a signed transaction besides gas, wei, when it uses the expected gas. One request on the OP stack, none on
   * other chains once known.
   */
  async fetchDataCost(
    raw: Uint8Array,
    signal: AbortSignal,
  ): Promise<bigint> {
    if (isArbitrum(this.#context.at.chainId) || this.#context.isOpStack === false) return 0n;
    const batch = new RpcBatch(this.#context.at.endpoints);
    const costs = addCosts(this.#context, batch, () => withoutSignature(raw));
    await batch.send({ signal });
    return costs().dataCostWei(expectedGas(parseTransaction(toHex(raw)).gas ?? 0n));
  }

  /** Fetches the native balance of our account, wei. One request. */
  fetchBalance(signal: AbortSignal): Promise<bigint> {
    const { endpoints, sender } = this.#context.at;
    return callOne(endpoints, accountBalance(sender), { signal });
  }
}

/** The higher of prices that differ by twice at most, so that costs are never underrated; `undefined`: they disagree. */
function agreedPrice(quotes: readonly (bigint | undefined)[]): bigint | undefined {
  const known = quotes.flatMap((quote) => quote ?? []);
  if (known.length === 0 || known.length < quotes.length) return undefined;
  const highest = known.reduce((a, b) => a > b ? a : b);
  return known.every((quote) => quote * 2n >= highest) ? highest : undefined;
}

/** Values of the first endpoints that answer. @throws {RpcFault} when none does */
async function firstAnswers<T>(
  endpoints: RpcEndpointSet,
  count: number,
  read: (endpoint: RpcEndpointSet) => Promise<T>,
): Promise<readonly T[]> {
  const answers: T[] = [];
  let fault: RpcFault | undefined;
  for (const endpoint of endpoints.each()) {
    if (answers.length === count) break;
    try {
      answers.push(await read(endpoint));
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      if (error.reaction !== "retry") throw error;
      fault ??= error;
    }
  }
  if (answers.length > 0) return answers;
  throw fault ?? new Error("A chain without endpoints");
}

/** One endpoint's quote of the router, dollars per native token x 10^27; `undefined`: there is no pool. */
async function fetchQuote(
  endpoint: RpcEndpointSet,
  { router, feeToken }: { readonly router: Address; readonly feeToken: Address },
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const named = await callOne(endpoint, callResult({ to: router, data: encodeWrappedNative() }), { signal });
  const token = decodeWrappedNative(named);
  if (token === undefined) return undefined;
  const batch = new RpcBatch(endpoint);
  const answer = batch.add(callResult({ to: router, data: encodeRouterQuote(feeToken, token) }));
  const decimals = batch.add(contractRead(feeToken, feeTokenDecimals));
  await batch.send({ signal });
  if (decimals() > MAX_DECIMALS) return undefined;
  const quotation = decodeRouterPrice(answer(), decimals());
  return quotation.kind === "price" ? quotation.price27 : undefined;
}
