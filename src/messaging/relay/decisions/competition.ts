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
  /** Addresses of competitors, the latest last; at most {@link MAX_COMPETITORS}. */
  readonly competitors: readonly Hex[];
}

/** Initial state. */
export const NO_COMPETITION: Competition = {
  wins: 0,
  lostAtMs: undefined,
  seenAtMs: undefined,
  competitors: [],
};

/**
 * Maximum number of transactions of one account that may wait for inclusion at the same time. Half of what every node
 * keeps per account (ethereum/go-ethereum: core/txpool/legacypool, AccountSlots 16); more than fit a block, so that the
 * next block is full too while the last one is settled.
 */
export const MAX_IN_FLIGHT = 8;

/** Maximum number of remembered addresses. */
const MAX_COMPETITORS = 8;

/** Time after which competitors that are no longer seen are forgotten, ms (1 hour). */
const FORGET_AFTER_MS = 3_600_000;

/** Time that another relayer is given to get a transaction mined, ms: a few blocks of a slow chain. */
const BACKOFF_MS = 30_000;

/** Drops what no longer counts at `nowMs`. */
export function recall(competition: Competition, nowMs: number): Competition {
  const lastMs = Math.max(competition.lostAtMs ?? 0, competition.seenAtMs ?? 0);
  return lastMs > 0 && nowMs - lastMs > FORGET_AFTER_MS
    ? { ...NO_COMPETITION, wins: competition.wins }
    : competition;
}

/** State after a successful transaction of ours. */
export function afterWin(competition: Competition): Competition {
  return competition.wins >= MAX_IN_FLIGHT ? competition : { ...competition, wins: competition.wins + 1 };
}

/** State after deliveries of other relayers were seen; `isLoss`: because a transaction of ours was reverted. */
export function afterCompetitorSeen(
  competition: Competition,
  seen: { readonly relayers: readonly Uint8Array[]; readonly nowMs: number; readonly isLoss: boolean },
): Competition {
  const others = seen.relayers.map(toHex);
  const competitors = [
    ...competition.competitors.filter((competitor) => !others.includes(competitor)),
    ...new Set(others),
  ];
  return {
    wins: seen.isLoss ? 0 : competition.wins,
    lostAtMs: seen.isLoss ? seen.nowMs : competition.lostAtMs,
    seenAtMs: seen.nowMs,
    competitors: competitors.slice(-MAX_COMPETITORS),
  };
}

/**
 * Number of transactions that may be pending at the same time. The first is sent alone, since more of them would be
 * lost together to a faster competitor; the same applies while competitors are active. Once it succeeded and no other
 * relayer was seen, the limit is at its maximum at once.
 */
export function inFlightLimit(competition: Competition): number {
  return competition.seenAtMs === undefined && competition.wins > 0 ? MAX_IN_FLIGHT : 1;
}

/** Computes the time for which a message sent at `height` of its source is left to competitors, ms; 0: none. */
export function competitorBackoffMs(
  competition: Competition,
  facts: { readonly height: bigint; readonly ourself: Uint8Array; readonly pollIntervalMs: number },
): number {
  if (competition.lostAtMs === undefined) return 0;
  const turnOf = (relayer: Hex): string =>
    toHex(keccak256(concatBytes(new TextEncoder().encode(`${facts.height} ${relayer}`))));
  const ours = turnOf(toHex(facts.ourself));
  const before = competition.competitors.filter((competitor) => turnOf(competitor) < ours).length;
  return (BACKOFF_MS + 2 * facts.pollIntervalMs) * (1 + before);
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
