/** `accumulate-fees`: claims the fees of deliveries once, and with `--withdraw` withdraws them. */
import { defineOperation } from "../../core/commands/operation.ts";
import type { OperationContext } from "./command.ts";
import { formatList } from "../../core/commands/plain_text.ts";
import type { AccumulateOptions, claimAndWithdraw } from "./run_accumulation.ts";

const DESCRIPTION = `Claims the fees of deliveries on the hub, prints a table by pair of chains, and exits.
A running relayer does it with its own connections, never at the same time as its own claims.`;

/** The command. */
export const accumulateFees = defineOperation({
  name: "accumulate-fees",
  description: DESCRIPTION,
  examples: ["accumulate-fees --wait --withdraw"],
  afterHelp: `  (no option)        claims what the hub can verify now, skips the rest
  --wait             claims everything
  --withdraw         withdraws what was claimed before, claims nothing
  --wait --withdraw  claims everything, then withdraws it

The hub pays on the chain that the fees come from. Where the host's manager accepts the network's
relayer only, that one delivers the payment, and --wait awaits it; elsewhere the account there needs
native tokens for that. Amounts below 10 whole units of the fee token, or below the hub's own minimum,
stay on the hub and add up.`,
  exitStatus: {
    0: "everything was done, dispatched or is not available yet, or stopped by a signal (run it again to continue)",
    1: "something failed, which the tables name, or the database is in use",
    130: "stopped by a second signal",
  },
  needs: "chains",
  addOptions: (parser) =>
    void parser
      .option("--wait", "wait for the hub where it cannot verify a delivery yet")
      .option("-w, --withdraw", "withdraw claimed fees")
      .option("-g, --gas-limit <number>", "accepted for compatibility, has no effect"),
  work: async ({ config, relaying }: OperationContext, [options]: readonly [AccumulateOptions], signal) => {
    const { claimAndWithdraw } = await import("./run_accumulation.ts");
    const { pollIntervalSec } = config.hub;
    return await claimAndWithdraw(relaying().fees, { ...options, pollIntervalSec }, signal);
  },
  show: formatAccumulated,
  exitCode: ({ exitCode }) => exitCode,
});

/** Formats what was done; nothing where nothing of that kind was to be done. */
export function formatAccumulated(
  { claims, withdrawals }: Pick<Awaited<ReturnType<typeof claimAndWithdraw>>, "claims" | "withdrawals">,
): string {
  const texts = [
    claims?.length === 0 ? "No delivery waits for a claim." : formatList(claims ?? []),
    withdrawals?.length === 0
      ? "Nothing to withdraw: no account has the minimum."
      : formatList(withdrawals ?? []),
  ];
  return texts.filter((text) => text !== "").join("\n");
}
