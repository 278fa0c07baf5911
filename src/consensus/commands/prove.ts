/** `prove`: one light client is advanced now, by the running relayer or in this process. */
import { findChain } from "../../core/commands/chain_name.ts";
import { defineOperation } from "../../core/commands/operation.ts";
import { formatData } from "../../core/commands/plain_text.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { ConsensusControl } from "./command.ts";

/** Chains as the operator names them; without `to` the hub is proved to. */
type ProveArguments = readonly [
  chain: string,
  options: { readonly to?: string | undefined; readonly dryRun?: boolean },
];

/** The command. */
export const prove = defineOperation({
  name: "prove",
  description:
    "Builds and verifies an update of a chain now, and submits it to the hub or, of the hub, to --to.",
  examples: [
    "prove EVM-1 --dry-run",
    "--cache=/var/lib/causeway-consensus prove EVM-1",
    "prove POLKADOT-3367 --to EVM-1 --dry-run",
  ],
  afterHelp: `Reads both chains, builds an update, verifies it by the rules of the chain that stores the light
client, says what it contains, how large it is, how long it took and what it costs, and submits it;
with --dry-run it only asks whether it would be taken (a dry run on the hub and on Substrate chains, a
simulation on EVM chains). The hub is proved to the chain of --to: to EVM chains what their host lacks,
authority rotations first. A running relayer (named by --socket or --cache) does it with its own
connections and in turn with its own worker; else the command does it itself.`,
  exitStatus: {
    0: "accepted, possible (--dry-run), overtaken or nothing to prove",
    1: "refused, lost, or no update can be made, with the reason",
  },
  needs: "chains",
  addOptions: (parser) =>
    void parser.argument("<chain>", "configured chain, or the hub: its section's name, or e.g. EVM-1")
      .option("--to <chain>", "chain that follows the hub; default: the hub itself")
      .option("--dry-run", "do everything but the submitting"),
  work: async (
    { proving }: ConsensusControl,
    [chain, { to, dryRun: isDryRun = false }]: ProveArguments,
    signal,
  ) => {
    const { proveNow } = await import("./prove_now.ts");
    const name = (text: string): StateMachine => findChain(proving.sections, text);
    return await proveNow(
      proving,
      { chain: name(chain), to: to === undefined ? to : name(to), isDryRun },
      signal,
    );
  },
  show: formatData,
  exitCode: ({ outcome }) => outcome === "refused" || outcome === "lost" ? 1 : 0,
});
