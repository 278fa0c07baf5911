/**
 * Decides how to get along with other relayers on one chain, so that a duplicate costs each of them at most one
 * reverted transaction (docs/architecture/messaging.md, I5). Pure.
 *
 * Who has lost a race leaves messages to the others for a while and checks their receipts before it tries them itself;
 * who has not goes first. Where both have lost, the height of the message says whose turn it is.
 */
import { concatBytes, type Hex, toHex } from "../../../core/encoding/bytes.ts";
import { keccak256 } from "../../../core/encoding/hash.ts";

/** What is remembered of other relayers on one chain. */
export interface Competition {
  /** Transactions of ours that went through since the last lost race, counted up to {@link MAX_IN_FLIGHT}. */
  readonly wins: number;
  /** When a transaction of ours was last reverted because another one came first, ms; `undefined`: never. */
  readonly lostAtMs: number | undefined;
  /** When a delivery of another relayer was last seen, ms; `undefined`: never. */
  readonly seenAtMs: number | undefined;
  /** Addresses of the others, the latest last; at most {@link MAX_COMPETITORS}. */
  readonly competitors: readonly Hex[];
}

/** Before anything happened. */
export const NO_COMPETITION: Competition = {
  wins: 0,
  lostAtMs: undefined,
  seenAtMs: undefined,
  competitors: [],
};

/**
 * Maximum number of transactions of one account that may wait for inclusion at the same time. Half of what every node
 * keeps for one account (ethereum/go-ethereum: core/txpool/legacypool, AccountSlots 16); more than fit a block, so that
 * the next block is full too while the last one is settled.
 */
export const MAX_IN_FLIGHT = 8;

/** Maximum number of addresses that are remembered. */
const MAX_COMPETITORS = 8;

/** Time after which others that are not seen any more are forgotten, ms (1 hour). */
const FORGET_AFTER_MS = 3_600_000;

/** Time that another relayer is given to get a transaction mined, ms: a few blocks of a slow chain. */
const BACKOFF_MS = 30_000;

/** What still counts at `nowMs`. */
export function recall(competition: Competition, nowMs: number): Competition {
  const lastMs = Math.max(competition.lostAtMs ?? 0, competition.seenAtMs ?? 0);
  return lastMs > 0 && nowMs - lastMs > FORGET_AFTER_MS
    ? { ...NO_COMPETITION, wins: competition.wins }
    : competition;
}

/** After a transaction of ours went through. */
export function afterWin(competition: Competition): Competition {
  return competition.wins >= MAX_IN_FLIGHT ? competition : { ...competition, wins: competition.wins + 1 };
}

/** After deliveries of others were seen; `isLoss`: because a transaction of ours was reverted. */
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
 * How many transactions may wait at the same time. The first goes alone, since more of them would be lost together to
 * somebody faster; so they do while others are about. Once it went through and no other relayer was seen, the number is
 * full at once.
 */
export function inFlightLimit(competition: Competition): number {
  return competition.seenAtMs === undefined && competition.wins > 0 ? MAX_IN_FLIGHT : 1;
}

/** Milliseconds for which a message that was sent at `height` of its source is left to others; 0: none. */
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
