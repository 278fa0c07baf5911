/** `log-level`: changes how much the running relayer logs, until it ends. */
import { defineLogLevelCommand, formatLogLevel } from "../../core/commands/log_level_command.ts";
import type { MessagingRun } from "./command.ts";

/** The command. */
export const logLevelCommand = defineLogLevelCommand<MessagingRun>({
  example: "causeway --config=relayer.toml --db=relayer.db log-level debug",
  failure: "no relayer runs on this database",
  run: async (run, level) => {
    const { ask } = await import("../control/ask.ts");
    const { logLevelOperation } = await import("../../core/commands/control_operation.ts");
    return await ask(run, {
      operation: logLevelOperation,
      input: { level },
      show: (output) => run.deps.print(formatLogLevel(output)),
    });
  },
});
