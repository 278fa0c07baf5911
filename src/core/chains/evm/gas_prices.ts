/**
 * Gas prices that are safe to offer. The price that one node names is compared with the fee history, with the price
 * that another endpoint names and with the last accepted price; only what all of them support is offered. The rule is
 * {@link boundPrice}; {@link GasPrices} collects its facts.
 */
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Clock } from "../../runtime/clock.ts";
import { dropOldest } from "../../runtime/slices.ts";
import type { Log } from "../../telemetry/log.ts";
import { flooredPrice, type GasMarket, type GasPrice, highest, lowest } from "./gas.ts";
import { feeHistory, gasPrice, newestBlock } from "./queries.ts";
import { askWitnesses, callAll, callOne, WITNESS_TIMEOUT_MS } from "./rpc_batch.ts";

/** Multiple of a comparison price up to which a named price needs no other support. */
const SUPPORTED_TIMES = 2n;

/** Tip that Geth suggests on a chain without transactions, wei (ethereum/go-ethereum: eth/gasprice, startPrice). */
const IDLE_TIP_WEI = 1_000_000_000n;

/** An accepted price is compared with for this time, ms. */
const ACCEPTED_FOR_MS = 60 * 60_000;

/** Time after which one node's word alone may move the accepted price to twice its value, ms. */
const SINGLE_WORD_MS = 10 * 60_000;

/** A price that was accepted, and when. */
export interface AcceptedPrice {
  readonly wei: bigint;
  readonly atMs: number;
}

/** Fees of recent blocks. */
export type FeeHistory = ReturnType<typeof feeHistory.read>;

/** Facts about the price that a node names. */
export interface PriceFacts {
  readonly namedWei: bigint;
  readonly lowestTipWei: bigint;
  /** `undefined`: the node has none. */
  readonly history: FeeHistory | undefined;
  /** Highest price that another endpoint names; `undefined`: there is none, or none answers. */
  readonly otherWei: bigint | undefined;
  /** Price that was accepted last, within {@link ACCEPTED_FOR_MS}. */
  readonly accepted: AcceptedPrice | undefined;
  readonly nowMs: number;
}

/** Price that may be offered, and the fact that contradicts the named one. */
export interface BoundedPrice {
  readonly wei: bigint;
  /** `undefined`: the named price is supported. */
  readonly against: "fee history" | "other endpoint" | "last price" | undefined;
  /** To compare later prices with. */
  readonly accepted: AcceptedPrice;
}

/**
 * Bounds the price that a node names by twice what its fee history shows, and by half and twice of what is known beside:
 * the middle of its own word, another endpoint's and the last price, of two the lower one; 0 is no price. So a real
 * change is followed at once where another endpoint sees it, and what one alone names moves nothing, however often it
 * does. Without another endpoint the last price may double every {@link SINGLE_WORD_MS}: a brief outlier never counts,
 * and a lasting rise is followed.
 */
export function boundPrice(facts: PriceFacts): BoundedPrice {
  const { namedWei, history, accepted, nowMs } = facts;
  const otherWei = facts.otherWei === 0n ? undefined : facts.otherWei;
  const shownWei = history && priceOf(history, facts.lowestTipWei);
  const ownWei = lowest(namedWei, shownWei && shownWei * SUPPORTED_TIMES);
  const knownWei = middleOf([ownWei, otherWei, accepted?.wei]) ?? ownWei;
  const isTooLow = ownWei * SUPPORTED_TIMES < knownWei;
  const wei = isTooLow ? knownWei : lowest(ownWei, knownWei * SUPPORTED_TIMES);
  const by = otherWei === undefined ? "last price" : "other endpoint";
  const against = wei !== ownWei ? by : ownWei === namedWei ? undefined : "fee history";
  // The last price grows old while no endpoint names one like it: it must not confirm itself.
  const isKept = accepted !== undefined &&
    (otherWei === undefined
      ? against === "last price" && nowMs - accepted.atMs < SINGLE_WORD_MS
      : knownWei === accepted.wei && !isSimilar(otherWei, knownWei));
  // What the endpoint adds to what is known beside is offered, and compared with nothing later.
  const nextWei = otherWei === undefined ? wei : knownWei;
  return { wei, against, accepted: isKept ? accepted : { wei: nextWei, atMs: nowMs } };
}

/** True when neither price is more than {@link SUPPORTED_TIMES} the other. */
function isSimilar(oneWei: bigint, otherWei: bigint): boolean {
  return oneWei <= otherWei * SUPPORTED_TIMES && otherWei <= oneWei * SUPPORTED_TIMES;
}

/** The middle one of the prices that are known, the lower one of two. */
function middleOf(prices: readonly (bigint | undefined)[]): bigint | undefined {
  const known = prices.filter((wei) => wei !== undefined && wei > 0n).toSorted((a = 0n, b = 0n) =>
    a < b ? -1 : 1
  );
  return known[(known.length - 1) >> 1];
}

/** Price that a history shows; `undefined`: blocks without a base fee and without transactions show none. */
function priceOf({ baseFeeWei, tipWei }: FeeHistory, lowestTipWei: bigint): bigint | undefined {
  if (baseFeeWei === 0n && tipWei === undefined) return undefined;
  return baseFeeWei + highest(IDLE_TIP_WEI, tipWei, lowestTipWei);
}

/** Number of own offers above the market that are remembered; the oldest is forgotten first. */
const MAX_OWN_OFFERS = 16;

/** Prices of one chain's gas, bounded by comparison. */
export class GasPrices {
  #accepted: AcceptedPrice | undefined;
  /** Tip, or price without a base fee, that others offer: the last one named that was no echo, wei. */
  #othersWei: bigint | undefined;
  /** What own transactions offered above it. */
  readonly #ownWei = new Set<bigint>();

  constructor(
    readonly at: {
      readonly endpoints: RpcEndpointSet;
      readonly clock: Pick<Clock, "now">;
      readonly chainId: number;
      readonly log: Pick<Log, "warn">;
    },
  ) {}

  /** Records what a transaction of ours offers: nodes name what recent ones offered, and own ones are no market. */
  noteOffer(price: GasPrice): void {
    const offeredWei = price.type === "legacy" ? price.gasPriceWei : price.maxPriorityFeeWei;
    if (this.#othersWei === undefined || offeredWei <= this.#othersWei) return;
    this.#ownWei.add(offeredWei);
    dropOldest(this.#ownWei, MAX_OWN_OFFERS);
  }

  /**
   * Bounds the price that an endpoint named, and leaves out what only our own transactions offered, such as the buffer
   * of a price without a base fee, or the rise of a replacement. Nothing is requested while it is between half of the last
   * accepted one and twice of it, one request to each endpoint otherwise.
   * @param host the endpoint that named it
   */
  async bound<T extends GasMarket>(named: T, host: string, signal: AbortSignal): Promise<T> {
    const baseWei = lowest(named.baseFeeWei ?? 0n, 2n * named.gasPriceWei);
    const isEcho = this.#ownWei.has(named.gasPriceWei - baseWei);
    const othersWei = lowest(named.gasPriceWei - baseWei, isEcho ? this.#othersWei : undefined);
    const market = await this.#compare({ ...named, gasPriceWei: baseWei + othersWei }, host, signal);
    // A base fee above the bounded price is a false one, and says nothing about tips.
    if (market.gasPriceWei >= baseWei) this.#othersWei = market.gasPriceWei - baseWei;
    return market;
  }

  async #compare<T extends GasMarket>(market: T, host: string, signal: AbortSignal): Promise<T> {
    const nowMs = this.at.clock.now();
    const { gasPriceWei: namedWei, lowestTipWei } = market;
    const ageMs = nowMs - (this.#accepted?.atMs ?? -Infinity);
    const accepted = ageMs >= 0 && ageMs < ACCEPTED_FOR_MS ? this.#accepted : undefined;
    if (accepted !== undefined && isSimilar(namedWei, accepted.wei)) return market;
    const all = this.at.endpoints.each();
    const [own, others] = [true, false].map((isOwn) =>
      all.filter(({ hosts }) => hosts.includes(host) === isOwn)
    );
    const conditions = { signal, timeoutMs: WITNESS_TIMEOUT_MS };
    const [[history], [otherWei, ...more]] = await Promise.all([
      askWitnesses(own ?? [], (endpoint) => callOne(endpoint, feeHistory, conditions)),
      askWitnesses(others ?? [], async (endpoint) => {
        const [price, block] = await callAll(endpoint, [gasPrice, newestBlock], conditions);
        return flooredPrice(price, block, this.at.chainId);
      }),
    ]);
    // The highest of the others, so that one that names too little stops nothing.
    const bounded = boundPrice({
      namedWei,
      lowestTipWei,
      history,
      otherWei: otherWei === undefined ? undefined : highest(otherWei, ...more),
      accepted,
      nowMs,
    });
    this.#accepted = bounded.accepted;
    if (bounded.against === undefined) return market;
    this.at.log.warn("endpoint_data_invalid.gas_price", {
      endpoint: host,
      namedWei,
      offeredWei: bounded.wei,
      against: bounded.against,
    });
    return { ...market, gasPriceWei: bounded.wei };
  }
}
