/** Price sources of the configured chains: the explorer where a key is given, then the chain's own router. */
import type { FeeChain } from "../core/chains/fees.ts";
import type { EvmChainConfig } from "../core/config/messaging_config.ts";
import type { GoodPrice, Quotation } from "../core/prices/native_price.ts";
import { etherscanQuote, type PriceQuote, priceQuotesFor } from "../core/prices/price_quotes.ts";
import { createPriceSource, type PriceSource } from "../core/prices/price_source.ts";
import type { StateMachine } from "../core/protocol/ismp/state_machine.ts";
import { RpcFault } from "../core/rpc/fault.ts";
import type { Fetch } from "../core/rpc/http.ts";
import type { Clock } from "../core/runtime/clock.ts";

/** Where prices come from. */
export interface PriceDeps {
  readonly clock: Clock;
  readonly fetch: Fetch;
}

/** A chain whose host may name a router. */
export type RouterReader = Pick<FeeChain, "fetchRouterPrice">;

/** The source for an EVM chain. */
export function priceSourceOf(
  deps: PriceDeps,
  facts: {
    readonly config: Pick<EvmChainConfig, "stateMachine" | "etherscanApiKey">;
    readonly chain: RouterReader;
    readonly hub: StateMachine;
  },
  last?: GoodPrice,
): PriceSource {
  const { etherscanApiKey } = facts.config;
  const quotes = priceQuotesFor({
    chain: facts.config.stateMachine,
    hub: facts.hub,
    etherscan: etherscanApiKey === undefined
      ? undefined
      : (question) => etherscanQuote(deps.fetch, { question, apiKey: etherscanApiKey }),
    router: chainQuote(facts.chain),
  });
  return createPriceSource(deps, { quotes, last });
}

/** What the host's router says. */
function chainQuote(chain: RouterReader): PriceQuote {
  return {
    origin: "router",
    ask: async (signal): Promise<Quotation> => {
      try {
        const price27 = await chain.fetchRouterPrice(signal);
        return price27 === undefined ? { kind: "failed", code: "no_pool" } : { kind: "price", price27 };
      } catch (error) {
        if (!(error instanceof RpcFault)) throw error;
        return { kind: "failed", code: "unreachable" };
      }
    },
  };
}
