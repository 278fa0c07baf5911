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
import { accountBalance, callResult } from "./queries.ts";
import type { HostParams } from "../../evm/host_reads.ts";
import { ONE_DOLLAR_27 } from "../../evm/native_price.ts";
import {
  decodeRouterPrice,
  decodeWrappedNative,
  encodeRouterQuote,
  encodeWrappedNative,
} from "../../evm/price_router.ts";
import { fetchDecimals } from "./fees.ts";

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
