/** The command line of the messaging relayer. Source: docs/specification.md, "Messaging relayer command line". */
import { programParser } from "../core/commands/program_parser.ts";
import type { CommonArguments } from "../core/runtime/app.ts";
import type { ListenOptions } from "../core/runtime/command_line.ts";
import type { MessagingRun } from "./commands/command.ts";
import { commands } from "./commands/commands.ts";

/** Arguments of a run. */
export interface RunArguments extends CommonArguments, ListenOptions {
  /** Absent: the command works without a database. */
  readonly db?: string;
  /** Path of the fence; absent: the program may always work. */
  readonly fence?: string;
}

const DESCRIPTION =
  `Messaging relayer of an ISMP hub: delivers requests between the hub and the configured chains,
with proofs, keeps a receipt of every delivery in the database, and collects the fees.

Without a command it runs until it is stopped.`;

const AFTER_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db

config.example.toml explains every configuration key. All configuration errors are listed at
once, and nothing is started until they are fixed.

Exit status: 0 stopped by SIGTERM or SIGINT, 1 configuration or start-up problem or unrecoverable fault,
2 wrong command line, 4 the fence is gone, 130 stopped by a second signal.`;

/** Parses the arguments behind the program's name; prints nothing itself. */
export const parseArguments = programParser<RunArguments, MessagingRun>({
  name: "causeway",
  description: DESCRIPTION,
  afterHelp: AFTER_HELP,
  exampleFiles: "--config=relayer.toml --db=relayer.db",
  addOptions: (parser) =>
    void parser.option("-d, --db <path>", "SQLite database file; created when missing").option(
      "--fence <path>",
      "work only while this file is there and the time in it has not come (default: always)",
    ),
  commands,
});
