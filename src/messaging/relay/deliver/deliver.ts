/**
 * Delivery of what is due on a leg, from top to bottom: list, admit, pack, prove, simulate, decide, sign, journal, send.
 * While one batch is signed and sent, the next one is simulated and the one after it proved.
 */
import type { CounterpartyView } from "../../../core/chains/reads.ts";
import { type Hash256, type Hex, toHex } from "../../../core/encoding/bytes.ts";
import { Limit, workAhead } from "../../../core/runtime/limit.ts";
import { type DueInput, hasMoreDue, listAdmitted, listRefusedSenders } from "../due_messages.ts";
import type { LegRun } from "../leg.ts";
import { countCallBytes, countRoom, hasRoom, judgeSize, roomForMessages } from "../limits/capacity.ts";
import { judgeCompetitors, readBatchLimit } from "../limits/competitors.ts";
import { findUnspendable } from "../limits/spending.ts";
import {
  findStrangers,
  isAlone,
  judgeAlone,
  judgeGates,
  judgeSuspended,
  listReceiversUnderWay,
  receiverOf,
} from "../limits/suspension.ts";
import { judgeRefused } from "../decisions/retry_schedule.ts";
import { type Candidate, screen } from "../messages.ts";
import { endDelivered } from "../receipts.ts";
import { findDeliverable, type ProvenSteps, proveSteps } from "./bisect_batch.ts";
import { confirmUnknown, filterProfitable, judgeBytes } from "./profitability.ts";
import { send, type SendInput } from "./send.ts";

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

/** A leg in one delivery round. */
interface Round {
  readonly leg: LegRun;
  readonly facts: DeliveryInput;
}

/** Number of batches that are prepared while one is sent: one is proved and one simulated. */
const AHEAD = 2;

/**
 * Delivers what is due at or below `proofHeight` of the source, in as many batches as may be in flight; consensus
 * proofs are sent once, with one batch.
 */
export async function deliverDue(leg: LegRun, facts: DeliveryInput): Promise<DeliveryRound> {
  const round = { leg, facts };
  const size = judgeSize(leg, facts.consensusProofs);
  const maxBytes = roomForMessages(leg, facts.consensusProofs);
  const room = countRoom(leg);
  const maxCount = Math.min(leg.target.limits.maxMessagesPerStep, readBatchLimit(leg));
  const race = judgeCompetitors(leg);
  const unspendable = findUnspendable(leg);
  if (room === 0 && unspendable === undefined) return { sent: 0, hasMore: false }; // there will be room
  const max = facts.consensusProofs.length > 0 ? 1 : Math.max(1, room);
  // GET requests are answered, not delivered: see answer_gets.ts.
  const due: DueInput = { ...facts, isWanted: (kind) => kind !== "get" };
  const { fresh, refused, senders, rows } = await listAdmitted(leg, { ...due, batches: max });
  // What waits itself keeps no message from going alone.
  const listed = [...fresh, ...refused].toSorted((one, other) =>
    Number(isAlone(one)) - Number(isAlone(other))
  );
  const open = unspendable === undefined ? listed : await endDelivered(leg, listed);
  const [bytes, gates] = await Promise.all([judgeBytes(leg, open), judgeGates(leg, open)]);
  const [suspended, alone, strangers] = [
    judgeSuspended(leg, open),
    judgeAlone(leg, open),
    findStrangers(leg, open),
  ];
  const admitted = screen(leg, open, () => unspendable, gates, suspended, bytes, race, size, alone);
  const apart = new Map([...strangers, ...refused.map(({ row }) => [row.commitment, "refused"] as const)]);
  const batches = packBatches(facts, { admitted, apart, maxCount, maxBytes }).slice(0, max);
  const stages: Stages = { proving: new Limit(1), simulating: new Limit(1), refused: senders };
  let sent = 0;
  // The rows of a batch that is being prepared are in no other batch: nothing is lost when it is dropped.
  for await (
    const prepared of workAhead(batches, AHEAD, (next) => prepareNext(round, stages, next))
  ) {
    const result = await sendPrepared(round, prepared);
    sent += result.sent;
    if (result.isOutdated) return { sent, hasMore: false };
    if (!hasRoom(leg)) break;
  }
  return { sent, hasMore: hasMoreDue(leg, due, rows) };
}

/** Packs candidates into batches, the most urgent first; what fits into none waits. */
function packBatches(
  { consensusProofs, hasMoreToCome = false }: DeliveryInput,
  { admitted, apart, ...limits }: {
    readonly admitted: readonly Candidate[];
    /** Groups that share no transaction with other messages: strangers, and what the hub has refused. */
    readonly apart: ReadonlyMap<Hash256, string>;
    readonly maxCount: number;
    readonly maxBytes: number;
  },
): readonly (readonly Candidate[])[] {
  const groupOf = ({ row: { batchLimit: maxCount, commitment, kind } }: Candidate): PackingGroup => {
    const company = apart.get(commitment);
    // Requests and responses share a transaction only where both pay for the proofs in front of them.
    const kindName = consensusProofs.length > 0 ? "" : kind;
    // Members of batches that failed travel apart, too.
    const name = `${maxCount ?? ""} ${kindName} ${company ?? ""}`;
    return { name, maxCount, isLast: maxCount === 1 || company !== undefined };
  };
  const fitting = admitted.filter((candidate) => countCallBytes(candidate) <= limits.maxBytes);
  const batches = packGroups(fitting, { bytesOf: countCallBytes, groupOf }, limits);
  // Messages that are being read will fill the others: fewer transactions cost less.
  const isWorthIt = (batch: readonly Candidate[], index: number): boolean =>
    !hasMoreToCome || index === 0 || batch.length >= limits.maxCount;
  return batches.filter(isWorthIt);
}

/** Batch that was proved and simulated. */
interface Prepared {
  /** Accepted and profitable parts, ready to be signed. */
  readonly ready: readonly SendInput[];
  /** Messages that must be proved again, without those now held. */
  readonly again: readonly Candidate[];
}

/** Turns of the batches of a round: one is proved while the one before it is simulated. */
interface Stages {
  readonly proving: Limit;
  readonly simulating: Limit;
  /** Senders of whom the hub had refused many messages when the round began. */
  readonly refused: ReadonlySet<Hex>;
}

/** Proves a batch, reads its receipts, and simulates what is still open of it. */
async function prepareNext(
  round: Round,
  { proving, simulating, refused }: Stages,
  batch: readonly Candidate[],
): Promise<Prepared> {
  const { leg, facts } = round;
  // The batches before this one may show at any time which senders the hub refuses: theirs stay due, and go apart.
  const withoutRefused = (candidates: readonly Candidate[]): readonly Candidate[] => {
    const news = listRefusedSenders(leg).difference(refused);
    return news.size === 0 ? candidates : candidates.filter(({ row }) => !news.has(toHex(row.module)));
  };
  const proved = await proving.run(async () => {
    const asked = withoutRefused(batch);
    if (asked.length === 0) return { open: [], proof: undefined, count: 0 };
    // Hardly any message already has a receipt, so the proof of all is fetched in parallel: one round trip less.
    const proof = proveSteps(leg, asked.map(({ message }) => message), facts.proofHeight);
    const proofEnded = proof.then(() => {}, () => {}); // a fault shows where it is awaited
    const open = await endDelivered(leg, asked);
    await proofEnded;
    return { open, proof, count: asked.length };
  }, leg.signal);
  return await simulating.run(() => {
    const open = withoutRefused(proved.open);
    return prepare(round, open, open.length === proved.count ? proved.proof : undefined);
  }, leg.signal);
}

/** Finds deliverable and profitable messages; refused and unprofitable ones are held. */
export async function prepare(
  { leg, facts }: Round,
  open: readonly Candidate[],
  proving?: Promise<ProvenSteps>,
): Promise<Prepared> {
  if (open.length === 0) return { ready: [], again: [] };
  const { proofHeight: height, consensusProofs } = facts;
  const messages = open.map(({ message }) => message);
  const { accepted, refused } = await findDeliverable(leg, { messages, height, consensusProofs }, proving);
  if (refused.length > 0) {
    const whyOf = new Map((await confirmUnknown(leg, refused)).map((why) => [why.message, why]));
    const underWay = listReceiversUnderWay(leg);
    screen(leg, open, ({ message }) => {
      const why = whyOf.get(message);
      if (why === undefined) return undefined;
      const { code } = why;
      // Too large together with proofs in front it may fit without them: it waits for the height.
      if (code === "too_large" && consensusProofs.length > 0) {
        return judgeRefused(leg, { ...why, code: "not_ready" });
      }
      const isOfModule = code === "not_executed" || code === "module_failed" || code === "unspecified";
      const isBehind = isOfModule && underWay.has(receiverOf(why));
      return judgeRefused(leg, isBehind ? { ...why, isInCompany: true } : why);
    });
  }
  const ready: SendInput[] = [];
  const again: Candidate[] = [];
  for (const part of accepted) {
    const deliverable = open.filter(({ message }) => part.messages.includes(message));
    const { candidates, maxGasPriceWei } = await filterProfitable(leg, { part, candidates: deliverable });
    if (candidates.length < deliverable.length) again.push(...candidates); // the proof covers the whole part
    else ready.push({ part, candidates, maxGasPriceWei });
  }
  return { ready, again };
}

/** Maximum number of times a batch is signed again because other relayers delivered some of its messages meanwhile. */
const MAX_OVERTAKINGS = 3;

/** Sends a prepared batch; when other relayers deliver some of its messages first, the rest is prepared again. */
async function sendPrepared(
  round: Round,
  first: Prepared,
): Promise<{ readonly sent: number; readonly isOutdated: boolean }> {
  const { leg } = round;
  let sent = 0;
  let prepared = first;
  for (let attempt = 1;; attempt++) {
    const open = [...prepared.again];
    for (const ready of prepared.ready) {
      if (sent > 0 && !hasRoom(leg)) break;
      const result = await send(leg, ready);
      if (result.isOutdated === true) return { sent, isOutdated: true };
      sent += result.sent;
      open.push(...result.again);
    }
    const isFull = sent > 0 && !hasRoom(leg);
    if (open.length === 0 || isFull || attempt === MAX_OVERTAKINGS) return { sent, isOutdated: false };
    prepared = await prepare(round, open);
  }
}

/** With which items an item may share a batch. */
export interface PackingGroup {
  /** Items share batches with items of the same group only. */
  readonly name: string;
  /** Maximum number of items of a batch; absent: as many as fit. */
  readonly maxCount?: number | undefined;
  /** True: its batches are behind all others. */
  readonly isLast: boolean;
}

/**
 * Packs the items of each group in order; a batch is closed by count or bytes, whichever is reached first. The batches are
 * in the order of their first items. While none may go, as right after a lost race, there is none.
 */
export function packGroups<Item>(
  items: readonly Item[],
  { bytesOf, groupOf }: {
    readonly bytesOf: (item: Item) => number;
    readonly groupOf: (item: Item) => PackingGroup;
  },
  limits: { readonly maxCount: number; readonly maxBytes: number },
): readonly (readonly Item[])[] {
  if (limits.maxCount === 0) return [];
  const batches: { readonly items: Item[]; readonly isLast: boolean; bytes: number }[] = [];
  const open = new Map<string, typeof batches[number]>();
  for (const item of items) {
    const { name, maxCount = Infinity, isLast } = groupOf(item);
    const bytes = bytesOf(item);
    const known = open.get(name);
    const hasRoom = known !== undefined && known.items.length < Math.min(limits.maxCount, maxCount) &&
      known.bytes + bytes <= limits.maxBytes;
    const batch = hasRoom ? known : { items: [], isLast, bytes: 0 };
    if (!hasRoom) batches.push(batch);
    open.set(name, batch);
    batch.items.push(item);
    batch.bytes += bytes;
  }
  return [false, true].flatMap((isLast) => batches.filter((batch) => batch.isLast === isLast))
    .map((batch) => batch.items);
}
