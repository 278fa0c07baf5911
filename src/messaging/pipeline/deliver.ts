/** Takes what is due on a leg, finds out what the sink would take, and has it sent. */
import type { CounterpartyView } from "../../core/chains/chain.ts";
import { LedgerFault, type MessageRow } from "../../core/ledger/ledger.ts";
import type { Message } from "../../core/protocol/ismp/message.ts";
import { pack } from "../decisions/batch.ts";
import { NEVER_MS } from "../decisions/retry_schedule.ts";
import { route } from "../decisions/route.ts";
import { type Leg, MOST_IN_FLIGHT, type PipelineDeps, type PipelineSettings, routeFacts } from "./leg.ts";
import { mark, markRefused, type MarkWhy } from "./mark.ts";
import { messageOf } from "./message_row.ts";
import { type Candidate, takeDelivered } from "./receipts.ts";
import { stateOf } from "./scan.ts";
import { send } from "./send.ts";
import { sift } from "./sift.ts";

/** What one round of a leg did. */
export interface DeliveryRound {
  /** Messages handed to the sink. */
  readonly sent: number;
  /** True when more is due and may be sent at once. */
  readonly hasMore: boolean;
}

/** Rounds of signing anew when others deliver messages of the batch at the same moment. */
const MOST_OVERTAKINGS = 3;

/** True when another transaction to the sink may be made now. */
export function hasRoomInFlight(deps: PipelineDeps, leg: Leg): boolean {
  const waiting = deps.ledger.submissions.listUnresolved(leg.sink.id.stateMachine)
    .filter(({ state }) => state !== "included");
  return waiting.length < MOST_IN_FLIGHT && waiting.every(({ state }) => state === "broadcast");
}

/** Delivers one batch of what is due at or below `proofHeight` of the source. */
export async function deliverDue(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  facts: { readonly view: CounterpartyView; readonly proofHeight: bigint },
  signal: AbortSignal,
): Promise<DeliveryRound> {
  expire(deps, leg, facts.view.nowSec);
  if (!hasRoomInFlight(deps, leg)) return { sent: 0, hasMore: false };
  const limit = leg.sink.limits.maxMessagesPerStep;
  const due = deps.ledger.messages.listDue({
    source: leg.source.id.stateMachine,
    sink: leg.sink.id.stateMachine,
    nowMs: deps.clock.now(),
    limit,
  });
  const provable = due.filter((row) => row.seenAtHeight <= facts.proofHeight);
  const candidates = readyOnes(deps, settings, leg, provable, facts.view);
  if (candidates.length === 0) return { sent: 0, hasMore: provable.length === limit };
  const [batch, rest] = firstBatch(deps, leg, candidates);
  const sent = await deliverBatch(deps, settings, leg, { batch, proofHeight: facts.proofHeight }, signal);
  return { sent, hasMore: rest > 0 || provable.length === limit };
}

/** Ends rows whose request has timed out on the sink's clock. */
function expire(deps: PipelineDeps, leg: Leg, nowSec: bigint): void {
  const query = { source: leg.source.id.stateMachine, sink: leg.sink.id.stateMachine, nowSec, limit: 500 };
  for (const row of deps.ledger.messages.listExpired(query)) {
    mark(deps, row, "timed_out", { reason: "expired" });
  }
}

/** Routes due rows again, since clocks and configuration move on. */
function readyOnes(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  rows: readonly MessageRow[],
  view: CounterpartyView,
): readonly Candidate[] {
  const facts = routeFacts(leg, settings, view.nowSec);
  const ready: Candidate[] = [];
  for (const row of rows) {
    const message = readRow(deps, row);
    if (message === undefined) continue;
    const decided = stateOf(route(message, facts)) ?? { state: "rejected", reason: "wrong_dest" };
    if (decided.state === "seen") ready.push({ row, message });
    else mark(deps, row, decided.state, withoutState(decided));
  }
  return ready;
}

function withoutState({ reason, nextAttemptAtMs }: NonNullable<ReturnType<typeof stateOf>>): MarkWhy {
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAtMs }),
  };
}

/** The message of a row; a row that cannot be read is put aside for the operator and told loudly. */
function readRow(deps: PipelineDeps, row: MessageRow): Message | undefined {
  try {
    return messageOf(row);
  } catch (error) {
    if (error instanceof LedgerFault) throw error;
    deps.log.error("A stored message cannot be read; it is put aside", { commitment: row.commitment, error });
    mark(deps, row, "held", { reason: "poison", nextAttemptAtMs: NEVER_MS });
    return undefined;
  }
}

/** Bytes that a message adds to call data: its parts, rounded up to ABI words. */
function callBytesOf({ row }: Pick<Candidate, "row">): number {
  return row.encoded.length + 640;
}

function firstBatch(
  deps: PipelineDeps,
  leg: Leg,
  candidates: readonly Candidate[],
): readonly [readonly Candidate[], number] {
  const limits = { maxCount: leg.sink.limits.maxMessagesPerStep, maxBytes: leg.sink.limits.maxCallBytes };
  const { batches, tooLarge } = pack(candidates, callBytesOf, limits);
  for (const { row } of tooLarge) {
    mark(deps, row, "held", {
      reason: "too_large",
      detail: `needs about ${callBytesOf({ row })} bytes, the chain takes ${limits.maxBytes}`,
      nextAttemptAtMs: NEVER_MS,
    });
  }
  const [first = [], ...rest] = batches;
  return [first, rest.length];
}

async function deliverBatch(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: { readonly batch: readonly Candidate[]; readonly proofHeight: bigint },
  signal: AbortSignal,
): Promise<number> {
  const receipts = await leg.sink.fetchReceipts(work.batch.map(({ message }) => message), signal);
  let open = await takeDelivered(deps, leg, work.batch, receipts, signal);
  let sent = 0;
  for (let round = 0; open.length > 0 && round < MOST_OVERTAKINGS; round++) {
    const { accepted, refused } = await sift(
      leg,
      open.map(({ message }) => message),
      work.proofHeight,
      signal,
    );
    for (const item of refused) markRefused(deps, settings, candidateOf(open, item.message).row, item);
    const again: Candidate[] = [];
    for (const part of accepted) {
      const candidates = part.messages.map((message) => candidateOf(open, message));
      const result = await send(deps, settings, leg, { part, candidates }, signal);
      sent += result.sent;
      again.push(...result.again);
    }
    open = again;
  }
  return sent;
}

function candidateOf(candidates: readonly Candidate[], message: Message): Candidate {
  const found = candidates.find((candidate) => candidate.message === message);
  if (found === undefined) throw new Error(`Message ${message.commitment} is not of this batch`);
  return found;
}
