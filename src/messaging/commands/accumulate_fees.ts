/** `accumulate-fees`: claims the fees of deliveries once, and with `--withdraw` withdraws them. */
import { defineCommand } from "../../core/commands/command.ts";
import type { MessagingRun } from "./command.ts";
import type { AccumulateOptions } from "./run_accumulation.ts";

const DESCRIPTION = `Claims the fees of deliveries on the hub, prints a table by pair of chains, and exits.
A running relayer does it with its own connections, never at the same time as its own claims.`;

const AFTER_HELP = `
  (no option)        claims what the hub can verify now, skips the rest
  --wait             claims everything
  --withdraw         withdraws what was claimed before, claims nothing
  --wait --withdraw  claims everything, then withdraws it

Example:
  causeway --config=relayer.toml --db=relayer.db accumulate-fees --wait --withdraw

The hub pays on the chain that the fees come from. Where the host's manager accepts the network's
relayer only, that one delivers the payment, and --wait awaits it; elsewhere the account there needs
native tokens for that. Amounts below 10 whole units of the fee token, or below the hub's own minimum,
stay on the hub and add up.

Exit status: 0 everything was done, dispatched or is not available yet, or stopped by a signal (run it
again to continue); 1 something failed, which the tables name, or the database is in use; 2 wrong
command line; 130 stopped by a second signal.`;

/** The command. */
export const accumulateFees = defineCommand<MessagingRun, AccumulateOptions>({
  name: "accumulate-fees",
  description: DESCRIPTION,
  summary: "claim and withdraw the fees of deliveries once, then exit",
  afterHelp: AFTER_HELP,
  addOptions: (parser, choose) =>
    parser
      .option("--wait", "wait for the hub where it cannot verify a delivery yet")
      .option("-w, --withdraw", "withdraw claimed fees")
      .option("-g, --gas-limit <number>", "accepted for compatibility, has no effect")
      .action((
        { wait = false, withdraw = false }: { readonly wait?: boolean; readonly withdraw?: boolean },
      ) => choose({ waits: wait, withdraws: withdraw })),
  run: async (run, options) => {
    const { askOrElse } = await import("../../core/commands/ask_running.ts");
    const { accumulateFeesOperation } = await import("../control/operations/accumulate_fees.ts");
    const { runAccumulation } = await import("./run_accumulation.ts");
    return await askOrElse({ ...run.deps, signal: run.signal }, {
      operation: accumulateFeesOperation,
      input: options,
      afterMs: undefined,
      show: (output) => {
        if (run.deps.logFormat === "json") run.deps.print(JSON.stringify(output));
        else if (output.text !== "") run.deps.print(output.text);
        return output.exitCode;
      },
    }, () => runAccumulation(run, options));
  },
});
