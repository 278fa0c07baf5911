/** `status`: what the running relayer does now. */
import { defineCommand } from "../../core/commands/command.ts";
import type { ConsensusRun } from "./command.ts";

const AFTER_HELP = `
Example:
  causeway-consensus --config=consensus.toml --cache=/var/lib/causeway-consensus status

The running relayer answers at its socket: name it with the --socket or --cache that the relayer was
started with. It prints what the status page shows.

Exit status: 0 done, 1 no relayer answers, 2 wrong command line.`;

interface StatusOptions {
  readonly json?: boolean;
}

/** The command. */
export const status = defineCommand<ConsensusRun, StatusOptions>({
  name: "status",
  description: "Shows what the running relayer does now: light clients, endpoints, and what is in the way.",
  summary: "show what the running relayer does now",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.option("--json", "print JSON").action((options: StatusOptions) => choose(options)),
  run: async (run, { json = false }) => (await import("./run_status.ts")).runStatus(run, json || run.isJson),
});
