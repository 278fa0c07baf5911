/**
 * Scan of a leg's source, which turns its events into rows. The cursor only moves together with the rows of the blocks
 * it passes (docs/architecture/messaging.md, I1 and I2).
 */
import type { ChainEvent, CounterpartyView } from "../../core/chains/reads.ts";
import type { NewMessage } from "../ledger/ledger.ts";
import { equalBytes, type Hash256 } from "../../core/encoding/bytes.ts";
import { NEVER_MS } from "./decisions/retry_schedule.ts";
import { type Route, route } from "./decisions/route.ts";
import { boundCatchUp, chooseScanStart, nextChunk, ScanWidth } from "./decisions/heights.ts";
import { mapInSlices, partsOf } from "../../core/runtime/slices.ts";
import { recordRotationReward } from "../fees/rewards/reward_record.ts";
import { type Leg, legName, type LegRun, type RelayDeps, toRouteInput } from "./leg.ts";
import { toMessageRow } from "./messages.ts";

/** Sets the first cursor of a leg after a start, and logs which blocks are skipped and why. */
export async function startCursor(
  leg: LegRun,
  view: CounterpartyView,
): Promise<void> {
  const { cursors } = leg.ledger;
  const source = leg.source.id.stateMachine;
  const target = leg.target.id.stateMachine;
  const start = chooseScanStart({
    initialHeight: leg.initialHeight,
    cursor: cursors.find(source, target),
    observed: view.height,
  });
  if (start.skipped !== undefined) {
    leg.log.warn("blocks_skipped", {
      leg: legName(leg),
      from: start.skipped.from,
      to: start.skipped.to,
    });
  }
  let { scanned } = start;
  if (start.because === "cursor") {
    scanned = await boundCatchUp((height) => leg.source.reads.fetchBlockTime(height, leg.signal), {
      scanned,
      observed: view.height,
      nowSec: view.nowSec,
    });
    if (scanned > start.scanned) {
      leg.log.warn("old_blocks_skipped", {
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
  let scanned = first;
  let found = 0;
  for (;;) {
    const chunk = nextChunk(scanned, view.height, width.next(leg.source.limits.blocksPerEventQuery));
    if (chunk === undefined) return { found, isComplete: true };
    const isEnough = found >= enough || (found > 0 && leg.clock.now() - startMs >= enoughMs);
    if (isEnough) return { found, isComplete: false };
    const events = await leg.source.events.fetchEvents(chunk.from, chunk.to, leg.signal);
    width.learn({ blocks: chunk.to - chunk.from + 1n, events: events.length });
    const fresh = await recordInSlices(leg, { events, view }, (slice, isLast) => {
      recordRotations(leg, slice);
      for (const event of slice) {
        if (event.kind === "funded") reviveFunded(leg, event.commitment);
      }
      if (isLast) leg.ledger.cursors.advance(source, target, chunk.to);
    });
    found += fresh.length;
    scanned = chunk.to;
    leg.log.progress?.({
      task: legName(leg),
      done: Number(chunk.to - first),
      total: Number(view.height - first),
      unit: "blocks",
    });
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
export async function recordInSlices(
  leg: LegRun,
  { events, view }: FoundEvents,
  beside: (slice: readonly ChainEvent[], isLast: boolean) => void = () => {},
): Promise<readonly Hash256[]> {
  const slices = events.length === 0 ? [[]] : partsOf(events, EVENTS_AT_ONCE);
  const fresh = await mapInSlices([...slices.entries()], 1, ([index, slice]) => {
    leg.signal.throwIfAborted();
    return leg.ledger.transaction(() => {
      const recorded = recordRows(leg, { events: slice, view });
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
    logFound(leg, row);
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

/** Records rotations of the hub's authorities that we delivered to a chain: the hub rewards them. */
function recordRotations(leg: Leg, events: readonly ChainEvent[]): void {
  const { relayer, id: { stateMachine: chain } } = leg.source;
  if (relayer === undefined) return;
  for (const event of events) {
    if (event.kind !== "newEpoch" || !equalBytes(event.relayer, relayer)) continue;
    recordRotationReward(leg.ledger, { chain, height: event.at.height, setId: event.setId });
  }
}

/** Makes an unprofitable message due again whose fee was raised, if the operator enabled retries. */
function reviveFunded(
  leg: Leg,
  commitment: Hash256,
): void {
  if (leg.settings.retryFrequencySec === undefined) return;
  const { messages } = leg.ledger;
  const inbound = messages.find(commitment, leg.settings.hub);
  const asked = inbound === undefined ? undefined : messages.find(commitment, inbound.requestDest);
  // The fee of a GET request pays for the delivery of its response to the chain where the fee was paid.
  const row = asked ?? messages.findResponse(commitment, leg.settings.hub, leg.source.id.stateMachine);
  if (row?.state !== "held" || row.reason !== "unprofitable") return;
  const { reason } = row;
  messages.transition(row.commitment, row.target, { to: "held", reason, nextAttemptAtMs: leg.clock.now() });
}

/** Decides the state of a row by the route of its message; `undefined` for messages of other legs. */
export function decideState(
  decided: Route,
): Pick<NewMessage, "state" | "reason" | "nextAttemptAtMs"> | undefined {
  switch (decided.kind) {
    case "ignore":
      return undefined;
    case "deliver":
      return { state: "seen" };
    case "hold":
      return decided.reason === "waiting_for_update"
        ? { state: "held", reason: decided.reason } // routed again in every round until the hub's list is read
        : { state: "held", reason: decided.reason, nextAttemptAtMs: NEVER_MS };
    case "reject":
      return { state: "rejected", reason: decided.reason };
    case "timedOut":
      return { state: "seen" }; // ends once its receipt was read: see receipts.ts
  }
}

function logFound(leg: Leg, row: NewMessage): void {
  const fields = { leg: legName(leg), commitment: row.commitment, state: row.state, block: row.seenAtHeight };
  if (row.reason === undefined) leg.log.debug("message_found", fields);
  else leg.log.info("message_found", { ...fields, reason: row.reason });
}
