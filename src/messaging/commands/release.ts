/** `release`: what is held by the operator, or suspended, travels again. */
import { defineCommand } from "../../core/commands/command.ts";
import type { MessagingRun } from "./command.ts";
import { toSubjectText } from "./hex_arguments.ts";

const AFTER_HELP = `
Examples:
  causeway --config=relayer.toml --db=relayer.db release EVM-1:EVM-56
  causeway --config=relayer.toml --db=relayer.db release 0x00000000000000000000000000000000000000aa
  causeway --config=relayer.toml --db=relayer.db release

Releases what "hold" holds, and messages that are suspended because deliveries from their sender to
their receiver cost gas and had no effect (after two retries the relayer stops retrying on its
own): by sender or receiver, or with *:<chain> all that go to a chain. Modules that take deliveries
of another account only are read again at once. Without an argument everything is released. Each
release is printed.

Exit status: 0 also when nothing is held, 1 the database cannot be used, 2 wrong command line.`;

/** The command. */
export const releaseCommand = defineCommand<MessagingRun, string | undefined>({
  name: "release",
  description: "Lets the messages travel again that the operator holds, and those that are suspended.",
  summary: "release held and suspended messages",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("[module or route]", "0x..., or EVM-1:EVM-56 as it was held", toSubjectText)
      .action((subject: string | undefined) => choose(subject)),
  run: async (run, subject) => {
    const { ask } = await import("../control/ask.ts");
    const { releaseOperation } = await import("../control/operations/release.ts");
    const { print } = run.deps;
    return await ask(run, {
      operation: releaseOperation,
      input: subject === undefined ? {} : { subject },
      show: ({ holds, pairs, gated, left }) => {
        for (const text of holds) print(`${text} released`);
        for (const { target, from, to } of pairs) print(`${target}: ${from} -> ${to} released`);
        if (gated > 0) print(`Gates are read again; messages that waited for another account: ${gated}`);
        if (holds.length + pairs.length + gated === 0) print("No messages of that are held or suspended.");
        if (left.length > 0) print(`Held still: ${left.join(", ")}`);
      },
    });
  },
});
