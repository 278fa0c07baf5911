/**
 * Dispute games as claims: the highest valid, unchallenged game of a type that the hub lists is proved. Start reading at
 * {@link DisputeGames.plan}.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { Address } from "../../../core/evm/address.ts";
import type { RawLog } from "../../../core/evm/host_events.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import { dropOldest } from "../../../core/runtime/oldest.ts";
import type {
  ClaimKind,
  ClaimPoll,
  Completeness,
  PassOver,
  ProvenClaim,
  SearchedRange,
} from "../../rollup/claims.ts";
import type { OpStackOptions, RollupDeps } from "../../rollup/rollup_options.ts";
import { accountNodesOf, provenStorageRoot, provenWord, slotNodesOf } from "../../rollup/spec/l1_storage.ts";
import { commitmentIdOf } from "../../rollup/spec/rollup_client.ts";
import { fetchClaimedBlock } from "./claimed_block.ts";
import {
  checkIsInFactory,
  fetchBlockAt,
  fetchHead,
  fetchNewestGames,
  fetchUnchallenged,
  fetchUnlistedGames,
  type Game,
  GameDetails,
} from "./game_reads.ts";
import { buildDisputeGameProof, type ClaimedOutput, factoryProofSlots } from "./spec/build_update.ts";
import { decodeDisputeGameCreated, DISPUTE_GAME_CREATED } from "./spec/claim_events.ts";
import type { GameTypeConfig, OpStackConsensusState } from "./spec/consensus_state.ts";
import { blacklistedGameKey, type DisputeGameRules } from "./spec/hub_storage.ts";
import { challengeWord, gameImplementationSlot } from "./spec/output_root.ts";
import {
  configOf,
  findUnknownImplementations,
  type FoundGame,
  inOrder,
  judgeHeight,
  type ListedGame,
  readClaim,
  typesOtherThanRespected,
} from "./spec/plan_update.ts";
import type { SuperRootClaim } from "./spec/super_root.ts";
import { opStackUpdateCodec } from "./spec/update.ts";
import { decodeOpStackUpdate, verifyOpStackUpdate } from "./spec/verify_update.ts";

/** Time without a game of a listed type after which that is reported, seconds of the L1. */
const UNLISTED_AFTER_SEC = 3_600n;
/** Newest listed games among which one of the respected type is expected. */
const RECENT_GAMES = 16;
/** Super roots whose blocks are searched in one poll. */
const MAX_SEARCHES = 32;
/** Super roots of which the last search is remembered. */
const MAX_SEARCHED = 1_024;

type Poll = ClaimPoll<OpStackConsensusState, DisputeGameRules>;

/** A game that may be worth a proof. */
type Candidate = Game & { readonly claimed: ClaimedOutput };

/** A game with its claim about the rollup at a second. */
type SuperRootGame = Game & { readonly claim: SuperRootClaim };

/** The games of one rollup; of all types, since the hub may list more types later. */
export class DisputeGames
  implements ClaimKind<OpStackConsensusState, FoundGame, Candidate, DisputeGameRules> {
  readonly noun = "dispute games";
  readonly topic0 = DISPUTE_GAME_CREATED;
  readonly #deps: RollupDeps;
  readonly #options: Pick<OpStackOptions, "stateMachine" | "respectedGameType" | "messageParser">;
  readonly #details: GameDetails;
  /** Number of the last search for the block of a super root, by game: those that have waited longest come first. */
  readonly #searched = new Map<Address, number>();
  #searches = 0;
  /** Reported conditions: each is reported again only after it was over. */
  readonly #reported = new Set<string>();

  constructor(
    deps: RollupDeps,
    options: Pick<OpStackOptions, "stateMachine" | "respectedGameType" | "messageParser">,
  ) {
    this.#deps = deps;
    this.#options = options;
    this.#details = new GameDetails(deps.l1);
  }

  decode(log: RawLog & { readonly blockNumber: bigint }, factory: Address): FoundGame | undefined {
    const game = decodeDisputeGameCreated(log, factory);
    return game && { game, l1Height: log.blockNumber };
  }

  keyOf({ game }: FoundGame): string {
    return game.proxy;
  }

  orderOf({ l1Height }: FoundGame): bigint {
    return l1Height;
  }

  describe({ game }: FoundGame): string {
    return `game ${game.proxy}`;
  }

  /**
   * Compares the number of games found from an L1 block up to the hub's with the factory's own list: the game before
   * them must be older than that block.
   */
  async judge(
    found: readonly FoundGame[],
    { contract: factory, l1, view, signal }: Poll,
    { range: { from } }: SearchedRange<FoundGame>,
  ): Promise<Completeness> {
    const most = { most: 1n, skip: BigInt(found.length) };
    const { count, newest: [before] } = await fetchNewestGames(
      { l1, factory, at: view.l1.height },
      most,
      signal,
    );
    if (count === 0n || BigInt(found.length) > count) return "unknown";
    if (before === undefined) return "complete";
    if (from === 0n) return "incomplete";
    const outside = await l1.fetchHeader(from - 1n, signal);
    if (outside === undefined) return "unknown";
    return before.timestampSec <= outside.header.timestampSec ? "complete" : "incomplete";
  }

  /** Selects by log, claim, height, challenges, blacklist and implementation, in the order of their cost. */
  async plan(
    open: readonly FoundGame[],
    poll: Poll,
    passOver: PassOver<FoundGame>,
  ): Promise<readonly Candidate[]> {
    const { rules: { gameTypes: configs }, view, l1, signal } = poll;
    const { respectedGameType } = this.#options;
    const listed = open.flatMap((game) => {
      const config = configOf(game, { configs, l1Height: view.l1.height });
      if (typeof config !== "string") return [{ ...game, config }];
      passOver(game, config);
      return [];
    });
    if (listed.length > 0) this.#reportRespectedType(listed.slice(-RECENT_GAMES), configs);
    const newest = open.at(-1);
    const isNewestListed = newest === undefined || listed.some(({ game }) => game === newest.game);
    if (isNewestListed) this.#reported.delete("unlisted");
    else await this.#reportUnlisted(poll);
    const details = await this.#details.read(listed, l1, signal);
    const readable = listed.flatMap((game, index): Game[] => {
      const known = details[index];
      if (known === undefined) passOver(game, "unreadable");
      return known === undefined ? [] : [{ ...game, ...known }];
    });
    const placed = await this.#place(readable, poll, passOver);
    const sound = await this.#withoutChallenged(placed, poll, passOver);
    const allowed = await this.#withoutBlacklisted(sound, poll, passOver);
    const unknown = await this.#unknownTypes(poll, allowed);
    const candidates = allowed.filter((game) => {
      const isUnknown = unknown.has(game.game.gameType);
      if (isUnknown) passOver(game, "of an implementation that the hub does not expect");
      return !isUnknown;
    });
    return inOrder(candidates, respectedGameType);
  }

  /** Reports a condition when it begins. */
  #report(condition: string, holds: boolean, report: () => void): void {
    if (!holds) this.#reported.delete(condition);
    else if (!this.#reported.has(condition)) {
      this.#reported.add(condition);
      report();
    }
  }

  #reportRespectedType(open: readonly FoundGame[], configs: readonly GameTypeConfig[]): void {
    const { respectedGameType } = this.#options;
    const others = typesOtherThanRespected(open, configs, respectedGameType);
    this.#report("respected", others.length > 0, () => {
      this.#deps.log.warn("game_type_missing", { respectedGameType, found: others.join(", ") });
    });
  }

  /** Reports that only games of types that the hub does not list have been created for a while. */
  async #reportUnlisted({ rules, l1, view, signal }: Poll): Promise<void> {
    try {
      const place = { l1, factory: rules.factory, at: view.l1.height };
      const found = await fetchUnlistedGames(place, rules.gameTypes, signal);
      if (found === undefined || view.l1.timestampSec - found.sinceSec < UNLISTED_AFTER_SEC) return;
      this.#report("unlisted", true, () =>
        this.#deps.log.warn("games_unlisted", {
          gameType: found.types.join(", "),
          implementation: found.implementations.join(", "),
          games: found.count,
          factory: rules.factory,
        }));
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      this.#deps.log.debug("rollup_claims_uncounted", { error: fault });
    }
  }

  /** Finds the block that each game is about, and skips games about blocks of no use. */
  async #place(
    games: readonly Game[],
    poll: Poll,
    passOver: PassOver<FoundGame>,
  ): Promise<readonly Candidate[]> {
    const placed: Candidate[] = [];
    const superRoots: SuperRootGame[] = [];
    for (const game of games) {
      const claim = readClaim(game, this.#options.stateMachine);
      if (typeof claim === "string") {
        const isProved = claim.startsWith("super_root"); // by the hash of the data
        if (!isProved) this.#details.forget(game);
        passOver(game, claim, isProved);
      } else if ("timestampSec" in claim) superRoots.push({ ...game, claim });
      else placed.push({ ...game, claimed: claim });
    }
    placed.push(...await this.#placeSuperRoots(superRoots, poll, passOver));
    const { view: { hubHeight }, signal } = poll;
    const l2Height = placed.length === 0 ? 0n : await this.#deps.l2.fetchHeight(signal);
    return placed.filter((game) => {
      const reason = judgeHeight(game.claimed.l2Height, { hubHeight, l2Height });
      if (reason !== undefined) passOver(game, reason);
      return reason === undefined;
    });
  }

  /** Finds the blocks that super roots are about. */
  async #placeSuperRoots(
    games: readonly SuperRootGame[],
    poll: Poll,
    passOver: PassOver<FoundGame>,
  ): Promise<readonly Candidate[]> {
    if (games.length === 0) return [];
    const { l2 } = this.#deps;
    const [head, hubTimeSec] = [await fetchHead(l2, poll.signal), await this.#hubTimeSec(poll)];
    const turnOf = ({ game }: FoundGame): number => this.#searched.get(game.proxy) ?? -1;
    const inTurn = games.toSorted((a, b) =>
      turnOf(a) - turnOf(b) || Number(b.claim.timestampSec - a.claim.timestampSec)
    );
    const end = this.#searches + MAX_SEARCHES;
    const placed: Candidate[] = [];
    for (const { claim, ...game } of inTurn) {
      const { timestampSec, outputRoot } = claim;
      if (hubTimeSec !== undefined && timestampSec < hubTimeSec) {
        passOver(game, "not above the hub's height", true);
        continue;
      }
      const needsSearch = timestampSec < head.head.timestampSec;
      const mustWait = needsSearch && this.#searches === end;
      if (needsSearch && !mustWait) this.#searched.set(game.game.proxy, this.#searches++);
      const l2Height = mustWait ? "undecided" : await fetchBlockAt(l2, timestampSec, head, poll.signal);
      if (typeof l2Height === "string") passOver(game, `of a time whose block is ${l2Height}`);
      else placed.push({ ...game, claimed: { l2Height, outputRoot } });
    }
    dropOldest(this.#searched, MAX_SEARCHED);
    return placed;
  }

  /** Time of the rollup's newest block on the hub: earlier super roots are of no use, whatever a node of the rollup says. */
  async #hubTimeSec({ view: { state, hubHeight }, signal }: Poll): Promise<bigint | undefined> {
    if (hubHeight === undefined) return undefined;
    const at = { id: commitmentIdOf(state), height: hubHeight };
    return (await this.#deps.hub.reads.fetchCommitment(at, signal))?.timestampSec;
  }

  async #withoutChallenged(
    games: readonly Candidate[],
    { l1, view, signal }: Poll,
    passOver: PassOver<FoundGame>,
  ): Promise<readonly Candidate[]> {
    const sound = await fetchUnchallenged(games, { l1, at: view.l1.height }, signal);
    for (const game of games) if (!sound.includes(game)) passOver(game, "challenged");
    return sound;
  }

  async #withoutBlacklisted(
    games: readonly Candidate[],
    { view, signal }: Poll,
    passOver: PassOver<FoundGame>,
  ): Promise<readonly Candidate[]> {
    const keys = games.map(({ game }) => blacklistedGameKey(view.state.stateMachineId, game.proxy));
    const values = await this.#deps.hub.reads.fetchStorage(keys, signal);
    return games.filter((game, index) => {
      const isBlacklisted = values[index] !== undefined;
      if (isBlacklisted) passOver(game, "blacklisted on the hub", true);
      return !isBlacklisted;
    });
  }

  /**
   * Finds types whose implementation on the L1 is not the one that the hub expects: its governance has to register each
   * upgrade.
   */
  async #unknownTypes(
    { view, rules, l1, signal }: Poll,
    candidates: readonly ListedGame[],
  ): Promise<ReadonlySet<number>> {
    const types = [...new Set(candidates.map(({ game }) => game.gameType))];
    if (types.length === 0) return new Set();
    const request = { account: rules.factory, slots: types.map(gameImplementationSlot) };
    const [answer] = await l1.fetchProofs([request], view.l1, signal);
    if (answer === undefined) throw new Error("A proof without an answer");
    const root = provenStorageRoot(accountNodesOf(answer), view.l1.stateRoot, rules.factory);
    const words = new Map<number, Hash256 | undefined>(
      types.map((
        gameType,
        index,
      ) => [gameType, provenWord(slotNodesOf(answer, index), root, gameImplementationSlot(gameType))]),
    );
    const unknown = new Map(
      findUnknownImplementations(rules.gameTypes, words).map((each) => [each.gameType, each]),
    );
    for (const gameType of types) {
      const { expected, found = "none" } = unknown.get(gameType) ?? {};
      this.#report(`implementation of ${gameType}`, expected !== undefined, () => {
        const { factory } = rules;
        this.#deps.log.warn("game_implementation_changed", { gameType, expected, found, factory });
      });
    }
    return new Set(unknown.keys());
  }

  async prove(game: Candidate, { view, rules, l1, signal }: Poll): Promise<ProvenClaim> {
    const { game: { proxy, gameType }, claimed, config } = game;
    const challenge = challengeWord(config.kind, proxy);
    const requests = [
      { account: rules.factory, slots: factoryProofSlots(game.game, game.extraData) },
      ...challenge === undefined ? [] : [{ account: challenge.account, slots: [challenge.slot] }],
    ];
    const [factoryAnswer, challengeAnswer] = await l1.fetchProofs(requests, view.l1, signal);
    if (factoryAnswer === undefined) throw new Error("A proof is missing");
    try {
      checkIsInFactory(game, {
        factory: rules.factory,
        answer: factoryAnswer,
        stateRoot: view.l1.stateRoot,
      });
    } catch (error) {
      this.#details.forget(game);
      throw error;
    }
    const rollup = { l2: this.#deps.l2, messageParser: this.#options.messageParser };
    const block = await fetchClaimedBlock(rollup, claimed, signal);
    const value = buildDisputeGameProof({
      ...block,
      ...game,
      factory: factoryAnswer,
      challenge: challengeAnswer,
    });
    const proof = opStackUpdateCodec.enc({
      l1Height: view.l1.height,
      proof: { tag: "OpFaultProofGames", value },
    });
    verifyOpStackUpdate(view.state, decodeOpStackUpdate(proof), {
      l1StateRoot: view.l1.stateRoot,
      disputeGames: rules,
      outputOracle: undefined,
      blacklistedGames: new Set(),
    });
    const summary =
      `block ${claimed.l2Height} by game ${proxy} of type ${gameType} at L1 block ${view.l1.height}`;
    return { kind: "claim", proof, height: claimed.l2Height, summary };
  }
}
