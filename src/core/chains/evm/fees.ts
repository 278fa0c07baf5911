/**
 * Fees of a host: fees paid for requests, their token, and the price of the native token in it. Source:
 * docs/protocol/evm-host.md sections 3 and 10.
 */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { feeTokenDecimals, type HostParams, hostReads } from "../../evm/host_reads.ts";
import { ONE_DOLLAR_27 } from "../../evm/native_price.ts";
import {
  decodeRouterPrice,
  decodeWrappedNative,
  encodeRouterQuote,
  encodeWrappedNative,
} from "../../evm/price_router.ts";
import { type FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type { EvmContext } from "./evm_context.ts";
import { callResult, contractRead } from "./queries.ts";
import { callOne, faultAt, RpcBatch } from "./rpc_batch.ts";

/** Maximum decimals of a fee that can be compared with costs: both are scaled to 18 decimals. */
const MAX_DECIMALS = 18;

/** Fetches the fee per commitment; `undefined` if the host did not dispatch the request. One request. */
export async function fetchFees(
  context: EvmContext,
  commitments: readonly Hash256[],
  signal: AbortSignal,
): Promise<readonly (bigint | undefined)[]> {
  if (commitments.length === 0) return [];
  const { endpoints, host } = context.at;
  const batch = new RpcBatch(endpoints);
  const found = commitments.map((commitment) =>
    batch.add(contractRead(host, hostReads.requestCommitments, commitment))
  );
  await batch.send({ signal });
  return found.map((metadata) => metadata()?.fee);
}

/** Fetches the decimals of the fee token. One request an hour (with cached host parameters). */
export async function fetchFeeTokenDecimals(context: EvmContext, signal: AbortSignal): Promise<number> {
  return await decimalsOf(context, (await context.hostParams.read(signal)).feeToken, signal);
}

async function decimalsOf(context: EvmContext, token: Address, signal: AbortSignal): Promise<number> {
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

/**
 * Fetches the dollars per native token with 27 decimals from the host's router; `undefined` if it is not available,
 * for whatever reason. One request; the first time two more. Hosts of a test hub have no liquidity pools: there it is
 * one dollar.
 */
export async function fetchRouterPrice(
  context: EvmContext,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  try {
    return await askRouter(context, await context.hostParams.read(signal), signal);
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    context.at.log.debug("swap_price_unavailable", { error });
    return undefined;
  }
}

async function askRouter(
  context: EvmContext,
  { hyperbridge, uniswapV2: router, feeToken }: HostParams,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  if (hyperbridge.startsWith("KUSAMA")) return ONE_DOLLAR_27;
  if (router === undefined) return undefined;
  const { endpoints } = context.at;
  if (context.wrappedNative?.router !== router) {
    const answer = await callOne(endpoints, callResult({ to: router, data: encodeWrappedNative() }), {
      signal,
    });
    const token = decodeWrappedNative(answer);
    if (token === undefined) return undefined;
    context.wrappedNative = { router, token };
  }
  const data = encodeRouterQuote(feeToken, context.wrappedNative.token);
  const [answer, decimals] = await Promise.all([
    callOne(endpoints, callResult({ to: router, data }), { signal }),
    decimalsOf(context, feeToken, signal),
  ]);
  const quotation = decodeRouterPrice(answer, decimals);
  return quotation.kind === "price" ? quotation.price27 : undefined;
}
