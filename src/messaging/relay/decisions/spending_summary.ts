/**
 * Summarises the spending on one chain. Pure. Losses are millionths
 * of a dollar; those of one transaction are its cost beyond what it earned.
 */
import type { SpendingRow } from "../../ledger/ledger.ts";

/** Reason why gas earned nothing, besides the results of transactions. */
export type UnearnedReason =
  | Exclude<SpendingRow["result"], "delivered" | "advanced" | "done" | undefined>
  /** Delivered, but unpaid. */
  | "unpaid"
  /** Delivered our own payment. */
  | "payment_delivery"
  /** Advanced the hub's client on the host, without a reward. */
  | "consensus_proofs"
  /** A call that should be free. */
  | "other";

/** Spending on a chain. Native amounts in wei, dollars x 10^18 as far as the price was known. */
export interface SpendingSummary {
  readonly transactions: number;
  readonly spentWei: bigint;
  readonly spentUsd18: bigint;
  readonly earnedUsd18: bigint;
  readonly unearnedWei: bigint;
  readonly unearnedUsd18: bigint;
  /** The same by reason, wei. */
  readonly reasons: ReadonlyMap<UnearnedReason, bigint>;
}

/** Finds the reason why a transaction earned nothing; `undefined`: it earned something, or that is not known yet. */
function unearnedReason(
  { purpose, result, revenueUsd18 }: Pick<SpendingRow, "purpose" | "result" | "revenueUsd18">,
): UnearnedReason | undefined {
  if (result === undefined || (revenueUsd18 !== undefined && revenueUsd18 > 0n)) return undefined;
  switch (result) {
    case "delivered":
      if (purpose === "payment_delivery") return "payment_delivery";
      return revenueUsd18 === undefined ? undefined : "unpaid";
    case "advanced":
      return "consensus_proofs";
    case "done":
      return "other";
    case "already_known":
    case "lost_race":
    case "reverted":
    case "not_executed":
    case "cancelled":
      return result;
  }
}

/** Sums up the rows of one chain. */
export function summariseSpending(rows: readonly SpendingRow[]): SpendingSummary {
  const reasons = new Map<UnearnedReason, bigint>();
  let [spentWei, spentUsd18, earnedUsd18, unearnedWei, unearnedUsd18] = [0n, 0n, 0n, 0n, 0n];
  for (const row of rows) {
    const costWei = row.costWei ?? 0n;
    spentWei += costWei;
    spentUsd18 += row.costUsd18 ?? 0n;
    earnedUsd18 += row.revenueUsd18 ?? 0n;
    const reason = unearnedReason(row);
    if (reason === undefined || costWei === 0n) continue;
    unearnedWei += costWei;
    unearnedUsd18 += row.costUsd18 ?? 0n;
    reasons.set(reason, (reasons.get(reason) ?? 0n) + costWei);
  }
  return {
    transactions: rows.length,
    spentWei,
    spentUsd18,
    earnedUsd18,
    unearnedWei,
    unearnedUsd18,
    reasons,
  };
}
