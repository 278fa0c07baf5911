/** What the messaging relayer hands to its commands. */
import type { MachineFacts } from "../../core/runtime/machine_facts.ts";
import type { ControlRequest } from "../../core/runtime/control_client.ts";
import type { LogFormat } from "../../core/telemetry/open_log.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { ProgramRun, RunDeps } from "../session.ts";

/** Dependencies of a command, besides those of the long-running relayer. */
export interface CommandDeps extends RunDeps {
  /** Prints a text for the operator, a line break after it. */
  readonly print: (text: string) => void;
  /** As `print`, to standard error. */
  readonly printError: (text: string) => void;
  readonly logFormat: LogFormat;
  /** True: standard output is a terminal that shows colours. */
  readonly hasColour: boolean;
  /** Path of the database file. */
  readonly database: string;
  /** Reads facts about the machine; only before the database is opened. */
  readonly machine: () => MachineFacts;
  /** Drops the right to write files, as `openLedger` does. */
  readonly dropWriteAccess: () => void;
  /** Opens the database for reading only. */
  readonly openReadOnly: () => Ledger;
  /** Sends a line to the relayer that runs on the database; `undefined`: none runs. Throws a `ControlFault`. */
  readonly askRunning: (request: Omit<ControlRequest, "path">) => Promise<string | undefined>;
}

/** One run of a command. */
export type MessagingRun = ProgramRun<CommandDeps>;
