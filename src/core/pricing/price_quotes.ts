/** The sources of native token prices. A new source is a file of its own and one line here. */
import { evmChainId, isEvm } from "../ismp/state_machine.ts";
import { findEtherscanQuote } from "./etherscan.ts";
import { type FindPriceQuote, oneDollar, type PriceContext, type PriceQuote } from "./price_quote.ts";
import { findRouterQuote } from "./router.ts";

/** Every source, in the order in which they are asked. */
const sources: readonly FindPriceQuote[] = [
  findEtherscanQuote,
  findRouterQuote,
];

/** Chains whose native token is a dollar: Gnosis and Chiado. */
const DOLLAR_CHAINS: ReadonlySet<number> = new Set([100, 10200]);

/** Lists the quotes for the native token of a chain, in the order in which they are asked. */
export function listPriceQuotes(context: PriceContext): readonly PriceQuote[] {
  const { stateMachine } = context.config;
  if (isEvm(stateMachine) && DOLLAR_CHAINS.has(evmChainId(stateMachine))) return [oneDollar];
  return sources.flatMap((find) => find(context) ?? []);
}
