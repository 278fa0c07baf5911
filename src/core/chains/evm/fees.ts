/** Fees of a host: those paid for requests, and their token. Source: docs/protocol/evm-host.md section 3. */
import { parseTransaction } from "viem";
import { type Hash256, toHex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { withoutSignature } from "../../evm/fee_oracles.ts";
import { feeTokenDecimals, type HostParams, hostReads } from "../../evm/host_reads.ts";
import {
  decodeRouterPrice,
  decodeWrappedNative,
  encodeRouterQuote,
  encodeWrappedNative,
  ONE_DOLLAR_27,
} from "../../evm/native_price.ts";
import { type FaultPlace, RpcFault } from "../../rpc/call.ts";
import type { ChainFees, ChainGas, GasQuote } from "../fees.ts";
import { expectedGas, isArbitrum } from "./gas.ts";
import { addCosts } from "./costs.ts";
import type { EvmContext } from "./evm_context.ts";
import { accountBalance, callResult, contractRead } from "./queries.ts";
import { callOne, faultAt, RpcBatch } from "./rpc_batch.ts";

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
   * for whatever reason. One request; the first time two more. Hosts of a test hub have no liquidity pools: there it is
   * one dollar.
   */
  async fetchRouterPrice(
    signal: AbortSignal,
  ): Promise<bigint | undefined> {
    try {
      return await this.#askRouter(await this.#context.hostParams.read(signal), signal);
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

  async #askRouter(
    { hyperbridge, uniswapV2: router, feeToken }: HostParams,
    signal: AbortSignal,
  ): Promise<bigint | undefined> {
    if (hyperbridge.startsWith("KUSAMA")) return ONE_DOLLAR_27;
    if (router === undefined) return undefined;
    const { endpoints } = this.#context.at;
    if (this.#context.wrappedNative?.router !== router) {
      const answer = await callOne(endpoints, callResult({ to: router, data: encodeWrappedNative() }), {
        signal,
      });
      const token = decodeWrappedNative(answer);
      if (token === undefined) return undefined;
      this.#context.wrappedNative = { router, token };
    }
    const data = encodeRouterQuote(feeToken, this.#context.wrappedNative.token);
    const [answer, decimals] = await Promise.all([
      callOne(endpoints, callResult({ to: router, data }), { signal }),
      fetchDecimals(this.#context, feeToken, signal),
    ]);
    const quotation = decodeRouterPrice(answer, decimals);
    return quotation.kind === "price" ? quotation.price27 : undefined;
  }
}
