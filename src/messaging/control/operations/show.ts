/** `show`: the whole life of a message, leg by leg: what happened, what was decided, what was paid, what happens next. */
import { OperationRefusal } from "../../../core/commands/control_operation.ts";
import { formatDecimal, type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import {
  type DecisionRow,
  type DeliveryRow,
  isTerminal,
  type MessageRow,
  type SubmissionRow,
} from "../../ledger/ledger.ts";
import { readBandwidth } from "../../relay/limits/bandwidth.ts";
import { dollarsText, messageShape, timeText, toMessageView } from "../message_view.ts";
import { describeNext } from "../next_step.ts";
import type { Operation, OperationContext } from "../operation.ts";
import { hashShape } from "../shapes.ts";
import * as z from "zod";

const input = z.strictObject({ hash: hashShape });

const changeShape = z.object({
  at: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  detail: z.string().optional(),
});

/** Numbers of the profit rule. */
export const decisionShape = z.object({
  at: z.string(),
  verdict: z.string(),
  feeUsd: z.string().optional(),
  gas: z.string(),
  gasPriceGwei: z.string(),
  /** Share of what the chain charges for data elsewhere, native tokens. */
  dataCost: z.string(),
  /** Dollars per native token. */
  price: z.string().optional(),
  priceSource: z.string().optional(),
  minimumProfitPercent: z.number(),
  costUsd: z.string().optional(),
  requiredUsd: z.string().optional(),
});

const transactionShape = z.object({
  hash: z.string(),
  chain: z.string(),
  status: z.string(),
  at: z.string(),
  block: z.string().optional(),
  /** What became of the message in it. */
  outcome: z.string().optional(),
  messages: z.number(),
  replacedBy: z.string().optional(),
  detail: z.string().optional(),
  rule: z.string().optional(),
  result: z.string().optional(),
  /** Native tokens, of the whole transaction. */
  cost: z.string().optional(),
  costUsd: z.string().optional(),
  revenueUsd: z.string().optional(),
});

const deliveryShape = z.object({
  block: z.string(),
  transaction: z.string().optional(),
  isFinal: z.boolean(),
  /** Units of the source's fee token. */
  fee: z.string().optional(),
  claim: z.string(),
  claimedInHubBlock: z.string().optional(),
});

const legShape = z.object({
  message: messageShape,
  changes: z.array(changeShape),
  decision: decisionShape.optional(),
  transactions: z.array(transactionShape),
  delivery: deliveryShape.optional(),
  /** Bytes that its sender had left at the hub when it was read last; only while messages of the sender wait for it. */
  bandwidthLeft: z.string().optional(),
  next: z.string(),
});

const output = z.object({ legs: z.array(legShape) });

/** Life of a message on one leg. */
export type LegView = z.output<typeof legShape>;

/** Numbers of the profit rule. */
export type DecisionView = z.output<typeof decisionShape>;

/** The operation. */
export const showOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "show",
  needs: "read",
  input,
  output,
  run: (context, { hash }) => {
    const rows = findRows(context, hash);
    if (rows.length === 0) {
      throw new OperationRefusal(
        `Nothing is known of ${hash}: no message of this database has this commitment, and none travels in one of its ` +
          "transactions. A request on its source chain is known once the hub has learned of its block; " +
          "`list` shows what is known, `scan <chain> --from --to` reads blocks again, and `relay` also takes the hash " +
          "of the transaction that sent it.",
      );
    }
    return { legs: rows.map((row) => toLeg(context, row)) };
  },
};

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

function toLeg(context: OperationContext, row: MessageRow): LegView {
  const { ledger, clock, isRunning } = context;
  const decision = ledger.decisions.find(row.commitment, row.target);
  const delivery = ledger.deliveries.find(row.requestCommitment, row.target);
  return {
    message: toMessageView(row),
    changes: ledger.messages.listChanges(row.commitment, row.target).map((
      { atMs, state, reason, detail },
    ) => ({
      at: timeText(atMs),
      status: state,
      reason,
      detail,
    })),
    decision: decision && toDecisionView(decision),
    transactions: ledger.submissions.listByItem(row.commitment, row.target).map((submission) =>
      toTransaction(context, row, submission)
    ),
    delivery: delivery && toDelivery(delivery),
    bandwidthLeft: findBandwidth(context, row)?.toString(),
    next: describeNext(row, { nowMs: clock.now(), isRunning }),
  };
}

function findBandwidth({ ledger, config }: OperationContext, row: MessageRow): bigint | undefined {
  if (row.target !== config.hub.stateMachine || isTerminal(row.state)) return undefined;
  return readBandwidth(ledger, row.source).find(({ sender }) => sender === toHex(row.module))?.left;
}

/** Converts a decision. */
export function toDecisionView(decision: DecisionRow): DecisionView {
  const { price27 } = decision;
  return {
    at: timeText(decision.atMs),
    verdict: decision.verdict,
    feeUsd: dollarsText(decision.feeUsd18),
    gas: decision.gas.toString(),
    gasPriceGwei: formatDecimal(decision.gasPriceWei, 9),
    dataCost: formatDecimal(decision.dataCostWei, 18),
    price: price27 === undefined ? undefined : formatDecimal(price27, 27),
    priceSource: decision.priceOrigin,
    minimumProfitPercent: decision.profitPercent,
    costUsd: dollarsText(decision.costUsd18),
    requiredUsd: dollarsText(decision.requiredUsd18),
  };
}

function toTransaction(
  { ledger }: OperationContext,
  row: MessageRow,
  { id, submission, state, createdAtMs, block, replacedBy, detail }: SubmissionRow,
): LegView["transactions"][number] {
  const items = ledger.submissions.itemsOf(id);
  const spending = ledger.spending.find(id);
  return {
    hash: submission.hash,
    chain: submission.chain,
    status: state,
    at: timeText(createdAtMs),
    block: block?.height.toString(),
    outcome: items.find(({ commitment }) => commitment === row.commitment)?.outcome,
    messages: items.length,
    replacedBy: replacedBy === undefined ? undefined : ledger.submissions.find(replacedBy)?.submission.hash,
    detail,
    rule: spending?.rule,
    result: spending?.result,
    cost: spending?.costWei === undefined ? undefined : formatDecimal(spending.costWei, 18),
    costUsd: dollarsText(spending?.costUsd18),
    revenueUsd: dollarsText(spending?.revenueUsd18),
  };
}

function toDelivery(delivery: DeliveryRow): NonNullable<LegView["delivery"]> {
  return {
    block: delivery.block.height.toString(),
    transaction: delivery.txHash,
    isFinal: delivery.isFinal,
    fee: delivery.fee?.toString(),
    claim: delivery.claimState,
    claimedInHubBlock: delivery.claimHubBlock?.toString(),
  };
}
