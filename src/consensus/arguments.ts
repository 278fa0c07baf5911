/**
 * Command line of the consensus relayer. Source: docs/specification.md, "Consensus relayer command line";
 * docs/protocol/hub-consensus.md section 3.1.
 */
import { Option } from "commander";
import type { StateMachine } from "../core/ismp/state_machine.ts";
import {
  addCommand,
  addCommonOptions,
  createCommandLine,
  type ParsedCommandLine,
  toStateMachine,
} from "../core/runtime/command_line.ts";
import type { CommonArguments } from "../core/runtime/app.ts";

/** Options of a run. */
export interface RunArguments extends CommonArguments {
  readonly base?: StateMachine;
  /** Folder for data that is expensive to read again. */
  readonly cache?: string;
}

/** Command to execute. */
export type ProgramCommand =
  /** Relay until stopped. */
  | { readonly kind: "relay" }
  | { readonly kind: "logConsensusState"; readonly chain: StateMachine };

/** Result of parsing the command line. */
export type ParsedArguments = ParsedCommandLine<RunArguments, ProgramCommand>;

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

const STATE_DESCRIPTION =
  `Prints the consensus state with which the hub can start a client of a configured chain (or, given
the hub, with which other chains can start a client of the hub) and the other arguments of the call that
creates it, then exits. Submits nothing.`;

const AFTER_STATE_HELP = `
Example:
  causeway-consensus --config=consensus.toml log-consensus-state EVM-1

The state goes to standard output, as one JSON object with --log-format=json; the log goes to
standard error.`;

/** Parses the arguments behind the program's name; prints nothing itself. */
export function parseArguments(args: readonly string[], version: string): ParsedArguments {
  let asked: ProgramCommand = { kind: "relay" };
  const options = { name: "causeway-consensus", description: DESCRIPTION, afterHelp: AFTER_HELP };
  const { command, parse } = createCommandLine(options);
  const base = "configured chain that must already follow a BEEFY hub, or the start fails, e.g. EVM-1";
  command.addOption(new Option("--base <state-machine>", base).argParser(toStateMachine));
  command.addOption(
    new Option(
      "--cache <folder>",
      "existing folder for data that is expensive to read again (historical summaries of beacon chains)",
    ),
  );
  addCommonOptions(command, version);
  addCommand(command, {
    name: "log-consensus-state",
    description: STATE_DESCRIPTION,
    summary: "print the initial consensus state of a chain and exit",
    afterHelp: AFTER_STATE_HELP,
  })
    .argument("<state-machine>", "configured chain, or the hub, e.g. EVM-1", toStateMachine)
    .action((chain: StateMachine) => {
      asked = { kind: "logConsensusState", chain };
    });
  return parse(args) ?? { kind: "run", arguments: command.opts<RunArguments>(), command: asked };
}
