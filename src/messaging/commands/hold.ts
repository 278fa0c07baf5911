/** `hold`: messages of a module or route wait until they are released. */
import { defineCommand } from "../../core/commands/command.ts";
import type { MessagingRun } from "./command.ts";
import { toSubjectText } from "./hex_arguments.ts";

const AFTER_HELP = `
Examples:
  causeway --config=relayer.toml --db=relayer.db hold 0x00000000000000000000000000000000000000aa
  causeway --config=relayer.toml --db=relayer.db hold EVM-1:EVM-56
  causeway --config=relayer.toml --db=relayer.db hold '*:EVM-56'

A module is the sender or receiver of the request. What is in a transaction already is not called back,
and what times out meanwhile ends. Holds survive a restart; release ends them.

Exit status: 0 done, 1 the database cannot be used, 2 wrong command line.`;

/** The command. */
export const holdCommand = defineCommand<MessagingRun, string>({
  name: "hold",
  description: "Holds the messages of a module, or from one chain to another, until they are released.",
  summary: "hold the messages of a module or route",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("<module or route>", "0x..., or EVM-1:EVM-56 with * for any chain", toSubjectText)
      .action((subject: string) => choose(subject)),
  run: async (run, subject) => {
    const { ask } = await import("../control/ask.ts");
    const { holdOperation } = await import("../control/operations/hold.ts");
    return await ask(run, {
      operation: holdOperation,
      input: { subject },
      show: (output) => {
        run.deps.print(`${output.subject} ${output.isNew ? "is held" : "was held already"}.`);
        run.deps.print(`Held now: ${output.held.join(", ")}`);
      },
    });
  },
});
