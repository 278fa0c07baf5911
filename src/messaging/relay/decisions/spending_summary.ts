/**
 * Decides what is told of the spending of one chain, and until when a daily limit of losses stops it. Pure.
 * Losses are millionths of a dollar; those of one transaction are its cost beyond what it earned.
 */
import type { SpendingRow } from "../../ledger/ledger.ts";

/** Time that a daily limit looks back, ms: a rolling day. */
export const DAY_MS = 86_400_000;

/** Why gas earned nothing, besides the results of transactions. */
export type UnearnedReason =
  | Exclude<SpendingRow["result"], "delivered" | "advanced" | "done" | undefined>
  /** Delivered, but nobody pays for it. */
  | "unpaid"
  /** It carried our own money home. */
  | "payment_delivery"
  /** The host learned of the hub, which nobody rewards. */
  | "consensus_proofs"
  /** A call that should be free. */
  | "other";

/** What was spent on a chain. Native amounts in wei, dollars x 10^18 as far as the price was known. */
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

/** Why a transaction earned nothing; `undefined`: it earned something, or that is not known yet. */
export function unearnedReason(
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

/**
 * When the losses of the last day are below the limit again, Unix milliseconds, if nothing is lost meanwhile;
 * `undefined`: they are below it now.
 * @param rows of the last day, oldest first
 */
export function stoppedUntilMs(
  rows: readonly Pick<SpendingRow, "lossMicroUsd" | "minedAtMs">[],
  limitMicroUsd: bigint,
): number | undefined {
  let left = rows.reduce((sum, { lossMicroUsd }) => sum + (lossMicroUsd ?? 0n), 0n);
  let untilMs: number | undefined;
  for (const { lossMicroUsd, minedAtMs } of rows) {
    if (left < limitMicroUsd) break;
    left -= lossMicroUsd ?? 0n;
    untilMs = (minedAtMs ?? 0) + DAY_MS;
  }
  return untilMs;
}
