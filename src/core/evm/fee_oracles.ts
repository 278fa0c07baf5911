/**
 * Contracts in which rollups publish transaction costs: calldata, and readers of the answers. Sources:
 * ethereum-optimism/optimism: packages/contracts-bedrock/src/L2/GasPriceOracle.sol; ethereum-optimism/specs:
 * specs/protocol/isthmus/exec-engine.md (operator fee); OffchainLabs/nitro: precompiles/ArbGasInfo.go.
 */
import {
  decodeFunctionResult,
  encodeFunctionData,
  parseAbi,
  parseTransaction,
  serializeTransaction,
  type TransactionSerializable,
} from "viem";
import { type Hex, toHex } from "../encoding/bytes.ts";
import { readOrUndefined } from "../encoding/coded_error.ts";
import { type Address, toAddress } from "./address.ts";

const oracleAbi = parseAbi([
  "function gasPrice() view returns (uint256)",
  "function getL1Fee(bytes data) view returns (uint256)",
  "function getOperatorFee(uint256 gasUsed) view returns (uint256)",
]);
const arbGasInfoAbi = parseAbi([
  "function getPricesInWei() view returns (uint256, uint256, uint256, uint256, uint256, uint256)",
]);

/** Predeployed on every chain of the OP stack, and on no other. */
export const opStackOracle: Address = toAddress("0x420000000000000000000000000000000000000f");

/** Precompile of Arbitrum chains. */
export const arbGasInfo: Address = toAddress("0x000000000000000000000000000000000000006c");

/** Calldata for the gas price at the OP stack's oracle. */
export const encodeOraclePrice: Hex = encodeFunctionData({ abi: oracleAbi, functionName: "gasPrice" });

/** Calldata for Arbitrum's prices. */
export const encodeArbPrices: Hex = encodeFunctionData({
  abi: arbGasInfoAbi,
  functionName: "getPricesInWei",
});

/**
 * Unsigned transaction for a call, for the oracles: type 2, with numbers as wide as real ones if they are not known
 * yet, so that the signed transaction is not larger.
 */
export function unsignedCall(
  call: { readonly chainId: number; readonly to: Address; readonly data: Hex },
): Hex {
  return serializeTransaction({
    type: "eip1559",
    chainId: call.chainId,
    nonce: 0xffffff,
    maxPriorityFeePerGas: 0xffffffffffn,
    maxFeePerGas: 0xffffffffffn,
    gas: 0xffffffffn,
    to: call.to,
    value: 0n,
    data: call.data,
  });
}

/** Strips the signature from a signed transaction. */
export function withoutSignature(raw: Uint8Array): Hex {
  const { r: _r, s: _s, v: _v, yParity: _parity, ...unsigned } = parseTransaction(toHex(raw));
  const transaction: TransactionSerializable = unsigned;
  return serializeTransaction(transaction);
}

/** Calldata for the cost of publishing a transaction at the OP stack's oracle; it adds the signature's bytes. */
export function encodeDataCost(unsigned: Hex): Hex {
  return encodeFunctionData({ abi: oracleAbi, functionName: "getL1Fee", args: [unsigned] });
}

/** Calldata for the operator fee of this gas at the OP stack's oracle (since Isthmus). */
export function encodeOperatorFee(gas: bigint): Hex {
  return encodeFunctionData({ abi: oracleAbi, functionName: "getOperatorFee", args: [gas] });
}

/**
 * Gas at which the operator fee is probed, besides 0: the fee is a constant plus a part proportional to the gas,
 * whose scale changed with Jovian (millionths of a wei before, hundreds of wei since). Large enough to avoid
 * rounding.
 */
export const OPERATOR_FEE_PROBE_GAS = 1_000_000_000n;

/** Operator fee of a chain of the OP stack, wei: for no gas, and for {@link OPERATOR_FEE_PROBE_GAS}. */
export interface OperatorFee {
  readonly atZeroWei: bigint;
  readonly atProbeWei: bigint;
}

/** Operator fee of a transaction that uses `gas`, wei, rounded up. */
export function operatorFeeWei({ atZeroWei, atProbeWei }: OperatorFee, gas: bigint): bigint {
  const slope = (atProbeWei - atZeroWei) * gas;
  return atZeroWei + (slope + OPERATOR_FEE_PROBE_GAS - 1n) / OPERATOR_FEE_PROBE_GAS;
}

/** Value of the oracle, wei; `undefined` when the answer is not one word: there is no oracle. */
export function decodeOracleWei(result: Hex): bigint | undefined {
  return /^0x[0-9a-f]{64}$/.test(result) ? BigInt(result) : undefined;
}

/** Prices of Arbitrum, wei. */
export interface ArbitrumPrices {
  /** For a byte of the transaction that is published on layer 1, before compression. */
  readonly layer1ByteWei: bigint;
  /** For a unit of gas. */
  readonly gasPriceWei: bigint;
}

/** Arbitrum's prices: the second and the last of six numbers; `undefined` when the answer has another shape. */
export function decodeArbPrices(result: Hex): ArbitrumPrices | undefined {
  const prices = readOrUndefined(() =>
    decodeFunctionResult({ abi: arbGasInfoAbi, functionName: "getPricesInWei", data: result })
  );
  return prices && { layer1ByteWei: prices[1], gasPriceWei: prices[5] };
}

/** Bytes that a signature adds to an unsigned transaction (contracts-bedrock: GasPriceOracle.sol). */
const SIGNATURE_BYTES = 68n;

/**
 * Maximum gas that Arbitrum charges for publishing a transaction: it charges the bytes after compression
 * (OffchainLabs/nitro: arbos/l1pricing/l1pricing.go, arbos/tx_processor.go), and a trace's gas does not include it.
 */
export function computeLayer1Gas(unsigned: Hex, prices: ArbitrumPrices): bigint {
  const { layer1ByteWei, gasPriceWei } = prices;
  if (gasPriceWei === 0n) return 0n;
  const bytes = BigInt((unsigned.length - 2) / 2) + SIGNATURE_BYTES;
  return (bytes * layer1ByteWei + gasPriceWei - 1n) / gasPriceWei;
}
