/**
 * Contracts in which rollups tell what their transactions cost: calldata, and what the answers mean.
 * Sources: ethereum-optimism/optimism: packages/contracts-bedrock/src/L2/GasPriceOracle.sol;
 * OffchainLabs/nitro-contracts: src/precompiles/ArbGasInfo.sol.
 */
import { decodeFunctionResult, encodeFunctionData, parseAbi, serializeTransaction } from "viem";
import type { Hex } from "../bytes.ts";
import { type Address, toAddress } from "./address.ts";

const oracleAbi = parseAbi([
  "function gasPrice() view returns (uint256)",
  "function getL1Fee(bytes data) view returns (uint256)",
]);
const arbGasInfoAbi = parseAbi([
  "function getPricesInWei() view returns (uint256, uint256, uint256, uint256, uint256, uint256)",
]);

/** Predeployed on every chain of the OP stack, and on no other. */
export const opStackOracle: Address = toAddress("0x420000000000000000000000000000000000000f");

/** Precompile of Arbitrum chains. */
export const arbGasInfo: Address = toAddress("0x000000000000000000000000000000000000006c");

/** Calldata that asks the OP stack's oracle for the price per gas. */
export const encodeOraclePrice: Hex = encodeFunctionData({ abi: oracleAbi, functionName: "gasPrice" });

/** Calldata that asks Arbitrum for its prices. */
export const encodeArbPrices: Hex = encodeFunctionData({
  abi: arbGasInfoAbi,
  functionName: "getPricesInWei",
});

/**
 * Calldata that asks the OP stack's oracle what publishing a transaction costs. It is asked about the unsigned
 * legacy transaction without nonce and prices: only length and zero bytes count
 * (polytope-labs/hyperbridge: tesseract/messaging/evm/src/gas_oracle.rs).
 */
export function encodeDataCost(to: Address, data: Hex): Hex {
  const raw = serializeTransaction({ type: "legacy", nonce: 0, gasPrice: 0n, gas: 0n, to, value: 0n, data });
  return encodeFunctionData({ abi: oracleAbi, functionName: "getL1Fee", args: [raw] });
}

/** The oracle's number, wei; `undefined` when the answer is no word: there is no oracle. */
export function decodeOracleWei(result: Hex): bigint | undefined {
  return /^0x[0-9a-f]{64}$/.test(result) ? BigInt(result) : undefined;
}

/** Price per gas in Arbitrum's answer, wei: the last of six; `undefined` when it has another shape. */
export function decodeArbPrice(result: Hex): bigint | undefined {
  try {
    return decodeFunctionResult({ abi: arbGasInfoAbi, functionName: "getPricesInWei", data: result })[5];
  } catch {
    return undefined; // viem reports everything that it cannot decode by throwing
  }
}
