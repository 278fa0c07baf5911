/** Fees of a host's requests, their token, and what gas costs. Source: docs/protocol/evm-host.md sections 3 and 10. */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
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
import { highest, lowest } from "./gas.ts";
import { addCosts } from "./costs.ts";
import { EvmPart } from "./evm_context.ts";
import { accountBalance, callResult, contractRead } from "./queries.ts";
import { callAll, callOne, faultAt, RpcBatch } from "./rpc_batch.ts";
import { askWitnesses, WITNESS_TIMEOUT_MS } from "./witnesses.ts";

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
    const told = (await askWitnesses(endpoints.each(), ask)).map(({ value }) => value);
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

  /** Fetches the decimals of the fee token, as {@link fetchFees} does. */
  async fetchFeeTokenDecimals(signal: AbortSignal): Promise<number> {
    return (await this.fetchFees([], signal)).decimals;
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
      return agreedPrice(quotes.map(({ value: { price27 } }) => price27));
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
