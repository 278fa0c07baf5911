/** `profit`: fees earned against gas spent, by chain, route, day or module, what was wasted, and outstanding claims. */
import { defineOperation } from "../../core/commands/operation.ts";
import { formatDecimal, toHex } from "../../core/encoding/bytes.ts";
import { formatTable } from "../../core/runtime/text_table.ts";
import type { CarriedMessage, MinedCost, SpendingResult } from "../ledger/ledger.ts";
import { wastedResults } from "../ledger/spending.ts";
import type { OperationContext } from "./command.ts";
import { type SinceTime, toSince, toSinceMs } from "./message_filter.ts";
import { dollarsText } from "./message_view.ts";
import { Option } from "commander";

/** What the sums are made by. */
const profitGroups = ["chain", "route", "day", "module"] as const;

/** One of {@link profitGroups}. */
type ProfitGroup = typeof profitGroups[number];

interface ProfitOptions {
  readonly since?: SinceTime;
  readonly by: ProfitGroup;
}

/** Transactions that are read at a time. */
const PAGE = 2_000;

/** Sums, and deliveries that are not claimed yet. */
interface Profit {
  readonly by: ProfitGroup;
  readonly lines: readonly ProfitLine[];
  readonly total: ProfitLine;
  readonly claims: readonly {
    readonly source: string;
    readonly state: string;
    readonly count: number;
    /** Whole fee tokens, where the decimals are known. */
    readonly fees?: string | undefined;
  }[];
}

/** The command. */
export const profitCommand = defineOperation<OperationContext, ProfitOptions, Profit>({
  name: "profit",
  description: "Shows fees earned against gas spent, what was wasted and why, and claims outstanding.",
  summary: "show fees earned against gas spent",
  afterHelp: `
Examples:
  causeway --config=relayer.toml --db=relayer.db profit --since=7d
  causeway --config=relayer.toml --db=relayer.db profit --by=day --since=30d --json

Dollars are those of the time of each transaction; one whole fee token counts as one dollar. By module
the cost of a transaction is shared equally by its messages; messages older than 30 days are "older".
Costs are kept for 90 days. --json has native tokens spent in all their digits.

Exit status: 0 done, 1 the database cannot be read, 2 wrong command line.`,
  needs: "read",
  addOptions: (parser, choose) =>
    void parser
      .option("--since <time>", "only what was mined since: 90m, 2h, 3d, or 2026-01-31T12:00Z", toSince)
      .addOption(
        new Option("--by <group>", "one line for each").choices([...profitGroups]).default("chain"),
      )
      .action((options: ProfitOptions) => choose(options)),
  work: ({ ledger, clock, status }, { by, since }) => {
    const account = new ProfitAccount(by);
    const sinceMs = since === undefined ? 0 : toSinceMs(since, clock.now());
    for (let afterId: number | undefined = 0; afterId !== undefined;) {
      const page: MinedCost[] = ledger.minedCosts.list({ sinceMs, afterId, limit: PAGE });
      for (const cost of page) account.add(cost, () => ledger.minedCosts.listCarried(cost.id));
      afterId = page.at(-1)?.id;
    }
    const outstanding = status().claims.filter(({ state }) => state === "unclaimed" || state === "claiming");
    const claims = outstanding.map(({ source, state, count, fees }) => ({ source, state, count, fees }));
    return { by, ...account.lines(), claims };
  },
  show: ({ by, lines, total, claims }) =>
    [
      formatTable([
        [
          by,
          by === "module" ? "messages" : "transactions",
          "earned $",
          "spent $",
          "profit $",
          "unpriced",
          "wasted $",
        ],
        ...[...lines, total].map((line) => [
          line.group,
          String(line.transactions),
          ...[line.earnedUsd, line.spentUsd, line.profitUsd].map(toCents),
          String(line.unpriced),
          line.wasted.map(({ reason, usd }) => `${reason}: ${toCents(usd)}`).join(", ") || "nothing",
        ]),
      ], { toTheRight: (column) => column > 0 && column < 6 }),
      ...[...new Set(lines.flatMap(({ spent }) => spent.map(({ chain }) => chain)))].map((chain) =>
        `Spent on ${chain}: ${total.spent.find((each) => each.chain === chain)?.native ?? "0"} native tokens`
      ),
      ...claims.map(({ source, state, count, fees }) =>
        `${count} deliveries ${state} with fees of ${source}${
          fees === undefined ? "" : `, ${fees} fee tokens`
        }`
      ),
    ].join("\n"),
});

/** Dollars with at most four digits behind the point. */
function toCents(usd: string): string {
  return usd.replace(/(\.\d{4})\d+$/, "$1");
}
/** Sums of one group as plain data. */
interface ProfitLine {
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
class ProfitAccount {
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
    if (wastedResults.has(cost.result)) sums.addWasted(cost.result, cost);
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
