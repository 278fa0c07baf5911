/** Prunes the database and logs periodic summaries. */
import type { Worker } from "../core/runtime/worker.ts";
import { formatDecimal } from "../core/encoding/bytes.ts";
import { DAY_MS } from "../core/pricing/loss_bound.ts";
import { summariseSpending } from "./relay/decisions/spending_summary.ts";
import type { RelayDeps } from "./relay/leg.ts";

const PRUNE_EVERY_MS = 3_600_000;
const SUMMARY_EVERY_MS = 600_000;

/** Creates a worker that logs a summary every ten minutes and removes expired rows every hour. */
export function housekeepingWorker(deps: RelayDeps): Worker {
  return {
    name: "housekeeping",
    run: async (signal) => {
      let prunedMs = -Infinity;
      while (!signal.aborted) {
        if (deps.clock.now() - prunedMs >= PRUNE_EVERY_MS) {
          prunedMs = deps.clock.now();
          deps.log.debug("rows_pruned", { ...deps.ledger.prune(prunedMs) });
        }
        await deps.clock.sleep(SUMMARY_EVERY_MS, signal);
        logSummary(deps);
        logSpending(deps);
      }
    },
  };
}

/** Logs one line per leg with rows, one number per state. */
function logSummary(deps: RelayDeps): void {
  const legs = new Map<string, Record<string, number>>();
  for (const { source, target, state, count } of deps.ledger.messages.countByState()) {
    const leg = `${source} -> ${target}`;
    legs.set(leg, { ...legs.get(leg), [state]: count });
  }
  for (const [leg, counts] of legs) deps.log.info("messages_counted", { leg, ...counts });
}

/** Logs one line per chain on which gas was spent within the last day, with the cost that earned nothing and why. */
function logSpending({ ledger, log, clock }: RelayDeps): void {
  const sinceMs = clock.now() - DAY_MS;
  for (const chain of ledger.spending.listChains(sinceMs)) {
    const sum = summariseSpending(ledger.spending.listMined(chain, sinceMs));
    if (sum.spentWei === 0n) continue;
    log.info("gas_spent", {
      chain,
      transactions: sum.transactions,
      spent: formatDecimal(sum.spentWei, 18),
      spentUsd: dollars(sum.spentUsd18),
      earnedUsd: dollars(sum.earnedUsd18),
      earnedNothing: formatDecimal(sum.unearnedWei, 18),
      earnedNothingUsd: dollars(sum.unearnedUsd18),
      ...Object.fromEntries([...sum.reasons].map(([reason, wei]) => [reason, formatDecimal(wei, 18)])),
    });
  }
}

/** Formats dollars, rounded to a millionth. */
function dollars(amount18: bigint): string {
  return formatDecimal(amount18 / 10n ** 12n, 6);
}
