/** `scan`: blocks are read again, and what was missed is recorded. */
import { defineCommand } from "../../core/commands/command.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { toStateMachine } from "../../core/runtime/command_line.ts";
import { formatTable } from "../../core/runtime/text_table.ts";
import type { MessagingRun } from "./command.ts";
import { InvalidArgumentError } from "commander";

const AFTER_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db scan EVM-1 --from=21000000 --to=21000500

Reads the messages of these blocks again on every leg that begins at the chain, as far as the leg has
read them before, and records those that are missing: there should be none.

Exit status: 0 done, 1 blocks could not be read, 2 wrong command line.`;

interface ScanOptions {
  readonly chain: StateMachine;
  readonly from: string;
  readonly to: string;
  readonly json?: boolean;
}

/** The command. */
export const scanCommand = defineCommand<MessagingRun, ScanOptions>({
  name: "scan",
  description: "Reads blocks of a chain again and reports what was missed.",
  summary: "read blocks again and report what was missed",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("<state-machine>", "configured chain or the hub, e.g. EVM-1", toStateMachine)
      .requiredOption("--from <block>", "first block", toHeightText)
      .requiredOption("--to <block>", "last block", toHeightText)
      .option("--json", "print JSON")
      .action((chain: StateMachine, options: Omit<ScanOptions, "chain">) => choose({ chain, ...options })),
  run: async (run, { chain, from, to, json = false }) => {
    const { ask } = await import("../control/ask.ts");
    const { scanOperation } = await import("../control/operations/scan.ts");
    return await ask(run, {
      operation: scanOperation,
      input: { chain, from, to },
      afterMs: undefined,
      show: (output) => {
        if (json) return run.deps.print(JSON.stringify(output));
        run.deps.print(formatTable([
          ["leg", "blocks", "messages", "missed"],
          ...output.legs.map(({ from, to, blocks, messages, missed }) => [
            `${from} -> ${to}`,
            blocks === undefined ? "not read before" : `${blocks.from} to ${blocks.to}`,
            String(messages),
            missed.length === 0 ? "none" : missed.join(" "),
          ]),
        ]));
      },
    });
  },
});

function toHeightText(text: string): string {
  if (/^\d{1,18}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected the number of a block.");
}
