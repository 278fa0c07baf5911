/**
 * Sources of native token prices, as functions that send one request. Faults become codes here: neither URLs nor
 * response texts are passed on, since both may contain the API key.
 */
import type { Secret } from "../../core/config/redact.ts";
import { evmChainId, isEvm, type StateMachine } from "../../core/ismp/state_machine.ts";
import { RpcFault, type RpcFaultCode } from "../../core/rpc/fault.ts";
import type { Fetch } from "../../core/rpc/http.ts";
import {
  ETHERSCAN_URL,
  type EtherscanPriceQuestion,
  etherscanPriceQuestion,
  etherscanUrl,
  parseEtherscanPrice,
} from "./etherscan.ts";
import {
  ONE_DOLLAR_27,
  type PriceFailureCode,
  type PriceOrigin,
  type Quotation,
  quotePrice,
} from "../../core/evm/native_price.ts";

/** Source of prices. */
export interface PriceQuote {
  readonly origin: PriceOrigin;
  /** Requests the price once. Throws only the signal's reason. */
  ask(signal: AbortSignal): Promise<Quotation>;
}

/** Chain whose host may name a router. */
export interface RouterReader {
  /** Dollars x 10^27 per whole native token; `undefined`: no router, no pool. May throw an `RpcFault`. */
  fetchRouterPrice(signal: AbortSignal): Promise<bigint | undefined>;
}

/** Maximum size of a response of Etherscan, bytes; real ones have a few hundred. */
const MAX_ANSWER_BYTES = 65_536;

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
    // Following a redirect would send the key to a host that is not configured.
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
    return { kind: "failed", code: "unreachable" }; // the runtime's error text contains the URL
  }
}

async function readLimited(response: Response): Promise<Download> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) return { kind: "failed", code: "malformed" };
    text += decoder.decode(chunk, { stream: true });
  }
  return { kind: "text", text: text + decoder.decode() };
}

function codeOfStatus(status: number): PriceFailureCode {
  if (status === 429) return "throttled";
  return status === 401 || status === 403 ? "bad_key" : "refused";
}

/** Price from the router that the chain's host names. */
export function routerQuote(chain: RouterReader): PriceQuote {
  return {
    origin: "router",
    ask: async (signal) => {
      try {
        const price27 = await chain.fetchRouterPrice(signal);
        return price27 === undefined ? { kind: "failed", code: "no_pool" } : quotePrice(price27);
      } catch (error) {
        if (!(error instanceof RpcFault)) throw error;
        return { kind: "failed", code: codeOfFault(error.code) };
      }
    },
  };
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
 * Lists the price sources of a chain in the order in which they are used: Etherscan if a key is configured, then the
 * router; hosts of a test hub (`KUSAMA-`) have no pools, there the router's rule is one dollar.
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
