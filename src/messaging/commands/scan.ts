/** `scan`: blocks are read again, and what was missed is recorded. */
import { findChain } from "../../core/commands/chain_name.ts";
import { CommandRefusal } from "../../core/commands/command.ts";
import { defineOperation } from "../../core/commands/operation.ts";
import { formatList } from "../../core/commands/plain_text.ts";
import type { OperationContext } from "./command.ts";
import { chainSections } from "./message_filter.ts";
import { InvalidArgumentError } from "commander";

interface ScanOptions {
  readonly from: string;
  readonly to: string;
}

/** The command. */
export const scanCommand = defineOperation({
  name: "scan",
  description: "Reads blocks of a chain again and reports what was missed.",
  examples: ["scan ethereum --from=21000000 --to=21000500"],
  afterHelp:
    `Reads the messages of these blocks again on every leg that begins at the chain, as far as the leg has
read them before, and records those that are missing: there should be none.`,
  exitStatus: { 0: "done", 1: "blocks could not be read" },
  needs: "chains",
  addOptions: (parser) =>
    void parser.argument("<chain>", "configured chain or the hub: its section's name, or e.g. EVM-1")
      .requiredOption("--from <block>", "first block", toHeightText)
      .requiredOption("--to <block>", "last block", toHeightText),
  work: (...asked: Parameters<typeof scan>) => scan(...asked),
  show: ({ legs }) =>
    formatList(legs.map(({ from, to, blocks, messages, missed }) => ({
      leg: `${from} -> ${to}`,
      blocks: blocks === undefined ? "not read before" : `${blocks.from} to ${blocks.to}`,
      messages,
      missed: missed.length === 0 ? "none" : missed,
    }))),
});

/** Reads the blocks again on each leg that begins at the chain. */
const scan = async (
  context: OperationContext,
  [name, options]: readonly [chain: string, ScanOptions],
  signal: AbortSignal,
) => {
  const chain = findChain(chainSections(context.config), name);
  const range = { from: BigInt(options.from), to: BigInt(options.to) };
  if (range.from > range.to) throw new CommandRefusal("--from is above --to.");
  const { recordMissed } = await import("../relay/scan.ts");
  const legs = context.relaying().legs.filter(({ source }) => source.id.stateMachine === chain);
  if (legs.length === 0) throw new CommandRefusal(`${chain} is not configured.`);
  const reports = [];
  for (const leg of legs) {
    const to = leg.target.id.stateMachine;
    const { read, messages, missed } = await recordMissed({ ...leg, signal }, range);
    const blocks = read && { from: read.from.toString(), to: read.to.toString() };
    // Without blocks the leg has not come that far, and reads them by itself.
    reports.push({ from: chain, to, blocks, messages, missed });
  }
  return { legs: reports };
};

function toHeightText(text: string): string {
  if (/^\d{1,18}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected the number of a block.");
}
