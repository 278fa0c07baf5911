/**
 * The sources of native prices, as functions that ask once. Faults become codes here: neither addresses nor texts
 * of answers go further, since both may hold the API key.
 */
import type { Secret } from "../config/redact.ts";
import type { Hex } from "../protocol/bytes.ts";
import type { Address } from "../protocol/evm/address.ts";
import { evmChainId, isEvm, type StateMachine } from "../protocol/ismp/state_machine.ts";
import { RpcFault, type RpcFaultCode } from "../rpc/fault.ts";
import type { Fetch } from "../rpc/http.ts";
import {
  ETHERSCAN_URL,
  type EtherscanPriceQuestion,
  etherscanPriceQuestion,
  etherscanUrl,
  parseEtherscanPrice,
} from "./etherscan.ts";
import { ONE_DOLLAR_27, type PriceFailureCode, type PriceOrigin, type Quotation } from "./native_price.ts";
import {
  decodeRouterPrice,
  decodeWrappedNative,
  encodeRouterQuestion,
  encodeWrappedNative,
} from "./router.ts";

/** A source of prices. */
export interface PriceQuote {
  readonly origin: PriceOrigin;
  /** Asks once. Throws only the signal's reason. */
  ask(signal: AbortSignal): Promise<Quotation>;
}

/** Reads a contract at the newest block; may throw an `RpcFault`. */
export type ReadContract = (to: Address, data: Hex, signal: AbortSignal) => Promise<Hex>;

/** What the router's price depends on. */
export interface RouterFacts {
  /** `hostParams().uniswapV2`; `undefined`: the host has none. */
  readonly router: Address | undefined;
  readonly feeToken: Address;
  readonly feeTokenDecimals: number;
}

/** Largest answer of Etherscan that is read, bytes; real ones have some hundred. */
const MOST_ANSWER_BYTES = 65_536;

/** Always one dollar. */
export const oneDollar: PriceQuote = {
  origin: "fixed",
  ask: () => Promise.resolve({ kind: "price", price27: ONE_DOLLAR_27 }),
};

/** Etherscan's price. The key is revealed to the request alone. */
export function etherscanQuote(
  fetch: Fetch,
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
      const body = await download(fetch, url, signal);
      return body.kind === "failed" ? body : parseEtherscanPrice(options.question, body.text);
    },
  };
}

type Download = { readonly kind: "text"; readonly text: string } | Extract<Quotation, { kind: "failed" }>;

async function download(fetch: Fetch, url: string, signal: AbortSignal): Promise<Download> {
  try {
    // Following a redirect would hand the key to a host that nobody named.
    const response = await fetch(url, {
      headers: { accept: "application/json" },
      redirect: "manual",
      signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return { kind: "failed", code: codeOfStatus(response.status) };
    }
    return await readLimited(response);
  } catch {
    if (signal.aborted) throw signal.reason;
    return { kind: "failed", code: "unreachable" }; // the runtime's error text holds the address
  }
}

async function readLimited(response: Response): Promise<Download> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MOST_ANSWER_BYTES) return { kind: "failed", code: "malformed" };
    text += decoder.decode(chunk, { stream: true });
  }
  return { kind: "text", text: text + decoder.decode() };
}

function codeOfStatus(status: number): PriceFailureCode {
  if (status === 429) return "throttled";
  return status === 401 || status === 403 ? "bad_key" : "refused";
}

/** The price in the host's router. `facts` are read each time: governance may change them. */
export function routerQuote(
  read: ReadContract,
  facts: (signal: AbortSignal) => Promise<RouterFacts>,
): PriceQuote {
  return {
    origin: "router",
    ask: async (signal) => {
      try {
        return await askRouter(read, await facts(signal), signal);
      } catch (error) {
        if (!(error instanceof RpcFault)) throw error;
        return { kind: "failed", code: codeOfFault(error.code) };
      }
    },
  };
}

async function askRouter(read: ReadContract, facts: RouterFacts, signal: AbortSignal): Promise<Quotation> {
  if (facts.router === undefined) return { kind: "failed", code: "no_pool" };
  const native = decodeWrappedNative(await read(facts.router, encodeWrappedNative(), signal));
  if (native === undefined) return { kind: "failed", code: "no_pool" };
  const answer = await read(facts.router, encodeRouterQuestion(facts.feeToken, native), signal);
  return decodeRouterPrice(answer, facts.feeTokenDecimals);
}

function codeOfFault(code: RpcFaultCode): PriceFailureCode {
  switch (code) {
    case "timeout":
    case "unreachable":
    case "throttled":
    case "malformed":
      return code;
    case "reverted":
    case "not_found":
      return "no_pool";
    default:
      return "refused";
  }
}

/** Chains whose native token is a dollar: Gnosis and Chiado. */
const DOLLAR_CHAINS: ReadonlySet<number> = new Set([100, 10200]);

/**
 * The sources for a chain, in the order in which they are asked: Etherscan where a key is given, then the router;
 * hosts of a test hub (`KUSAMA-`) have no pools, there the router's rule says one dollar.
 */
export function priceQuotesFor(facts: {
  readonly chain: StateMachine;
  /** The hub that the chain's host names. */
  readonly hub: StateMachine;
  readonly etherscan: ((question: EtherscanPriceQuestion) => PriceQuote) | undefined;
  readonly router: PriceQuote;
}): readonly PriceQuote[] {
  const chainId = isEvm(facts.chain) ? evmChainId(facts.chain) : undefined;
  if (chainId !== undefined && DOLLAR_CHAINS.has(chainId)) return [oneDollar];
  const question = chainId === undefined ? undefined : etherscanPriceQuestion(chainId);
  const first = question === undefined ? undefined : facts.etherscan?.(question);
  const second = facts.hub.startsWith("KUSAMA-") ? oneDollar : facts.router;
  return first === undefined ? [second] : [first, second];
}
