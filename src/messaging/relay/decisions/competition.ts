/**
 * Decides how to share a chain with other relayers, so that a duplicate costs each of them at most one reverted
 * transaction (docs/architecture/messaging.md, I5). Pure.
 *
 * A relayer that has lost a race leaves messages to the others for a while and checks receipts before it delivers them
 * itself; one that has not goes first. When both have lost, the height of the message decides whose turn it is.
 */
import { concatBytes, type Hash256, type Hex, keccak256, toHex } from "../../../core/encoding/bytes.ts";

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
 * State after deliveries of other relayers were seen. A lost batch is halved, and the next messages go alone: whoever
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

/** Place of one relayer in its fleet. */
export interface FleetShare {
  /** From 0. */
  readonly index: number;
  /** Number of relayers. */
  readonly count: number;
  /** Time that each relayer has before the next one takes over, ms. */
  readonly takeOverMs: number;
}

/**
 * Time for which this relayer leaves a message to others, ms; 0: it is in its own share. The relayers after the owner
 * take over one after the other, so that one that died does not make all others deliver the same.
 */
export function fleetWaitMs(commitment: Hash256, { index, count, takeOverMs }: FleetShare): number {
  const owner = Number(BigInt(commitment) % BigInt(count));
  return (index - owner + count) % count * takeOverMs;
}
