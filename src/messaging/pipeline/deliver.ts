/** Takes what is due on a leg, finds out what the sink would take, and has it sent. */
import type { CounterpartyView } from "../../core/chains/chain.ts";
import type { SubmissionKind } from "../../core/ledger/ledger.ts";
import type { Message } from "../../core/protocol/ismp/message.ts";
import { pack } from "../decisions/batch.ts";
import { NEVER_MS } from "../decisions/retry_schedule.ts";
import { deferenceMs, inFlightLimit, MOST_IN_FLIGHT } from "../decisions/rivalry.ts";
import { expire, listReady } from "./due.ts";
import { isUnfunded } from "./funds.ts";
import type { Leg, PipelineDeps, PipelineSettings } from "./leg.ts";
import { mark, markRefused } from "./mark.ts";
import { type Candidate, stillOpen, takeDelivered } from "./receipts.ts";
import { isRaceCostly, readRivalry } from "./rivals.ts";
import { send } from "./send.ts";
import { type Refused, sift } from "./sift.ts";
import { weigh } from "./weigh.ts";

/** What one round of a leg did. */
export interface DeliveryRound {
  /** Messages handed to the sink. */
  readonly sent: number;
  /** True when more is due, and this round got on: the next one should follow at once. */
  readonly hasMore: boolean;
}

/** What a round of delivering goes by. */
export interface DeliveryFacts {
  readonly view: CounterpartyView;
  /** Height of the source at which messages are proved. */
  readonly proofHeight: bigint;
  /** Consensus proofs that must travel with the messages for the sink to know that height. */
  readonly prelude: readonly Uint8Array[];
  /** True when the prelude is sent whatever the messages pay. */
  readonly isPreludeSentAnyway: boolean;
}

/** Rounds of signing anew when others deliver messages of the batch at the same moment. */
const MOST_OVERTAKINGS = 3;

/** True when another transaction to the sink may be made now. */
export function hasRoomInFlight(deps: PipelineDeps, leg: Leg): boolean {
  if (isUnfunded(deps, leg.sink)) return false;
  const waiting = deps.ledger.submissions.listUnresolved(leg.sink.id.stateMachine)
    .filter(({ state, kind }) => state !== "included" && !isHubCall(kind));
  const most = isRaceCostly(leg.sink) ? inFlightLimit(readRivalry(deps, leg.sink)) : MOST_IN_FLIGHT;
  return waiting.length < most && waiting.every(({ state }) => state === "broadcast");
}

/** Claims and withdrawals travel to the hub beside the messages; they have no nonce in common. */
function isHubCall(kind: SubmissionKind): boolean {
  return kind === "accumulate" || kind === "withdraw" || kind === "claim";
}

/** Delivers one batch of what is due at or below `proofHeight` of the source. */
export async function deliverDue(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  facts: DeliveryFacts,
  signal: AbortSignal,
): Promise<DeliveryRound> {
  expire(deps, leg, facts.view.nowSec);
  if (!hasRoomInFlight(deps, leg)) return { sent: 0, hasMore: false };
  // GET requests are answered, not delivered: see answer_gets.ts.
  const { ready, hasMore } = listReady(deps, settings, leg, { ...facts, isWanted: (kind) => kind !== "get" });
  const candidates = deps.ledger.transaction(() => leaveToOthers(deps, leg, ready));
  // Every row that is left out was put aside.
  if (candidates.length === 0) return { sent: 0, hasMore };
  const [batch, rest] = deps.ledger.transaction(() => firstBatch(deps, leg, candidates));
  const { sent, left } = await deliverBatch(deps, settings, leg, { batch, facts }, signal);
  return { sent, hasMore: left < batch.length && (rest > 0 || hasMore) };
}

/** Puts messages aside that other relayers, who were faster before, may deliver first. */
function leaveToOthers(deps: PipelineDeps, leg: Leg, candidates: readonly Candidate[]): readonly Candidate[] {
  const { sink, pollIntervalMs } = leg;
  if (!isRaceCostly(sink) || sink.relayer === undefined) return candidates;
  const rivalry = readRivalry(deps, sink);
  const ourself = sink.relayer;
  return candidates.filter(({ row }) => {
    if (row.reason === "race") return true; // they had their time
    const waitMs = deferenceMs(rivalry, { height: row.seenAtHeight, ourself, pollIntervalMs });
    if (waitMs === 0) return true;
    const nextAttemptAtMs = deps.clock.now() + waitMs;
    mark(deps, row, "held", { reason: "race", detail: "left to another relayer first", nextAttemptAtMs });
    return false;
  });
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
  const [first] = candidates;
  // One kind a step, requests before answers: the rest has its turn in the next round.
  const kind = candidates.some(({ row }) => row.kind === "post") ? "post" : first?.row.kind;
  const ofKind = candidates.filter(({ row }) => row.kind === kind);
  const { batches, tooLarge } = pack(ofKind, callBytesOf, limits);
  for (const { row } of tooLarge) {
    mark(deps, row, "held", {
      reason: "too_large",
      detail: `needs about ${callBytesOf({ row })} bytes, the chain takes ${limits.maxBytes}`,
      nextAttemptAtMs: NEVER_MS,
    });
  }
  const [batch = [], ...rest] = batches;
  return [batch, rest.length + candidates.length - ofKind.length];
}

/** What became of a batch: messages sent, and messages that are as due as before. */
interface BatchResult {
  readonly sent: number;
  readonly left: number;
}

async function deliverBatch(
  deps: PipelineDeps,
  settings: PipelineSettings,
  leg: Leg,
  work: { readonly batch: readonly Candidate[]; readonly facts: DeliveryFacts },
  signal: AbortSignal,
): Promise<BatchResult> {
  if (work.batch.length === 0) return { sent: 0, left: 0 };
  const batch = work.batch.map(({ message }) => message);
  // Hardly any message has a receipt already, so the proof of all is fetched meanwhile: one round trip less.
  const { proofHeight: height, prelude, isPreludeSentAnyway } = work.facts;
  const proving = leg.source.proveMessages(batch, height, leg.sink, signal);
  proving.catch(() => undefined); // told where it is used
  const receipts = await leg.sink.fetchReceipts(batch, signal);
  let open = await takeDelivered(deps, settings, leg, { candidates: work.batch, receipts }, signal);
  let sent = 0;
  for (let round = 0; open.length > 0 && round < MOST_OVERTAKINGS; round++) {
    const messages = open.map(({ message }) => message);
    const begun = round === 0 && open.length === batch.length ? proving : undefined;
    const { accepted, refused } = await sift(leg, { messages, height, prelude }, signal, begun);
    deps.ledger.transaction(() => markAllRefused(deps, settings, open, refused));
    const again: Candidate[] = [];
    for (const part of accepted) {
      const sifted = part.messages.map((message) => candidateOf(open, message));
      const weighed = { part, candidates: sifted, isPreludeSentAnyway };
      const candidates = await weigh(deps, settings, leg, weighed, signal);
      if (candidates.length < sifted.length) {
        again.push(...candidates); // the proof covers the whole part
        continue;
      }
      if (sent > 0 && !hasRoomInFlight(deps, leg)) {
        again.push(...candidates);
        continue;
      }
      const result = await send(deps, settings, leg, { part, candidates }, signal);
      sent += result.sent;
      again.push(...result.again);
    }
    open = again;
    if (sent > 0 && !hasRoomInFlight(deps, leg)) break;
  }
  return { sent, left: open.length };
}

function markAllRefused(
  deps: PipelineDeps,
  settings: PipelineSettings,
  batch: readonly Candidate[],
  refused: readonly Refused[],
): void {
  for (const item of refused) {
    for (const { row } of stillOpen(deps, [candidateOf(batch, item.message)])) {
      markRefused(deps, settings, row, item);
    }
  }
}

function candidateOf(candidates: readonly Candidate[], message: Message): Candidate {
  const found = candidates.find((candidate) => candidate.message === message);
  if (found === undefined) throw new Error(`Message ${message.commitment} is not of this batch`);
  return found;
}
