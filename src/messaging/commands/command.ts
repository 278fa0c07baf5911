/** What the messaging relayer hands to its commands. */
import type { LogFormat } from "../../core/telemetry/open_log.ts";
import type { ProgramRun, RunDeps } from "../session.ts";

/** Dependencies of a command, besides those of the long-running relayer. */
export interface CommandDeps extends RunDeps {
  /** Prints a text for the operator, a line break after it. */
  readonly print: (text: string) => void;
  readonly logFormat: LogFormat;
}

/** One run of a command. */
export type MessagingRun = ProgramRun<CommandDeps>;
