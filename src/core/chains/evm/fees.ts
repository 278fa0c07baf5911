/** Fees of a host's requests, their token, and what gas costs. Source: docs/protocol/evm-host.md sections 3 and 10. */
import { parseTransaction } from "viem";
import { type Hash256, toHex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { withoutSignature } from "../../evm/fee_oracles.ts";
import { feeTokenDecimals, hostReads } from "../../evm/host_reads.ts";
import {
  decodeRouterPrice,
  decodeWrappedNative,
  encodeRouterQuote,
  encodeWrappedNative,
  ONE_DOLLAR_27,
} from "../../evm/native_price.ts";
import { type FaultPlace, RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { ChainFees, ChainGas, GasQuote } from "../fees.ts";
import { expectedGas, isArbitrum } from "./gas.ts";
import { addCosts } from "./costs.ts";
import type { EvmContext } from "./evm_context.ts";
import { accountBalance, callResult, contractRead } from "./queries.ts";
import { callOne, faultAt, RpcBatch } from "./rpc_batch.ts";
import { askWitnesses } from "./witnesses.ts";

/** Maximum decimals of a fee that can be compared with costs: both are scaled to 18 decimals. */
const MAX_DECIMALS = 18;

/** Fees of the host's requests. */
export class EvmFees implements ChainFees {
  readonly #context: EvmContext;

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /** Fetches the fee per commitment; `undefined` if the host did not dispatch the request. One request. */
  async fetchFees(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<readonly (bigint | undefined)[]> {
    if (commitments.length === 0) return [];
    const { endpoints, host } = this.#context.at;
    const batch = new RpcBatch(endpoints);
    const found = commitments.map((commitment) =>
      batch.add(contractRead(host, hostReads.requestCommitments, commitment))
    );
    await batch.send({ signal });
    return found.map((metadata) => metadata()?.fee);
  }

  /** Fetches the decimals of the fee token. One request an hour (with cached host parameters). */
  async fetchFeeTokenDecimals(signal: AbortSignal): Promise<number> {
    return await fetchDecimals(this.#context, (await this.#context.hostParams.read(signal)).feeToken, signal);
  }
}

/** Fetches the decimals of a token. One request, none once they are known. */
export async function fetchDecimals(
  context: EvmContext,
  token: Address,
  signal: AbortSignal,
): Promise<number> {
  return await context.feeTokenDecimals(token, async () => {
    const batch = new RpcBatch(context.at.endpoints);
    const decimals = batch.add(contractRead(token, feeTokenDecimals));
    const check = (place: FaultPlace): RpcFault | undefined =>
      decimals() <= MAX_DECIMALS
        ? undefined
        : faultAt("malformed", place, `fee token ${token} has ${decimals()} decimals`);
    await batch.send({ signal, check });
    return decimals();
  });
}

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
      const quotes = await askWitnesses(
        this.#context.at.endpoints.each(),
        async (endpoint) => ({ price27: await fetchQuote(endpoint, { router, feeToken }, signal) }),
      );
      return agreedPrice(quotes.map(({ value: { price27 } }) => price27));
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
