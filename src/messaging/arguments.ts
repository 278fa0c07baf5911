/** The command line of the messaging relayer. Source: docs/specification.md, "Messaging relayer command line". */
import { parseWithCommands, type ProgramCommand } from "../core/commands/command.ts";
import type { CommonArguments } from "../core/runtime/app.ts";
import {
  addCommonOptions,
  addListenOptions,
  createCommandLine,
  type ListenOptions,
  type ParsedCommandLine,
} from "../core/runtime/command_line.ts";
import type { MessagingRun } from "./commands/command.ts";
import { commands } from "./commands/commands.ts";

/** Arguments of a run. */
export interface RunArguments extends CommonArguments, ListenOptions {
  /** Empty: the command works without a database. */
  readonly db: string;
  /** Path of the fence; absent: the program may always work. */
  readonly fence?: string;
}

/** Parsed command line. */
export type ParsedArguments = ParsedCommandLine<RunArguments, ProgramCommand<MessagingRun>>;

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
export function parseArguments(args: readonly string[], version: string): ParsedArguments {
  const line = createCommandLine({
    name: "causeway",
    description: DESCRIPTION,
    afterHelp: AFTER_HELP,
    exampleFiles: "--config=relayer.toml --db=relayer.db",
  });
  const { command } = line;
  command.option("-d, --db <path>", "SQLite database file; created when missing");
  command.option(
    "--fence <path>",
    "work only while this file is there and the time in it has not come (default: always)",
  );
  addListenOptions(command);
  addCommonOptions(command, version);
  const asked = parseWithCommands(line, commands, args);
  if (asked.kind === "exit") return asked;
  return {
    kind: "run",
    arguments: { ...command.opts<RunArguments>(), db: command.opts<Partial<RunArguments>>().db ?? "" },
    command: asked,
  };
}
