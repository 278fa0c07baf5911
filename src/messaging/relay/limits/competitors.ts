/**
 * Other relayers on a target: how a chain is shared with them, so that a duplicate costs each of them at most one
 * reverted transaction (docs/architecture/messaging.md, I5), and a memory of them in the ledger, so that it survives a
 * restart.
 *
 * A relayer that has lost a race leaves messages to the others for a while and checks receipts before it delivers them
 * itself; one that has not goes first. When both have lost, the height of the message decides whose turn it is.
 */
import * as z from "zod";
import { concatBytes, type Hex, keccak256, toHex } from "../../../core/encoding/bytes.ts";
import { READINGS } from "../decisions/retry_schedule.ts";
import type { Leg, TargetContext } from "../leg.ts";
import { type Candidate, transition } from "../messages.ts";
import { keepOn } from "./spending.ts";
import type { MessageRow } from "../../ledger/ledger.ts";

/** Memory of other relayers on one chain. */
export interface Competition {
  /** Transactions of ours that went through since the last lost race, counted up to {@link MAX_IN_FLIGHT}. */
  readonly wins: number;
  /** Time of our last revert because another transaction came first, ms; `undefined`: never. */
  readonly lostAtMs: number | undefined;
  /** Time of the last delivery of another relayer, ms; `undefined`: never. */
  readonly seenAtMs: number | undefined;
  /** The latest competitor; however many addresses one has, they make nobody wait for longer. */
  readonly competitor?: Hex | undefined;
  /** Most messages of the next transaction, since one was lost; `undefined`: as many as it takes. */
  readonly batchLimit?: number | undefined;
}

/** Initial state. */
export const NO_COMPETITION: Competition = { wins: 0, lostAtMs: undefined, seenAtMs: undefined };

/**
 * Maximum number of transactions of one account that may wait for inclusion at the same time. Half of what every node
 * keeps per account (ethereum/go-ethereum: core/txpool/legacypool, AccountSlots 16); more than fit a block, so that the
 * next block is full too while the last one is settled.
 */
export const MAX_IN_FLIGHT = 8;

/** Batch limit at which it is no limit any more: more than a transaction takes. */
const MAX_BATCH_LIMIT = 128;

/** Time after which competitors that are no longer seen are forgotten, ms (1 hour). */
const FORGET_AFTER_MS = 3_600_000;

/** Time that another relayer is given to get a transaction mined, ms: a few blocks of a slow chain. */
const BACKOFF_MS = 30_000;

/** Drops what no longer counts at `nowMs`, also what was noted before the machine's clock was set back. */
export function recall(competition: Competition, nowMs: number): Competition {
  const lastMs = Math.max(competition.lostAtMs ?? 0, competition.seenAtMs ?? 0);
  return lastMs > 0 && Math.abs(nowMs - lastMs) > FORGET_AFTER_MS
    ? { ...NO_COMPETITION, wins: competition.wins }
    : competition;
}

/** State after a successful transaction of ours, after which batches are twice as large again. */
export function afterWin(competition: Competition): Competition {
  const { wins, batchLimit } = competition;
  if (wins >= MAX_IN_FLIGHT && batchLimit === undefined) return competition;
  const doubled = (batchLimit ?? Infinity) * 2;
  return {
    ...competition,
    wins: Math.min(MAX_IN_FLIGHT, wins + 1),
    batchLimit: doubled > MAX_BATCH_LIMIT ? undefined : doubled,
  };
}

/** Deliveries of other relayers. */
export interface SeenCompetitors {
  readonly relayers: readonly Uint8Array[];
  /** True: because of them a transaction of ours was reverted. */
  readonly isLoss: boolean;
  /** Number of messages that it carried. */
  readonly carried?: number | undefined;
}

/**
 * State after deliveries of other relayers were seen. A lost batch is halved, and the next messages go alone: a relayer that
 * is first with the last message of a batch makes it cost nearly as much as if all of it had been delivered.
 */
export function afterCompetitorSeen(
  competition: Competition,
  { relayers, isLoss, carried, nowMs }: SeenCompetitors & { readonly nowMs: number },
): Competition {
  const last = relayers.at(-1);
  const seen = {
    ...competition,
    seenAtMs: nowMs,
    competitor: last === undefined ? competition.competitor : toHex(last),
  };
  if (!isLoss) return seen;
  const halved = carried === undefined ? undefined : Math.max(1, Math.floor(carried / 2));
  const batchLimit = competition.batchLimit === undefined ? halved : 1;
  return { ...seen, wins: 0, lostAtMs: nowMs, batchLimit };
}

/**
 * Number of transactions that may be pending at the same time. The first is sent alone, since more of them would be
 * lost together to a faster competitor; the same applies while competitors are active. Once it succeeded and no other
 * relayer was seen, the limit is at its maximum at once. For a moment after a lost one there is none.
 */
export function inFlightLimit(competition: Competition, nowMs: number): number {
  const { seenAtMs, lostAtMs = 0, wins, batchLimit } = competition;
  if (batchLimit !== undefined && Math.abs(nowMs - lostAtMs) < BACKOFF_MS) return 0;
  return seenAtMs === undefined && wins > 0 ? MAX_IN_FLIGHT : 1;
}

/**
 * Computes the time for which a message sent at `height` of its source is left to competitors, ms; 0: none. It is one
 * turn, and another one where it is that one's: never more, however many there are.
 */
export function competitorBackoffMs(
  { lostAtMs, competitor }: Competition,
  facts: { readonly height: bigint; readonly ourself: Uint8Array; readonly pollIntervalMs: number },
): number {
  if (lostAtMs === undefined) return 0;
  const turnOf = (relayer: Hex): string =>
    toHex(keccak256(concatBytes(new TextEncoder().encode(`${facts.height} ${relayer}`))));
  const isTheirTurn = competitor !== undefined && turnOf(competitor) < turnOf(toHex(facts.ourself));
  return (BACKOFF_MS + 2 * facts.pollIntervalMs) * (isTheirTurn ? 2 : 1);
}

const competition = keepOn(
  "competitors",
  z.object({
    wins: z.number(),
    lostAtMs: z.number().optional(),
    seenAtMs: z.number().optional(),
    competitor: z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-f]*$/.test(value)).optional(),
    batchLimit: z.number().optional(),
  }).transform(({ lostAtMs, seenAtMs, ...known }): Competition => ({ lostAtMs, seenAtMs, ...known })),
);

/** Reads the state of competition on the target. */
export function readCompetition(context: TargetContext): Competition {
  const known = competition.read(context);
  return known === undefined ? NO_COMPETITION : recall(known, context.clock.now());
}

/** Records a successful transaction of ours. Call it within a ledger transaction. */
export function rememberWin(context: TargetContext): void {
  if (!context.target.capabilities.losesGasOnRace) return;
  const old = readCompetition(context);
  const now = afterWin(old);
  if (now !== old) competition.write(context, now);
}

/**
 * Records deliveries of other relayers; a loss without any is one of consensus proofs that were mined after another
 * relayer's. Call it within a ledger transaction.
 */
export function rememberCompetitors(context: TargetContext, seen: SeenCompetitors): void {
  if (!context.target.capabilities.losesGasOnRace || (seen.relayers.length === 0 && !seen.isLoss)) return;
  const nowMs = context.clock.now();
  competition.write(context, afterCompetitorSeen(readCompetition(context), { ...seen, nowMs }));
}

/** Most messages that one transaction may carry now, since one was lost to another relayer; `Infinity`: any number. */
export function readBatchLimit(context: TargetContext): number {
  return readCompetition(context).batchLimit ?? Infinity;
}

/** Computes for how long a message is left to competitors, ms; 0 where a late delivery costs nothing. */
export function readBackoffMs(
  context: TargetContext,
  { seenAtHeight: height }: Pick<MessageRow, "seenAtHeight">,
  pollIntervalMs: number,
): number {
  const { capabilities, relayer: ourself } = context.target;
  if (!capabilities.losesGasOnRace || ourself === undefined) return 0;
  return competitorBackoffMs(readCompetition(context), { height, ourself, pollIntervalMs });
}

/** Holds messages that faster competitors may deliver first; returns the others. */
export function leaveToCompetitors(leg: Leg, candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates.filter(({ row }) => {
    // Competitors had their chance.
    if (row.reason === "race" || row.reason === "reverted" || READINGS.has(row.reason)) return true;
    const waitMs = readBackoffMs(leg, row, leg.pollIntervalMs);
    if (waitMs === 0) return true;
    const nextAttemptAtMs = leg.clock.now() + waitMs;
    const detail = "left to another relayer first";
    transition(leg, row, { to: "held", reason: "race", detail, nextAttemptAtMs });
    return false;
  });
}
