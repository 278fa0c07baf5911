/** `relay`: one message is delivered now, whatever the profit rule says. */
import { defineCommand } from "../../core/commands/command.ts";
import { formatValues } from "../../core/runtime/text_table.ts";
import type { RelayResult } from "../control/operations/relay.ts";
import type { MessagingRun } from "./command.ts";
import { formatDecision } from "./show.ts";
import { toHashText } from "./message_filter.ts";

const AFTER_HELP = `
Examples:
  causeway --config=relayer.toml --db=relayer.db relay 0x6f... --dry-run
  causeway --config=relayer.toml --db=relayer.db relay 0x6f...

Everything but the profit rule applies: proofs, a simulation, receipts, maximum_daily_loss, suspended
modules. The cost counts as every other one. Where an EVM chain does not know the hub's block yet, the
consensus proofs that it lacks go in front of the message, or ahead of it where they do not fit. A message goes by the leg that is not over; when the hub
has it, call it again for the leg from the hub. --dry-run does everything but the sending, and prints
the numbers. Without a running relayer the command sends it, and the relayer settles it when it starts.

Exit status: 0 sent, possible (--dry-run) or delivered already, 1 not now, with the reason, 2 wrong
command line.`;

interface RelayOptions {
  readonly hash: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** The command. */
export const relayCommand = defineCommand<MessagingRun, RelayOptions>({
  name: "relay",
  description: "Delivers one message now, whatever the profit rule says.",
  summary: "deliver one message now, whatever the profit rule says",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument(
      "<hash>",
      "commitment, or hash of the transaction on the source that sent it",
      toHashText,
    )
      .option("--dry-run", "do everything but the sending, and print the numbers")
      .option("--json", "print JSON")
      .action((hash: string, options: Omit<RelayOptions, "hash">) => choose({ hash, ...options })),
  run: async (run, { hash, dryRun = false, json = false }) => {
    const { ask } = await import("../control/ask.ts");
    const { relayOperation } = await import("../control/operations/relay.ts");
    return await ask(run, {
      operation: relayOperation,
      input: { hash, isDryRun: dryRun },
      show: ({ results }) => {
        run.deps.print(json ? JSON.stringify({ results }) : results.map(formatResult).join("\n\n"));
        return results.every(({ outcome }) => outcome === "waiting" || outcome === "refused") ? 1 : 0;
      },
    });
  },
});

function formatResult(result: RelayResult): string {
  const { from, to, outcome, text, commitment, transaction, gas, provedAt, decision, consensusProofs } =
    result;
  return [
    `${from} -> ${to}: ${outcome}`,
    formatValues({
      commitment,
      result: text,
      transaction,
      "proved at": provedAt === undefined ? undefined : `block ${provedAt} of ${from}`,
      gas,
      "consensus proofs": consensusProofs && describeProofs(consensusProofs),
      "their cost": consensusProofs &&
        `${consensusProofs.native} native tokens of ${to}, ${consensusProofs.gas} gas, at the price of the moment`,
    }, "  "),
    ...decision === undefined ? [] : ["  profit rule", formatDecision(decision)],
  ].join("\n");
}

/** Says what proofs the target gets with the message. */
function describeProofs({ count, bytes, sets, height }: NonNullable<RelayResult["consensusProofs"]>): string {
  const rotations = sets.length === 0 ? "" : `authority sets ${sets.join(", ")}; `;
  return `${count} (${rotations}block ${height} of the hub), ${bytes} bytes`;
}
