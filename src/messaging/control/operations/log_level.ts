/** `log-level`: the running relayer writes more or less of its log from now on. */
import { OperationRefusal } from "../../../core/commands/control_operation.ts";
import { logLevels } from "../../../core/telemetry/log.ts";
import type { Operation } from "../operation.ts";
import { z } from "zod";

const input = z.strictObject({ level: z.enum(logLevels) });

const output = z.object({ level: z.enum(logLevels) });

/** The operation. */
export const logLevelOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "log-level",
  needs: "running",
  input,
  output,
  run: ({ setLogLevel }, { level }) => {
    if (setLogLevel === undefined) throw new OperationRefusal("The level of this log cannot be changed.");
    setLogLevel(level);
    return { level };
  },
};
