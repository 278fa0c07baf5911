/** `log-level`: changes how much the running relayer logs, until it ends. */
import { Argument } from "commander";
import { defineCommand } from "../../core/commands/command.ts";
import { logLevels } from "../../core/telemetry/log.ts";
import type { MessagingRun } from "./command.ts";

const AFTER_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db log-level debug

At the next start --log-level counts again.

Exit status: 0 done, 1 no relayer runs on this database, 2 wrong command line.`;

/** The command. */
export const logLevelCommand = defineCommand<MessagingRun, string>({
  name: "log-level",
  description: "Changes the minimum level that the running relayer logs, until it ends.",
  summary: "change the log level of the running relayer",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.addArgument(new Argument("<level>", "minimum level that is logged").choices([...logLevels]))
      .action((level: string) => choose(level)),
  run: async (run, level) => {
    const { ask } = await import("../control/ask.ts");
    const { logLevelOperation } = await import("../control/operations/log_level.ts");
    return await ask(run, {
      operation: logLevelOperation,
      input: { level },
      show: (output) => run.deps.print(`The relayer logs from level ${output.level} on.`),
    });
  },
});
