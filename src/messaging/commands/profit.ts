/** `profit`: fees earned against gas spent, by chain, route, day or module, what was wasted, and outstanding claims. */
import { formatDecimal, toHex } from "../../core/encoding/bytes.ts";
import { formatTable } from "../../core/runtime/text_table.ts";
import type { CarriedMessage, MinedCost, SpendingResult } from "../ledger/ledger.ts";
import { wastedResults } from "../ledger/spending.ts";
import { defineOperation } from "../../core/commands/operation.ts";
import type { OperationContext } from "./command.ts";
import { toSince } from "./message_filter.ts";
import { dollarsText } from "./message_view.ts";
import { Option } from "commander";

/** What the sums are made by. */
const profitGroups = ["chain", "route", "day", "module"] as const;

/** One of {@link profitGroups}. */
type ProfitGroup = typeof profitGroups[number];

interface ProfitOptions {
  /** Unix milliseconds. */
  readonly since?: number;
  readonly by: ProfitGroup;
}

/** Transactions that are read at a time. */
const PAGE = 2_000;

/** The command. */
export const profitCommand = defineOperation({
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
  addOptions: (parser) =>
    void parser
      .option("--since <time>", "only what was mined since: 90m, 2h, 3d, or 2026-01-31T12:00Z", toSince)
      .addOption(
        new Option("--by <group>", "one line for each").choices([...profitGroups]).default("chain"),
      ),
  work: (context: OperationContext, [options]: readonly [ProfitOptions]) => sumUp(context, options),
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
        ...[...lines, total].map((
          { group, transactions, earnedUsd, spentUsd, profitUsd, unpriced, wasted },
        ) => [
          by === "module" ? shortModule(group) : group,
          String(transactions),
          ...[earnedUsd, spentUsd, profitUsd].map(toCents),
          String(unpriced),
          String(Number(wasted.reduce((sum, { usd }) => sum + Number(usd), 0).toFixed(4))),
        ]),
      ], { toTheRight: (column) => column > 0 }),
      ...total.wasted.map(({ reason, transactions, usd }) =>
        `Wasted on ${transactions} ${reason}: ${toCents(usd)} $`
      ),
      ...total.spent.map(({ chain, native }) => `Spent on ${chain}: ${native} native tokens`),
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

/** The ends of a module; --json has it whole. */
function shortModule(module: string): string {
  return module.replace(/^(0x[0-9a-f]{8})[0-9a-f]{8,}([0-9a-f]{8})$/, "$1...$2");
}

/** Sums, and deliveries that are not claimed yet. */
const sumUp = ({ ledger, status }: OperationContext, { by, since = 0 }: ProfitOptions) => {
  const [total, groups] = [new Sums(), new Map<string, Sums>()];
  for (const cost of listCosts(ledger, since)) {
    total.add(cost);
    for (const [group, part] of split(by, cost, () => ledger.statistics.listCarried(cost.id))) {
      sumsOf(groups, group).add(part);
    }
  }
  return {
    by,
    lines: [...groups].sort(([a], [b]) => a < b ? -1 : 1).map(([group, sums]) => sums.toLine(group)),
    total: total.toLine("total"),
    claims: status().claims.filter(({ state }) => state === "unclaimed" || state === "claiming"),
  };
};

function* listCosts(ledger: OperationContext["ledger"], sinceMs: number): Iterable<MinedCost> {
  for (let afterId: number | undefined = 0; afterId !== undefined;) {
    const page: readonly MinedCost[] = ledger.statistics.listMinedCosts({ sinceMs, afterId, limit: PAGE });
    yield* page;
    afterId = page.at(-1)?.id;
  }
}

/** Groups of a transaction, each with its part of the cost. @param carried lists its messages, which share it by module */
function split(
  by: ProfitGroup,
  cost: MinedCost,
  carried: () => readonly CarriedMessage[],
): readonly (readonly [group: string, part: MinedCost])[] {
  if (by !== "module") return [[nameOf(by, cost), cost]];
  const messages = carried();
  if (messages.length === 0) return [[cost.purpose === "delivery" ? "older" : cost.purpose, cost]];
  const share = BigInt(messages.length);
  return messages.map(({ module, isHandled, offeredUsd18 }, index) => {
    // The last one pays what does not divide.
    const part = (whole: bigint): bigint =>
      index === messages.length - 1 ? whole - whole / share * (share - 1n) : whole / share;
    return [toHex(module), {
      ...cost,
      costWei: part(cost.costWei),
      costUsd18: cost.costUsd18 === undefined ? undefined : part(cost.costUsd18),
      revenueUsd18: isHandled && cost.result === "delivered" ? offeredUsd18 : 0n,
    }];
  });
}

function nameOf(by: Exclude<ProfitGroup, "module">, cost: MinedCost): string {
  switch (by) {
    case "chain":
      return cost.chain;
    case "day":
      return new Date(cost.minedAtMs).toISOString().slice(0, 10);
    case "route":
      return cost.legSource === undefined
        ? `${cost.purpose} on ${cost.chain}`
        : `${cost.legSource} -> ${cost.chain}`;
  }
}

/** Sums of a group, all of it or what was wasted for one reason. */
class Sums {
  #transactions = 0;
  #earned18 = 0n;
  #spent18 = 0n;
  #unpriced = 0;
  readonly #native = new Map<string, bigint>();
  readonly #wasted = new Map<SpendingResult, Sums>();

  /** Adds a transaction, or a part of it. */
  add(part: MinedCost): void {
    this.#count(part);
    if (wastedResults.has(part.result)) sumsOf(this.#wasted, part.result).#count(part);
  }

  /** The sums as plain data: dollars, and native tokens by chain. */
  readonly toLine = (group: string) => ({
    group,
    transactions: this.#transactions,
    earnedUsd: usdText(this.#earned18),
    spentUsd: usdText(this.#spent18),
    profitUsd: usdText(this.#earned18 - this.#spent18),
    /** Transactions whose price in dollars was unknown: they are in `spent` only. */
    unpriced: this.#unpriced,
    spent: this.#spentBy(),
    wasted: [...this.#wasted].map(([reason, each]) => ({
      reason,
      transactions: each.#transactions,
      usd: usdText(each.#spent18),
      spent: each.#spentBy(),
    })),
  });

  #count({ chain, costWei, costUsd18, revenueUsd18 = 0n }: MinedCost): void {
    this.#transactions++;
    this.#earned18 += revenueUsd18;
    this.#spent18 += costUsd18 ?? 0n;
    if (costUsd18 === undefined) this.#unpriced++;
    this.#native.set(chain, (this.#native.get(chain) ?? 0n) + costWei);
  }

  #spentBy(): readonly { readonly chain: string; readonly native: string }[] {
    return [...this.#native].sort().map(([chain, wei]) => ({ chain, native: formatDecimal(wei, 18) }));
  }
}

function sumsOf<Key>(all: Map<Key, Sums>, key: Key): Sums {
  const known = all.get(key) ?? new Sums();
  all.set(key, known);
  return known;
}

function usdText(amount18: bigint): string {
  return dollarsText(amount18) ?? "0";
}
