/**
 * Delivery of due messages on a leg: finds the ones that the target accepts, and sends them. While one batch is signed
 * and sent, the next one is simulated and the one after it proved: see {@link deliverBatches}.
 */
import type { CounterpartyView } from "../../../core/chains/reads.ts";
import type { MessageRow } from "../../ledger/ledger.ts";
import type { Message } from "../../../core/ismp/message.ts";
import { Limit, workAhead } from "../../../core/runtime/limit.ts";
import { countCallBytes, packApart } from "../decisions/batch.ts";
import { NEVER_MS, READINGS } from "../decisions/retry_schedule.ts";
import { holdUnspendable, listAdmitted, withoutRefusedSenders } from "../due_messages.ts";
import { endDelivered, expire } from "../receipts.ts";
import { confirmUnknown } from "./revenue.ts";
import { countRoom, hasRoom, roomForMessages } from "../limits/capacity.ts";
import type { Leg, LegRun } from "../leg.ts";
import { readBackoffMs, readBatchLimit } from "../limits/competitors.ts";
import { type Candidate, markRefused, type Refused, stillOpen, transition } from "../messages.ts";
import { send, type SendInput } from "./send.ts";
import { findDeliverable, type ProvenSteps, proveSteps } from "./bisect_batch.ts";
import {
  findStrangers,
  holdBack,
  leaveToAlone,
  listReceiversUnderWay,
  receiverOf,
} from "../limits/suspension.ts";
import { filterProfitable, holdUnpaidBytes } from "./profitability.ts";

/** Result of one round of a leg. */
export interface DeliveryRound {
  /** Number of messages sent to the target. */
  readonly sent: number;
  /** True when more is due and this round made progress: the next one should follow at once. */
  readonly hasMore: boolean;
}

/** Input of a delivery round. */
export interface DeliveryInput {
  readonly view: CounterpartyView;
  /** Height of the source at which messages are proved. */
  readonly proofHeight: bigint;
  /** Consensus proofs that must travel with the messages for the target to know that height. */
  readonly consensusProofs: readonly Uint8Array[];
  /** True when more messages are being read from the source: what fills no whole batch yet may wait for them. */
  readonly hasMoreToCome?: boolean;
}

/** Number of batches that are prepared while one is sent: one is proved and one simulated. */
const AHEAD = 2;

/** Maximum number of times a batch is signed again because other relayers delivered some of its messages meanwhile. */
const MAX_OVERTAKINGS = 3;

/**
 * Delivers what is due at or below `proofHeight` of the source, in as many batches as may be in flight; consensus
 * proofs are sent once, with one batch.
 */
export async function deliverDue(
  leg: LegRun,
  facts: DeliveryInput,
): Promise<DeliveryRound> {
  await expire(leg, facts.view.nowSec);
  const room = countRoom(leg);
  if (room === 0) return { sent: 0, hasMore: await holdUnspendable(leg, facts) };
  const max = facts.consensusProofs.length > 0 ? 1 : room;
  // GET requests are answered, not delivered: see answer_gets.ts.
  const isWanted = (kind: MessageRow["kind"]): boolean => kind !== "get";
  const wanted = { ...facts, isWanted, batches: max };
  const { fresh, refused, hasMore } = await listAdmitted(leg, wanted);
  if (fresh.length + refused.length === 0) return { sent: 0, hasMore };
  const unheld = await holdUnpaidBytes(leg, await holdBack(leg, fresh));
  const [candidates, refusedBefore] = leg.ledger.transaction(() => [
    leaveToAlone(leg, leaveToCompetitors(leg, unheld)),
    leaveToCompetitors(leg, refused),
  ]);
  // Every row left out was held.
  if (candidates.length + refusedBefore.length === 0) return { sent: 0, hasMore };
  const { consensusProofs } = facts;
  const { batches, rest } = leg.ledger.transaction(() => {
    const first = firstBatches(leg, { candidates, max, consensusProofs });
    const then = firstBatches(leg, {
      candidates: refusedBefore,
      max: max - first.batches.length,
      consensusProofs,
    });
    const whole = withoutPartial(leg, facts, first.batches);
    const fresh = whole.map((batch) => ({ batch, isFresh: true }));
    const again = then.batches.map((batch) => ({ batch, isFresh: false }));
    const later = first.batches.length - whole.length;
    return { batches: [...fresh, ...again], rest: first.rest + later + then.rest };
  });
  const { sent, left, canGoOn } = await deliverBatches({ leg, facts }, batches);
  return { sent, hasMore: canGoOn && (left > 0 || rest > 0 || hasMore) };
}

/** Holds messages that faster competitors may deliver first. */
function leaveToCompetitors(leg: Leg, candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates.filter(({ row }) => {
    // Competitors had their chance.
    if (row.reason === "race" || row.reason === "reverted" || READINGS.has(row.reason)) return true;
    const waitMs = readBackoffMs(leg, row, leg.pollIntervalMs);
    if (waitMs === 0) return true;
    const nextAttemptAtMs = leg.clock.now() + waitMs;
    transition(leg, row, {
      to: "held",
      reason: "race",
      detail: "left to another relayer first",
      nextAttemptAtMs,
    });
    return false;
  });
}

/** Pause of a message larger than what a node accepted last, ms: another node may accept it. */
const OTHER_NODE_MS = 3_600_000;

/** Packs the first batches of one kind; returns also how many messages or batches are left for later. */
function firstBatches(
  leg: Leg,
  { candidates, max, consensusProofs }: {
    readonly candidates: readonly Candidate[];
    readonly max: number;
    readonly consensusProofs: readonly Uint8Array[];
  },
): { readonly batches: readonly (readonly Candidate[])[]; readonly rest: number } {
  const { maxMessagesPerStep, maxCallBytes } = leg.target.limits;
  const limits = {
    maxCount: Math.min(maxMessagesPerStep, readBatchLimit(leg)),
    maxBytes: roomForMessages(leg, consensusProofs),
  };
  // Requests before responses: the rest follows in the next round, unless both pay for the proofs in front of them.
  const { post = [], getResponse = [] } = Object.groupBy(candidates, ({ row }) => row.kind);
  const ofKind = consensusProofs.length > 0
    ? [...post, ...getResponse]
    : post.length > 0
    ? post
    : getResponse;
  const strangers = findStrangers(leg, ofKind);
  const { batches, tooLarge } = packApart(ofKind, {
    bytesOf: countCallBytes,
    limitOf: ({ row }) => row.batchLimit,
    apartOf: ({ row }) => strangers.get(row.commitment),
  }, limits);
  for (const { row } of tooLarge) {
    const bytes = countCallBytes({ row });
    // Next to a large proof there is less room: then the proof is sent ahead.
    if (consensusProofs.length > 0 && bytes <= maxCallBytes) continue;
    transition(leg, row, {
      to: "held",
      reason: "too_large",
      detail: `needs about ${bytes} bytes, the chain accepts ${limits.maxBytes}`,
      nextAttemptAtMs: bytes > maxCallBytes ? NEVER_MS : leg.clock.now() + OTHER_NODE_MS,
    });
  }
  const taken = batches.slice(0, max);
  return { batches: taken, rest: batches.length - taken.length + candidates.length - ofKind.length };
}

/**
 * Leaves the last of several batches to the next round while messages are being read that will fill it: fewer
 * transactions cost less.
 */
function withoutPartial(
  leg: Leg,
  { hasMoreToCome = false }: DeliveryInput,
  batches: readonly (readonly Candidate[])[],
): readonly (readonly Candidate[])[] {
  const isFull = (batches.at(-1)?.length ?? 0) >= leg.target.limits.maxMessagesPerStep;
  return hasMoreToCome && batches.length > 1 && !isFull ? batches.slice(0, -1) : batches;
}

/** A leg in one delivery round. */
interface Round {
  readonly leg: LegRun;
  readonly facts: DeliveryInput;
}

/** Result of delivering batches. */
interface BatchesResult {
  /** Messages sent. */
  readonly sent: number;
  /** Messages still due. */
  readonly left: number;
  /** True when a batch made progress and the view still holds: the next round may follow with it. */
  readonly canGoOn: boolean;
}

/**
 * Delivers batches in order. The rows of a batch being prepared are in no other batch, and unchanged until it is sent,
 * so nothing is lost when it is dropped. Never returns while a preparation is running.
 */
async function deliverBatches(
  round: Round,
  batches: readonly PlannedBatch[],
): Promise<BatchesResult> {
  let sent = 0;
  let left = 0;
  let hasProgress = false;
  let isOutdated = false;
  const stages: Stages = { proving: new Limit(1), simulating: new Limit(1) };
  let taken = 0;
  for await (const prepared of workAhead(batches, AHEAD, (next) => prepareBatch(round, stages, next))) {
    taken++;
    const result = await sendPrepared(round, prepared);
    const again = result.left + prepared.postponed;
    sent += result.sent;
    left += again;
    if (again < prepared.planned) hasProgress = true;
    isOutdated = result.isOutdated;
    if (isOutdated || !hasRoom(round.leg)) break;
  }
  left += batches.slice(taken).flatMap(({ batch }) => batch).length;
  return { sent, left, canGoOn: hasProgress && !isOutdated };
}

/** Planned batch; fresh messages were never refused by the hub. */
interface PlannedBatch {
  readonly batch: readonly Candidate[];
  readonly isFresh: boolean;
}

/** Batch that was proved and simulated. */
interface Prepared {
  /** Accepted and profitable parts, ready to be signed. */
  readonly ready: readonly SendInput[];
  /** Messages that must be proved again, without those now held. */
  readonly again: readonly Candidate[];
}

/** Planned batch that was prepared. */
interface PreparedBatch extends Prepared {
  /** Number of its messages. */
  readonly planned: number;
  /** Number of those that are left for a later round. */
  readonly postponed: number;
}

/** Turns of the batches of a round: one is proved while the one before it is simulated. */
interface Stages {
  readonly proving: Limit;
  readonly simulating: Limit;
}

/** Proves a batch, reads its receipts, and simulates what is still open of it. */
async function prepareBatch(
  round: Round,
  { proving, simulating }: Stages,
  { batch, isFresh }: PlannedBatch,
): Promise<PreparedBatch> {
  const { leg } = round;
  // The batches before this one may show at any time which senders the hub refuses.
  const withoutRefused = (candidates: readonly Candidate[]): readonly Candidate[] =>
    isFresh ? withoutRefusedSenders(leg, candidates) : candidates;
  const proved = await proving.run(() => proveOpen(round, withoutRefused(batch)), leg.signal);
  return await simulating.run(async () => {
    const open = withoutRefused(proved.open);
    const prepared = await prepare(round, open, open.length === proved.count ? proved.proof : undefined);
    const postponed = batch.length - proved.count + proved.open.length - open.length;
    return { ...prepared, planned: batch.length, postponed };
  }, leg.signal);
}

/** Messages of a batch without a receipt, and a proof. */
interface ProvedBatch {
  readonly open: readonly Candidate[];
  /** Of `count` messages, which may be more than the open ones; a fault shows where it is awaited. */
  readonly proof: Promise<ProvenSteps> | undefined;
  readonly count: number;
}

/**
 * Reads receipts. Hardly any message already has one, so the proof of all is fetched in parallel: one round trip less.
 */
async function proveOpen({ leg, facts }: Round, batch: readonly Candidate[]): Promise<ProvedBatch> {
  if (batch.length === 0) return { open: [], proof: undefined, count: 0 };
  const messages = batch.map(({ message }) => message);
  const proof = proveSteps(leg, messages, facts.proofHeight);
  const proofEnded = proof.then(() => {}, () => {});
  const receipts = await leg.target.reads.fetchReceipts(messages, leg.signal);
  const open = await endDelivered(leg, { candidates: batch, receipts });
  await proofEnded;
  return { open, proof, count: batch.length };
}

/** Finds deliverable and profitable messages of one kind; refused and unprofitable ones are held. */
export async function prepare(
  { leg, facts }: Round,
  open: readonly Candidate[],
  proving?: Promise<ProvenSteps>,
): Promise<Prepared> {
  if (open.length === 0) return { ready: [], again: [] };
  const { proofHeight: height, consensusProofs } = facts;
  const messages = open.map(({ message }) => message);
  const { accepted, refused: judged } = await findDeliverable(
    leg,
    { messages, height, consensusProofs },
    proving,
  );
  const refused = await confirmUnknown(leg, judged);
  leg.ledger.transaction(() => markAllRefused(leg, { candidates: open, consensusProofs }, refused));
  const ready: SendInput[] = [];
  const again: Candidate[] = [];
  for (const part of accepted) {
    const deliverable = part.messages.map((message) => findCandidate(open, message));
    const input = { part, candidates: deliverable };
    const { candidates, maxGasPriceWei } = await filterProfitable(leg, input);
    if (candidates.length < deliverable.length) again.push(...candidates); // the proof covers the whole part
    else ready.push({ part, candidates, maxGasPriceWei });
  }
  return { ready, again };
}

/** Sends a prepared batch; when other relayers deliver some of its messages first, the rest is prepared again. */
async function sendPrepared(
  round: Round,
  first: Prepared,
): Promise<{ readonly sent: number; readonly left: number; readonly isOutdated: boolean }> {
  const { leg } = round;
  let sent = 0;
  let prepared = first;
  for (let attempt = 1;; attempt++) {
    const open = [...prepared.again];
    for (const ready of prepared.ready) {
      if (sent > 0 && !hasRoom(leg)) {
        open.push(...ready.candidates);
        continue;
      }
      const result = await send(leg, ready);
      if (result.isOutdated === true) {
        return { sent, left: open.length + ready.candidates.length, isOutdated: true };
      }
      sent += result.sent;
      open.push(...result.again);
    }
    const isFull = sent > 0 && !hasRoom(leg);
    if (open.length === 0 || isFull || attempt === MAX_OVERTAKINGS) {
      return { sent, left: open.length, isOutdated: false };
    }
    prepared = await prepare(round, open);
  }
}

/**
 * Records refusals. A message too large together with proofs in front may fit without them: it waits for the height
 * instead of being held for good.
 */
function markAllRefused(
  context: LegRun,
  batch: { readonly candidates: readonly Candidate[]; readonly consensusProofs: readonly Uint8Array[] },
  refused: readonly Refused[],
): void {
  const { candidates, consensusProofs } = batch;
  if (refused.length === 0) return;
  const underWay = listReceiversUnderWay(context);
  for (const { code, ...why } of refused) {
    const isOfModule = code === "not_executed" || code === "module_failed" || code === "unspecified";
    const isBehind = isOfModule && underWay.has(receiverOf(why));
    const item: Refused = {
      ...why,
      code: consensusProofs.length > 0 && code === "too_large" ? "not_ready" : code,
      ...isBehind ? { isInCompany: true } : {},
    };
    for (const { row } of stillOpen(context, [findCandidate(candidates, item.message)])) {
      markRefused(context, row, item);
    }
  }
}

function findCandidate(candidates: readonly Candidate[], message: Message): Candidate {
  const found = candidates.find((candidate) => candidate.message === message);
  if (found === undefined) throw new Error(`Message ${message.commitment} is not part of this batch`);
  return found;
}
