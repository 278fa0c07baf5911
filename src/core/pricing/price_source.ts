/**
 * Price of one chain's native token for the workers: sources in order, a short cache, the last valid value. Start
 * reading here; plausibility is decided in `native_price.ts`. Sources: docs/protocol/messaging.md section 9.3.
 */
import { onError } from "../encoding/coded_error.ts";
import type { Clock } from "../runtime/clock.ts";
import { DeadlineFault, withDeadline } from "../runtime/retry.ts";
import {
  choosePrice,
  type GoodPrice,
  type NativePrice,
  type Quotation,
  quotePrice,
  type SourceQuote,
} from "../evm/native_price.ts";
import { evmChainId, isEvm } from "../ismp/state_machine.ts";
import { keepFault, RpcFault } from "../rpc/call.ts";
import { findEtherscanQuote } from "./etherscan.ts";
import { oneDollar, type PriceContext, type PriceQuote, type RouterReader } from "./price_quote.ts";

/** Prices of one native token. */
export interface PriceSource {
  /** Fetches the current price; queries its sources at most once a minute. Throws only the signal's reason. */
  fetchPrice(signal: AbortSignal): Promise<NativePrice>;
}

/** Cache time of a price, ms. */
const PRICE_CACHE_MS = 60_000;
/** Pause after all sources failed, ms. */
const PRICE_PAUSE_MS = 10_000;
/** Timeout of one source, ms. */
const PRICE_TIMEOUT_MS = 10_000;

/** Options of a {@link PriceSource}. */
export interface PriceSourceOptions {
  readonly quotes: readonly PriceQuote[];
  /** Last valid price of an earlier run. */
  readonly last?: GoodPrice | undefined;
  /** Called with each price from a source, at most once a minute. */
  readonly onGood?: ((price: GoodPrice) => void) | undefined;
}

/** Creates a source over `quotes`, queried in order until one gives a plausible price. */
export function createPriceSource(
  { clock }: { readonly clock: Clock },
  { quotes, last: lastGood, onGood }: PriceSourceOptions,
): PriceSource {
  let cached: { readonly price: NativePrice; readonly sinceMs: number; readonly keepMs: number } | undefined;

  async function ask(signal: AbortSignal): Promise<NativePrice> {
    const asked: SourceQuote[] = [];
    for (;;) {
      const quote = quotes[asked.length];
      const price = choosePrice({
        asked,
        isComplete: quote === undefined,
        last: lastGood,
        nowMs: clock.now(),
      });
      if (price.kind !== "ask") return price;
      if (quote === undefined) throw new Error("No price source left");
      asked.push({ origin: quote.origin, quotation: await askOne(quote, signal) });
    }
  }

  async function askOne(quote: PriceQuote, signal: AbortSignal): Promise<Quotation> {
    const deadline = { what: `${quote.origin} price`, afterMs: PRICE_TIMEOUT_MS, signal };
    return await withDeadline(clock, deadline, (inner) => quote.ask(inner))
      .catch(onError(DeadlineFault, () => ({ kind: "failed", code: "timeout" })));
  }

  return {
    async fetchPrice(signal): Promise<NativePrice> {
      const ageMs = cached === undefined ? -1 : clock.now() - cached.sinceMs;
      if (cached !== undefined && ageMs >= 0 && ageMs < cached.keepMs) return cached.price;
      const price = await ask(signal);
      const isFresh = price.kind === "known" && !price.isRemembered;
      if (isFresh) {
        lastGood = { price27: price.price27, origin: price.origin, readAtMs: price.readAtMs };
        onGood?.(lastGood);
      }
      cached = { price, sinceMs: clock.now(), keepMs: isFresh ? PRICE_CACHE_MS : PRICE_PAUSE_MS };
      return price;
    },
  };
}

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
      const price27 = await router.fetchRouterPrice(signal).catch(keepFault);
      if (price27 instanceof RpcFault) return { kind: "failed", code: "unreachable" };
      return price27 === undefined ? { kind: "failed", code: "no_pool" } : quotePrice(price27);
    },
  };
}
