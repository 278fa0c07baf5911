/** Single steps of the pipeline, without its loops. */
import { answerGets } from "../../../src/messaging/relay/deliver/answer_gets.ts";
import { deliverDue, type DeliveryRound } from "../../../src/messaging/relay/deliver/deliver.ts";
import type { MessageRow } from "../../../src/messaging/ledger/ledger.ts";
import type { Message } from "../../../src/core/ismp/message.ts";
import type { LegRun, TargetContext } from "../../../src/messaging/relay/leg.ts";
import { noteExecuted, toSuspensionKey } from "../../../src/messaging/relay/limits/suspension.ts";
import { toMessageRow } from "../../../src/messaging/relay/messages.ts";
import { CONFIRM_AFTER_MS, NEVER_MS } from "../../../src/messaging/relay/decisions/retry_schedule.ts";
import { toRequest } from "../../../src/messaging/relay/decisions/route.ts";
import { expire } from "../../../src/messaging/relay/receipts.ts";
import { scanLeg, startCursor } from "../../../src/messaging/relay/scan.ts";
import { settleAll, type SettleRound } from "../../../src/messaging/relay/settle/settle_worker.ts";
import type { FakeClock } from "../../support/fake_clock.ts";
import type { MemoryChain } from "../../support/memory_chain.ts";
import { names, type Relayer } from "./fixture.ts";

/** One round of a leg: read what is new, deliver what is due. */
export async function round(relayer: Relayer, leg: LegRun): Promise<DeliveryRound> {
  return await deliverDue(leg, await scan(relayer, leg));
}

/** One round of answering GET requests: read what is new, answer what is due. */
export async function answer(relayer: Relayer, leg: LegRun): Promise<boolean> {
  return await answerGets(leg, await scan(relayer, leg));
}

async function scan({ deps, signal }: Relayer, leg: LegRun): Promise<Parameters<typeof deliverDue>[1]> {
  const view = await leg.target.reads.fetchView(leg.source.id, signal);
  if (deps.ledger.cursors.find(leg.source.id.stateMachine, leg.target.id.stateMachine) === undefined) {
    await startCursor(leg, view);
  }
  await scanLeg(leg, view);
  await expire(leg, view.nowSec);
  return { view, proofHeight: view.height, consensusProofs: [] };
}

/** Two more rounds, in which what one reading found is read again: after a minute, and hours later. */
export async function readAgain(
  relayer: Relayer,
  leg: LegRun,
  step: (relayer: Relayer, leg: LegRun) => Promise<unknown> = round,
): Promise<void> {
  for (const pauseMs of [60_000, CONFIRM_AFTER_MS]) {
    await (relayer.deps.clock as FakeClock).advance(pauseMs);
    await step(relayer, leg);
  }
}

/** Counts the pairs of these messages as proven, as after a delivery of ours: they share transactions. */
export function trust(context: TargetContext, messages: readonly (Message | undefined)[]): void {
  const target = context.target.id.stateMachine;
  const rows = messages.flatMap((message) =>
    message === undefined ? [] : [
      toMessageRow(message, { source: toRequest(message).source, target }, {
        seenAtHeight: 1n,
        state: "seen",
      }),
    ]
  );
  context.ledger.transaction(() => noteExecuted(context, rows as unknown as readonly MessageRow[], Infinity));
}

/** Suspends the pair of a message on the second chain, as after a delivery without effect. */
export function suspend({ ledger }: Relayer, message: Message, nextTryAtMs = NEVER_MS): void {
  const history = { failures: 1, isActive: true, nextTryAtMs, lastTransaction: message.commitment };
  ledger.suspensions.write({ ...toSuspensionKey(message, names.two), ...history });
}

/** Looks at every open submission of a target once. */
export function settle(relayer: Relayer, target: MemoryChain = relayer.two): Promise<SettleRound> {
  return settleAll(relayer.on(target));
}

/** Makes blocks on every chain, then looks at every open submission of a target once. */
export async function mine(relayer: Relayer, blocks = 1, target?: MemoryChain): Promise<void> {
  await relayer.fixture.blocks(blocks);
  await settle(relayer, target);
}

/** The leg from the hub to the second chain. */
export function outbound(relayer: Relayer): LegRun {
  return relayer.leg(relayer.hub, relayer.two);
}

/** The leg from the first chain to the hub. */
export function inbound(relayer: Relayer): LegRun {
  return relayer.leg(relayer.one, relayer.hub);
}
