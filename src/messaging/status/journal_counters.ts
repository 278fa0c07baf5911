/**
 * Counters and histograms that are read from the ledger: what ended, was mined or claimed since they were last read.
 * They begin at the start of the program, as counters of Prometheus do.
 */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { MetricRegistry } from "../../core/telemetry/metrics.ts";
import type { Ledger, Period } from "../ledger/ledger.ts";

/** What the counters need. */
export interface JournalDeps {
  readonly registry: MetricRegistry;
  readonly statistics: Ledger["statistics"];
  /** Decimals of a chain's fee token; `undefined`: not read yet. */
  readonly feeDecimalsOf: (chain: StateMachine) => number | undefined;
}

/** Reads the ledger's news into the registry. */
export class JournalCounters {
  readonly #deps: JournalDeps;
  #readUntilMs: number;

  constructor(deps: JournalDeps, startMs: number) {
    this.#deps = deps;
    this.#readUntilMs = startMs;
  }

  /** Reads what was written before `nowMs`. May throw a `LedgerFault`: then the period is read next time. */
  read(nowMs: number): void {
    // Rows of this very millisecond may still be written.
    const period = { afterMs: this.#readUntilMs, untilMs: nowMs - 1 };
    if (period.untilMs <= period.afterMs) return;
    const news = this.#query(period);
    this.#readUntilMs = period.untilMs;
    this.#countMessages(news);
    this.#countTransactions(news);
    this.#countFees(news);
  }

  /** Reads everything before anything is counted, so that a fault counts nothing twice. */
  #query(period: Period): JournalNews {
    const { statistics } = this.#deps;
    return {
      ended: statistics.countEnded(period),
      sums: statistics.sumMined(period),
      mined: statistics.listMinedTransactions(period),
      sending: statistics.listWaitsForSending(period),
      finality: statistics.listWaitsForFinality(period),
      claimed: statistics.sumClaimed(period),
      withdrawn: statistics.sumWithdrawn(period),
    };
  }

  #countMessages({ ended, sending, finality, mined }: JournalNews): void {
    const { registry } = this.#deps;
    for (const { source, target, state, count } of ended) {
      registry.add("causeway_messages_ended_total", { source, target, status: state }, count);
    }
    const observe = (target: string, stage: string, tookMs: number): void =>
      registry.observe("causeway_message_stage_seconds", { target, stage }, Math.max(0, tookMs) / 1_000);
    for (const { target, tookMs } of sending) observe(target, "sent", tookMs);
    for (const { target, tookMs } of finality) observe(target, "final", tookMs);
    for (const { chain, messages, signedAtMs, minedAtMs } of mined) {
      observe(chain, "included", minedAtMs - signedAtMs);
      if (messages > 0) registry.observe("causeway_batch_messages", { target: chain }, messages);
    }
  }

  #countTransactions({ sums }: JournalNews): void {
    const { registry } = this.#deps;
    for (const { chain, purpose, result, count, spent, spentUsd, earnedUsd, offeredUsd } of sums) {
      const labels = { chain, purpose, result };
      registry.add("causeway_transactions_total", labels, count);
      registry.add("causeway_gas_spent_total", labels, spent);
      registry.add("causeway_gas_spent_dollars_total", labels, spentUsd);
      registry.add("causeway_revenue_dollars_total", { chain }, earnedUsd);
      registry.add("causeway_fees_offered_dollars_total", { chain }, offeredUsd);
    }
  }

  #countFees({ claimed, withdrawn }: JournalNews): void {
    const { registry, feeDecimalsOf } = this.#deps;
    for (const { source, feeUnits } of claimed) {
      const decimals = feeDecimalsOf(source);
      if (decimals !== undefined) {
        registry.add("causeway_fees_claimed_total", { source }, feeUnits / 10 ** decimals);
      }
    }
    for (const { chain, units } of withdrawn) {
      const decimals = feeDecimalsOf(chain);
      if (decimals !== undefined) {
        registry.add("causeway_fees_withdrawn_total", { chain }, units / 10 ** decimals);
      }
    }
  }
}

type Statistics = Ledger["statistics"];

/** What was written within a period. */
interface JournalNews {
  readonly ended: ReturnType<Statistics["countEnded"]>;
  readonly sums: ReturnType<Statistics["sumMined"]>;
  readonly mined: ReturnType<Statistics["listMinedTransactions"]>;
  readonly sending: ReturnType<Statistics["listWaitsForSending"]>;
  readonly finality: ReturnType<Statistics["listWaitsForFinality"]>;
  readonly claimed: ReturnType<Statistics["sumClaimed"]>;
  readonly withdrawn: ReturnType<Statistics["sumWithdrawn"]>;
}
