/** `retry`: held messages are attempted again now. */
import { defineCommand } from "../../core/commands/command.ts";
import { formatTable } from "../../core/runtime/text_table.ts";
import type { MessagingRun } from "./command.ts";
import { addFilterOptions, type FilterOptions, toFilterInput } from "./message_filter.ts";

const AFTER_HELP = `
Examples:
  causeway --config=relayer.toml --db=relayer.db retry --reason=unprofitable --dest=EVM-56
  causeway --config=relayer.toml --db=relayer.db retry

Every rule still applies: what does not pay is held again, what you hold or what is suspended stays
(release lets it go, relay delivers one message whatever the profit rule says). Without a running
relayer the messages are attempted when it starts.

Exit status: 0 also when nothing matches, 1 the database cannot be used, 2 wrong command line.`;

/** The command. */
export const retryCommand = defineCommand<MessagingRun, FilterOptions>({
  name: "retry",
  description: "Attempts messages again now that wait for a later time or would never be attempted again.",
  summary: "attempt held messages now",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void addFilterOptions(parser).action((options: FilterOptions) => choose(options)),
  run: async (run, filter) => {
    const { ask } = await import("../control/ask.ts");
    const { retryOperation } = await import("../control/operations/retry.ts");
    const { print, clock } = run.deps;
    return await ask(run, {
      operation: retryOperation,
      input: { filter: toFilterInput(filter, clock.now()) },
      show: ({ reasons }) => {
        if (reasons.length === 0) return print("No open message matches.");
        const rows = reasons.map(({ reason, count }) => [reason ?? "had their turn", String(count)]);
        print(formatTable([["waited for", "messages"], ...rows], { toTheRight: (column) => column === 1 }));
      },
    });
  },
});
