/** `relay`: one message is delivered now, whatever the profit rule says. */
import { OperationRefusal } from "../../../core/commands/control_operation.ts";
import { formatDecimal, type Hash256 } from "../../../core/encoding/bytes.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { isTerminal, type MessageRow } from "../../ledger/ledger.ts";
import { deliverByHand, type HandDelivery } from "../../relay/deliver/by_hand.ts";
import type { Leg, LegRun } from "../../relay/leg.ts";
import { recordMissed } from "../../relay/scan.ts";
import { timeText } from "../message_view.ts";
import type { Operation, OperationContext } from "../operation.ts";
import { hashShape } from "../shapes.ts";
import { decisionShape, findRows, toDecisionView } from "./show.ts";
import * as z from "zod";

const input = z.strictObject({ hash: hashShape, isDryRun: z.boolean() });

const resultShape = z.object({
  commitment: z.string(),
  from: z.string(),
  to: z.string(),
  outcome: z.enum(["sent", "possible", "over", "waiting", "refused"]),
  text: z.string(),
  transaction: z.string().optional(),
  gas: z.string().optional(),
  provedAt: z.string().optional(),
  decision: decisionShape.optional(),
  /** Consensus proofs of the hub that go with the message, or ahead of it. */
  consensusProofs: z.object({
    count: z.number(),
    bytes: z.number(),
    /** Authority sets that the target learns, or lacks. */
    sets: z.array(z.string()),
    /** Height of the hub that the target knows afterwards. */
    height: z.string(),
    gas: z.string(),
    /** Native tokens of the target. */
    native: z.string(),
  }).optional(),
});

const output = z.object({ results: z.array(resultShape) });

/** Outcome on one leg. */
export type RelayResult = z.output<typeof resultShape>;

/** The operation. */
export const relayOperation: Operation<z.output<typeof input>, z.output<typeof output>> = {
  name: "relay",
  needs: "chains",
  input,
  output,
  run: async (context, { hash, isDryRun }, signal) => {
    const rows = await findMessages(context, hash, signal);
    const results: RelayResult[] = [];
    // One after the other: they may share an account.
    for (const row of rows) results.push(await relayRow(context, { row, isDryRun }, signal));
    return { results };
  },
};

/** Finds the rows to deliver: by commitment, by a transaction of ours, or by the transaction that sent the message. */
async function findMessages(
  context: OperationContext,
  hash: Hash256,
  signal: AbortSignal,
): Promise<readonly MessageRow[]> {
  const known = findRows(context, hash);
  const rows = known.length > 0 ? known : await findSent(context, hash, signal);
  // A leg that is over matters only when there is no other.
  const open = rows.filter(({ state }) => !isTerminal(state));
  return open.length > 0 ? open : rows.slice(-1);
}

/** Finds the messages that a transaction on a source chain has sent. */
async function findSent(
  context: OperationContext,
  hash: Hash256,
  signal: AbortSignal,
): Promise<readonly MessageRow[]> {
  const hub = context.config.hub.stateMachine;
  const legs = context.relaying().legs.filter(({ target }) => target.id.stateMachine === hub);
  const unread: string[] = [];
  for (const leg of legs) {
    const source = leg.source.id.stateMachine;
    try {
      const height = await leg.source.events.findTransaction?.(hash, signal);
      if (height === undefined) continue;
      const events = await leg.source.events.fetchEvents(height, height, signal);
      const sent = events.flatMap((event) =>
        event.kind === "message" && event.at.transaction === hash ? [event.message.commitment] : []
      );
      if (sent.length === 0) {
        throw new OperationRefusal(
          `The transaction ${hash} is in block ${height} of ${source}, but sent no message.`,
        );
      }
      await recordMissed({ ...leg, signal }, { from: height, to: height });
      const rows = sent.flatMap((commitment) => findRows(context, commitment));
      if (rows.length > 0) return rows;
      throw new OperationRefusal(
        `The transaction ${hash} is in block ${height} of ${source}; the hub does not know that block yet. It is ` +
          "delivered after the next update of the light client.",
      );
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      unread.push(source);
    }
  }
  const hint = unread.length === 0 ? "" : ` No endpoint answered for ${unread.join(", ")}.`;
  throw new OperationRefusal(
    `Nothing is known of ${hash}: it is no commitment of a message in this database, and no transaction that an EVM ` +
      `chain of the configuration knows.${hint} For a message of a Substrate chain, name its commitment.`,
  );
}

async function relayRow(
  context: OperationContext,
  { row, isDryRun }: { readonly row: MessageRow; readonly isDryRun: boolean },
  signal: AbortSignal,
): Promise<RelayResult> {
  const ends = { commitment: row.commitment, from: row.source, to: row.target };
  const leg = context.relaying().legs.find((each) => isOf(each, row));
  if (leg === undefined) {
    return { ...ends, outcome: "waiting", text: `${row.source} -> ${row.target} is not configured.` };
  }
  return { ...ends, ...await deliver({ ...leg, signal }, { row, isDryRun }) };
}

async function deliver(
  leg: LegRun,
  { row, isDryRun }: { readonly row: MessageRow; readonly isDryRun: boolean },
): Promise<Omit<RelayResult, "commitment" | "from" | "to">> {
  let result: HandDelivery;
  try {
    result = await deliverByHand(leg, row, { isDryRun });
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    return { outcome: "waiting", text: `An endpoint did not answer: ${error.message}` };
  }
  const { outcome, text, transaction, decision, gas, provedAt, consensusProofs } = result;
  return {
    outcome,
    text,
    transaction,
    gas: gas?.toString(),
    provedAt: provedAt?.toString(),
    consensusProofs: consensusProofs && {
      count: consensusProofs.count,
      bytes: consensusProofs.bytes,
      sets: consensusProofs.sets.map(String),
      height: consensusProofs.height.toString(),
      gas: consensusProofs.gas.toString(),
      native: formatDecimal(consensusProofs.costWei, 18),
    },
    decision: decision &&
      { ...toDecisionView({ ...decision, atMs: leg.clock.now() }), at: timeText(leg.clock.now()) },
  };
}

function isOf({ source, target }: Leg, row: MessageRow): boolean {
  return source.id.stateMachine === row.source && target.id.stateMachine === row.target;
}
