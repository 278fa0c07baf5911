/** `show`: the whole life of a message, leg by leg: what happened, was decided and paid, and what happens next. */
import { CommandRefusal } from "../../core/commands/command.ts";
import { defineOperation } from "../../core/commands/operation.ts";
import { formatList } from "../../core/commands/plain_text.ts";
import { formatDecimal, type Hash256, type Hex, toHash256, toHex } from "../../core/encoding/bytes.ts";
import {
  type DecisionRow,
  type DeliveryRow,
  isTerminal,
  type MessageRow,
  neverMs,
  type SubmissionRow,
} from "../ledger/ledger.ts";
import { describeEnd, describeHold } from "../ledger/message_state.ts";
import { readBandwidth } from "../relay/limits/bandwidth.ts";
import type { OperationContext } from "./command.ts";
import { toHashPrefix } from "./message_filter.ts";
import { dollarsText, timeText, toMessageView } from "./message_view.ts";

/** The command. */
export const showCommand = defineOperation({
  name: "show",
  description:
    "Shows the whole life of a message: times, reasons, numbers, transactions, and what happens next.",
  examples: ["show 0x6f..."],
  afterHelp:
    `Prints, for each leg of the message, what happened when and why, the numbers of the last decision of
the profit rule, our transactions with it and what they cost, and what happens next.
Given one of our transactions, it shows every message in it.`,
  exitStatus: { 0: "done", 1: "nothing is known of it" },
  needs: "read",
  addOptions: (parser) =>
    void parser.argument(
      "<hash>",
      "commitment of a message, or hash of our transaction with it; its first 6 digits or more",
      toHashPrefix,
    ),
  work: (context: OperationContext, [prefix]: readonly [Hex]) => {
    const hash = findHash(context, prefix);
    const rows = findRows(context, hash);
    if (rows.length === 0) {
      throw new CommandRefusal(
        `Nothing is known of ${prefix}: no message of this database has this commitment, and none travels in one of its ` +
          "transactions. A request on its source chain is known once the hub knows its block; `list` shows what is " +
          "known, `scan <chain> --from --to` reads blocks again, and `relay` also accepts the hash of the transaction " +
          "that sent it.",
      );
    }
    return { legs: rows.map((row) => toLeg(context, row)) };
  },
  show: ({ legs }) => formatList(legs),
});

/** Completes the first digits of a hash. @throws {CommandRefusal} where several begin with them. */
function findHash({ ledger }: OperationContext, prefix: Hex): Hash256 {
  const hashes = ledger.messages.listHashes(prefix);
  if (hashes.length < 2) return hashes[0] ?? toHash256(prefix.padEnd(66, "0"));
  throw new CommandRefusal(`Several begin with ${prefix}: ${hashes.join(", ")}`);
}

/** Finds the legs of a message by its commitment, or of all messages in one of our transactions. */
export function findRows(
  { ledger, config }: Pick<OperationContext, "ledger" | "config">,
  hash: Hash256,
): readonly MessageRow[] {
  const legs = ledger.messages.listLegs(hash);
  if (legs.length > 0) return legs;
  const chains = [config.hub.stateMachine, ...config.chains.map(({ stateMachine }) => stateMachine)];
  return chains.flatMap((chain) => {
    const submission = ledger.submissions.findByHash(chain, hash);
    if (submission === undefined) return [];
    return ledger.submissions.itemsOf(submission.id).flatMap(({ commitment, target }) =>
      ledger.messages.find(commitment, target) ?? []
    );
  });
}

const toLeg = (context: OperationContext, row: MessageRow) => {
  const { ledger } = context;
  const decision = ledger.decisions.find(row.commitment, row.target);
  const delivery = ledger.deliveries.find(row.requestCommitment, row.target);
  return {
    message: toMessageView(row),
    changes: ledger.messages.listChanges(row.commitment, row.target)
      .map(({ atMs, state, reason, detail }) => ({ at: timeText(atMs), status: state, reason, detail })),
    decision: decision && toDecisionView(decision),
    transactions: ledger.submissions.listByItem(row.commitment, row.target).map((submission) =>
      toTransaction(context, row, submission)
    ),
    delivery: delivery && toDelivery(delivery),
    /** Bytes that its sender had left at the hub when it was read last; only while messages of the sender wait for it. */
    bandwidthLeft: findBandwidth(context, row)?.toString(),
    next: describeNext(context, row),
  };
};

function findBandwidth({ ledger, config }: OperationContext, row: MessageRow): bigint | undefined {
  if (row.target !== config.hub.stateMachine || isTerminal(row.state)) return undefined;
  return readBandwidth(ledger, row.source).find(({ sender }) => sender === toHex(row.module))?.left;
}

/** Converts a decision. */
export const toDecisionView = (decision: DecisionRow) => ({
  at: timeText(decision.atMs),
  verdict: decision.verdict,
  feeUsd: dollarsText(decision.feeUsd18),
  gas: decision.gas.toString(),
  gasPriceGwei: formatDecimal(decision.gasPriceWei, 9),
  /** Share of what the chain charges for data elsewhere, native tokens. */
  dataCost: formatDecimal(decision.dataCostWei, 18),
  /** Dollars per native token. */
  price: decision.price27 === undefined ? undefined : formatDecimal(decision.price27, 27),
  priceSource: decision.priceOrigin,
  minimumProfitPercent: decision.profitPercent,
  costUsd: dollarsText(decision.costUsd18),
  requiredUsd: dollarsText(decision.requiredUsd18),
});

/** One of our transactions with the message. */
const toTransaction = (
  { ledger }: OperationContext,
  row: MessageRow,
  { id, submission, state, createdAtMs, block, replacedBy, detail }: SubmissionRow,
) => {
  const items = ledger.submissions.itemsOf(id);
  const spending = ledger.spending.find(id);
  return {
    hash: submission.hash,
    chain: submission.chain,
    status: state,
    at: timeText(createdAtMs),
    block: block?.height.toString(),
    /** Outcome of the message in it. */
    outcome: items.find(({ commitment }) => commitment === row.commitment)?.outcome,
    messages: items.length,
    replacedBy: replacedBy === undefined ? undefined : ledger.submissions.find(replacedBy)?.submission.hash,
    detail,
    rule: spending?.rule,
    result: spending?.result,
    /** Native tokens, of the whole transaction. */
    cost: spending?.costWei === undefined ? undefined : formatDecimal(spending.costWei, 18),
    costUsd: dollarsText(spending?.costUsd18),
    revenueUsd: dollarsText(spending?.revenueUsd18),
  };
};

const toDelivery = (delivery: DeliveryRow) => ({
  block: delivery.block.height.toString(),
  transaction: delivery.txHash,
  isFinal: delivery.isFinal,
  /** Units of the source's fee token. */
  fee: delivery.fee?.toString(),
  claim: delivery.claimState,
  claimedInHubBlock: delivery.claimHubBlock?.toString(),
});

/** Says what happens next to a message on a leg, and why nothing does where that is so. */
function describeNext({ isRunning, clock }: OperationContext, row: MessageRow): string {
  if (isTerminal(row.state)) return `Nothing: this leg is over. ${describeEnd(row.reason)}`.trim();
  const stopped = isRunning ? "" : " No relayer runs on this database.";
  if (row.state === "submitted") return `Its transaction is followed until it is final.${stopped}`;
  return `${describeHold(row.reason)} ${whenText(row, clock.now())}${stopped}`.trim();
}

function whenText({ nextAttemptAtMs, reason }: MessageRow, nowMs: number): string {
  if (reason === "held_by_operator") return ""; // a retry would hold it again
  if (nextAttemptAtMs === neverMs) {
    return "It is not attempted again by itself: `retry` or `relay` does it now.";
  }
  if (nextAttemptAtMs <= nowMs) return "It is attempted in the next round of its leg.";
  return `It is attempted again at ${timeText(nextAttemptAtMs)}.`;
}
