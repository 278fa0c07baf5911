/**
 * What rollups of the devnet charge for publishing transactions on their L1: the contracts that tell it, and the gas that
 * an Arbitrum node adds to its estimates. Prices are settable, so that the same message can be asked about twice.
 */
import { brotliCompressSync, constants } from "node:zlib";
import { type Address, decodeFunctionResult, encodeFunctionData } from "viem";
import { fromHex, type Hex } from "../../src/core/encoding/bytes.ts";
import { arbGasInfo, opStackOracle, unsignedCall } from "../../src/core/evm/fee_oracles.ts";
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { compileContracts, type ContractName } from "./compile.ts";
import { nodeAt, readerFor, transactor } from "./deploy.ts";
import type { AnswerRule } from "./header_rewriter.ts";
import type { NodePlace } from "./rollup_l1.ts";

/** What an OP stack chain charges beside gas. */
export interface OpStackPrices {
  readonly l1BaseFeeWei: bigint;
  readonly blobBaseFeeWei: bigint;
  /** Millionths of a wei for a unit of gas. */
  readonly operatorFeeScalar: number;
  readonly operatorFeeConstantWei: bigint;
}

/** Scalars of OP Mainnet since Ecotone (ethereum-optimism/superchain-registry: configs/mainnet/op.toml). */
const BASE_FEE_SCALAR = 5227;
const BLOB_BASE_FEE_SCALAR = 1_014_213;

/** An L1 at 30 gwei, and an operator who takes 4,000 wei for a unit of gas. */
export const opStackPrices: OpStackPrices = {
  l1BaseFeeWei: 30_000_000_000n,
  blobBaseFeeWei: 10_000_000_000n,
  operatorFeeScalar: 4_000_000_000,
  operatorFeeConstantWei: 1_000_000_000n,
};

/** What an Arbitrum chain charges. */
export interface ArbitrumCharges {
  /** For a unit of L1 gas. */
  readonly l1UnitWei: bigint;
  /** Price of gas below which it never falls. */
  readonly minBaseFeeWei: bigint;
}

/** An L1 at 10 gwei; gas is never cheaper than what the devnet's nodes ask for without a base fee. */
export const arbitrumPrices: ArbitrumCharges = {
  l1UnitWei: 10_000_000_000n,
  minBaseFeeWei: 1_000_000_000n,
};

/** Puts the price oracle on an OP stack chain. */
export async function installOpStackOracle(l2: NodePlace): Promise<void> {
  await install(l2, opStackOracle, "GasPriceOracle");
  await setOpStackPrices(l2, opStackPrices);
}

/** Changes what an OP stack chain charges beside gas. */
export async function setOpStackPrices(l2: NodePlace, prices: OpStackPrices): Promise<void> {
  const { l1BaseFeeWei, blobBaseFeeWei, operatorFeeScalar, operatorFeeConstantWei } = prices;
  const l1 = [l1BaseFeeWei, blobBaseFeeWei, BASE_FEE_SCALAR, BLOB_BASE_FEE_SCALAR];
  await call(l2, opStackOracle, "GasPriceOracle", { name: "setL1Prices", args: l1 });
  const operator = [operatorFeeScalar, operatorFeeConstantWei];
  await call(l2, opStackOracle, "GasPriceOracle", { name: "setOperatorFee", args: operator });
}

/** Puts the price precompile on an Arbitrum chain. */
export async function installArbGasInfo(l2: NodePlace): Promise<void> {
  await install(l2, arbGasInfo, "ArbGasInfo");
  await setArbitrumPrices(l2, arbitrumPrices);
}

/** Changes what an Arbitrum chain charges. */
export async function setArbitrumPrices(l2: NodePlace, prices: ArbitrumCharges): Promise<void> {
  const args = [prices.l1UnitWei, prices.minBaseFeeWei];
  await call(l2, arbGasInfo, "ArbGasInfo", { name: "setPrices", args });
}

async function install(l2: NodePlace, address: Address, name: ContractName): Promise<void> {
  await nodeAt(l2).setCode({ address, bytecode: (await compileContracts())[name].deployedBytecode });
}

async function call(
  l2: NodePlace,
  to: Address,
  contract: ContractName,
  { name, args }: { readonly name: string; readonly args: readonly unknown[] },
): Promise<void> {
  const { abi } = (await compileContracts())[contract];
  const data = encodeFunctionData({ abi, functionName: name, args });
  await transactor(readerFor(l2))(DEVNET_ACCOUNTS.proposer, { to, data });
}

/** Units of L1 gas for a byte, and the padding of estimates (OffchainLabs/nitro: arbos/l1pricing/l1pricing.go). */
const UNITS_PER_BYTE = 16n;
const PADDING_UNITS = 16n * 16n;
const PADDING_BASIS_POINTS = 100n;
/** Estimates take the L1's price to be a tenth higher (arbos/tx_processor.go: GasEstimationL1PricePadding). */
const PRICE_PADDING_BASIS_POINTS = 1_000n;
const BASIS_POINTS = 10_000n;

/** Makes estimates of gas hold what pays for publishing the transaction, as those of Nitro do. */
export function withLayer1Gas(l2: NodePlace): AnswerRule {
  return async ({ method, params }, result) => {
    const [transaction] = params;
    if (method !== "eth_estimateGas" || typeof result !== "string" || !isCall(transaction)) return result;
    const units = posterUnits(unsignedCall({ chainId: l2.chainId, ...transaction }));
    const { layer1UnitWei, gasPriceWei } = await fetchPrices(l2);
    if (gasPriceWei === 0n) return result;
    const priceWei = layer1UnitWei * (BASIS_POINTS + PRICE_PADDING_BASIS_POINTS) / BASIS_POINTS;
    return `0x${(BigInt(result) + priceWei * units / gasPriceWei).toString(16)}`;
  };
}

function isCall(value: unknown): value is { readonly to: Address; readonly data: Hex } {
  return typeof value === "object" && value !== null && "to" in value && "data" in value;
}

/** What is charged for a transaction: its bytes after compression by Brotli. */
function posterUnits(unsigned: Hex): bigint {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 1 };
  const bytes = BigInt(brotliCompressSync(fromHex(unsigned), { params }).length);
  return (bytes * UNITS_PER_BYTE + PADDING_UNITS) * (BASIS_POINTS + PADDING_BASIS_POINTS) / BASIS_POINTS;
}

async function fetchPrices(
  l2: NodePlace,
): Promise<{ readonly layer1UnitWei: bigint; readonly gasPriceWei: bigint }> {
  const { abi } = (await compileContracts()).ArbGasInfo;
  const data = encodeFunctionData({ abi, functionName: "getPricesInWei" });
  const answer = await readerFor(l2).call({ to: arbGasInfo, data });
  const prices: unknown = decodeFunctionResult({
    abi,
    functionName: "getPricesInWei",
    data: answer.data ?? "0x",
  });
  if (!Array.isArray(prices)) throw new Error("The prices are no list");
  return { layer1UnitWei: BigInt(prices[1]) / UNITS_PER_BYTE, gasPriceWei: BigInt(prices[5]) };
}
