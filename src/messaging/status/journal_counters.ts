/** Counters that follow the ledger: what was written since the last time is added to them. */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { MetricRegistry } from "../../core/telemetry/metrics.ts";
import type { Ledger } from "../ledger/ledger.ts";

/** What the counters need. */
interface JournalDeps {
  readonly registry: MetricRegistry;
  readonly statistics: Ledger["statistics"];
  /** Decimals of a chain's fee token; `undefined`: not read yet. */
  readonly feeDecimalsOf: (chain: StateMachine) => number | undefined;
}

/**
 * Makes what reads the ledger's news into the registry; counters begin at the start of the program, as those of Prometheus
 * do. It reads what was written before `nowMs`, and may throw a `LedgerFault`: then the period is read next time.
 * Everything is read before anything is counted, so that a fault counts nothing twice.
 */
export function createJournalCounters(
  { registry, statistics, feeDecimalsOf }: JournalDeps,
  startMs: number,
): (nowMs: number) => void {
  let readUntilMs = startMs;
  return (nowMs) => {
    // Rows of this very millisecond may still be written.
    const period = { afterMs: readUntilMs, untilMs: nowMs - 1 };
    if (period.untilMs <= period.afterMs) return;
    const [ended, sums, mined, sending, finality, claimed, withdrawn] = [
      statistics.countEnded(period),
      statistics.sumMined(period),
      statistics.listMinedTransactions(period),
      statistics.listWaitsForSending(period),
      statistics.listWaitsForFinality(period),
      statistics.sumClaimed(period),
      statistics.sumWithdrawn(period),
    ];
    readUntilMs = period.untilMs;
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
    for (const { chain, purpose, result, count, spent, spentUsd, earnedUsd, offeredUsd } of sums) {
      const labels = { chain, purpose, result };
      registry.add("causeway_transactions_total", labels, count);
      registry.add("causeway_gas_spent_total", labels, spent);
      registry.add("causeway_gas_spent_dollars_total", labels, spentUsd);
      registry.add("causeway_revenue_dollars_total", { chain }, earnedUsd);
      registry.add("causeway_fees_offered_dollars_total", { chain }, offeredUsd);
    }
    const toTokens = (chain: StateMachine, units: number): number =>
      units / 10 ** (feeDecimalsOf(chain) ?? Infinity);
    for (const { source, feeUnits } of claimed) {
      registry.add("causeway_fees_claimed_total", { source }, toTokens(source, feeUnits));
    }
    for (const { chain, units } of withdrawn) {
      registry.add("causeway_fees_withdrawn_total", { chain }, toTokens(chain, units));
    }
  };
}
