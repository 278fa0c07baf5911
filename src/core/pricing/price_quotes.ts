/** The sources of native token prices, with the router that a chain's host names (docs/protocol/messaging.md section 9.3). */
import { quotePrice } from "../evm/native_price.ts";
import { evmChainId, isEvm } from "../ismp/state_machine.ts";
import { findEtherscanQuote } from "./etherscan.ts";
import { RpcFault } from "../rpc/call.ts";
import { oneDollar, type PriceContext, type PriceQuote, type RouterReader } from "./price_quote.ts";

/** Chains whose native token is a dollar: Gnosis and Chiado. */
const DOLLAR_CHAINS: ReadonlySet<number> = new Set([100, 10200]);

/** Lists the quotes for the native token of a chain, in the order in which they are asked. */
export function listPriceQuotes(context: PriceContext): readonly PriceQuote[] {
  const { stateMachine } = context.config;
  if (isEvm(stateMachine) && DOLLAR_CHAINS.has(evmChainId(stateMachine))) return [oneDollar];
  // Hosts of a test hub (`KUSAMA-`) have no pools; there the rule is one dollar.
  const router = context.hub.startsWith("KUSAMA-") ? oneDollar : routerQuote(context.router);
  return [findEtherscanQuote(context) ?? [], router].flat();
}

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
        return { kind: "failed", code: "unreachable" };
      }
    },
  };
}
