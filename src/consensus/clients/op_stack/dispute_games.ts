/**
 * Updates from dispute games: games created since the last poll are found by their logs, and the highest valid,
 * unchallenged one is proved. Start reading at {@link DisputeGames.find}.
 */
import { type Hash256, toHash256 } from "../../../core/encoding/bytes.ts";
import { buildDisputeGameProof, factoryProofSlots, gameProofSlots } from "./spec/build_update.ts";
import { decodeDisputeGameCreated, DISPUTE_GAME_CREATED } from "./spec/claim_events.ts";
import type { OpStackConsensusState } from "./spec/consensus_state.ts";
import { blacklistedGameKey, type DisputeGameRules } from "./spec/hub_storage.ts";
import { gameAtSlot, gameCountSlot, gameImplementationSlot, parseGameIdWord } from "./spec/output_root.ts";
import {
  describeSkipped,
  findUnknownImplementations,
  type FoundGame,
  type GameCandidate,
  type GameLogReason,
  type GameReason,
  isListed,
  type KnownGame,
  planGames,
  skipReason,
  typesOtherThanRespected,
} from "./spec/plan_update.ts";
import { opStackUpdateCodec } from "./spec/update.ts";
import { decodeOpStackUpdate, verifyOpStackUpdate } from "./spec/verify_update.ts";
import { accountNodesOf, provenStorageRoot, provenWord, slotNodesOf } from "../../rollup/spec/l1_storage.ts";
import type { L1Range } from "../../rollup/spec/l1_range.ts";
import type { Address } from "../../../core/evm/address.ts";
import type { EvmReader } from "../../evm_reader.ts";
import { type ClaimScan, ClaimSearch } from "../../rollup/claim_search.ts";
import { type Completeness, scanCompletely } from "../../rollup/complete_scan.ts";
import { type ClaimFinding, findProvable } from "../../rollup/claim_dry_run.ts";
import type { OpStackOptions, RollupDeps } from "../../rollup/rollup_options.ts";
import type { RollupView } from "../../rollup/rollup_prover.ts";
import { fetchClaimedBlock } from "./claimed_block.ts";
import { checkIsInFactory, fetchChallengeWords, type Game, GameDetails, readLog } from "./game_reads.ts";

type View = RollupView<OpStackConsensusState>;

/** A game that may be worth a proof. */
type Candidate = GameCandidate<Game & KnownGame>;

/** Inputs of one poll. */
interface ClaimPoll {
  readonly view: View;
  readonly rules: DisputeGameRules;
  /** The L1, pinned to the block that the hub knows. */
  readonly l1: EvmReader;
}

/** The games of one rollup. */
export class DisputeGames {
  readonly #deps: RollupDeps;
  readonly #options: Pick<OpStackOptions, "respectedGameType" | "messageParser">;
  /** Games of all types: the hub may list more types later. */
  readonly #search = new ClaimSearch<FoundGame>(({ game }) => game.proxy);
  readonly #details: GameDetails;
  /** Implementations on the L1 that were reported, by game type; `none`: there is none. */
  readonly #reported = new Map<number, Address | "none">();
  #isRespectedTypeReported = false;

  constructor(deps: RollupDeps, options: Pick<OpStackOptions, "respectedGameType" | "messageParser">) {
    this.#deps = deps;
    this.#options = options;
    this.#details = new GameDetails(deps);
  }

  /** Builds the update for the highest game that can be proved. */
  async find(view: View, rules: DisputeGameRules, signal: AbortSignal): Promise<ClaimFinding> {
    const poll = { view, rules, l1: this.#deps.l1.heldTo(view.l1) };
    const range = await this.#search.extend(
      rules.factory,
      view.l1.height,
      (range) => this.#scan(poll, range, signal),
    );
    const open = this.#search.open;
    if (open.length === 0) {
      return {
        kind: "nothing",
        reason: range === undefined
          ? `L1 block ${view.l1.height} is the newest that the hub knows, and all games up to it are dealt with`
          : `no dispute game was created in L1 blocks ${range.from} to ${range.to}`,
      };
    }
    this.#reportRespectedType(open, rules);
    const blacklistedGames = await this.#blacklisted(poll, open, signal);
    const { candidates, passedOver } = await this.#plan(poll, blacklistedGames, signal);
    if (candidates.length === 0) return { kind: "nothing", reason: describeSkipped(passedOver) };
    const { l1, l2, log } = this.#deps;
    const describe = ({ game }: FoundGame): string => `game ${game.proxy}`;
    return await findProvable(
      { search: this.#search, l1, l2, log, describe },
      candidates,
      (game: Candidate) => this.#prove(poll, { game, blacklistedGames }, signal),
    );
  }

  /** Scans a range of L1 blocks for games of all types. */
  #scan(poll: ClaimPoll, range: L1Range, signal: AbortSignal): Promise<ClaimScan<FoundGame>> {
    const { factory } = poll.rules;
    return scanCompletely({
      l1: poll.l1,
      log: this.#deps.log,
      range,
      orderOf: ({ l1Height }) => l1Height,
      keyOf: ({ game }) => game.proxy,
      fetch: async (reader) => {
        const logs = await reader.fetchLogs(
          { address: factory, topics: [DISPUTE_GAME_CREATED] },
          range,
          signal,
        );
        return logs.flatMap((entry): FoundGame[] => {
          const game = readLog(this.#deps.l1, () => decodeDisputeGameCreated(entry, factory));
          return game === undefined ? [] : [{ game, l1Height: entry.blockNumber }];
        });
      },
      judge: (found) => this.#judge(poll, { from: range.from, found: found.length }, signal),
    });
  }

  /**
   * Compares the number of games found from an L1 block up to the hub's with the factory's own list: the game before
   * them must be older than that block.
   */
  async #judge(
    { rules: { factory }, l1, view }: ClaimPoll,
    { from, found }: { readonly from: bigint; readonly found: number },
    signal: AbortSignal,
  ): Promise<Completeness> {
    const at = view.l1.height;
    const word = async (slot: Hash256): Promise<Hash256> => {
      const [read] = await l1.fetchReads([{ kind: "word", account: factory, slot, at }], signal);
      if (read === undefined) throw new Error("A word of a contract is always there");
      return toHash256(read);
    };
    const games = BigInt(await word(gameCountSlot));
    // A factory with another storage layout has none here.
    if (games === 0n || BigInt(found) > games) return "unknown";
    if (BigInt(found) === games) return "complete";
    if (from === 0n) return "incomplete";
    const before = parseGameIdWord(await word(gameAtSlot(games - BigInt(found) - 1n)));
    const outside = await l1.fetchHeader(from - 1n, signal);
    if (outside === undefined) return "unknown";
    return before.timestampSec <= outside.header.timestampSec ? "complete" : "incomplete";
  }

  /** Reports once that no games of the configured type are created. */
  #reportRespectedType(open: readonly FoundGame[], { gameTypes }: DisputeGameRules): void {
    const { respectedGameType } = this.#options;
    const others = typesOtherThanRespected(open, gameTypes, respectedGameType);
    if (others.length === 0 || this.#isRespectedTypeReported) return;
    this.#isRespectedTypeReported = true;
    this.#deps.log.warn(
      "game_type_missing",
      { respectedGameType, found: others.join(", ") },
    );
  }

  async #blacklisted(
    { view, rules }: ClaimPoll,
    open: readonly FoundGame[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<Address>> {
    const games = open.filter((game) => isListed(game, rules.gameTypes));
    const keys = games.map(({ game }) => blacklistedGameKey(view.state.stateMachineId, game.proxy));
    const values = await this.#deps.hub.reads.fetchStorage(keys, signal);
    return new Set(games.flatMap(({ game }, index) => values[index] === undefined ? [] : [game.proxy]));
  }

  /**
   * Selects the games that are worth a proof, in the order in which to try them, with the reasons against the others.
   */
  async #plan(
    poll: ClaimPoll,
    blacklistedGames: ReadonlySet<Address>,
    signal: AbortSignal,
  ): Promise<{
    readonly candidates: readonly Candidate[];
    readonly passedOver: readonly (GameLogReason | GameReason)[];
  }> {
    const { view, rules: { gameTypes: configs }, l1 } = poll;
    const facts = { configs, blacklistedGames, l1Height: view.l1.height };
    const reasons: (GameLogReason | GameReason)[] = [];
    const passOver = (game: FoundGame, reason: GameLogReason | GameReason): void => {
      reasons.push(reason);
      this.#passOver(game, reason);
    };
    const listed = this.#search.open.filter((game) => {
      const reason = skipReason(game, facts);
      if (reason !== undefined) passOver(game, reason);
      return reason === undefined;
    });
    const detailed = await this.#details.read(listed, l1, signal);
    for (const game of detailed.unreadable) this.#search.settle(game);
    const played = detailed.games.flatMap((game) => {
      const config = configs.find(({ gameType }) => gameType === game.game.gameType);
      return config === undefined ? [] : [{ ...game, config }];
    });
    const words = await fetchChallengeWords(poll, played, signal);
    const l2Height = await this.#deps.l2.fetchHeight(signal);
    const known = played.map((game) => ({ ...game, challengeWord: words.get(game.game.proxy) }));
    const { respectedGameType } = this.#options;
    const plan = planGames(known, { hubHeight: view.hubHeight, l2Height, respectedGameType });
    for (const { game, reason } of plan.passedOver) passOver(game, reason);
    const refused = await this.#unknownTypes(poll, plan.candidates, signal);
    const candidates = plan.candidates.filter((candidate) => {
      const isRefused = refused.has(candidate.game.gameType);
      if (isRefused) passOver(candidate, "unknown_implementation");
      return !isRefused;
    });
    return { candidates, passedOver: reasons };
  }

  /**
   * Finds types whose implementation on the L1 is not the one that the hub expects: its governance has to register each
   * upgrade. Reported once per implementation.
   */
  async #unknownTypes(
    { view, rules, l1 }: ClaimPoll,
    candidates: readonly Candidate[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<number>> {
    const types = [...new Set(candidates.map(({ game }) => game.gameType))];
    if (types.length === 0) return new Set();
    const request = { account: rules.factory, slots: types.map(gameImplementationSlot) };
    const [answer] = await l1.fetchProofs([request], view.l1, signal);
    if (answer === undefined) throw new Error("A proof without an answer");
    const root = provenStorageRoot(accountNodesOf(answer), view.l1.stateRoot, rules.factory);
    const words = new Map(
      types.map((gameType, index) =>
        [gameType, provenWord(slotNodesOf(answer, index), root, gameImplementationSlot(gameType))] as const
      ),
    );
    const unknown = findUnknownImplementations(rules.gameTypes, words);
    for (const { gameType, expected, found = "none" } of unknown) {
      if (this.#reported.get(gameType) === found) continue;
      this.#reported.set(gameType, found);
      this.#deps.log.warn(
        "game_implementation_changed",
        { gameType, expected, found, factory: rules.factory },
      );
    }
    const unknownTypes = new Set(unknown.map(({ gameType }) => gameType));
    for (const gameType of types) if (!unknownTypes.has(gameType)) this.#reported.delete(gameType);
    return unknownTypes;
  }

  #passOver(game: FoundGame, reason: GameLogReason | GameReason): void {
    this.#deps.log.debug("rollup_claim_skipped", { game: game.game.proxy, reason });
    switch (reason) {
      case "blacklisted":
      case "no_block_number":
      case "not_above_hub":
        return this.#search.settle(game);
      // The answer of an endpoint may change, though not indefinitely.
      case "challenged":
        this.#search.noteRefused(game);
        return;
      // It is only too early: for the L1, or for the hub's governance.
      case "beyond_hub_l1_height":
      case "block_does_not_exist":
      case "other_game_type":
      case "unknown_implementation":
        return;
    }
  }

  async #prove(
    { view, rules, l1 }: ClaimPoll,
    { game, blacklistedGames }: {
      readonly game: Candidate;
      readonly blacklistedGames: ReadonlySet<Address>;
    },
    signal: AbortSignal,
  ): Promise<Extract<ClaimFinding, { kind: "claim" }>> {
    const { proxy, rootClaim, gameType } = game.game;
    const requests = [
      { account: rules.factory, slots: factoryProofSlots(game.game, game.extraData) },
      { account: proxy, slots: gameProofSlots(game.config.kind) },
    ];
    const [factoryAnswer, proxyAnswer] = await l1.fetchProofs(requests, view.l1, signal);
    if (factoryAnswer === undefined || proxyAnswer === undefined) throw new Error("A proof is missing");
    checkIsInFactory(game, { factory: rules.factory, answer: factoryAnswer, stateRoot: view.l1.stateRoot });
    const claimed = { l2Height: game.l2Height, outputRoot: rootClaim };
    const rollup = { l2: this.#deps.l2, messageParser: this.#options.messageParser };
    const block = await fetchClaimedBlock(rollup, claimed, signal);
    const value = buildDisputeGameProof({
      ...block,
      game: game.game,
      kind: game.config.kind,
      extraData: game.extraData,
      createdAtSec: game.createdAtSec,
      factory: factoryAnswer,
      proxy: proxyAnswer,
    });
    const proof = opStackUpdateCodec.enc({
      l1Height: view.l1.height,
      proof: { tag: "OpFaultProofGames", value },
    });
    verifyOpStackUpdate(view.state, decodeOpStackUpdate(proof), {
      l1StateRoot: view.l1.stateRoot,
      disputeGames: rules,
      outputOracle: undefined,
      blacklistedGames,
    });
    const summary =
      `block ${game.l2Height} by game ${proxy} of type ${gameType} at L1 block ${view.l1.height}`;
    return { kind: "claim", proof, height: game.l2Height, summary };
  }
}
