/**
 * Brings one payment of the hub to its chain: the same proof, simulation, journal and settling as for messages, but
 * only when the withdrawal says so. Its message row waits with a date that never comes, so the leg leaves it alone.
 */
import type { MessageRow, WithdrawalDispatch } from "../ledger/ledger.ts";
import type { Message } from "../../core/ismp/message.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { costUsd18 } from "../relay/decisions/money.ts";
import { NEVER_MS } from "../relay/decisions/retry_schedule.ts";
import { parseRow, toMessageRow } from "../relay/message_row.ts";
import { send } from "../relay/send.ts";
import { findDeliverable, type ProvenBatch } from "../relay/bisect_batch.ts";
import type { PaymentDeps } from "./payment_context.ts";
import type { ProvableHeight } from "./provable_height.ts";

/** The payment as the chain would take it now, or why it does not. */
export type PaymentSimulation =
  | {
    readonly kind: "accepted";
    readonly part: ProvenBatch;
    readonly neededWei: bigint;
    /** Dollars x 10^18; `undefined`: the price is unknown, or not asked for. */
    readonly cost18: bigint | undefined;
    /** Dollars per native token x 10^27; `undefined`: unknown, or not asked for. */
    readonly price27: bigint | undefined;
  }
  | { readonly kind: "refused"; readonly detail: string };

/** The payment as a message. @throws {Error} when the stored bytes are something else. */
export function paymentMessage(dispatch: WithdrawalDispatch): Message {
  return parseRow(dispatch);
}

/** The message row of a payment, recorded if the leg has not met it yet. */
export function paymentRow(deps: PaymentDeps, chain: StateMachine, dispatch: WithdrawalDispatch): MessageRow {
  const { messages } = deps.ledger;
  const known = messages.find(dispatch.commitment, chain);
  if (known !== undefined) return known;
  const ends = { source: deps.hub.id.stateMachine, target: chain };
  const waiting = { state: "seen", nextAttemptAtMs: NEVER_MS } as const;
  const row = toMessageRow(paymentMessage(dispatch), ends, dispatch.hubBlock, waiting);
  return deps.ledger.transaction(() => {
    messages.record(row);
    const recorded = messages.find(dispatch.commitment, chain);
    if (recorded === undefined) throw new Error(`No row of payment ${dispatch.commitment}`);
    return recorded;
  });
}

/** Proves the payment at a height of the hub that the chain knows, and asks the chain. Nothing is sent. */
export async function simulatePayment(
  deps: PaymentDeps,
  chain: StateMachine,
  { message, at }: { readonly message: Message; readonly at: ProvableHeight },
  signal: AbortSignal,
): Promise<PaymentSimulation> {
  const leg = deps.legTo(chain);
  const work = { messages: [message], ...at };
  const { accepted: [part], refused: [refused] } = await findDeliverable(leg, work, signal);
  if (part !== undefined) {
    const { gasLimit, gasUsed, gasPriceWei, dataCostWei } = part.simulation;
    const price = await leg.profit?.price.fetchPrice(signal);
    const price27 = price?.kind === "known" ? price.price27 : undefined;
    const cost18 = costUsd18({ gas: gasUsed, dataCostWei }, { gasPriceWei, price27 });
    return { kind: "accepted", part, neededWei: gasLimit * gasPriceWei + dataCostWei, cost18, price27 };
  }
  return { kind: "refused", detail: refused?.detail ?? "refused" };
}

/** Journals and sends the payment; true when it is under way or delivered. */
export async function sendPayment(
  deps: PaymentDeps,
  chain: StateMachine,
  work: {
    readonly dispatch: WithdrawalDispatch;
    readonly part: ProvenBatch;
    /** Most that one gas may cost, wei; `undefined`: no bound. */
    readonly maxGasPriceWei: bigint | undefined;
  },
  signal: AbortSignal,
): Promise<boolean> {
  const row = deps.ledger.transaction(() =>
    openRow(deps, deps.ledger.messages.find(work.dispatch.commitment, chain))
  );
  const [message] = work.part.messages;
  if (row === undefined || message === undefined) return false;
  const candidates = [{ row, message }];
  const { sent } = await send(
    deps,
    deps.settings,
    deps.legTo(chain),
    { part: work.part, candidates, maxGasPriceWei: work.maxGasPriceWei },
    signal,
  );
  return sent > 0;
}

/** The row ready to be sent or ended, whatever the leg made of it; `undefined` while it is under way or after its end. */
export function openRow(deps: PaymentDeps, row: MessageRow | undefined): MessageRow | undefined {
  if (row === undefined || !["seen", "held", "ready", "not_executed", "rejected"].includes(row.state)) {
    return undefined;
  }
  const to = row.state === "rejected" || row.state === "seen" ? "seen" : "ready";
  return deps.ledger.messages.transition(row.commitment, row.target, { to, nextAttemptAtMs: NEVER_MS });
}
