/** `profit`: fees earned against gas spent. */
import { defineCommand } from "../../core/commands/command.ts";
import { formatTable } from "../../core/runtime/text_table.ts";
import type { MessagingRun } from "./command.ts";
import { type SinceTime, toSince, toSinceMs } from "./message_filter.ts";
import { Option } from "commander";

const AFTER_HELP = `
Examples:
  causeway --config=relayer.toml --db=relayer.db profit --since=7d
  causeway --config=relayer.toml --db=relayer.db profit --by=day --since=30d --json

Dollars are those of the time of each transaction; one whole fee token counts as one dollar. By module
the cost of a transaction is shared equally by its messages; messages older than 30 days are "older".
Costs are kept for 90 days.

Exit status: 0 done, 1 the database cannot be read, 2 wrong command line.`;

type Group = "chain" | "route" | "day" | "module";

interface ProfitOptions {
  readonly since?: SinceTime;
  readonly by: Group;
  readonly json?: boolean;
}

/** The command. */
export const profitCommand = defineCommand<MessagingRun, ProfitOptions>({
  name: "profit",
  description: "Shows fees earned against gas spent, what was wasted and why, and claims outstanding.",
  summary: "show fees earned against gas spent",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser
      .option("--since <time>", "only what was mined since: 90m, 2h, 3d, or 2026-01-31T12:00Z", toSince)
      .addOption(
        new Option("--by <group>", "one line for each").choices(["chain", "route", "day", "module"]).default(
          "chain",
        ),
      )
      .option("--json", "print JSON")
      .action((options: ProfitOptions) => choose(options)),
  run: async (run, { since, by, json = false }) => {
    const { ask } = await import("../control/ask.ts");
    const { profitOperation } = await import("../control/operations/profit.ts");
    const { print, clock } = run.deps;
    const sinceMs = since === undefined ? undefined : toSinceMs(since, clock.now());
    return await ask(run, {
      operation: profitOperation,
      input: { by, sinceMs },
      show: (output) => {
        if (json) return print(JSON.stringify(output));
        print(formatTable([
          [by, "transactions", "earned $", "spent $", "profit $", "unpriced", "spent", "wasted"],
          ...[...output.lines, output.total].map((line) => [
            line.group,
            String(line.transactions),
            line.earnedUsd,
            line.spentUsd,
            line.profitUsd,
            String(line.unpriced),
            line.spent.map(({ chain, native }) => `${native} (${chain})`).join(", "),
            line.wasted.map(({ reason, transactions, usd }) => `${transactions} ${reason}: ${usd} $`).join(
              ", ",
            ) || "nothing",
          ]),
        ], { toTheRight: (column) => column > 0 && column < 6 }));
        for (const { source, state, count, fees } of output.claims) {
          const worth = fees === undefined ? "" : `, ${fees} fee tokens`;
          print(`${count} deliveries ${state} with fees of ${source}${worth}`);
        }
      },
    });
  },
});
