/**
 * Selection of the claim about an OP stack chain to submit: pure decisions on the state of the hub and the L1. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/op-host/src/{lib,host}.rs; the hub's rules as in `verify_update.ts`.
 */
import { fromHex, type Hash256, toHex } from "../../../../core/encoding/bytes.ts";
import { type Address, toAddress } from "../../../../core/evm/address.ts";
import type { StateMachine } from "../../../../core/ismp/state_machine.ts";
import type { ClaimedOutput } from "./build_update.ts";
import type { DisputeGameCreated } from "./claim_events.ts";
import type { GameTypeConfig } from "./update.ts";
import {
  claimsSuperRoot,
  type GameId,
  readSuperRoot,
  superRoot,
  type SuperRootClaim,
} from "./output_root.ts";

/** A game with the L1 block of its log. */
export interface FoundGame {
  readonly game: DisputeGameCreated;
  readonly l1Height: bigint;
}

/** A game of a type that the hub lists. */
export interface ListedGame extends FoundGame {
  readonly config: GameTypeConfig;
}

/** Finds the reason to skip a game by its log; undefined when there is none. @param l1Height newest L1 height on the hub. */
export function skipReason(
  { game, l1Height }: FoundGame,
  facts: { readonly configs: readonly GameTypeConfig[]; readonly l1Height: bigint },
): string | undefined {
  const isListed = facts.configs.some(({ gameType }) => gameType === game.gameType);
  if (!isListed) return "of a type that the hub does not list";
  return l1Height > facts.l1Height ? "newer than the L1 block that the hub knows" : undefined;
}

/**
 * Types of created games that the hub lists, when none of them is the respected type of the configuration: the
 * configuration is outdated then. Empty otherwise. @param respectedGameType as configured.
 */
export function typesOtherThanRespected(
  games: readonly FoundGame[],
  configs: readonly GameTypeConfig[],
  respectedGameType: number | undefined,
): readonly number[] {
  const listed = new Set(configs.map(({ gameType }) => gameType));
  const types = new Set(games.map(({ game: { gameType } }) => gameType)).intersection(listed);
  if (respectedGameType === undefined || types.has(respectedGameType)) return [];
  return [...types].toSorted((a, b) => a - b);
}

/**
 * Reads what a game claims about a rollup: the output root of a block, or of the newest block at a second. Otherwise the
 * reason to skip it: a `SuperRootFault` is proved by the hash of the extra data.
 */
export function readClaim(
  { game: { rootClaim }, extraData, config: { kind } }: ListedGame & { readonly extraData: Uint8Array },
  chain: StateMachine,
): ClaimedOutput | SuperRootClaim | string {
  if (claimsSuperRoot(kind)) {
    return superRoot(extraData) === rootClaim
      ? readSuperRoot(extraData, chain)
      : "with other extra data than claimed";
  }
  // The first word, whatever follows.
  if (extraData.length < 32) return "without a block number";
  return { l2Height: BigInt(toHex(extraData.subarray(0, 32))), outputRoot: rootClaim };
}

/**
 * Finds the reason to skip a claim for its block: at or below its height the hub stores nothing. @param hubHeight height of
 * the chain on the hub; undefined when there is none. @param l2Height newest block of the chain.
 */
export function judgeHeight(
  claimed: bigint,
  { hubHeight, l2Height }: { readonly hubHeight: bigint | undefined; readonly l2Height: bigint },
): string | undefined {
  if (hubHeight !== undefined && claimed <= hubHeight) return "not above the hub's height";
  return claimed > l2Height ? "about a block that the chain does not have" : undefined;
}

/**
 * Sorts games into the order in which to try them: those of the respected type first, then those of the highest block,
 * of the same block the oldest game. @param respectedGameType as configured: affects the order only.
 */
export function orderGames<Game extends FoundGame & { readonly claimed: ClaimedOutput }>(
  games: readonly Game[],
  respectedGameType: number | undefined,
): readonly Game[] {
  const isOther = ({ game }: Game): number => game.gameType === respectedGameType ? 0 : 1;
  return games.toSorted((a, b) => isOther(a) - isOther(b) || Number(b.claimed.l2Height - a.claimed.l2Height));
}

/**
 * Types whose games the hub refuses because the L1 has another implementation of them than the hub expects, or none.
 * @param words of `gameImpls` by type, proven at the height of the proofs; undefined or zero where there is none.
 */
export function findUnknownImplementations(
  configs: readonly GameTypeConfig[],
  words: ReadonlyMap<number, Hash256 | undefined>,
): readonly { readonly gameType: number; readonly expected: Address; readonly found: Address | undefined }[] {
  return configs.filter(({ gameType }) => words.has(gameType)).flatMap((config) => {
    const { gameType, expectedImplementation: expected } = config;
    const word = words.get(gameType);
    const found = word === undefined ? undefined : toAddress(fromHex(word).subarray(12));
    return found === expected ? [] : [{ gameType, expected, found }];
  });
}

/** Newest games of a factory, all of types that the hub does not list. */
export interface UnlistedGames {
  readonly count: number;
  /** In ascending order. */
  readonly types: readonly number[];
  /** L1 time in Unix seconds at which the oldest of them was created. */
  readonly sinceSec: bigint;
}

/** Finds the newest games up to the first one of a listed type; undefined when there are none. @param newest first. */
export function findUnlistedGames(
  newest: readonly GameId[],
  configs: readonly GameTypeConfig[],
): UnlistedGames | undefined {
  const listed = newest.findIndex(({ gameType }) => configs.some((config) => config.gameType === gameType));
  const unlisted = listed === -1 ? newest : newest.slice(0, listed);
  const oldest = unlisted.at(-1);
  if (oldest === undefined) return undefined;
  const types = [...new Set(unlisted.map(({ gameType }) => gameType))].toSorted((a, b) => a - b);
  return { count: unlisted.length, types, sinceSec: oldest.timestampSec };
}
