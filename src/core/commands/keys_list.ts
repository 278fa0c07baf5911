/** `keys`: the accounts of the configuration and what they own. */
import { describeProblems } from "../config/diagnostics.ts";
import { exitCodes } from "../runtime/exit_codes.ts";
import { systemClock } from "../runtime/system_clock.ts";
import { defineStandalone, keysGroup } from "./command.ts";
import { requireConfig } from "./standalone.ts";

const AFTER_HELP = `
Shows no secret. A chain that does not answer within ten seconds is said to, and its address is shown
anyway. Balances of Substrate accounts are in the smallest unit of their chain.

Exit status: 0 shown, 1 the configuration cannot be used, 2 wrong command line.`;

/** The command. */
export const keysList = defineStandalone<undefined>({
  group: keysGroup,
  name: "list",
  isDefault: true,
  description: "Shows address and native balance of every configured account. Sends nothing.",
  summary: "show address and balance of every configured account (default)",
  afterHelp: AFTER_HELP,
  without: ["db"],
  addOptions: (parser, choose) => void parser.action(() => choose(undefined)),
  run: async ({ arguments: args, env, file, print }) => {
    const path = requireConfig(args);
    const reading = file.readAccounts(env, path);
    if (reading.config === undefined) {
      env.writeError(describeProblems(path, reading, "no account is shown"));
      return exitCodes.failed;
    }
    const { listAccounts } = await import("./list_accounts.ts");
    for (const line of await listAccounts(reading.config, systemClock)) print(line);
    return exitCodes.ok;
  },
});
