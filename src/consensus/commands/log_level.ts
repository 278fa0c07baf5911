/** `log-level`: changes how much the running relayer logs, until it ends. */
import { defineLogLevelCommand, formatLogLevel } from "../../core/commands/log_level_command.ts";
import type { ConsensusRun } from "./command.ts";

/** The command. */
export const logLevel = defineLogLevelCommand<ConsensusRun>({
  example: "causeway-consensus --config=consensus.toml --cache=/var/lib/causeway-consensus log-level debug",
  failure: "no relayer answers",
  run: async (run, level) => {
    const { askOrElse } = await import("../../core/commands/ask_running.ts");
    const { logLevelOperation } = await import("../../core/commands/control_operation.ts");
    const { refuseNobody } = await import("../control/refuse_nobody.ts");
    return await askOrElse(run, {
      operation: logLevelOperation,
      input: { level },
      show: (output) => run.print(formatLogLevel(output)),
    }, refuseNobody);
  },
});
