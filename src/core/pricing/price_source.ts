/**
 * Price of one chain's native token for the workers: sources in order, a short cache, the last valid value. Start
 * reading here; plausibility is decided in `native_price.ts`, the sources are in `price_quotes.ts`.
 */
import type { Clock } from "../runtime/clock.ts";
import { DeadlineFault, withDeadline } from "../runtime/retry.ts";
import {
  choosePrice,
  type GoodPrice,
  type NativePrice,
  type Quotation,
  type SourceQuote,
} from "../evm/native_price.ts";
import type { PriceQuote } from "./price_quote.ts";

/** Prices of one native token. */
export interface PriceSource {
  /** Fetches the current price; queries its sources at most once a minute. Throws only the signal's reason. */
  fetchPrice(signal: AbortSignal): Promise<NativePrice>;
  /** Latest price from a source; worth keeping across a restart. */
  readonly lastGood: GoodPrice | undefined;
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
export function createPriceSource(deps: { readonly clock: Clock }, options: PriceSourceOptions): PriceSource {
  return new CachedPrices(deps, options);
}

class CachedPrices implements PriceSource {
  readonly #clock: Clock;
  readonly #quotes: readonly PriceQuote[];
  readonly #onGood: PriceSourceOptions["onGood"];
  #last: GoodPrice | undefined;
  #cached: { readonly price: NativePrice; readonly atMs: number } | undefined;

  constructor(deps: { readonly clock: Clock }, options: PriceSourceOptions) {
    this.#clock = deps.clock;
    this.#quotes = options.quotes;
    this.#onGood = options.onGood;
    this.#last = options.last;
  }

  get lastGood(): GoodPrice | undefined {
    return this.#last;
  }

  async fetchPrice(signal: AbortSignal): Promise<NativePrice> {
    const nowMs = this.#clock.now();
    if (this.#cached !== undefined) {
      const { price, atMs } = this.#cached;
      const keepMs = price.kind === "known" && !price.isRemembered ? PRICE_CACHE_MS : PRICE_PAUSE_MS;
      if (nowMs >= atMs && nowMs - atMs < keepMs) return price;
    }
    const price = await this.#ask(signal);
    if (price.kind === "known" && !price.isRemembered) {
      this.#last = { price27: price.price27, origin: price.origin, readAtMs: price.readAtMs };
      this.#onGood?.(this.#last);
    }
    this.#cached = { price, atMs: this.#clock.now() };
    return price;
  }

  async #ask(signal: AbortSignal): Promise<NativePrice> {
    const asked: SourceQuote[] = [];
    for (let count = 0;; count++) {
      const quote = this.#quotes[count];
      const isComplete = quote === undefined;
      const price = choosePrice({ asked, isComplete, last: this.#last, nowMs: this.#clock.now() });
      if (price.kind !== "ask") return price;
      if (quote === undefined) throw new Error("No price source left");
      asked.push({ origin: quote.origin, quotation: await this.#askOne(quote, signal) });
    }
  }

  async #askOne(quote: PriceQuote, signal: AbortSignal): Promise<Quotation> {
    const deadline = { what: `${quote.origin} price`, afterMs: PRICE_TIMEOUT_MS, signal };
    try {
      return await withDeadline(this.#clock, deadline, (inner) => quote.ask(inner));
    } catch (error) {
      if (!(error instanceof DeadlineFault)) throw error;
      return { kind: "failed", code: "timeout" };
    }
  }
}
