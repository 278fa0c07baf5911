/**
 * Command line of the consensus relayer. Source: docs/specification.md, "Consensus relayer command line";
 * docs/protocol/hub-consensus.md section 3.1.
 */
import { programParser } from "../core/commands/program_parser.ts";
import type { ListenOptions } from "../core/runtime/command_line.ts";
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
export const parseArguments = programParser<RunArguments, ConsensusRun>({
  name: "causeway-consensus",
  description: DESCRIPTION,
  afterHelp: AFTER_HELP,
  exampleFiles: "--config=consensus.toml",
  addOptions: (parser) =>
    void parser.option(
      "--base <chain>",
      "configured chain that must already follow a BEEFY hub: the log reports whether it does, e.g. EVM-1",
    )
      .option(
        "--cache <folder>",
        "existing folder for what transactions cost within a day (maximum_daily_loss), and for the socket",
      )
      .option(
        "--socket <path>",
        "socket for the commands status, prove and log-level; default: causeway-consensus.sock in the folder of --cache",
      ),
  commands,
});
