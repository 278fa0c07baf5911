/** `status`: what the running relayer does now. */
import { operationOf } from "../../core/commands/operation.ts";
import type { ConsensusControl } from "./command.ts";

/** The command. */
export const status = operationOf<ConsensusControl, undefined>()({
  name: "status",
  description: "Shows what the running relayer does now: light clients, endpoints, and what is in the way.",
  summary: "show what the running relayer does now",
  afterHelp: `
Example:
  causeway-consensus --config=consensus.toml --cache=/var/lib/causeway-consensus status

The running relayer answers at its socket: name it with the --socket or --cache that the relayer was
started with. It prints what the status page shows.

Exit status: 0 done, 1 no relayer answers, 2 wrong command line.`,
  needs: "status",
  isWatched: true,
  naming: "own",
  addOptions: (parser, choose) => void parser.action(() => choose(undefined)),
  work: ({ status }) => {
    const found = status();
    if (found === undefined) throw new Error("Nobody watches");
    return found;
  },
  show: async (found) => (await import("../status/consensus_view.ts")).formatConsensusStatus(found),
});
