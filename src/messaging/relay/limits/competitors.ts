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
import type { Leg, TargetContext } from "../leg.ts";
import type { Judge } from "../messages.ts";
import { keepOn } from "./spending.ts";
import type { MessageRow } from "../../ledger/ledger.ts";

/** Memory of other relayers on one chain. */
export interface Competition {
  /** True once a transaction of ours went through after the last lost race. */
  readonly hasWon: boolean;
  /** Races lost since others were forgotten. */
  readonly losses: number;
  /** Time of our last revert because another transaction came first, ms; `undefined`: never. */
  readonly lostAtMs: number | undefined;
  /** Time of the last delivery of another relayer, ms; `undefined`: never. */
  readonly seenAtMs: number | undefined;
  /** The latest competitor; however many addresses one has, they make nobody wait for longer. */
  readonly competitor?: Hex | undefined;
}

/** Initial state. */
export const NO_COMPETITION: Competition = {
  hasWon: false,
  losses: 0,
  lostAtMs: undefined,
  seenAtMs: undefined,
};

/**
 * Maximum number of transactions of one account that may wait for inclusion at the same time. Half of what every node
 * keeps per account (ethereum/go-ethereum: core/txpool/legacypool, AccountSlots 16); more than fit a block, so that the
 * next block is full too while the last one is settled.
 */
export const MAX_IN_FLIGHT = 8;

/** Time after which competitors that are no longer seen are forgotten, ms (1 hour). */
const FORGET_AFTER_MS = 3_600_000;

/** Time that another relayer is given to get a transaction mined, ms: a few blocks of a slow chain. */
const BACKOFF_MS = 30_000;

/** Number of lost races from which more of them do not slow the growth of batches down any further. */
const MAX_LOSSES = 8;

/** Drops what no longer counts at `nowMs`, also what was noted before the machine's clock was set back. */
export function recall(competition: Competition, nowMs: number): Competition {
  const lastMs = Math.max(competition.lostAtMs ?? 0, competition.seenAtMs ?? 0);
  return lastMs > 0 && Math.abs(nowMs - lastMs) > FORGET_AFTER_MS
    ? { ...NO_COMPETITION, hasWon: competition.hasWon }
    : competition;
}

/** Deliveries of other relayers. */
export interface SeenCompetitors {
  readonly relayers: readonly Uint8Array[];
  /** True: because of them a transaction of ours was reverted. */
  readonly isLoss: boolean;
}

/** State after deliveries of other relayers were seen. */
export function afterCompetitorSeen(
  competition: Competition,
  { relayers, isLoss, nowMs }: SeenCompetitors & { readonly nowMs: number },
): Competition {
  const last = relayers.at(-1);
  const seen = {
    ...competition,
    seenAtMs: nowMs,
    competitor: last === undefined ? competition.competitor : toHex(last),
  };
  return isLoss ? { ...seen, hasWon: false, losses: competition.losses + 1, lostAtMs: nowMs } : seen;
}

/**
 * Maximum number of messages of a transaction: none right after a lost race, then one, and twice as many with each
 * further pause, which is longer the more races were lost. A relayer that is first with the last message of a batch makes
 * it cost nearly as much as if all of it had been delivered; messages that pay only together still get their turn.
 */
export function batchLimit({ lostAtMs, losses }: Competition, nowMs: number): number {
  if (lostAtMs === undefined) return Infinity;
  const quietMs = Math.abs(nowMs - lostAtMs) - BACKOFF_MS;
  return quietMs < 0 ? 0 : 2 ** Math.floor(quietMs / (BACKOFF_MS * Math.min(losses, MAX_LOSSES)));
}

/**
 * Number of transactions that may be pending at the same time. The first is sent alone, since more of them would be
 * lost together to a faster competitor; the same applies while competitors are active. Once it succeeded and no other
 * relayer was seen, the limit is at its maximum at once. For a moment after a lost one there is none.
 */
export function inFlightLimit(competition: Competition, nowMs: number): number {
  if (batchLimit(competition, nowMs) === 0) return 0;
  return competition.seenAtMs === undefined && competition.hasWon ? MAX_IN_FLIGHT : 1;
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
  "competition",
  z.object({
    hasWon: z.boolean().default(false),
    losses: z.number().default(1),
    lostAtMs: z.number().optional(),
    seenAtMs: z.number().optional(),
    competitor: z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-f]*$/.test(value)).optional(),
  }).transform(({ lostAtMs, seenAtMs, ...known }): Competition => ({ lostAtMs, seenAtMs, ...known })),
);

/** Reads the state of competition on the target. */
export function readCompetition(context: TargetContext): Competition {
  return recall(competition.read(context) ?? NO_COMPETITION, context.clock.now());
}

/** Records a successful transaction of ours. Call it within a ledger transaction. */
export function rememberWin(context: TargetContext): void {
  if (!context.target.capabilities.losesGasOnRace) return;
  const old = readCompetition(context);
  if (!old.hasWon) competition.write(context, { ...old, hasWon: true });
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
  return batchLimit(readCompetition(context), context.clock.now());
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

/** Leaves new messages to faster competitors for a while. */
export function judgeCompetitors(leg: Leg): Judge {
  const nowMs = leg.clock.now();
  return ({ row }) => {
    const waitMs = readBackoffMs(leg, row, leg.pollIntervalMs) - Math.abs(nowMs - row.createdAtMs);
    const detail = "left to another relayer first";
    return waitMs <= 0 ? undefined : { reason: "race", detail, untilMs: nowMs + waitMs };
  };
}
