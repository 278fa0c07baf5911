/**
 * Quote of a native token's price: one request to one source. Faults become codes here: neither URLs nor response texts
 * are passed on, since both may contain an API key.
 */
import type { EvmValues } from "../config/chains.ts";
import {
  ONE_DOLLAR_27,
  type PriceFailureCode,
  type PriceOrigin,
  type Quotation,
} from "../evm/native_price.ts";
import type { StateMachine } from "../ismp/state_machine.ts";
import { type Fetch, readBody } from "../rpc/http_exchange.ts";

/** Quote of a price by one source. */
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

/** Context of the sources: the chain whose native token is priced, and what can be asked. */
export interface PriceContext {
  readonly config: Pick<EvmValues, "stateMachine" | "etherscanApiKey">;
  readonly router: RouterReader;
  /** The hub that the chain's host names. */
  readonly hub: StateMachine;
  readonly fetch: Fetch;
}

/** Maximum size of a response of Etherscan, bytes; real ones have a few hundred. */
const MAX_ANSWER_BYTES = 65_536;

/** Always one dollar. */
export const oneDollar: PriceQuote = {
  origin: "fixed",
  ask: () => Promise.resolve({ kind: "price", price27: ONE_DOLLAR_27 }),
};

/** Text of a response, or why there is none. */
export type Download =
  | { readonly kind: "text"; readonly text: string }
  | Extract<Quotation, { kind: "failed" }>;

/** Downloads a text. The URL may contain a key: it is in no failure. */
export async function download(fetchUrl: Fetch, url: string, signal: AbortSignal): Promise<Download> {
  try {
    // Following a redirect would send the key to a host that is not configured.
    const response = await fetchUrl(url, {
      headers: { accept: "application/json" },
      redirect: "manual",
      signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return { kind: "failed", code: codeOfStatus(response.status) };
    }
    const bytes = await readBody(response, MAX_ANSWER_BYTES);
    if (bytes === undefined) return { kind: "failed", code: "malformed" };
    return { kind: "text", text: new TextDecoder().decode(bytes) };
  } catch {
    if (signal.aborted) throw signal.reason;
    return { kind: "failed", code: "unreachable" }; // the runtime's error text contains the URL
  }
}

function codeOfStatus(status: number): PriceFailureCode {
  if (status === 429) return "throttled";
  return status === 401 || status === 403 ? "bad_key" : "refused";
}
