/** `relay`: one message is delivered now, whatever the profit rule says. */
import { CommandRefusal } from "../../core/commands/command.ts";
import { defineOperation } from "../../core/commands/operation.ts";
import { formatList } from "../../core/commands/plain_text.ts";
import { formatDecimal, type Hash256 } from "../../core/encoding/bytes.ts";
import { onFault, RpcFault } from "../../core/rpc/call.ts";
import { isTerminal, type MessageRow } from "../ledger/ledger.ts";
import type { HandDelivery } from "../relay/deliver/by_hand.ts";
import type { LegRun } from "../relay/leg.ts";
import type { OperationContext } from "./command.ts";
import { toHash } from "./message_filter.ts";
import { findRows, toDecisionView } from "./show.ts";

type RelayArguments = readonly [Hash256, { readonly dryRun?: boolean }];

/** Outcome on one leg. */
type RelayResult = Awaited<ReturnType<typeof relayRow>>;

/** The command. */
export const relayCommand = defineOperation({
  name: "relay",
  description: "Delivers one message now, regardless of the profit rule.",
  examples: ["relay 0x6f... --dry-run", "relay 0x6f..."],
  afterHelp:
    `Everything but the profit rule applies: proofs, a simulation, receipts, maximum_daily_loss, suspended
modules. The cost counts as every other one. Where an EVM chain does not know the hub's block yet, the
consensus proofs that it lacks go in front of the message, or ahead of it where they do not fit. A
message goes by the leg that is not over; when the hub has it, call it again for the leg from the hub.
--dry-run does everything but the sending, and prints the numbers. Without a running relayer the command
sends it, and the relayer settles it when it starts.`,
  exitStatus: { 0: "sent, possible (--dry-run) or delivered already", 1: "not now, with the reason" },
  needs: "chains",
  addOptions: (parser) =>
    void parser.argument(
      "<hash>",
      "commitment, or hash of the transaction on the source that sent it",
      toHash,
    )
      .option("--dry-run", "do everything but the sending, and print the numbers"),
  work: async (context: OperationContext, [hash, { dryRun: isDryRun = false }]: RelayArguments, signal) => {
    const rows = await findMessages(context, hash, signal);
    const results: RelayResult[] = [];
    // One after the other: they may share an account.
    for (const row of rows) results.push(await relayRow(context, { row, isDryRun }, signal));
    return { results };
  },
  show: ({ results }) => formatList(results),
  exitCode: ({ results }) =>
    results.every(({ outcome }) => outcome === "waiting" || outcome === "refused") ? 1 : 0,
});

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
  const { recordMissed } = await import("../relay/scan.ts");
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
        throw new CommandRefusal(
          `The transaction ${hash} is in block ${height} of ${source}, but sent no message.`,
        );
      }
      await recordMissed({ ...leg, signal }, { from: height, to: height });
      const rows = sent.flatMap((commitment) => findRows(context, commitment));
      if (rows.length > 0) return rows;
      throw new CommandRefusal(
        `The transaction ${hash} is in block ${height} of ${source}; the hub does not know that block yet. It is ` +
          "delivered after the next update of the light client.",
      );
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      unread.push(source);
    }
  }
  const hint = unread.length === 0 ? "" : ` No endpoint answered for ${unread.join(", ")}.`;
  throw new CommandRefusal(
    `Nothing is known of ${hash}: it is no commitment of a message in this database, and no transaction that an EVM ` +
      `chain of the configuration knows.${hint} For a message of a Substrate chain, name its commitment.`,
  );
}

/** Delivers a message on its leg. */
const relayRow = async (
  context: OperationContext,
  { row, isDryRun }: { readonly row: MessageRow; readonly isDryRun: boolean },
  signal: AbortSignal,
) => {
  const { commitment, source: from, target: to } = row;
  const leg = context.relaying().legs.find(({ source, target }) =>
    source.id.stateMachine === from && target.id.stateMachine === to
  );
  const result: HandDelivery = leg === undefined
    ? { outcome: "waiting", text: `${from} -> ${to} is not configured.` }
    : await deliver({ ...leg, signal }, { row, isDryRun });
  const { decision, gas, provedAt, consensusProofs: proofs } = result;
  const nowMs = context.clock.now();
  return {
    ...{ commitment, from, to, outcome: result.outcome, text: result.text, transaction: result.transaction },
    gas: gas?.toString(),
    provedAt: provedAt?.toString(),
    /** Consensus proofs of the hub that go with the message, or ahead of it. */
    consensusProofs: proofs && {
      count: proofs.count,
      bytes: proofs.bytes,
      /** Authority sets that the target lacks. */
      sets: proofs.sets.map(String),
      /** Height of the hub that the target knows afterwards. */
      height: proofs.height.toString(),
      gas: proofs.gas.toString(),
      /** Native tokens of the target. */
      native: formatDecimal(proofs.costWei, 18),
    },
    decision: decision && toDecisionView({ ...decision, atMs: nowMs }),
  };
};

async function deliver(
  leg: LegRun,
  { row, isDryRun }: { readonly row: MessageRow; readonly isDryRun: boolean },
): Promise<HandDelivery> {
  const { deliverByHand } = await import("../relay/deliver/by_hand.ts");
  return await deliverByHand(leg, row, { isDryRun }).catch(onFault(({ message }) => (
    { outcome: "waiting", text: `An endpoint did not answer: ${message}` }
  )));
}
