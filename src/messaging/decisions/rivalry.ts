/**
 * Decides how to get along with other relayers on one chain, so that a duplicate costs each of them at most one
 * reverted transaction (docs/architecture/messaging.md, I5). Pure.
 *
 * Who has lost a race leaves messages to the others for a while and looks at their receipts before it tries them
 * itself; who has not goes first. Where both have lost, the height of the message says whose turn it is.
 */
import { concatBytes, type Hex, toHex } from "../../core/protocol/bytes.ts";
import { keccak256 } from "../../core/protocol/hash.ts";

/** What is remembered of other relayers on one chain. */
export interface Rivalry {
  /** Transactions of ours that went through since the last lost race, counted up to {@link MOST_IN_FLIGHT}. */
  readonly wins: number;
  /** When a transaction of ours was last reverted because another one came first, ms; `undefined`: never. */
  readonly lostAtMs: number | undefined;
  /** When a delivery of another relayer was last seen, ms; `undefined`: never. */
  readonly seenAtMs: number | undefined;
  /** Addresses of the others, the latest last; at most {@link MOST_RIVALS}. */
  readonly rivals: readonly Hex[];
}

/** Before anything happened. */
export const NO_RIVALRY: Rivalry = { wins: 0, lostAtMs: undefined, seenAtMs: undefined, rivals: [] };

/**
 * Most transactions of one account that may wait for inclusion at the same time. Half of what every node keeps for
 * one account (ethereum/go-ethereum: core/txpool/legacypool, AccountSlots 16); more than fit a block, so that the
 * next block is full too while the last one is settled.
 */
export const MOST_IN_FLIGHT = 8;

/** Most addresses that are remembered. */
const MOST_RIVALS = 8;

/** Time after which others that are not seen any more are forgotten, ms (1 hour). */
const FORGET_AFTER_MS = 3_600_000;

/** Time that another relayer is given to get a transaction mined, ms: a few blocks of a slow chain. */
const DEFERENCE_MS = 30_000;

/** What still counts at `nowMs`. */
export function recall(rivalry: Rivalry, nowMs: number): Rivalry {
  const lastMs = Math.max(rivalry.lostAtMs ?? 0, rivalry.seenAtMs ?? 0);
  return lastMs > 0 && nowMs - lastMs > FORGET_AFTER_MS ? { ...NO_RIVALRY, wins: rivalry.wins } : rivalry;
}

/** After a transaction of ours went through. */
export function afterWin(rivalry: Rivalry): Rivalry {
  return rivalry.wins >= MOST_IN_FLIGHT ? rivalry : { ...rivalry, wins: rivalry.wins + 1 };
}

/** After deliveries of others were seen; `isLoss`: because a transaction of ours was reverted. */
export function afterSighting(
  rivalry: Rivalry,
  seen: { readonly relayers: readonly Uint8Array[]; readonly nowMs: number; readonly isLoss: boolean },
): Rivalry {
  const others = seen.relayers.map(toHex);
  const rivals = [...rivalry.rivals.filter((rival) => !others.includes(rival)), ...new Set(others)];
  return {
    wins: seen.isLoss ? 0 : rivalry.wins,
    lostAtMs: seen.isLoss ? seen.nowMs : rivalry.lostAtMs,
    seenAtMs: seen.nowMs,
    rivals: rivals.slice(-MOST_RIVALS),
  };
}

/**
 * How many transactions may wait at the same time. The first goes alone, since more of them would be lost together
 * to somebody faster; so they do while others are about. Once it went through and nobody else was seen, the number
 * is full at once.
 */
export function inFlightLimit(rivalry: Rivalry): number {
  return rivalry.seenAtMs === undefined && rivalry.wins > 0 ? MOST_IN_FLIGHT : 1;
}

/** Milliseconds for which a message that was sent at `height` of its source is left to others; 0: none. */
export function deferenceMs(
  rivalry: Rivalry,
  facts: { readonly height: bigint; readonly ourself: Uint8Array; readonly pollIntervalMs: number },
): number {
  if (rivalry.lostAtMs === undefined) return 0;
  const turnOf = (relayer: Hex): string =>
    toHex(keccak256(concatBytes(new TextEncoder().encode(`${facts.height} ${relayer}`))));
  const ours = turnOf(toHex(facts.ourself));
  const before = rivalry.rivals.filter((rival) => turnOf(rival) < ours).length;
  return (DEFERENCE_MS + 2 * facts.pollIntervalMs) * (1 + before);
}
