/** `profit`: fees earned against gas spent, by chain, route, day or module, what was wasted, and outstanding claims. */
import { formatDecimal, toHex } from "../../core/encoding/bytes.ts";
import { formatList } from "../../core/commands/plain_text.ts";
import type { CarriedMessage, MinedCost } from "../ledger/ledger.ts";
import { wastedResults } from "../ledger/spending.ts";
import { defineOperation } from "../../core/commands/operation.ts";
import type { OperationContext } from "./command.ts";
import { toSince } from "./message_filter.ts";
import { dollarsText, timeText } from "./message_view.ts";
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
  examples: ["profit --since=7d", "profit --by=day --since=30d --json"],
  afterHelp:
    `Dollars are those of the time of each transaction; one whole fee token counts as one dollar. By module
the cost of a transaction is shared equally by its messages; messages older than 30 days are "older".
Costs are kept for 90 days. --json has native tokens spent in all their digits.`,
  exitStatus: { 0: "done", 1: "the database cannot be read" },
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
      formatList([...lines, total].map(({ group, transactions, unpriced, wasted, ...usd }) => ({
        [by]: by === "module" ? shortModule(group) : group,
        [by === "module" ? "messages" : "transactions"]: transactions,
        earnedUsd: toCents(usd.earnedUsd),
        spentUsd: toCents(usd.spentUsd),
        profitUsd: toCents(usd.profitUsd),
        unpriced,
        wastedUsd: Number(wasted.reduce((sum, each) => sum + Number(each.usd), 0).toFixed(4)),
      }))),
      ...total.wasted.map(({ reason, transactions, usd }) =>
        `Wasted on ${transactions} ${reason}: ${toCents(usd)} $`
      ),
      ...total.spent.map(({ chain, native }) => `Spent on ${chain}: ${native} native tokens`),
      ...claims.map(({ source, state, count, fees = "unknown" }) =>
        `${count} deliveries ${state} with fees of ${source}, ${fees} fee tokens`
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
  const parts = listCosts(ledger, since)
    .flatMap((cost) => split(by, cost, () => ledger.statistics.listCarried(cost.id))).toArray();
  const groups = [...Map.groupBy(parts, ({ group }) => group)].sort(([a], [b]) => a < b ? -1 : 1);
  return {
    by,
    lines: groups.map(([group, each]) => toLine(group, each)),
    total: toLine("total", parts),
    claims: status().claims.filter(({ state }) => state === "unclaimed" || state === "claiming"),
  };
};

/** A line as plain data: dollars, native tokens by chain, and what was wasted for each reason. */
const toLine = (group: string, parts: readonly Part[]) => {
  const earned18 = addUp(parts, ({ revenueUsd18 }) => revenueUsd18);
  const spent18 = addUp(parts, ({ costUsd18 }) => costUsd18);
  const wasted = Map.groupBy(parts.filter(({ result }) => wastedResults.has(result)), ({ result }) => result);
  return {
    group,
    transactions: parts.length,
    earnedUsd: usdText(earned18),
    spentUsd: usdText(spent18),
    profitUsd: usdText(earned18 - spent18),
    /** Transactions whose price in dollars was unknown: they are in `spent` only. */
    unpriced: parts.filter(({ costUsd18 }) => costUsd18 === undefined).length,
    spent: spentBy(parts),
    wasted: [...wasted].map(([reason, each]) => ({
      reason,
      transactions: each.length,
      usd: usdText(addUp(each, ({ costUsd18 }) => costUsd18)),
      spent: spentBy(each),
    })),
  };
};

const spentBy = (parts: readonly Part[]) =>
  [...Map.groupBy(parts, ({ chain }) => chain)].sort(([a], [b]) => a < b ? -1 : 1)
    .map(([chain, each]) => ({ chain, native: formatDecimal(addUp(each, ({ costWei }) => costWei), 18) }));

function addUp(parts: readonly Part[], amountOf: (part: Part) => bigint | undefined): bigint {
  return parts.reduce((sum, part) => sum + (amountOf(part) ?? 0n), 0n);
}

/** A transaction, or a message's share of it, in its group. */
interface Part extends MinedCost {
  readonly group: string;
}

function* listCosts(ledger: OperationContext["ledger"], sinceMs: number): Generator<MinedCost> {
  for (let afterId: number | undefined = 0; afterId !== undefined;) {
    const page: readonly MinedCost[] = ledger.statistics.listMinedCosts({ sinceMs, afterId, limit: PAGE });
    yield* page;
    afterId = page.at(-1)?.id;
  }
}

/** Groups of whole transactions. */
const groupOf: Readonly<Record<Exclude<ProfitGroup, "module">, (cost: MinedCost) => string>> = {
  chain: ({ chain }) => chain,
  day: ({ minedAtMs }) => timeText(minedAtMs).slice(0, 10),
  route: ({ legSource, chain, purpose }) =>
    legSource === undefined ? `${purpose} on ${chain}` : `${legSource} -> ${chain}`,
};

/** Parts of a transaction. @param carried lists its messages, which share it by module */
function split(by: ProfitGroup, cost: MinedCost, carried: () => readonly CarriedMessage[]): readonly Part[] {
  if (by !== "module") return [{ ...cost, group: groupOf[by](cost) }];
  const messages = carried();
  if (messages.length === 0) {
    return [{ ...cost, group: cost.purpose === "delivery" ? "older" : cost.purpose }];
  }
  const share = BigInt(messages.length);
  return messages.map(({ module, isHandled, offeredUsd18 }, index) => {
    // The last one pays what does not divide.
    const part = (whole: bigint): bigint =>
      index === messages.length - 1 ? whole - whole / share * (share - 1n) : whole / share;
    return {
      ...cost,
      group: toHex(module),
      costWei: part(cost.costWei),
      costUsd18: cost.costUsd18 === undefined ? undefined : part(cost.costUsd18),
      revenueUsd18: isHandled && cost.result === "delivered" ? offeredUsd18 : 0n,
    };
  });
}

function usdText(amount18: bigint): string {
  return dollarsText(amount18) ?? "0";
}
