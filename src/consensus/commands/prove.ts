/** `prove`: one light client is advanced now. */
import { defineCommand } from "../../core/commands/command.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { toStateMachine } from "../../core/runtime/command_line.ts";
import type { ConsensusRun } from "./command.ts";
import type { ProveOptions } from "./run_prove.ts";

const AFTER_HELP = `
Examples:
  causeway-consensus --config=consensus.toml prove EVM-1 --dry-run
  causeway-consensus --config=consensus.toml --cache=/var/lib/causeway-consensus prove EVM-1
  causeway-consensus --config=consensus.toml prove POLKADOT-3367 --to EVM-1 --dry-run

Reads both chains, builds an update, verifies it by the rules of the chain that stores the light
client, says what it contains, how large it is, how long it took and what it costs, and submits it;
with --dry-run it only asks whether it would be taken (a dry run on the hub and on Substrate chains, a
simulation on EVM chains). The hub is proved to the chain of --to: to EVM chains what their host lacks,
authority rotations first. A running relayer (named by --socket or --cache) does it with its own
connections and in turn with its own worker; else the command does it itself.

Exit status: 0 accepted, possible (--dry-run), overtaken or nothing to prove, 1 refused, lost, or no
update can be made, with the reason, 2 wrong command line.`;

/** The command. */
export const prove = defineCommand<ConsensusRun, ProveOptions>({
  name: "prove",
  description:
    "Builds and verifies an update of a chain now, and submits it to the hub or, of the hub, to --to.",
  summary: "build, verify and submit an update of a chain now",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("<state-machine>", "configured chain, or the hub, e.g. EVM-1", toStateMachine)
      .option(
        "--to <state-machine>",
        "chain that follows the hub; default: the hub itself",
        toStateMachine,
      )
      .option("--dry-run", "do everything but the submitting")
      .option("--json", "print JSON")
      .action((chain: StateMachine, options: Omit<ProveOptions, "chain">) => choose({ chain, ...options })),
  run: async (run, options) => (await import("./run_prove.ts")).runProve(run, options),
});
