/**
 * Reads blocks again that a leg has read before, and records messages that are missing in the ledger: there should be
 * none (docs/architecture/messaging.md, I1). For `scan`, `relay` and the reconciliation.
 */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import { nextChunk, ScanWidth } from "./decisions/heights.ts";
import type { LegRun } from "./leg.ts";
import { recordInSlices } from "./scan.ts";

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

/** Reads the blocks of a range that the leg has read before. May throw an `RpcFault`: what was read is recorded. */
export async function recordMissed(leg: LegRun, { from, to }: ScannedBlocks): Promise<MissedMessages> {
  const cursor = leg.ledger.cursors.find(leg.source.id.stateMachine, leg.target.id.stateMachine);
  const last = cursor === undefined || cursor > to ? to : cursor;
  if (cursor === undefined || from > last) return { read: undefined, messages: 0, missed: [] };
  const view = await leg.target.reads.fetchView(leg.source.id, leg.signal);
  const width = new ScanWidth();
  const missed: Hash256[] = [];
  let messages = 0;
  for (let scanned = from - 1n;;) {
    const chunk = nextChunk(scanned, last, width.next(leg.source.limits.blocksPerEventQuery));
    if (chunk === undefined) break;
    const events = await leg.source.events.fetchEvents(chunk.from, chunk.to, leg.signal);
    width.learn({ blocks: chunk.to - chunk.from + 1n, events: events.length });
    messages += events.filter(({ kind }) => kind === "message").length;
    missed.push(...await recordInSlices(leg, { events, view }));
    scanned = chunk.to;
  }
  if (missed.length > 0) leg.wake.wake();
  return { read: { from, to: last }, messages, missed };
}
