/** Fees earned against gas spent, by chain, route, day or module. Pure: sums of what the ledger recorded. */
import { formatDecimal, toHex } from "../../core/encoding/bytes.ts";
import type { CarriedMessage, MinedCost, SpendingResult } from "../ledger/ledger.ts";
import { dollarsText } from "./message_view.ts";

/** What the sums are made by. */
export const profitGroups = ["chain", "route", "day", "module"] as const;

/** One of {@link profitGroups}. */
export type ProfitGroup = typeof profitGroups[number];

/** Results that earned nothing. */
export const wasted: ReadonlySet<string> = new Set([
  "already_known",
  "lost_race",
  "reverted",
  "not_executed",
  "cancelled",
]);

/** Sums of one group as plain data. */
export interface ProfitLine {
  readonly group: string;
  readonly transactions: number;
  readonly earnedUsd: string;
  readonly spentUsd: string;
  readonly profitUsd: string;
  /** Transactions whose price in dollars was unknown: they are in `spent` only. */
  readonly unpriced: number;
  /** Native tokens by chain. */
  readonly spent: { readonly chain: string; readonly native: string }[];
  readonly wasted: {
    readonly reason: string;
    readonly transactions: number;
    readonly usd: string;
    readonly spent: { readonly chain: string; readonly native: string }[];
  }[];
}

/** Sums of one group. */
class Sums {
  transactions = 0;
  earned18 = 0n;
  spent18 = 0n;
  unpriced = 0;
  readonly native = new Map<string, bigint>();
  readonly wasted = new Map<SpendingResult, Sums>();

  add(part: Pick<MinedCost, "chain" | "costWei" | "costUsd18" | "revenueUsd18">): void {
    this.transactions++;
    this.earned18 += part.revenueUsd18 ?? 0n;
    this.spent18 += part.costUsd18 ?? 0n;
    if (part.costUsd18 === undefined) this.unpriced++;
    this.native.set(part.chain, (this.native.get(part.chain) ?? 0n) + part.costWei);
  }

  addWasted(result: SpendingResult, part: MinedCost): void {
    const sums = this.wasted.get(result) ?? new Sums();
    this.wasted.set(result, sums);
    sums.add(part);
  }

  spentBy(): ProfitLine["spent"] {
    return [...this.native].sort().map(([chain, wei]) => ({ chain, native: formatDecimal(wei, 18) }));
  }
}

/** Adds up transactions. */
export class ProfitAccount {
  readonly #by: ProfitGroup;
  readonly #groups = new Map<string, Sums>();
  readonly #total = new Sums();

  constructor(by: ProfitGroup) {
    this.#by = by;
  }

  /** Adds a transaction; `carried` are its messages, which matter by module. */
  add(cost: MinedCost, carried: () => readonly CarriedMessage[]): void {
    this.#addTo(this.#total, cost);
    if (this.#by !== "module") return this.#addTo(this.#group(this.#nameOf(cost)), cost);
    const messages = carried();
    if (messages.length === 0) {
      return this.#addTo(this.#group(cost.purpose === "delivery" ? "older" : cost.purpose), cost);
    }
    const share = BigInt(messages.length);
    for (const [index, { module, isHandled, offeredUsd18 }] of messages.entries()) {
      // The last one pays what does not divide.
      const part = (whole: bigint): bigint =>
        index === messages.length - 1 ? whole - whole / share * (share - 1n) : whole / share;
      this.#addTo(this.#group(toHex(module)), {
        ...cost,
        costWei: part(cost.costWei),
        costUsd18: cost.costUsd18 === undefined ? undefined : part(cost.costUsd18),
        revenueUsd18: isHandled && cost.result === "delivered" ? offeredUsd18 : 0n,
      });
    }
  }

  /** The sums by group, and over all. */
  lines(): { readonly lines: ProfitLine[]; readonly total: ProfitLine } {
    const lines = [...this.#groups].sort(([a], [b]) => a < b ? -1 : 1).map(([group, sums]) =>
      toLine(group, sums)
    );
    return { lines, total: toLine("total", this.#total) };
  }

  #addTo(sums: Sums, cost: MinedCost): void {
    sums.add(cost);
    if (wasted.has(cost.result)) sums.addWasted(cost.result, cost);
  }

  #group(name: string): Sums {
    const sums = this.#groups.get(name) ?? new Sums();
    this.#groups.set(name, sums);
    return sums;
  }

  #nameOf(cost: MinedCost): string {
    switch (this.#by) {
      case "chain":
      case "module":
        return cost.chain;
      case "day":
        return new Date(cost.minedAtMs).toISOString().slice(0, 10);
      case "route":
        return cost.legSource === undefined
          ? `${cost.purpose} on ${cost.chain}`
          : `${cost.legSource} -> ${cost.chain}`;
    }
  }
}

function toLine(group: string, sums: Sums): ProfitLine {
  const usd = (amount18: bigint): string => dollarsText(amount18) ?? "0";
  return {
    group,
    transactions: sums.transactions,
    earnedUsd: usd(sums.earned18),
    spentUsd: usd(sums.spent18),
    profitUsd: usd(sums.earned18 - sums.spent18),
    unpriced: sums.unpriced,
    spent: sums.spentBy(),
    wasted: [...sums.wasted].map(([reason, each]) => ({
      reason,
      transactions: each.transactions,
      usd: usd(each.spent18),
      spent: each.spentBy(),
    })),
  };
}
