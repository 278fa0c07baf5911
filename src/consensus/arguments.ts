/**
 * Command line of the consensus relayer. Source: docs/specification.md, "Consensus relayer command line";
 * docs/protocol/hub-consensus.md section 3.1.
 */
import { Option } from "commander";
import { parseWithCommands, type ProgramCommand } from "../core/commands/command.ts";
import {
  addCommonOptions,
  addListenOptions,
  createCommandLine,
  type ListenOptions,
  type ParsedCommandLine,
} from "../core/runtime/command_line.ts";
import type { CommonArguments } from "../core/runtime/app.ts";
import type { ConsensusRun } from "./commands/command.ts";
import { commands } from "./commands/commands.ts";

/** Options of a run. */
export interface RunArguments extends CommonArguments, ListenOptions {
  /** A chain as the operator names it. */
  readonly base?: string;
  /** Folder for data that is expensive to read again. */
  readonly cache?: string;
  /** Path of the socket for commands. */
  readonly socket?: string;
}

/** Result of parsing the command line. */
export type ParsedArguments = ParsedCommandLine<RunArguments, ProgramCommand<ConsensusRun>>;

const DESCRIPTION =
  `Consensus relayer of an ISMP hub: proves the finality of the configured chains to the hub, and the
hub's to them. Every update is verified locally, by the target's rules, before it is submitted.

Without a command it runs until it is stopped.`;

const AFTER_HELP = `
Example:
  causeway-consensus --config=consensus.toml

consensus.example.toml explains every key of the configuration. All of its problems are listed at
once, and nothing is started until they are fixed.

Exit status: 0 done, or stopped by SIGTERM or SIGINT, 1 configuration or start-up problem or
unrecoverable fault, 2 wrong command line, 3 a chain of maximum_update_intervals received no
update in time, 130 stopped by a second signal.`;

/** Parses the arguments behind the program's name; prints nothing itself. */
export function parseArguments(args: readonly string[], version: string): ParsedArguments {
  const line = createCommandLine({
    name: "causeway-consensus",
    description: DESCRIPTION,
    afterHelp: AFTER_HELP,
    exampleFiles: "--config=consensus.toml",
  });
  const { command } = line;
  const base =
    "configured chain that must already follow a BEEFY hub: the log reports whether it does, e.g. EVM-1";
  command.addOption(new Option("--base <chain>", base));
  command.addOption(
    new Option(
      "--cache <folder>",
      "existing folder for what transactions cost within a day (maximum_daily_loss), and for the socket",
    ),
  );
  command.option(
    "--socket <path>",
    "socket for the commands status, prove and log-level; default: causeway-consensus.sock in the folder of --cache",
  );
  addListenOptions(command);
  addCommonOptions(command, version);
  const asked = parseWithCommands(line, commands, args);
  if (asked.kind === "exit") return asked;
  return { kind: "run", arguments: command.opts<RunArguments>(), command: asked };
}
