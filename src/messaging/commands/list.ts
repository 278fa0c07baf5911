/** `list`: messages by what they have in common. */
import { defineCommand } from "../../core/commands/command.ts";
import { formatTable, shownTime } from "../../core/runtime/text_table.ts";
import type { MessageView } from "../control/message_view.ts";
import type { MessagingRun } from "./command.ts";
import { addFilterOptions, type FilterOptions, toFilterInput } from "./message_filter.ts";
import { InvalidArgumentError } from "commander";

const AFTER_HELP = `
Examples:
  causeway --config=relayer.toml --db=relayer.db list --status=held --since=2h
  causeway --config=relayer.toml --db=relayer.db list --source=EVM-1 --dest=EVM-56 --json

Most recently found first; a message has a line for each leg (to the hub, from the hub). "next" is when
it is attempted; "-": it is sent, or over, or is not attempted by itself. The running relayer answers;
when none runs, the database is read.

Exit status: 0 also when nothing matches, 1 it cannot be read, 2 wrong command line.`;

interface ListOptions extends FilterOptions {
  readonly limit?: number;
  readonly json?: boolean;
}

/** The command. */
export const listCommand = defineCommand<MessagingRun, ListOptions>({
  name: "list",
  description: "Lists messages with their status and why they wait.",
  summary: "list messages",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void addFilterOptions(parser)
      .option("--limit <count>", "number of messages, at most 1000 (default 50)", toLimit)
      .option("--json", "print JSON")
      .action((options: ListOptions) => choose(options)),
  run: async (run, { limit = 50, json = false, ...filter }) => {
    const { ask } = await import("../control/ask.ts");
    const { listOperation } = await import("../control/operations/list.ts");
    const { print, clock } = run.deps;
    return await ask(run, {
      operation: listOperation,
      input: { filter: toFilterInput(filter, clock.now()), limit },
      show: (output) => {
        if (json) return print(JSON.stringify(output));
        if (output.messages.length === 0) return print("No message matches.");
        print(formatTable([
          ["found", "leg", "request", "status", "reason", "next", "commitment"],
          ...output.messages.map((message) => toCells(message, clock.now())),
        ]));
        if (output.total > output.messages.length) {
          print(`${output.total} match, ${output.messages.length} shown.`);
        }
      },
    });
  },
});

function toCells(message: MessageView, nowMs: number): readonly (string | undefined)[] {
  return [
    shownTime(message.foundAt),
    `${message.from} -> ${message.to}`,
    `${message.source} -> ${message.dest}`,
    message.status,
    message.reason,
    nextText(message, nowMs),
    message.commitment,
  ];
}

function nextText({ nextAttemptAt }: MessageView, nowMs: number): string {
  if (nextAttemptAt === undefined) return "-";
  return Date.parse(nextAttemptAt) <= nowMs ? "next round" : shownTime(nextAttemptAt) ?? "-";
}

function toLimit(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1_000) return limit;
  throw new InvalidArgumentError("Expected a number from 1 to 1000.");
}
