/** Price of the router that a chain's host names (docs/protocol/messaging.md section 9.3). */
import { type PriceFailureCode, quotePrice } from "../evm/native_price.ts";
import { RpcFault, type RpcFaultCode } from "../rpc/call.ts";
import { oneDollar, type PriceContext, type PriceQuote, type RouterReader } from "./price_quote.ts";

/** Price from the router that the chain's host names. */
export function routerQuote(router: RouterReader): PriceQuote {
  return {
    origin: "router",
    ask: async (signal) => {
      try {
        const price27 = await router.fetchRouterPrice(signal);
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

/** Finds the router's quote. Hosts of a test hub (`KUSAMA-`) have no pools; there the rule is one dollar. */
export function findRouterQuote({ router, hub }: PriceContext): PriceQuote {
  return hub.startsWith("KUSAMA-") ? oneDollar : routerQuote(router);
}
