/**
 * The native token's price in the host's own UniswapV2 router: calldata, and readers of the answers. Pure. Source:
 * polytope-labs/hyperbridge: tesseract/messaging/evm/src/gas_oracle.rs. The fee token counts as one dollar.
 */
import { decodeFunctionResult, encodeFunctionData, parseAbi } from "viem";
import { type Address, presentAddress } from "./address.ts";
import type { Hex } from "../encoding/bytes.ts";
import { rescale } from "../encoding/decimal.ts";
import { type Quotation, quotePrice } from "./native_price.ts";

const abi = parseAbi([
  "function WETH() view returns (address)",
  "function getAmountsIn(uint256 amountOut, address[] path) view returns (uint256[] amounts)",
]);

/** Decimals of native tokens; wrapped ones have the same on every chain with an ISMP host. */
const NATIVE_DECIMALS = 18n;

/** Calldata for the router's wrapped native token. */
export function encodeWrappedNative(): Hex {
  return encodeFunctionData({ abi, functionName: "WETH" });
}

/** Wrapped native token; `undefined` when the answer is not an address or is the zero address. */
export function decodeWrappedNative(result: Hex): Address | undefined {
  try {
    return presentAddress(decodeFunctionResult({ abi, functionName: "WETH", data: result }));
  } catch {
    return undefined; // not the ABI of an address: there is no router here
  }
}

/** Calldata for the number of fee token units that buy one whole native token. */
export function encodeRouterQuote(feeToken: Address, wrappedNative: Address): Hex {
  const args = [10n ** NATIVE_DECIMALS, [feeToken, wrappedNative]] as const;
  return encodeFunctionData({ abi, functionName: "getAmountsIn", args });
}

/**
 * Price in the router's answer, for a fee token with so many decimals. A wrapper may answer with a single amount:
 * that of Gnosis only wraps the native token, which is the fee token there. Source: polytope-labs/hyperbridge:
 * evm/src/utils/uniswapv2/GnosisUniswapV2Wrapper.sol, evm/config.mainnet.toml.
 */
export function decodeRouterPrice(result: Hex, feeTokenDecimals: number): Quotation {
  let amounts: readonly bigint[];
  try {
    amounts = decodeFunctionResult({ abi, functionName: "getAmountsIn", data: result });
  } catch {
    return { kind: "failed", code: "malformed" };
  }
  const [amount] = amounts;
  // A token with different decimals than the native one is not its wrapped form.
  const isWrapper = amounts.length === 1 && BigInt(feeTokenDecimals) === NATIVE_DECIMALS;
  if (amount === undefined || (amounts.length !== 2 && !isWrapper)) {
    return { kind: "failed", code: "malformed" };
  }
  return quotePrice(rescale(amount, feeTokenDecimals, 27));
}
