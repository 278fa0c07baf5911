/** `log-level`: the running program writes more or less of its log from now on. */
import { type LogLevel, logLevels } from "../telemetry/log.ts";
import { type ControlOperation, OperationRefusal } from "./control_operation.ts";
import * as z from "zod";

/** What changes the level of a program's log. */
export interface LevelSetter {
  /** Changes the minimum level that is logged, until the program ends; absent where it cannot be changed. */
  readonly setLogLevel?: ((level: LogLevel) => void) | undefined;
}

const shape = z.strictObject({ level: z.enum(logLevels) });

type Level = z.output<typeof shape>;

/** The operation. */
export const logLevelOperation: ControlOperation<LevelSetter, Level, Level> = {
  name: "log-level",
  needs: "running",
  input: shape,
  output: shape,
  run: ({ setLogLevel }, { level }) => {
    if (setLogLevel === undefined) throw new OperationRefusal("The level of this log cannot be changed.");
    setLogLevel(level);
    return { level };
  },
};
