/**
 * Gas limit and gas price of a delivery. Pure. Rules: docs/protocol/evm-host.md section 9; docs/protocol/messaging.md
 * section 9.2.
 */

/** Transaction gas limits that nodes, gateways or the chain itself allow, by chain id. */
const chainGasLimits: ReadonlyMap<number, bigint> = new Map([
  [42161, 32_000_000n], // Arbitrum
  [421614, 32_000_000n],
  [1329, 4_000_000n], // Sei
  [1328, 4_000_000n],
  [25, 18_000_000n], // Cronos
  [338, 18_000_000n],
  [1440, 15_000_000n], // Injective
  [1439, 15_000_000n],
]);
const OTHER_GAS_LIMIT = 16_000_000n;

/** Maximum gas of one transaction on a chain (polytope-labs/hyperbridge: tesseract/messaging/evm). */
export function chainGasLimit(chainId: number): bigint {
  return chainGasLimits.get(chainId) ?? OTHER_GAS_LIMIT;
}

/** True for chains where a trace's gas lacks the part paid for layer 1, so that the estimate counts instead. */
export function isArbitrum(chainId: number): boolean {
  return chainId === 42161 || chainId === 421614;
}

/**
 * Lowest tips that the nodes of a chain take, by chain id. Bor's pool turns away whatever offers less (PIP-35), while
 * many of its providers suggest less: 0xPolygon/launch#62, hyperlane-xyz/hyperlane-monorepo#1933.
 */
const lowestTips: ReadonlyMap<number, bigint> = new Map([
  [137, 25_000_000_000n], // Polygon
  [80002, 25_000_000_000n],
]);

/** Lowest tip with which nodes of a chain take a transaction, wei; 0 where nodes suggest what they take. */
export function lowestTip(chainId: number): bigint {
  return lowestTips.get(chainId) ?? 0n;
}

/**
 * Price that a node names, wei, at least what its newest block demands: the base fee, and the lowest tip that its pool
 * takes. Some nodes name less.
 */
export function flooredPrice(
  namedWei: bigint,
  { baseFeePerGas = 0n }: { readonly baseFeePerGas?: bigint | undefined },
  chainId: number,
): bigint {
  return highest(namedWei, baseFeePerGas + lowestTip(chainId));
}

/** Gas of a plain transfer, which is what a cancelling transaction is; chains that charge for layer 1 need more. */
export const TRANSFER_GAS = 21_000n;

/** One gwei, wei. */
const GWEI = 1_000_000_000n;

/**
 * Gas prices that a transaction offers at most unless the configuration says otherwise, gwei by chain id: well above
 * the peaks of recent years, so that only a false price meets it. Testnets have their mainnet's.
 */
const maximumPricesGwei: ReadonlyMap<number, bigint> = new Map([
  ...[1, 11155111, 560048].map((id) => [id, 500n] as const), // Ethereum
  ...[56, 97].map((id) => [id, 25n] as const), // BSC
  ...[100, 10200].map((id) => [id, 500n] as const), // Gnosis
  ...[137, 80002].map((id) => [id, 5_000n] as const), // Polygon
  ...[42161, 421614].map((id) => [id, 10n] as const), // Arbitrum
  ...[10, 8453, 130, 1868].map((id) => [id, 10n] as const), // OP Mainnet, Base, Unichain, Soneium
  ...[11155420, 84532, 1301, 1946].map((id) => [id, 10n] as const), // and their testnets
]);

/** Maximum gas price of a chain, wei, where the configuration has none; `undefined`: the chain is not known. */
export function defaultMaximumPrice(chainId: number): bigint | undefined {
  const gwei = maximumPricesGwei.get(chainId);
  return gwei === undefined ? undefined : gwei * GWEI;
}

/**
 * Gas limit for a transaction that uses `gasUsed` according to a trace: 64/63 because a call keeps a 64th back, 5/4
 * because `gasUsed` is net of refunds of up to a fifth (EIP-3529), and 5 % for state that changes until inclusion.
 * Unused gas is not paid; too little makes callbacks fail silently.
 */
export function gasLimitFor(gasUsed: bigint): bigint {
  return gasUsed * 64n * 5n * 105n / (63n * 4n * 100n) + 1n;
}

/** Expected gas of a transaction with this limit: the inverse of {@link gasLimitFor}. */
export function expectedGas(gasLimit: bigint): bigint {
  return gasLimit * 63n * 4n * 100n / (64n * 5n * 105n);
}

/**
 * Gas limit without a trace. The estimate is of little use, since the host swallows callbacks that run out of gas: a
 * quarter of the chain's limit for each message up to four fifths for all, or twice the estimate if that is more.
 */
export function untracedGasLimit(limit: bigint, messages: number, estimate: bigint | undefined): bigint {
  const share = lowest(limit * 8n / 10n, limit / 4n * BigInt(Math.max(1, messages)));
  return lowest(limit, highest(share, (estimate ?? 0n) * 2n));
}

/** Gas price that a transaction offers, wei. */
export type GasPrice =
  | { readonly type: "legacy"; readonly gasPriceWei: bigint }
  | { readonly type: "eip1559"; readonly maxFeeWei: bigint; readonly maxPriorityFeeWei: bigint };

/** What gas costs on a chain now. */
export interface GasMarket {
  /** Price that the node names. */
  readonly gasPriceWei: bigint;
  /** `undefined` before EIP-1559. */
  readonly baseFeeWei: bigint | undefined;
  /** See {@link lowestTip}. */
  readonly lowestTipWei: bigint;
}

/**
 * Price to offer. With a base fee (EIP-1559) the tip is the part of the node's price above it, at least the chain's
 * lowest, and the maximum fee covers two full blocks of rising base fee (9/8 each, rounded to 5/4) and the tip: only the
 * block's actual price is paid. `bufferPercent` raises the maximum and never the tip: nodes suggest what recent
 * transactions tipped, so a tip with a buffer would raise the next one on a chain with few other senders.
 */
export function gasPriceFor(
  { gasPriceWei, baseFeeWei, lowestTipWei }: GasMarket,
  bufferPercent: number,
): GasPrice {
  const buffered = (wei: bigint): bigint => wei + wei * BigInt(bufferPercent) / 100n;
  if (baseFeeWei === undefined) {
    return { type: "legacy", gasPriceWei: buffered(highest(gasPriceWei, lowestTipWei)) };
  }
  const baseWei = lowest(baseFeeWei, 2n * gasPriceWei);
  const tip = highest(gasPriceWei - baseWei, lowestTipWei);
  return { type: "eip1559", maxFeeWei: buffered(baseWei * 5n / 4n + tip), maxPriorityFeeWei: tip };
}

/**
 * Minimum gas price in the next block, as far as the node knows. A node names at least its base fee as the price: one
 * far above the bounded price counts as twice that, here and in an offer.
 */
export function currentPriceWei({ gasPriceWei, baseFeeWei = 0n, lowestTipWei }: GasMarket): bigint {
  return highest(gasPriceWei, lowest(baseFeeWei, 2n * gasPriceWei) + lowestTipWei);
}

/** The highest of the integers that are there. */
export function highest(first: bigint, ...others: readonly (bigint | undefined)[]): bigint {
  return others.reduce<bigint>((most, other) => other !== undefined && other > most ? other : most, first);
}

/** The lowest of the integers that are there. */
export function lowest(first: bigint, ...others: readonly (bigint | undefined)[]): bigint {
  return others.reduce<bigint>((least, other) => other !== undefined && other < least ? other : least, first);
}

/** Caps a price at `capWei` per gas: the buffer and the margin for a rising base fee shrink. */
export function capPrice(price: GasPrice, capWei: bigint): GasPrice {
  if (price.type === "legacy") return { ...price, gasPriceWei: lowest(price.gasPriceWei, capWei) };
  const { type, maxFeeWei, maxPriorityFeeWei } = price;
  return { type, maxFeeWei: lowest(maxFeeWei, capWei), maxPriorityFeeWei: lowest(maxPriorityFeeWei, capWei) };
}

/**
 * What is left of a maximum gas price when the data of a transaction costs more than in its simulation, wei per gas: what
 * it costs more is missing for each gas that is used. Cheaper data raises nothing.
 */
export function capAfterDataCost(capWei: bigint, moreWei: bigint, gasUsed: bigint): bigint {
  if (moreWei <= 0n || gasUsed === 0n) return capWei;
  return highest(0n, capWei - (moreWei + gasUsed - 1n) / gasUsed);
}

/** Maximum cost of one gas under a price. */
export function highestPriceWei(price: GasPrice): bigint {
  return price.type === "legacy" ? price.gasPriceWei : price.maxFeeWei;
}
