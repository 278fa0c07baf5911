/** What the messaging relayer hands to its commands. */
import type { MachineFacts } from "../../core/runtime/machine_facts.ts";
import type { LogFormat } from "../../core/telemetry/open_log.ts";
import type { ProgramRun, RunDeps } from "../session.ts";

/** Dependencies of a command, besides those of the long-running relayer. */
export interface CommandDeps extends RunDeps {
  /** Prints a text for the operator, a line break after it. */
  readonly print: (text: string) => void;
  readonly logFormat: LogFormat;
  /** True: standard output is a terminal that shows colours. */
  readonly hasColour: boolean;
  /** Path of the database file. */
  readonly database: string;
  /** Reads facts about the machine; only before the database is opened. */
  readonly machine: () => MachineFacts;
}

/** One run of a command. */
export type MessagingRun = ProgramRun<CommandDeps>;
