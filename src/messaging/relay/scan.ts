/**
 * Scan of a leg's source, which turns its events into rows. The cursor only moves together with the rows of the blocks
 * it passes (docs/architecture/messaging.md, I1 and I2).
 */
import type { ChainEvent, CounterpartyView } from "../../core/chains/reads.ts";
import { type Ledger, type NewMessage, notedHeight, openMessageStates } from "../ledger/ledger.ts";
import { equalBytes, type Hash256 } from "../../core/encoding/bytes.ts";
import { decideState, route } from "./decisions/route.ts";
import { isRaiseWorthATry, toFee18 } from "./decisions/profit.ts";
import { boundCatchUp, chooseScanStart, nextChunk, ScanWidth } from "./decisions/heights.ts";
import { mapInSlices, partsOf } from "../../core/runtime/slices.ts";
import { endDelivered, MAX_RECEIPTS_AT_ONCE, recordSeenDelivery } from "./receipts.ts";
import { toRouteInput } from "./due_messages.ts";
import { type Leg, legName, type LegRun, type RelayDeps } from "./leg.ts";
import { toCandidate, toMessageRow } from "./messages.ts";
import { onFault } from "../../core/rpc/call.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import * as z from "zod";

/** Notes when the leg was first to be served with this database: a source that joins later is read from that time on. */
export function noteLegKnown(leg: Leg, sinceMs: number): void {
  const { notes, transaction } = leg.ledger;
  if (notes.find("known_since", legName(leg), z.number()) !== undefined) return;
  transaction(() => notes.write("known_since", legName(leg), sinceMs));
}

/** Time for which the leg has been known, seconds. */
function knownForSec(leg: Leg): bigint {
  const sinceMs = leg.ledger.notes.find("known_since", legName(leg), z.number()) ?? leg.clock.now();
  return BigInt(Math.max(0, Math.round((leg.clock.now() - sinceMs) / 1_000)));
}

/** Sets the first cursor of a leg after a start, and logs which blocks are skipped and why. */
export async function startCursor(
  leg: LegRun,
  view: CounterpartyView,
): Promise<void> {
  const { cursors } = leg.ledger;
  const source = leg.source.id.stateMachine;
  const target = leg.target.id.stateMachine;
  const timeOf = (height: bigint): Promise<bigint> => leg.source.reads.fetchBlockTime(height, leg.signal);
  // What a node has forgotten cannot be read from it either.
  const timeOrOld = (height: bigint): Promise<bigint> => timeOf(height).catch(onFault(() => 0n, "pruned"));
  const start = await chooseScanStart(timeOrOld, {
    initialHeight: leg.initialHeight,
    cursor: cursors.find(source, target),
    observed: view.height,
    knownForSec: knownForSec(leg),
  });
  if (start.skipped !== undefined) {
    leg.log.warn("blocks_skipped.initial_height", { leg: legName(leg), ...start.skipped });
  }
  let { scanned } = start;
  if (start.because === "cursor") {
    scanned = await boundCatchUp(timeOf, { scanned, observed: view.height, nowSec: view.nowSec });
    if (scanned > start.scanned) {
      leg.log.warn("blocks_skipped.age", {
        leg: legName(leg),
        from: start.scanned + 1n,
        to: scanned,
        initial_height: start.scanned,
      });
    }
  }
  leg.ledger.transaction(() => cursors.reset(source, target, scanned));
  leg.log.info("leg_started", { leg: legName(leg), after_block: scanned, because: start.because });
}

/** Pacing of a scan. */
export interface ScanPace {
  /** Chunk width learned in earlier scans of the leg. */
  readonly width: ScanWidth;
  /** Number of new rows after which the scan pauses to deliver them; no limit when absent. */
  readonly enough?: number | undefined;
  /** Time after which it pauses once there is a new row, ms; no limit when absent. */
  readonly enoughMs?: number | undefined;
}

/** Result of a scan. */
export interface ScanRound {
  /** Number of new rows. */
  readonly found: number;
  /** False when verifiable blocks are left because there is enough to deliver. */
  readonly isComplete: boolean;
}

/**
 * Scans the blocks that the target can verify and the cursor has not passed: all of them, or until there is enough to
 * deliver.
 */
export async function scanLeg(
  leg: LegRun,
  view: CounterpartyView,
  { width, enough = Infinity, enoughMs = Infinity }: ScanPace = { width: new ScanWidth() },
): Promise<ScanRound> {
  const source = leg.source.id.stateMachine;
  const target = leg.target.id.stateMachine;
  const startMs = leg.clock.now();
  const first = leg.ledger.cursors.find(source, target);
  if (first === undefined) throw new Error(`Leg ${legName(leg)} has no cursor`);
  let found = 0;
  const notices = new WaitNotices(leg);
  for await (const { events, to } of readChunks(leg, { from: first + 1n, to: view.height }, width)) {
    const funded = events.some(({ kind }) => kind === "funded");
    const { decimals } = funded ? await leg.source.fees.fetchFees([], leg.signal) : { decimals: 0 };
    const fresh = await recordInSlices(leg, { events, view }, (slice, isLast) => {
      for (const event of slice) {
        if (event.kind === "funded") reviveFunded(leg, event.commitment, toFee18(event.fee, decimals));
      }
      if (isLast) leg.ledger.cursors.advance(source, target, to);
    });
    found += fresh.length;
    notices.waiting("blocks", {
      event: "long_wait.blocks",
      fields: { leg: legName(leg), at: to, to: view.height },
    });
    const isEnough = found >= enough || (found > 0 && leg.clock.now() - startMs >= enoughMs);
    if (isEnough && to < view.height) return { found, isComplete: false };
  }
  return { found, isComplete: true };
}

/** Reads a range of blocks of the source, as many at once as `width` allows; each part with its last block. */
async function* readChunks(
  leg: LegRun,
  { from, to }: ScannedBlocks,
  width: ScanWidth,
): AsyncGenerator<{ readonly events: readonly ChainEvent[]; readonly to: bigint }> {
  for (let scanned = from - 1n;;) {
    const chunk = nextChunk(scanned, to, width.next(leg.source.limits.blocksPerEventQuery));
    if (chunk === undefined) return;
    const events = await leg.source.events.fetchEvents(chunk.from, chunk.to, leg.signal);
    width.learn({ blocks: chunk.to - chunk.from + 1n, events: events.length });
    yield { events, to: chunk.to };
    scanned = chunk.to;
  }
}

/** Events whose messages are recorded in one transaction: about 10 ms, between which others have their turn. */
const EVENTS_AT_ONCE = 100;

/** Events of a range of blocks, and the view by whose time they are judged. */
interface FoundEvents {
  readonly events: readonly ChainEvent[];
  readonly view: CounterpartyView;
}

/**
 * Records the messages among the events; returns the new ones. Each slice is a transaction, so what must not be on
 * record before them (the cursor) goes with the last one.
 * @param beside what else is written of a slice, in its transaction; the last one may be empty
 */
async function recordInSlices(
  leg: LegRun,
  { events, view }: FoundEvents,
  beside: (slice: readonly ChainEvent[], isLast: boolean) => void = () => {},
): Promise<readonly Hash256[]> {
  const slices = events.length === 0 ? [[]] : partsOf(events, EVENTS_AT_ONCE);
  const fresh = await mapInSlices([...slices.entries()], 1, ([index, slice]) => {
    leg.signal.throwIfAborted();
    return leg.ledger.transaction(() => {
      const recorded = recordRows(leg, { events: slice, view });
      recordOwnWork(leg, slice);
      beside(slice, index === slices.length - 1);
      return recorded;
    });
  });
  return fresh.flat();
}

/** Records the messages among the events, one after the other; returns the new ones. */
function recordRows(leg: Leg, work: FoundEvents): readonly Hash256[] {
  const facts = toRouteInput(leg, work.view.nowSec);
  const ends = { source: facts.source, target: facts.target };
  const fresh: Hash256[] = [];
  for (const event of work.events) {
    if (event.kind !== "message") continue;
    const decided = decideState(route(event.message, facts));
    if (decided === undefined) continue;
    const row = toMessageRow(event.message, ends, { ...decided, seenAtHeight: event.at.height });
    if (!recordRow(leg, row)) continue;
    fresh.push(row.commitment);
    const { commitment, state, reason } = row;
    leg.log.debug("message_found", { leg: legName(leg), commitment, state, block: row.seenAtHeight, reason });
  }
  return fresh;
}

/** Inserts a row; a message that the filter rejected before and accepts now is reopened. */
export function recordRow(context: RelayDeps, row: NewMessage): boolean {
  const { messages } = context.ledger;
  if (messages.record(row) === "new") return true;
  if (row.state !== "seen" || messages.find(row.commitment, row.target)?.state !== "rejected") return false;
  messages.transition(row.commitment, row.target, { to: "seen", nextAttemptAtMs: context.clock.now() });
  return true;
}

/** Records what we did on the source: rotations of the hub's authorities, which the hub rewards, and deliveries. */
function recordOwnWork(leg: Leg, events: readonly ChainEvent[]): void {
  const { relayer, id: { stateMachine: chain } } = leg.source;
  if (relayer === undefined) return;
  for (const event of events) {
    const isOurs = "relayer" in event && equalBytes(event.relayer, relayer);
    const head = event.at.height;
    if (!isOurs) continue;
    if (event.kind === "handled") recordSeenDelivery(leg, { ...event, target: chain, head });
    else {
      const reference = event.setId.toString();
      leg.ledger.rewards.record({
        kind: "rotation",
        chain,
        reference,
        height: head,
        payload: new Uint8Array(),
      });
    }
  }
}

/** Makes an unprofitable message due again whose fee was raised to what may pay: its sender has paid for another try. */
function reviveFunded(leg: Leg, commitment: Hash256, fee18: bigint): void {
  const { messages } = leg.ledger;
  const inbound = messages.find(commitment, leg.settings.hub);
  const asked = inbound === undefined ? undefined : messages.find(commitment, inbound.requestDest);
  // The fee of a GET request pays for the delivery of its response to the chain where the fee was paid.
  const row = asked ?? messages.findResponse(commitment, leg.settings.hub, leg.source.id.stateMachine);
  if (row?.state !== "held" || row.reason !== "unprofitable" || !isRaiseWorthATry(fee18, row)) return;
  messages.makeDue(row);
}

/** Pause between legs, so that a round is never felt, ms. */
const PAUSE_MS = 1_000;

/** Messages whose receipts are read again on each leg: those that were found last. */
const MAX_RECEIPTS = 500;

/** Result for one leg. */
export interface Reconciled {
  /** Messages that were missing in the ledger. */
  readonly missed: number;
  /** Messages that waited although their target had a receipt. */
  readonly ended: number;
}

/** Creates the worker. @param everySec `reconciliation_frequency` */
export function reconciliationWorker(deps: RelayDeps, legs: readonly Leg[], everySec: number): Worker {
  return {
    name: "reconciliation",
    run: async (signal) => {
      while (!signal.aborted) {
        await deps.clock.sleep(everySec * 1_000, signal);
        for (const leg of legs) {
          await reconcileLeg({ ...leg, signal }).catch(onFault((error) => {
            signal.throwIfAborted();
            leg.log.debug("read_failed.reconciliation", { leg: legName(leg), error }); // the next time
          }));
          await deps.clock.sleep(PAUSE_MS, signal);
        }
      }
    },
  };
}

/**
 * Reconciles the ledger with the chains of a leg: blocks read since the last time are read again, and messages that wait
 * for long are looked for among the receipts of their target. There should be nothing to find; what is found is
 * recorded, logged once and counted. May throw an `RpcFault`.
 */
export async function reconcileLeg(leg: LegRun): Promise<Reconciled> {
  const { notes, cursors } = leg.ledger;
  const cursor = cursors.find(leg.source.id.stateMachine, leg.target.id.stateMachine);
  const before = notes.find("reconciled", legName(leg), notedHeight);
  let missed = 0;
  // The first time there is nothing that was read before.
  if (cursor !== undefined && before !== undefined) {
    missed = (await recordMissed(leg, { from: before + 1n, to: cursor })).missed.length;
  }
  const ended = await endWaiting(leg);
  leg.ledger.transaction(() => {
    if (cursor !== undefined) notes.write("reconciled", legName(leg), cursor.toString());
    notes.write("reconciliation_gaps", "", countGaps(leg.ledger) + missed + ended);
  });
  if (missed + ended > 0) leg.log.warn("reconciliation_found", { leg: legName(leg), missed, ended });
  return { missed, ended };
}

/** Number of gaps that reconciliations have ever found: it should stay 0. */
export function countGaps({ notes }: Pick<Ledger, "notes">): number {
  return notes.find("reconciliation_gaps", "", z.number()) ?? 0;
}

/** Ends messages that wait although their target has a receipt; returns their number. */
async function endWaiting(leg: LegRun): Promise<number> {
  const [source, target] = [leg.source.id.stateMachine, leg.target.id.stateMachine];
  const waiting = leg.ledger.messages.search({ states: openMessageStates, source, target }, MAX_RECEIPTS)
    .filter(({ kind, nextAttemptAtMs }) => kind !== "get" && nextAttemptAtMs > leg.clock.now());
  const candidates = waiting.flatMap((row) => toCandidate(row));
  let ended = 0;
  for (const part of partsOf(candidates, MAX_RECEIPTS_AT_ONCE)) {
    const receipts = await leg.target.reads.fetchReceipts(part.map(({ message }) => message), leg.signal);
    const seen = part.filter((_, index) => receipts[index] !== undefined);
    if (seen.length > 0) ended += seen.length - (await endDelivered(leg, seen)).length;
  }
  return ended;
}

/** Blocks of a source. */
export interface ScannedBlocks {
  readonly from: bigint;
  readonly to: bigint;
}

/** Result of reading blocks again. */
export interface MissedMessages {
  /** Blocks that were read: those behind the leg's cursor; `undefined`: none of the range. */
  readonly read: ScannedBlocks | undefined;
  /** Messages in them, of this leg or not. */
  readonly messages: number;
  /** Messages that had no row, and have one now. */
  readonly missed: readonly Hash256[];
}

/**
 * Reads blocks again that the leg has read before, and records messages that are missing in the ledger: there should be
 * none (docs/architecture/messaging.md, I1). May throw an `RpcFault`: what was read is recorded.
 */
export async function recordMissed(leg: LegRun, { from, to }: ScannedBlocks): Promise<MissedMessages> {
  const cursor = leg.ledger.cursors.find(leg.source.id.stateMachine, leg.target.id.stateMachine);
  const last = cursor === undefined || cursor > to ? to : cursor;
  if (cursor === undefined || from > last) return { read: undefined, messages: 0, missed: [] };
  const view = await leg.target.reads.fetchView(leg.source.id, leg.signal);
  const missed: Hash256[] = [];
  let messages = 0;
  for await (const { events } of readChunks(leg, { from, to: last }, new ScanWidth())) {
    messages += events.filter(({ kind }) => kind === "message").length;
    missed.push(...await recordInSlices(leg, { events, view }));
  }
  if (missed.length > 0) leg.wake.wake();
  return { read: { from, to: last }, messages, missed };
}
