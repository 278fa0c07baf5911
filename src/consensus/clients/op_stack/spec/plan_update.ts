/**
 * Which claim about an OP stack chain to submit: pure decisions on what the hub holds and what the L1 shows.
 * Source: polytope-labs/hyperbridge: tesseract/consensus/op-host/src/{lib,host}.rs; the hub's rules as in
 * `verify_update.ts`.
 */
import { fromHex, type Hash256 } from "../../../../core/encoding/bytes.ts";
import { type Address, toAddress } from "../../../../core/evm/address.ts";
import { claimedHeight, type DisputeGameCreated } from "./claim_events.ts";
import type { GameTypeConfig } from "./consensus_state.ts";
import { challengeStatus } from "./output_root.ts";

/** A game with the L1 block of its log. */
export interface FoundGame {
  readonly game: DisputeGameCreated;
  readonly l1Height: bigint;
}

/** Why a game is passed over before anything is asked about it. */
export type GameLogReason =
  /** The hub lists no such type, as yet. */
  | "other_game_type"
  /** Fishermen ruled it out. */
  | "blacklisted"
  /** Created after the L1 block in which the hub can check proofs. */
  | "beyond_hub_l1_height";

/**
 * Why a game is not worth asking about; undefined when it is. Every type that the hub lists counts.
 * @param facts.l1Height height of the proofs, at most the hub's L1 height.
 * @param facts.blacklistedGames of the hub; at least this game's entry, if there is one.
 */
export function skipReason(
  found: FoundGame,
  facts: {
    readonly configs: readonly GameTypeConfig[];
    readonly blacklistedGames: ReadonlySet<Address>;
    readonly l1Height: bigint;
  },
): GameLogReason | undefined {
  const { game, l1Height } = found;
  if (!isListed(found, facts.configs)) return "other_game_type";
  if (facts.blacklistedGames.has(game.proxy)) return "blacklisted";
  return l1Height > facts.l1Height ? "beyond_hub_l1_height" : undefined;
}

/** True for games of a type that the hub lists. */
export function isListed({ game }: FoundGame, configs: readonly GameTypeConfig[]): boolean {
  return configs.some(({ gameType }) => gameType === game.gameType);
}

/**
 * Types of games that the hub lists and that were created, when none of them is the one that the operator respects: the
 * configuration is behind the chain then. Empty otherwise.
 * @param respectedGameType as configured.
 */
export function typesOtherThanRespected(
  games: readonly FoundGame[],
  configs: readonly GameTypeConfig[],
  respectedGameType: number | undefined,
): readonly number[] {
  const types = new Set(
    games.filter((game) => isListed(game, configs)).map(({ game: { gameType } }) => gameType),
  );
  if (respectedGameType === undefined || types.has(respectedGameType)) return [];
  return [...types].toSorted((a, b) => a - b);
}

/** A game with what was asked about it. */
export interface KnownGame extends FoundGame {
  readonly config: GameTypeConfig;
  readonly extraData: Uint8Array;
  /** Word of the challenge slot at the height of the proofs; undefined or zero when empty or there is no such slot. */
  readonly challengeWord: Hash256 | undefined;
}

/** Why a game is of no use although it was asked about. */
export type GameReason =
  /** The extra data do not start with a block number. */
  | "no_block_number"
  /** Somebody contests it, or it has no claim at all. */
  | "challenged"
  /** The hub knows this height of the chain, or a higher one, and would store nothing. */
  | "not_above_hub"
  /** The claim is about a block that the chain does not have yet. */
  | "block_does_not_exist"
  /** The L1 has another implementation of the type than the hub expects: the hub refuses its games. */
  | "unknown_implementation";

/** A game that may be worth a proof. */
export type GameCandidate<Game extends KnownGame = KnownGame> = Game & { readonly l2Height: bigint };

/** Games in the order in which to try them, and those that are not worth it. */
export interface GamePlan<Game extends KnownGame = KnownGame> {
  /**
   * Those of the respected type first, then those of the highest block, of the same block the oldest game. The first that
   * can be proved is to be submitted.
   */
  readonly candidates: readonly GameCandidate<Game>[];
  readonly passedOver: readonly { readonly game: Game; readonly reason: GameReason }[];
}

/** What games are judged by. */
export interface GamePlanInput {
  /** Height of the chain on the hub; undefined when there is none. */
  readonly hubHeight: bigint | undefined;
  /** Newest block of the chain. */
  readonly l2Height: bigint;
  /** As configured: it orders, and filters nothing. */
  readonly respectedGameType?: number | undefined;
}

/** Sorts games into candidates and others. */
export function planGames<Game extends KnownGame>(
  games: readonly Game[],
  facts: GamePlanInput,
): GamePlan<Game> {
  const candidates: GameCandidate<Game>[] = [];
  const passedOver: { readonly game: Game; readonly reason: GameReason }[] = [];
  for (const game of games) {
    const judged = judgeGame(game, facts);
    if (typeof judged === "string") passedOver.push({ game, reason: judged });
    else candidates.push(judged);
  }
  candidates.sort((a, b) => a.l2Height === b.l2Height ? 0 : a.l2Height > b.l2Height ? -1 : 1);
  const isRespected = ({ game }: Game): boolean => game.gameType === facts.respectedGameType;
  const ordered = [
    ...candidates.filter(isRespected),
    ...candidates.filter((candidate) => !isRespected(candidate)),
  ];
  return { candidates: ordered, passedOver };
}

function judgeGame<Game extends KnownGame>(
  game: Game,
  facts: GamePlanInput,
): GameCandidate<Game> | GameReason {
  if (game.extraData.length < 32) return "no_block_number";
  if (challengeStatus(game.config.kind, game.challengeWord) !== "unchallenged") return "challenged";
  const l2Height = claimedHeight(game.extraData);
  if (facts.hubHeight !== undefined && l2Height <= facts.hubHeight) return "not_above_hub";
  return l2Height > facts.l2Height ? "block_does_not_exist" : { ...game, l2Height };
}

/** An implementation on the L1 that the hub does not expect. */
export interface UnknownImplementation {
  readonly gameType: number;
  readonly expected: Address;
  /** Undefined: the L1 has none any more. */
  readonly found: Address | undefined;
}

/**
 * Types whose games the hub refuses because the L1 has another implementation of them than the hub expects.
 * @param words of `gameImpls` by type, proven at the height of the proofs; undefined or zero where there is none.
 */
export function findUnknownImplementations(
  configs: readonly GameTypeConfig[],
  words: ReadonlyMap<number, Hash256 | undefined>,
): readonly UnknownImplementation[] {
  return configs.filter(({ gameType }) => words.has(gameType)).flatMap((config) => {
    const { gameType, expectedImplementation: expected } = config;
    const word = words.get(gameType);
    const found = word === undefined ? undefined : toAddress(fromHex(word).subarray(12));
    return found === expected ? [] : [{ gameType, expected, found }];
  });
}

const reasonTexts: Readonly<Record<GameLogReason | GameReason, string>> = {
  other_game_type: "of a type that the hub does not list",
  blacklisted: "ruled out on the hub",
  beyond_hub_l1_height: "newer than the L1 block that the hub knows",
  no_block_number: "without a block number",
  challenged: "challenged",
  not_above_hub: "not above the hub's height",
  block_does_not_exist: "about a block that the chain does not have",
  unknown_implementation: "of an implementation that the hub does not expect",
};

/** Why none of the games is of use, in words, with a count for each reason. */
export function describeSkipped(reasons: readonly (GameLogReason | GameReason)[]): string {
  const counts = new Map<GameLogReason | GameReason, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const parts = [...counts].map(([reason, count]) => `${count} ${reasonTexts[reason]}`);
  return `none of ${reasons.length} dispute games can be used: ${parts.join(", ")}`;
}
