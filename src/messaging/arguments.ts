/** The command line of the messaging relayer. Source: docs/specification.md, "Messaging relayer command line". */
import { InvalidArgumentError } from "commander";
import { fromHex, type Hex, toHex } from "../core/encoding/bytes.ts";
import {
  addCommand,
  addCommonOptions,
  createCommandLine,
  type ParsedCommandLine,
  toStateMachine,
} from "../core/runtime/command_line.ts";
import type { CommonArguments } from "../core/runtime/app.ts";
import type { ReleaseChoice } from "./commands/release_suspended.ts";

/** Arguments of a run. */
export interface RunArguments extends CommonArguments {
  readonly db: string;
}

/** Command to run. */
export type ProgramCommand =
  /** Relays until it is stopped. */
  | { readonly kind: "relay" }
  | { readonly kind: "accumulateFees"; readonly waits: boolean; readonly withdraws: boolean }
  | ({ readonly kind: "releaseSuspended" } & ReleaseChoice);

/** Parsed command line. */
export type ParsedArguments = ParsedCommandLine<RunArguments, ProgramCommand>;

const DESCRIPTION =
  `Messaging relayer of an ISMP hub: delivers requests between the hub and the configured chains,
with proofs, keeps a receipt of every delivery in the database, and collects the fees.

Without a command it runs until it is stopped.`;

const AFTER_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db

config.example.toml explains every configuration key. All configuration errors are listed at
once, and nothing is started until they are fixed.

Exit status: 0 stopped by SIGTERM or SIGINT, 1 configuration or start-up problem or unrecoverable fault,
2 wrong command line, 130 stopped by a second signal.`;

const ACCUMULATE_DESCRIPTION =
  `Claims the fees of deliveries on the hub, prints a table by pair of chains, and exits.
Stop the relayer first: it and this command never use a database at the same time.`;

const AFTER_ACCUMULATE_HELP = `
  (no option)        claims what the hub can verify now, skips the rest
  --wait             claims everything
  --withdraw         withdraws what was claimed before, claims nothing
  --wait --withdraw  claims everything, then withdraws it

Example:
  causeway --config=relayer.toml --db=relayer.db accumulate-fees --wait --withdraw

The hub pays on the chain that the fees come from; the account there needs native tokens for the
delivery of the payment. Amounts below 10 whole units of the fee token, or below the hub's own
minimum, stay on the hub and add up.

Exit status: 0 everything was done or is not available yet, or stopped by a signal (run it again to
continue); 1 something failed, or the database is in use; 2 wrong command line; 130 stopped by a
second signal.`;

const RELEASE_DESCRIPTION =
  `Releases messages that are held as suspended because deliveries from their sender to their
receiver cost gas and had no effect. After two retries the relayer stops retrying on its own.
Stop the relayer first: it and this command never use a database at the same time.`;

const AFTER_RELEASE_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db release-suspended --chain=EVM-1

Without an option all of them are released. Each released pair of sender and receiver is printed.

Exit status: 0 also when nothing is suspended, 1 the database is in use or cannot be used, 2 wrong
command line.`;

/** Parses the arguments behind the program's name; prints nothing itself. */
export function parseArguments(args: readonly string[], version: string): ParsedArguments {
  let asked: ProgramCommand = { kind: "relay" };
  const traits = { name: "causeway", description: DESCRIPTION, afterHelp: AFTER_HELP };
  const { command, parse } = createCommandLine(traits);
  command.requiredOption("-d, --db <path>", "SQLite database file; created when missing");
  addCommonOptions(command, version);
  addCommand(command, {
    name: "accumulate-fees",
    description: ACCUMULATE_DESCRIPTION,
    summary: "claim and withdraw the fees of deliveries once, then exit",
    afterHelp: AFTER_ACCUMULATE_HELP,
  })
    .option("--wait", "wait for the hub where it cannot verify a delivery yet")
    .option("-w, --withdraw", "withdraw claimed fees")
    .option("-g, --gas-limit <number>", "accepted for compatibility, has no effect")
    .action((options: { readonly wait?: boolean; readonly withdraw?: boolean }) => {
      const { wait: waits = false, withdraw: withdraws = false } = options;
      asked = { kind: "accumulateFees", waits, withdraws };
    });
  addCommand(command, {
    name: "release-suspended",
    description: RELEASE_DESCRIPTION,
    summary: "release suspended messages, then exit",
    afterHelp: AFTER_RELEASE_HELP,
  })
    .option("--chain <state-machine>", "only messages to this chain, e.g. EVM-1", toStateMachine)
    .option("--from <module>", "only messages of this sender, hex", toModule)
    .option("--to <module>", "only messages to this receiver, hex", toModule)
    .action((choice: ReleaseChoice) => {
      asked = { kind: "releaseSuspended", ...choice };
    });
  return parse(args) ?? { kind: "run", arguments: command.opts<RunArguments>(), command: asked };
}

function toModule(text: string): Hex {
  if (/^0x([0-9a-fA-F]{2})+$/.test(text)) return toHex(fromHex(text));
  throw new InvalidArgumentError("Expected the bytes of a module in hex, with 0x.");
}
