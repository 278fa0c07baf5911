/**
 * `maximum_daily_loss` of the consensus relayer on one chain: the cost of its transactions within a rolling day, which
 * earn nothing. Each counts from its signature with the most that it can cost, since the real cost is an endpoint's word;
 * of several with one nonce the dearest counts, as only one can be mined. Start reading at {@link DailyLoss.boundWei}.
 */
import * as z from "zod";
import type { SignedSubmission } from "../../../core/chains/submission.ts";
import { formatDecimal } from "../../../core/encoding/bytes.ts";
import { DAY_MS, lossBoundWei, type PlannedCost } from "../../../core/pricing/loss_bound.ts";
import type { PriceSource } from "../../../core/pricing/price_source.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { PersistedText } from "../../persisted_text.ts";
import { SUSPENDED_MS } from "../../poll_loop.ts";

/** Dependencies of a {@link DailyLoss}. */
export interface DailyLossDeps {
  readonly clock: Clock;
  /** Names the chain in every line. */
  readonly log: Log;
  readonly price: Pick<PriceSource, "fetchPrice">;
  /** Keeps the transactions of the last day. */
  readonly text: PersistedText;
}

/** The most that the transactions of one nonce can cost. */
interface Entry {
  readonly atMs: number;
  readonly nonce: bigint;
  readonly microUsd: bigint;
}

const integer = z.string().regex(/^[0-9]{1,40}$/).transform(BigInt);
const entriesShape = z.array(z.object({ atMs: z.int().min(0), nonce: integer, microUsd: integer }));

/** Pause between warnings while the limit stops transactions, ms. */
const REPORT_INTERVAL_MS = 3_600_000;

/** Micro-dollars x 10^39 per wei of a token that costs one dollar x 10^27. */
const MICRO_USD_SCALE = 10n ** 39n;

/** Limit of losses on one chain. */
export class DailyLoss {
  readonly #deps: DailyLossDeps;
  readonly #limitMicroUsd: bigint;
  #entries: readonly Entry[];
  /** When the limit was reported as reached; `undefined`: it is not. */
  #reportedAtMs: number | undefined;

  /** @param limitMicroUsd millionths of a dollar */
  constructor(deps: DailyLossDeps, limitMicroUsd: bigint) {
    this.#deps = deps;
    this.#limitMicroUsd = limitMicroUsd;
    this.#entries = this.#load();
  }

  /** Maximum gas price that what is left of the limit covers, wei; 0: nothing is left, or the token has no price. */
  async boundWei({ gasLimit, dataCostWei, nonce }: PlannedCost, signal: AbortSignal): Promise<bigint> {
    return lossBoundWei({
      limitMicroUsd: this.#limitMicroUsd,
      lossMicroUsd: sumOf(this.#current().filter((entry) => entry.nonce !== nonce)),
      pendingWei: 0n,
      dataCostWei,
      price27: await this.#fetchPrice27(signal) ?? 0n,
      gasLimit,
    });
  }

  /** Counts a signed transaction, before it is sent. */
  async note(submission: SignedSubmission, signal: AbortSignal): Promise<void> {
    const { nonce, gasLimit, gasPriceWei, dataCostWei = 0n } = submission;
    if (nonce === undefined || gasLimit === undefined || gasPriceWei === undefined) {
      throw new Error("A submission without nonce or price");
    }
    const price27 = await this.#fetchPrice27(signal) ?? 0n;
    const scaled = (gasLimit * gasPriceWei + dataCostWei) * price27;
    const microUsd = (scaled + MICRO_USD_SCALE - 1n) / MICRO_USD_SCALE;
    const entries = this.#current();
    const before = entries.find((entry) => entry.nonce === nonce)?.microUsd ?? 0n;
    this.#entries = [
      ...entries.filter((entry) => entry.nonce !== nonce),
      { atMs: this.#deps.clock.now(), nonce, microUsd: before > microUsd ? before : microUsd },
    ];
    // A full disk does not stop the program: the sum continues in memory.
    this.#deps.text.write(
      JSON.stringify(this.#entries, (_name, value) => typeof value === "bigint" ? value.toString() : value),
    );
    if (this.#reportedAtMs === undefined) return;
    this.#reportedAtMs = undefined;
    this.#deps.log.info("loss_limit_cleared");
  }

  /** Reports that a transaction is not signed, at most once an hour. Returns the reason as a clause. */
  refuse(detail: string): string {
    const { clock, log } = this.#deps;
    const nowMs = clock.now();
    const [lost, limit] = [sumOf(this.#current()), this.#limitMicroUsd];
    const [lostUsd, limitUsd] = [lost, limit].map((microUsd) => formatDecimal(microUsd, 6));
    const until = new Date(lost < limit ? nowMs + SUSPENDED_MS : this.#freeAtMs()).toISOString();
    const because = lost < limit
      ? { because: `what is left does not cover the next transaction: ${detail}` }
      : {};
    const isDue = this.#reportedAtMs === undefined || nowMs - this.#reportedAtMs >= REPORT_INTERVAL_MS;
    if (isDue) this.#reportedAtMs = nowMs;
    log[isDue ? "warn" : "debug"]("loss_limit_reached", { lostUsd, limitUsd, until, ...because });
    return `maximum_daily_loss: ${lostUsd} of ${limitUsd} dollars are spent or under way within 24 hours, and nothing ` +
      `is sent until ${until}`;
  }

  /** Time at which enough entries are older than a day. */
  #freeAtMs(): number {
    let lost = sumOf(this.#current());
    for (const { atMs, microUsd } of this.#current()) {
      lost -= microUsd;
      if (lost < this.#limitMicroUsd) return atMs + DAY_MS;
    }
    return this.#deps.clock.now();
  }

  /** Entries of the last day, oldest first. */
  #current(): readonly Entry[] {
    const sinceMs = this.#deps.clock.now() - DAY_MS;
    this.#entries = this.#entries.filter(({ atMs }) => atMs > sinceMs);
    return this.#entries;
  }

  async #fetchPrice27(signal: AbortSignal): Promise<bigint | undefined> {
    const price = await this.#deps.price.fetchPrice(signal);
    return price.kind === "known" ? price.price27 : undefined;
  }

  #load(): readonly Entry[] {
    const text = this.#deps.text.read();
    if (text === undefined) return [];
    try {
      return entriesShape.parse(JSON.parse(text)).toSorted((a, b) => a.atMs - b.atMs);
    } catch (error) {
      if (!(error instanceof SyntaxError) && !(error instanceof z.ZodError)) throw error;
      this.#deps.log.warn("cache_fault.losses_unreadable");
      return [];
    }
  }
}

function sumOf(entries: readonly Entry[]): bigint {
  return entries.reduce((sum, { microUsd }) => sum + microUsd, 0n);
}
