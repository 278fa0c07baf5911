/**
 * Prices of Etherscan's API, version 2: its requests and the parsing of its responses.
 * Source: docs/protocol/evm-host.md section 10 and docs/protocol/messaging.md section 9.3; polytope-labs/hyperbridge:
 * tesseract/messaging/evm/src/gas_oracle.rs (July 2025). Answers are HTTP 200 even when they are refusals, and a
 * refusal may repeat the key, so no text of an answer leaves this file.
 */
import type { Secret } from "../config/redact.ts";
import { evmChainId, isEvm } from "../ismp/state_machine.ts";
import type { Fetch } from "../rpc/http_exchange.ts";
import { download, type PriceContext, type PriceQuote } from "./price_quote.ts";
import { isJsonObject, type Json, parseJson } from "../rpc/json.ts";
import { parseDecimal } from "../encoding/bytes.ts";
import { type PriceFailureCode, type Quotation, quotePrice } from "../evm/native_price.ts";

/** One base address for all chains. */
const ETHERSCAN_URL = "https://api.etherscan.io/v2/api";

/** Request for the dollar price of a native token. */
export type EtherscanPriceQuestion =
  /** Ether, from the statistics of chain 1. */
  | { readonly kind: "ether" }
  /** The native token of chain 56 or 137, beside its gas prices. */
  | { readonly kind: "gasTracker"; readonly chainId: 56 | 137 };

/** Chains whose native token is Ether, testnets included. */
const ETHER_CHAINS: ReadonlySet<number> = new Set([
  ...[1, 11155111, 17000, 560048], // Ethereum, Sepolia, Holesky, Hoodi
  ...[42161, 42170, 421614], // Arbitrum
  ...[10, 8453, 130, 1868, 480, 34443, 57073, 7777777, 81457], // OP stack
  ...[11155420, 84532, 1301, 1946, 4801, 919, 763373, 999999999, 168587773], // and its testnets
  ...[59144, 59141, 534352, 534351, 324, 300], // Linea, Scroll, ZKsync
]);

/**
 * Finds the request that prices a chain's native token; testnets use the mainnet's price. `undefined`: there is none.
 */
export function etherscanPriceQuestion(chainId: number): EtherscanPriceQuestion | undefined {
  if (ETHER_CHAINS.has(chainId)) return { kind: "ether" };
  if (chainId === 56 || chainId === 97) return { kind: "gasTracker", chainId: 56 };
  if (chainId === 137 || chainId === 80002) return { kind: "gasTracker", chainId: 137 };
  return undefined;
}

/** URL of a request. Contains the key: never log it or put it into an error. */
export function etherscanUrl(question: EtherscanPriceQuestion, apiKey: string, base = ETHERSCAN_URL): string {
  const query = question.kind === "ether"
    ? { chainid: "1", module: "stats", action: "ethprice" }
    : { chainid: String(question.chainId), module: "gastracker", action: "gasoracle" };
  return `${base}?${new URLSearchParams({ ...query, apikey: apiKey })}`;
}

/** Parses the price in the body of a response with HTTP status 200. */
export function parseEtherscanPrice(question: EtherscanPriceQuestion, body: string): Quotation {
  const result = readResult(body);
  if (typeof result === "string") return { kind: "failed", code: result };
  const text = question.kind === "ether" ? result.ethusd : result.UsdPrice;
  if (typeof text !== "string") return { kind: "failed", code: "malformed" };
  if (/^-[0-9.]+$/.test(text)) return { kind: "failed", code: "not_positive" };
  const price27 = parseDecimal(text, 27);
  return price27 === undefined ? { kind: "failed", code: "malformed" } : quotePrice(price27);
}

function readResult(body: string): { readonly [name: string]: Json } | PriceFailureCode {
  let answer: Json;
  try {
    answer = parseJson(body);
  } catch {
    return "malformed"; // the parser's error may quote the body
  }
  if (!isJsonObject(answer)) return "malformed";
  if (answer.status !== "1") return refusalOf(answer.result);
  return isJsonObject(answer.result) ? answer.result : "malformed";
}

/**
 * Recognises Etherscan's error phrases: "Max rate limit reached", "Max calls per sec rate limit", "Invalid API Key".
 */
function refusalOf(result: Json | undefined): PriceFailureCode {
  const words = typeof result === "string" ? result.toLowerCase() : "";
  if (words.includes("rate limit") || words.includes("max calls")) return "throttled";
  return words.includes("api key") ? "bad_key" : "refused";
}

/** Etherscan's price. The key is revealed to the request alone. */
export function etherscanQuote(
  fetchUrl: Fetch,
  options: {
    readonly question: EtherscanPriceQuestion;
    readonly apiKey: Secret<string>;
    /** {@link ETHERSCAN_URL} when absent. */
    readonly base?: string | undefined;
  },
): PriceQuote {
  return {
    origin: "etherscan",
    ask: async (signal) => {
      const url = etherscanUrl(options.question, options.apiKey.reveal(), options.base ?? ETHERSCAN_URL);
      const body = await download(fetchUrl, url, signal);
      return body.kind === "failed" ? body : parseEtherscanPrice(options.question, body.text);
    },
  };
}

/** Finds Etherscan's quote for a chain; `undefined` without a key, or when it does not price the chain's token. */
export function findEtherscanQuote(context: PriceContext): PriceQuote | undefined {
  const { etherscanApiKey: apiKey, stateMachine } = context.config;
  const question = isEvm(stateMachine) ? etherscanPriceQuestion(evmChainId(stateMachine)) : undefined;
  if (question === undefined || apiKey === undefined) return undefined;
  return etherscanQuote(context.fetch, { question, apiKey });
}
