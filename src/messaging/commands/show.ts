/** `show`: the whole life of a message. */
import { defineCommand } from "../../core/commands/command.ts";
import { escapeControls } from "../../core/config/redact.ts";
import { formatTable, formatValues, shownTime } from "../../core/runtime/text_table.ts";
import type { DecisionView, LegView } from "../control/operations/show.ts";
import type { MessagingRun } from "./command.ts";
import { toHashText } from "./message_filter.ts";

const AFTER_HELP = `
Example:
  causeway --config=relayer.toml --db=relayer.db show 0x6f...

Prints, for each leg of the message, what happened when and why, the numbers of the last decision of
the profit rule, our transactions with it and what they cost, and what happens next.
Given one of our transactions, it shows every message in it.

Exit status: 0 done, 1 nothing is known of it, 2 wrong command line.`;

interface ShowOptions {
  readonly hash: string;
  readonly json?: boolean;
}

/** The command. */
export const showCommand = defineCommand<MessagingRun, ShowOptions>({
  name: "show",
  description:
    "Shows the whole life of a message: times, reasons, numbers, transactions, and what happens next.",
  summary: "show the whole life of a message",
  afterHelp: AFTER_HELP,
  hasResult: true,
  addOptions: (parser, choose) =>
    void parser.argument("<hash>", "commitment of a message, or hash of our transaction with it", toHashText)
      .option("--json", "print JSON")
      .action((hash: string, options: { readonly json?: boolean }) => choose({ hash, ...options })),
  run: async (run, { hash, json = false }) => {
    const { ask } = await import("../control/ask.ts");
    const { showOperation } = await import("../control/operations/show.ts");
    const { print } = run.deps;
    return await ask(run, {
      operation: showOperation,
      input: { hash },
      show: (output) => print(json ? JSON.stringify(output) : output.legs.map(formatLeg).join("\n\n")),
    });
  },
});

function formatLeg(
  { message, changes, decision, transactions, delivery, bandwidthLeft, next }: LegView,
): string {
  const parts = [
    `${message.from} -> ${message.to}: ${message.status}${
      message.reason === undefined ? "" : ` (${message.reason})`
    }`,
    formatValues({
      commitment: message.commitment,
      "of request": message.requestCommitment === message.commitment ? undefined : message.requestCommitment,
      kind: `${message.kind}, ${message.source} -> ${message.dest}, nonce ${message.nonce}`,
      sender: message.module,
      "seen in": `block ${message.height} of ${message.from}`,
      "times out": shownTime(message.timesOutAt) ?? "never",
      attempts: String(message.attempts),
      bandwidth: bandwidthLeft === undefined
        ? undefined
        : `${bandwidthLeft} bytes left at the hub when it was read last`,
    }, "  "),
    "  history",
    indented(formatTable(changes.map((each) => [shownTime(each.at), each.status, each.reason, each.detail]))),
    ...decision === undefined ? [] : ["  profit rule", formatDecision(decision)],
    ...transactions.length === 0 ? [] : ["  transactions", ...transactions.map(formatTransaction)],
    ...delivery === undefined ? [] : [
      "  delivery",
      formatValues({
        block: `${delivery.block}${delivery.isFinal ? "" : ", not final yet"}`,
        transaction: delivery.transaction,
        fee: delivery.fee === undefined
          ? undefined
          : `${delivery.fee} units of the fee token of ${message.source}`,
        claim: delivery.claimedInHubBlock === undefined
          ? delivery.claim
          : `${delivery.claim} in block ${delivery.claimedInHubBlock} of the hub`,
      }, "    "),
    ],
    `  next: ${escapeControls(next)}`,
  ];
  return parts.join("\n");
}

function formatTransaction(transaction: LegView["transactions"][number]): string {
  const { hash, status, outcome, messages, cost, costUsd, revenueUsd } = transaction;
  const values = formatValues({
    sent: `${shownTime(transaction.at)} to ${transaction.chain}, with ${messages} message${
      messages === 1 ? "" : "s"
    }`,
    block: transaction.block,
    "replaced by": transaction.replacedBy,
    why: transaction.detail,
    rule: transaction.rule,
    result: transaction.result,
    cost: cost === undefined ? undefined : `${cost} native tokens, ${costUsd ?? "unknown"} dollars`,
    earned: revenueUsd === undefined ? undefined : `${revenueUsd} dollars`,
  }, "      ");
  return `    ${hash}: ${status}${outcome === undefined ? "" : `, ${outcome}`}\n${values}`;
}

function indented(text: string): string {
  return text.split("\n").map((line) => `    ${line}`).join("\n");
}

/** Formats the numbers of a decision, below each other. */
export function formatDecision(decision: DecisionView): string {
  const { price, priceSource, feeUsd, costUsd, requiredUsd } = decision;
  return formatValues({
    decided: `${shownTime(decision.at)}: ${decision.verdict}`,
    offered: feeUsd === undefined ? "unknown" : `${feeUsd} dollars`,
    required: requiredUsd === undefined
      ? "unknown"
      : `${requiredUsd} dollars: cost ${costUsd} and ${decision.minimumProfitPercent} %`,
    gas: `${decision.gas} at ${decision.gasPriceGwei} gwei${
      decision.dataCost === "0" ? "" : `, data for ${decision.dataCost} native tokens`
    }`,
    price: price === undefined
      ? "unknown"
      : `${price} dollars per native token (${priceSource ?? "unknown source"})`,
  }, "    ");
}
