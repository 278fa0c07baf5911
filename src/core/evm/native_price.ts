/**
 * Price of a native token, chosen among several answers. Pure. Rules: docs/protocol/messaging.md section 9.3. An
 * unknown price is unknown, never 0.
 */
import { decodeFunctionResult, encodeFunctionData, parseAbi } from "viem";
import { type Hex, rescale } from "../encoding/bytes.ts";
import { readOrUndefined } from "../encoding/coded_error.ts";
import { type Address, presentAddress } from "./address.ts";

/** Name of a price's source, e.g. `etherscan`, `router`. `fixed`: defined by the rules (one dollar). */
export type PriceOrigin = string;

/** Reason why a source returned no usable price. */
export type PriceFailureCode =
  /** No answer within the deadline. */
  | "timeout"
  /** No connection, or it broke. */
  | "unreachable"
  /** The source limits the request rate. */
  | "throttled"
  /** The source does not accept the API key. */
  | "bad_key"
  /** The source or the node refused, or failed. */
  | "refused"
  /** Not the documented shape. */
  | "malformed"
  /** The host names no router, or the router has no pool. */
  | "no_pool"
  /** Zero, negative, or too small to price one unit of gas. */
  | "not_positive"
  /** Differs by more than a factor of ten from a price of the last ten minutes, and no other source agrees. */
  | "jumped";

/** A source's answer. `price27`: dollars per whole native token x 10^27. */
export type Quotation =
  | { readonly kind: "price"; readonly price27: bigint }
  | { readonly kind: "failed"; readonly code: PriceFailureCode };

/** A source's answer with its source. */
export interface SourceQuote {
  readonly origin: PriceOrigin;
  readonly quotation: Quotation;
}

/** A failure with its source. Never holds texts of the source, which may repeat the API key. */
export interface PriceFailure {
  readonly origin: PriceOrigin;
  readonly code: PriceFailureCode;
}

/** Accepted price. */
export interface GoodPrice {
  readonly price27: bigint;
  readonly origin: PriceOrigin;
  /** Time of the request, milliseconds since 1970. */
  readonly readAtMs: number;
}

/** Current price. `failures`: faults on the way, also alongside a known price. */
export type NativePrice =
  | (GoodPrice & {
    readonly kind: "known";
    /** True: no source has a usable price now, this is the last good one. */
    readonly isRemembered: boolean;
    readonly failures: readonly PriceFailure[];
  })
  | {
    readonly kind: "unknown";
    readonly failures: readonly PriceFailure[];
    readonly price27?: undefined;
    readonly origin?: undefined;
  };

/** One dollar x 10^27. */
export const ONE_DOLLAR_27 = 10n ** 27n;

/** Time for which a price is used when no source answers any more, ms. */
const PRICE_TTL_MS = 6 * 3_600_000;

/** Age up to which the last good price bounds the next one, ms. */
const JUMP_WINDOW_MS = 10 * 60_000;

const MAX_JUMP = 10n;
/** Two sources confirm each other's jump when they are at most this factor apart. */
const CONFIRMING_FACTOR = 2n;

/** Quotation of a price; rejects prices below 10^-9 dollars, which would make gas free. */
export function quotePrice(price27: bigint): Quotation {
  return price27 / 10n ** 18n > 0n ? { kind: "price", price27 } : { kind: "failed", code: "not_positive" };
}

/**
 * Chooses among the answers so far, in the order of preference; `ask`: the next source is needed.
 * @param facts.isComplete true when there is no further source
 * @param facts.last the last good price, of this run or an earlier one
 */
export function choosePrice(facts: {
  readonly asked: readonly SourceQuote[];
  readonly isComplete: boolean;
  readonly last: GoodPrice | undefined;
  readonly nowMs: number;
}): NativePrice | { readonly kind: "ask" } {
  const { last, nowMs } = facts;
  const failures: PriceFailure[] = [];
  const jumped: { readonly origin: PriceOrigin; readonly price27: bigint }[] = [];
  for (const { origin, quotation } of facts.asked) {
    if (quotation.kind === "failed") {
      failures.push({ origin, code: quotation.code });
      continue;
    }
    const { price27 } = quotation;
    if (!isJump(price27, last, nowMs)) return known({ price27, origin, readAtMs: nowMs }, failures);
    const confirmed = jumped.find((other) => isWithin(other.price27, price27, CONFIRMING_FACTOR));
    if (confirmed !== undefined) {
      const others = failures.filter((failure) => failure.origin !== confirmed.origin);
      return known({ ...confirmed, readAtMs: nowMs }, others);
    }
    jumped.push({ origin, price27 });
    failures.push({ origin, code: "jumped" });
  }
  if (!facts.isComplete) return { kind: "ask" };
  if (last === undefined || !isYounger(last, nowMs, PRICE_TTL_MS)) return { kind: "unknown", failures };
  return { ...last, kind: "known", isRemembered: true, failures };
}

function known(price: GoodPrice, failures: readonly PriceFailure[]): NativePrice {
  return { ...price, kind: "known", isRemembered: false, failures };
}

function isJump(price27: bigint, last: GoodPrice | undefined, nowMs: number): boolean {
  if (last === undefined || !isYounger(last, nowMs, JUMP_WINDOW_MS)) return false;
  return !isWithin(price27, last.price27, MAX_JUMP);
}

function isWithin(a: bigint, b: bigint, factor: bigint): boolean {
  return a <= b * factor && b <= a * factor;
}

/** True for a recent price; one from the future (the clock was set back) has no known age and does not count. */
function isYounger(price: GoodPrice, nowMs: number, maxAgeMs: number): boolean {
  const ageMs = nowMs - price.readAtMs;
  return ageMs >= 0 && ageMs <= maxAgeMs;
}

/** Dollars per wei x 10^27, of a price in dollars per whole token x 10^27. Rounds down. */
export function unitPrice27(price27: bigint): bigint {
  return price27 / 10n ** 18n;
}

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
  const token = readOrUndefined(() => decodeFunctionResult({ abi, functionName: "WETH", data: result }));
  return token && presentAddress(token);
}

/**
 * Calldata for the number of fee token units that buy one whole native token. Source: polytope-labs/hyperbridge:
 * tesseract/messaging/evm/src/gas_oracle.rs. The fee token counts as one dollar.
 */
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
  const amounts =
    readOrUndefined(() => decodeFunctionResult({ abi, functionName: "getAmountsIn", data: result })) ?? [];
  const [amount] = amounts;
  // A token with different decimals than the native one is not its wrapped form.
  const isWrapper = amounts.length === 1 && BigInt(feeTokenDecimals) === NATIVE_DECIMALS;
  if (amount === undefined || (amounts.length !== 2 && !isWrapper)) {
    return { kind: "failed", code: "malformed" };
  }
  return quotePrice(rescale(amount, feeTokenDecimals, 27));
}
