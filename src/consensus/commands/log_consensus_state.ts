/** `log-consensus-state`: the state with which a client of a chain, or of the hub, can be created. */
import { findChain } from "../../core/commands/chain_name.ts";
import type { Command } from "../../core/commands/command.ts";
import type { ConsensusRun } from "./command.ts";

const DESCRIPTION =
  `Prints the consensus state with which the hub can start a client of a configured chain (or, given
the hub, with which other chains can start a client of the hub) and the other arguments of the call that
creates it, then exits. Submits nothing.`;

/** The command. */
export const logConsensusState: Command<ConsensusRun> = {
  name: "log-consensus-state",
  description: DESCRIPTION,
  examples: ["log-consensus-state EVM-1"],
  afterHelp: `The state goes to standard output, as one JSON object with --log-format=json; the log goes to
standard error.`,
  addOptions: (parser) =>
    void parser.argument("<chain>", "configured chain, or the hub: its section's name, or e.g. EVM-1"),
  run: async ({ deps, print, isJson, signal }: ConsensusRun, name: string) => {
    const { printConsensusState } = await import("../initial_state.ts");
    const { provableSections } = await import("../config/schema.ts");
    const chain = findChain(provableSections(deps.config), name);
    return await printConsensusState(deps, { chain, print, isJson }, signal);
  },
};
