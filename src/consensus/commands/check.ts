/** `check`: tests the whole set-up before anything is proved. Sends nothing. */
import { defineCheckCommand } from "../../core/commands/check_command.ts";
import type { ConsensusRun } from "./command.ts";

/** The command. */
export const check = defineCheckCommand<ConsensusRun>({
  description:
    `Checks the hub, endpoints, beacon and relay nodes, light clients and accounts, all at once, and prints
what was found and what to do. Sends nothing; it may run beside the relayer.`,
  example: "causeway-consensus --config=consensus.toml check",
  run: async (run, { isJson }) => (await import("./run_check.ts")).runCheck(run, isJson || run.isJson),
});
