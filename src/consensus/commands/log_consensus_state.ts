/** `log-consensus-state`: the state with which a client of a chain, or of the hub, can be created. */
import { defineCommand } from "../../core/commands/command.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { toStateMachine } from "../../core/runtime/command_line.ts";
import type { ConsensusRun } from "./command.ts";

const DESCRIPTION =
  `Prints the consensus state with which the hub can start a client of a configured chain (or, given
the hub, with which other chains can start a client of the hub) and the other arguments of the call that
creates it, then exits. Submits nothing.`;

const AFTER_HELP = `
Example:
  causeway-consensus --config=consensus.toml log-consensus-state EVM-1

The state goes to standard output, as one JSON object with --log-format=json; the log goes to
standard error.`;

/** The command. */
export const logConsensusState = defineCommand<ConsensusRun, StateMachine>({
  name: "log-consensus-state",
  description: DESCRIPTION,
  summary: "print the initial consensus state of a chain and exit",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("<state-machine>", "configured chain, or the hub, e.g. EVM-1", toStateMachine)
      .action((chain: StateMachine) => choose(chain)),
  run: async ({ deps, print, isJson, signal }, chain) => {
    const { printConsensusState } = await import("../initial_state.ts");
    return await printConsensusState(deps, { chain, print, isJson }, signal);
  },
});
