/**
 * The price of one chain's native token, as the workers ask for it: sources in order, a short cache, the last good
 * value. Start reading here; what is believed is decided in `native_price.ts`, the sources are in `price_quotes.ts`.
 */
import type { Clock } from "../../core/runtime/clock.ts";
import { DeadlineFault, withDeadline } from "../../core/runtime/retry.ts";
import {
  type AskedQuote,
  choosePrice,
  type GoodPrice,
  type NativePrice,
  type Quotation,
} from "../../core/evm/native_price.ts";
import type { PriceQuote } from "./price_quotes.ts";

/** Prices of one native token. */
export interface PriceSource {
  /** The price now; asks its sources at most once a minute. Throws only the signal's reason. */
  fetchPrice(signal: AbortSignal): Promise<NativePrice>;
  /** Newest price that a source gave; worth keeping over a restart. */
  readonly lastGood: GoodPrice | undefined;
}

/** How long an answer is used again, ms. */
export const PRICE_CACHE_MS = 60_000;
/** How long the sources are left alone after all of them failed, ms. */
export const PRICE_PAUSE_MS = 10_000;
/** Longest wait for one source, ms. */
export const PRICE_TIMEOUT_MS = 10_000;

/** What a {@link PriceSource} is made of. */
export interface PriceSourceOptions {
  readonly quotes: readonly PriceQuote[];
  /** The last good price of an earlier run. */
  readonly last?: GoodPrice | undefined;
  /** Told each price that a source gave, at most once a minute. */
  readonly onGood?: ((price: GoodPrice) => void) | undefined;
}

/** A source over `quotes`, asked in their order until one is believed. */
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
    const asked: AskedQuote[] = [];
    for (let count = 0;; count++) {
      const quote = this.#quotes[count];
      const isComplete = quote === undefined;
      const price = choosePrice({ asked, isComplete, last: this.#last, nowMs: this.#clock.now() });
      if (price.kind !== "ask") return price;
      if (quote === undefined) throw new Error("No source is left to ask");
      asked.push({ origin: quote.origin, quotation: await this.#askOne(quote, signal) });
    }
  }

  async #askOne(quote: PriceQuote, signal: AbortSignal): Promise<Quotation> {
    const deadline = { what: `${quote.origin} price`, afterMs: PRICE_TIMEOUT_MS };
    try {
      return await withDeadline(this.#clock, deadline, (inner) => quote.ask(inner), signal);
    } catch (error) {
      if (!(error instanceof DeadlineFault)) throw error;
      return { kind: "failed", code: "timeout" };
    }
  }
}
