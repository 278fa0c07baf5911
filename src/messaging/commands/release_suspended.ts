/**
 * `release-suspended`: releases messages that are held because deliveries between two modules were paid for and had no
 * effect. After two retries the relayer stops retrying on its own. Makes no requests to chains; the relayer must not be
 * running.
 */
import { fromHex, type Hex, toHex } from "../../core/encoding/bytes.ts";
import { toStateMachine } from "../../core/runtime/command_line.ts";
import { exitCodes } from "../../core/runtime/exit_codes.ts";
import { defineCommand } from "../../core/commands/command.ts";
import type { MessagingRun } from "./command.ts";
import type { ReleaseChoice } from "../relay/limits/suspension.ts";
import { InvalidArgumentError } from "commander";

const DESCRIPTION =
  `Releases messages that are held as suspended because deliveries from their sender to their
receiver cost gas and had no effect. After two retries the relayer stops retrying on its own.
Stop the relayer first: it and this command never use a database at the same time.`;

const AFTER_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db release-suspended --chain=EVM-1

Without an option all of them are released. Each released pair of sender and receiver is printed.

Exit status: 0 also when nothing is suspended, 1 the database is in use or cannot be used, 2 wrong
command line.`;

/** The command. Its status is 0 also when nothing is suspended, and 1 when the database is in use or unusable. */
export const releaseSuspended = defineCommand<MessagingRun, ReleaseChoice>({
  name: "release-suspended",
  description: DESCRIPTION,
  summary: "release suspended messages, then exit",
  afterHelp: AFTER_HELP,
  addOptions: (parser, choose) =>
    parser
      .option("--chain <state-machine>", "only messages to this chain, e.g. EVM-1", toStateMachine)
      .option("--from <module>", "only messages of this sender, hex", toModule)
      .option("--to <module>", "only messages to this receiver, hex", toModule)
      .action((choice: ReleaseChoice) => choose(choice)),
  run: async (run, choice) => {
    const { withLedger } = await import("../session.ts");
    const { releaseAll } = await import("../relay/limits/suspension.ts");
    const { deps: { print }, config } = run;
    const chains = config.chains.map(({ stateMachine }) => stateMachine);
    return await withLedger(run, (ledger) => {
      const released = releaseAll({ ledger, hub: config.hub.stateMachine, chains }, choice);
      for (const { target, from, to } of released) {
        print(`${target}: ${toHex(from)} -> ${toHex(to)} released`);
      }
      if (released.length === 0) print("No messages are suspended.");
      return Promise.resolve(exitCodes.ok);
    });
  },
});

function toModule(text: string): Hex {
  if (/^0x([0-9a-fA-F]{2})+$/.test(text)) return toHex(fromHex(text));
  throw new InvalidArgumentError("Expected the bytes of a module in hex, with 0x.");
}
