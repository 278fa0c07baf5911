/**
 * Delivers one payment of the hub to its chain: the same proof, simulation, journal and settling as for messages, but
 * scheduled by the withdrawal. Its message row is never due, so that the leg does not deliver it.
 */
import type { Message } from "../../../core/ismp/message.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import type { FeeContext } from "../fee_context.ts";
import type { ProvableHeight } from "./payment_bundles.ts";
import type { MessageRow, WithdrawalDispatch } from "../../ledger/ledger.ts";
import { costUsd18 } from "../../relay/decisions/money.ts";
import { NEVER_MS } from "../../relay/decisions/retry_schedule.ts";
import { findDeliverable, type ProvenBatch } from "../../relay/deliver/bisect_batch.ts";
import { send } from "../../relay/deliver/send.ts";
import { parseRow, toMessageRow } from "../../relay/messages.ts";

/** Simulation of a payment: accepted, or the reason why the chain refuses it. */
export type PaymentSimulation =
  | {
    readonly kind: "accepted";
    readonly part: ProvenBatch;
    readonly neededWei: bigint;
    /** Dollars x 10^18; `undefined`: the price is unknown or was not requested. */
    readonly cost18: bigint | undefined;
    /** Dollars per native token x 10^27; `undefined`: unknown or not requested. */
    readonly price27: bigint | undefined;
  }
  | { readonly kind: "refused"; readonly detail: string };

/** Decodes the payment as a message. @throws {Error} when the stored bytes are something else. */
export function paymentMessage(dispatch: WithdrawalDispatch): Message {
  return parseRow(dispatch);
}

/** Reads the message row of a payment; records it if the leg has not seen it yet. */
export function paymentRow(
  context: FeeContext,
  chain: StateMachine,
  dispatch: WithdrawalDispatch,
): MessageRow {
  const { messages } = context.ledger;
  const known = messages.find(dispatch.commitment, chain);
  if (known !== undefined) return known;
  const ends = { source: context.hub.id.stateMachine, target: chain };
  const waiting = { seenAtHeight: dispatch.hubBlock, state: "seen", nextAttemptAtMs: NEVER_MS } as const;
  const row = toMessageRow(paymentMessage(dispatch), ends, waiting);
  return context.ledger.transaction(() => {
    messages.record(row);
    const recorded = messages.find(dispatch.commitment, chain);
    if (recorded === undefined) throw new Error(`No row of payment ${dispatch.commitment}`);
    return recorded;
  });
}

/** Proves the payment at a height of the hub that the chain knows, and simulates it. Nothing is sent. */
export async function simulatePayment(
  context: FeeContext,
  { chain, message, at }: {
    readonly chain: StateMachine;
    readonly message: Message;
    readonly at: ProvableHeight;
  },
  signal: AbortSignal,
): Promise<PaymentSimulation> {
  const leg = context.legTo(chain);
  const work = { messages: [message], ...at };
  const { accepted: [part], refused: [refused] } = await findDeliverable({ ...leg, signal }, work);
  if (part !== undefined) {
    const { gasLimit, gasUsed, gasPriceWei, dataCostWei } = part.simulation;
    const price = await leg.profit?.price.fetchPrice(signal);
    const price27 = price?.kind === "known" ? price.price27 : undefined;
    const cost18 = costUsd18({ gas: gasUsed, dataCostWei }, { gasPriceWei, price27 });
    return { kind: "accepted", part, neededWei: gasLimit * gasPriceWei + dataCostWei, cost18, price27 };
  }
  return { kind: "refused", detail: refused?.detail ?? "refused" };
}

/** Journals and sends the payment; true when it is pending or delivered. */
export async function sendPayment(
  context: FeeContext,
  work: {
    readonly chain: StateMachine;
    readonly dispatch: WithdrawalDispatch;
    readonly part: ProvenBatch;
    /** Maximum price per unit of gas, wei; `undefined`: no limit. */
    readonly maxGasPriceWei: bigint | undefined;
  },
  signal: AbortSignal,
): Promise<boolean> {
  const row = context.ledger.transaction(() =>
    openRow(context, context.ledger.messages.find(work.dispatch.commitment, work.chain))
  );
  const [message] = work.part.messages;
  if (row === undefined || message === undefined) return false;
  const candidates = [{ row, message }];
  const { sent } = await send({ ...context.legTo(work.chain), signal }, {
    part: work.part,
    candidates,
    maxGasPriceWei: work.maxGasPriceWei,
  });
  return sent > 0;
}

/**
 * Makes the row ready to be sent or ended, whatever its state on the leg; `undefined` while it is submitted or after it
 * ended.
 */
export function openRow(context: FeeContext, row: MessageRow | undefined): MessageRow | undefined {
  if (row === undefined || !["seen", "held", "ready", "not_executed", "rejected"].includes(row.state)) {
    return undefined;
  }
  const to = row.state === "rejected" || row.state === "seen" ? "seen" : "ready";
  return context.ledger.messages.transition(row.commitment, row.target, { to, nextAttemptAtMs: NEVER_MS });
}
