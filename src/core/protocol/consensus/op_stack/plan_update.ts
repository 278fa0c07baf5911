/**
 * Which claim about an OP stack chain to submit: pure decisions on what the hub holds and what the L1 shows.
 * Source: polytope-labs/hyperbridge: tesseract/consensus/op-host/src/{lib,host}.rs; the hub's rules as in
 * `verify_update.ts`.
 */
import type { Hash256 } from "../../bytes.ts";
import type { Address } from "../../evm/address.ts";
import { claimedHeight, type DisputeGameCreated, type OutputProposed } from "./claim_events.ts";
import type { GameTypeConfig } from "./consensus_state.ts";
import { challengeStatus } from "./output_root.ts";

/** Types of games to look for. */
export interface GameTypeChoice {
  readonly configs: readonly GameTypeConfig[];
  /** `hub_does_not_list_it`: the operator respects a type that the hub refuses, so all of the hub's are taken. */
  readonly preference: "none" | "applied" | "hub_does_not_list_it";
}

/**
 * The types that the hub lists, or of these the one that the operator respects.
 * @param respectedGameType as configured.
 */
export function chooseGameTypes(
  configs: readonly GameTypeConfig[],
  respectedGameType: number | undefined,
): GameTypeChoice {
  if (respectedGameType === undefined) return { configs, preference: "none" };
  const chosen = configs.filter(({ gameType }) => gameType === respectedGameType);
  return chosen.length === 0
    ? { configs, preference: "hub_does_not_list_it" }
    : { configs: chosen, preference: "applied" };
}

/** A game with the L1 block of its log. */
export interface FoundGame {
  readonly game: DisputeGameCreated;
  readonly l1Height: bigint;
}

/** Why a game is passed over before anything is asked about it. */
export type GameLogReason =
  /** Not of a type that was chosen. */
  | "other_game_type"
  /** Fishermen ruled it out. */
  | "blacklisted"
  /** Created after the L1 block in which the hub can check proofs. */
  | "beyond_hub_l1_height";

/**
 * Why a game is not worth asking about; undefined when it is.
 * @param facts.l1Height height of the proofs, at most the hub's L1 height.
 * @param facts.blacklistedGames of the hub; at least this game's entry, if there is one.
 */
export function reasonToPassOver(
  found: FoundGame,
  facts: {
    readonly configs: readonly GameTypeConfig[];
    readonly blacklistedGames: ReadonlySet<Address>;
    readonly l1Height: bigint;
  },
): GameLogReason | undefined {
  const { game, l1Height } = found;
  if (!facts.configs.some(({ gameType }) => gameType === game.gameType)) return "other_game_type";
  if (facts.blacklistedGames.has(game.proxy)) return "blacklisted";
  return l1Height > facts.l1Height ? "beyond_hub_l1_height" : undefined;
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
  | "block_does_not_exist";

/** A game that may be worth a proof. */
export type GameCandidate<Game extends KnownGame = KnownGame> = Game & { readonly l2Height: bigint };

/** Games in the order in which to try them, and those that are not worth it. */
export interface GamePlan<Game extends KnownGame = KnownGame> {
  /** Highest block first, of the same block the oldest game. The first that can be proved is to be submitted. */
  readonly candidates: readonly GameCandidate<Game>[];
  readonly passedOver: readonly { readonly game: Game; readonly reason: GameReason }[];
}

/**
 * Sorts games into candidates and others.
 * @param facts.hubHeight height of the chain on the hub; undefined when there is none.
 * @param facts.l2Height newest block of the chain.
 */
export function planGames<Game extends KnownGame>(
  games: readonly Game[],
  facts: { readonly hubHeight: bigint | undefined; readonly l2Height: bigint },
): GamePlan<Game> {
  const candidates: GameCandidate<Game>[] = [];
  const passedOver: { readonly game: Game; readonly reason: GameReason }[] = [];
  for (const game of games) {
    const judged = judgeGame(game, facts);
    if (typeof judged === "string") passedOver.push({ game, reason: judged });
    else candidates.push(judged);
  }
  candidates.sort((a, b) => a.l2Height === b.l2Height ? 0 : a.l2Height > b.l2Height ? -1 : 1);
  return { candidates, passedOver };
}

function judgeGame<Game extends KnownGame>(
  game: Game,
  facts: { readonly hubHeight: bigint | undefined; readonly l2Height: bigint },
): GameCandidate<Game> | GameReason {
  if (game.extraData.length < 32) return "no_block_number";
  if (challengeStatus(game.config.kind, game.challengeWord) !== "unchallenged") return "challenged";
  const l2Height = claimedHeight(game.extraData);
  if (facts.hubHeight !== undefined && l2Height <= facts.hubHeight) return "not_above_hub";
  return l2Height > facts.l2Height ? "block_does_not_exist" : { ...game, l2Height };
}

/**
 * The output to submit: the one of the highest index, if the hub gains by it.
 * @param hubHeight height of the chain on the hub; undefined when there is none.
 */
export function newestOutput(
  outputs: readonly OutputProposed[],
  hubHeight: bigint | undefined,
): OutputProposed | undefined {
  return outputs
    .filter(({ l2Height }) => hubHeight === undefined || l2Height > hubHeight)
    .reduce<OutputProposed | undefined>(
      (best, output) => best === undefined || output.index > best.index ? output : best,
      undefined,
    );
}
