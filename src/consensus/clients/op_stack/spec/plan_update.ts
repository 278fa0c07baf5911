/**
 * Selection of the claim about an OP stack chain to submit: pure decisions on the state of the hub and the L1. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/op-host/src/{lib,host}.rs; the hub's rules as in `verify_update.ts`.
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

/** Reason to skip a game by its log alone. */
export type GameLogReason =
  /** The hub does not list this type yet. */
  | "other_game_type"
  /** Blacklisted by fishermen. */
  | "blacklisted"
  /** Created after the newest L1 block at which the hub can check proofs. */
  | "beyond_hub_l1_height";

/**
 * Reason to skip a game by its log; undefined when there is none. Every type that the hub lists counts. @param
 * facts.l1Height height of the proofs, at most the hub's L1 height. @param facts.blacklistedGames of the hub; contains
 * at least this game's entry, if there is one.
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
 * Types of created games that the hub lists, when none of them is the respected type of the configuration: the
 * configuration is outdated then. Empty otherwise. @param respectedGameType as configured.
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

/** A game with its details. */
export interface KnownGame extends FoundGame {
  readonly config: GameTypeConfig;
  readonly extraData: Uint8Array;
  /** Word of the challenge slot at the height of the proofs; undefined or zero when empty or there is no such slot. */
  readonly challengeWord: Hash256 | undefined;
}

/** Reason to skip a game by its details. */
export type GameReason =
  /** The extra data do not start with a block number. */
  | "no_block_number"
  /** It is challenged, or has no claim at all. */
  | "challenged"
  /** The hub already knows this height of the chain, or a higher one, and would store nothing. */
  | "not_above_hub"
  /** The claim is about a block that the chain does not have yet. */
  | "block_does_not_exist"
  /** The L1 has another implementation of the type than the hub expects: the hub refuses its games. */
  | "unknown_implementation";

/** A game that may be worth a proof. */
export type GameCandidate<Game extends KnownGame = KnownGame> = Game & { readonly l2Height: bigint };

/** Games in the order in which to try them, and skipped ones. */
export interface GamePlan<Game extends KnownGame = KnownGame> {
  /**
   * Those of the respected type first, then those of the highest block, of the same block the oldest game. The first
   * that can be proved is submitted.
   */
  readonly candidates: readonly GameCandidate<Game>[];
  readonly passedOver: readonly { readonly game: Game; readonly reason: GameReason }[];
}

/** Inputs of the decision. */
export interface GamePlanInput {
  /** Height of the chain on the hub; undefined when there is none. */
  readonly hubHeight: bigint | undefined;
  /** Newest block of the chain. */
  readonly l2Height: bigint;
  /** Configured type: affects the order only. */
  readonly respectedGameType?: number | undefined;
}

/** Splits games into candidates and others. */
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
  /** Undefined: the L1 no longer has one. */
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
  blacklisted: "blacklisted on the hub",
  beyond_hub_l1_height: "newer than the L1 block that the hub knows",
  no_block_number: "without a block number",
  challenged: "challenged",
  not_above_hub: "not above the hub's height",
  block_does_not_exist: "about a block that the chain does not have",
  unknown_implementation: "of an implementation that the hub does not expect",
};

/** Describes why no game can be used, with a count for each reason. */
export function describeSkipped(reasons: readonly (GameLogReason | GameReason)[]): string {
  const counts = new Map<GameLogReason | GameReason, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const parts = [...counts].map(([reason, count]) => `${count} ${reasonTexts[reason]}`);
  return `none of ${reasons.length} dispute games can be used: ${parts.join(", ")}`;
}
