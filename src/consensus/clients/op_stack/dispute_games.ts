/**
 * Dispute games as claims: the highest valid, unchallenged game of a type that the hub lists is proved. Start reading at
 * {@link DisputeGames.plan}.
 */
import type { Address } from "../../../core/evm/address.ts";
import type { RawLog } from "../../../core/evm/host_events.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { dropOldest } from "../../../core/runtime/slices.ts";
import type {
  ClaimKind,
  ClaimPoll,
  Keep,
  OpStackOptions,
  ProvenClaim,
  RollupDeps,
} from "../../rollup/claims.ts";
import { accountNodesOf, provenStorageRoot, provenWord, slotNodesOf } from "../../rollup/spec/l1_storage.ts";
import { commitmentIdOf } from "../../rollup/spec/rollup_client.ts";
import { fetchClaimedBlock, verifiedUpdate } from "./claimed_block.ts";
import {
  checkIsInFactory,
  fetchBlockAt,
  fetchChallenges,
  fetchHead,
  fetchUnlistedGames,
  type Game,
  GameDetails,
} from "./game_reads.ts";
import { buildDisputeGameProof, type ClaimedOutput, factoryProofSlots } from "./spec/build_update.ts";
import { decodeDisputeGameCreated, DISPUTE_GAME_CREATED } from "./spec/claim_events.ts";
import {
  blacklistedGameKey,
  type DisputeGameRules,
  type GameTypeConfig,
  type OpStackConsensusState,
} from "./spec/update.ts";
import { challengeWord, gameImplementationSlot, type SuperRootClaim } from "./spec/output_root.ts";
import {
  findUnknownImplementations,
  type FoundGame,
  judgeHeight,
  type ListedGame,
  orderGames,
  readClaim,
  skipReason,
  typesOtherThanRespected,
} from "./spec/plan_update.ts";

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
  readonly keyOf = ({ game }: FoundGame): string => game.proxy;
  readonly describe = ({ game }: FoundGame): string => `game ${game.proxy}`;
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

  /** Selects by log, claim, height, challenges, blacklist and implementation, in the order of their cost. */
  async plan(
    open: readonly FoundGame[],
    poll: Poll,
    keep: Keep<FoundGame>,
  ): Promise<readonly Candidate[]> {
    const { rules: { gameTypes: configs }, view: { l1: { height }, state }, l1, signal } = poll;
    const newest = open.at(-1);
    if (newest !== undefined) await this.#reportUnlisted(newest, poll);
    const usable = keep(open, (game) => skipReason(game, { configs, l1Height: height }));
    const listed = usable.flatMap((game): ListedGame[] => {
      const config = configs.find(({ gameType }) => gameType === game.game.gameType);
      return config === undefined ? [] : [{ ...game, config }];
    });
    if (listed.length > 0) this.#reportRespectedType(listed.slice(-RECENT_GAMES), configs);
    await this.#details.read(listed, l1, signal);
    const readable = listed.flatMap((game): Game[] => {
      const details = this.#details.of(game);
      if (details === undefined) keep([game], () => "unreadable");
      return details === undefined ? [] : [{ ...game, ...details }];
    });
    const placed = await this.#place(readable, poll, keep);
    const statuses = await fetchChallenges({ l1, at: height, signal }, placed);
    const sound = keep(placed, (_, at) => statuses[at] === "unchallenged" ? undefined : "challenged");
    const keys = sound.map(({ game }) => blacklistedGameKey(state.stateMachineId, game.proxy));
    const blacklisted = await this.#deps.hub.reads.fetchStorage(keys, signal);
    const allowed = keep(sound, (_, at) => blacklisted[at] && "blacklisted on the hub", true);
    const unknown = await this.#unknownTypes(poll, allowed);
    const candidates = keep(
      allowed,
      ({ game: { gameType } }) =>
        unknown.has(gameType) ? "of an implementation that the hub does not expect" : undefined,
    );
    return orderGames(candidates, this.#options.respectedGameType);
  }

  /** Reports a condition when it begins. */
  #report(condition: string, holds: boolean, report: () => void): void {
    if (!holds) this.#reported.delete(condition);
    else if (!this.#reported.has(condition)) {
      this.#reported.add(condition);
      report();
    }
  }

  #reportRespectedType(games: readonly FoundGame[], configs: readonly GameTypeConfig[]): void {
    const { respectedGameType } = this.#options;
    const others = typesOtherThanRespected(games, configs, respectedGameType);
    this.#report("respected", others.length > 0, () => {
      this.#deps.log.warn("rollup_mismatch.game_type_missing", {
        respectedGameType,
        found: others.join(", "),
      });
    });
  }

  /** Reports that only games of types that the hub does not list have been created for a while. */
  async #reportUnlisted({ game: { gameType } }: FoundGame, { rules, l1, view, signal }: Poll): Promise<void> {
    if (rules.gameTypes.some((config) => config.gameType === gameType)) {
      this.#reported.delete("unlisted");
      return;
    }
    try {
      const found = await fetchUnlistedGames({ l1, at: view.l1.height, signal }, rules);
      if (found === undefined || view.l1.timestampSec - found.sinceSec < UNLISTED_AFTER_SEC) return;
      this.#report("unlisted", true, () =>
        this.#deps.log.warn("rollup_mismatch.games_unlisted", {
          gameType: found.types.join(", "),
          implementation: found.implementations.join(", "),
          games: found.count,
          factory: rules.factory,
        }));
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      this.#deps.log.debug("read_failed.rollup_claims", { error: fault });
    }
  }

  /** Finds the block that each game is about, and skips games about blocks of no use. */
  async #place(
    games: readonly Game[],
    poll: Poll,
    keep: Keep<FoundGame>,
  ): Promise<readonly Candidate[]> {
    const { view: { hubHeight }, signal } = poll;
    const placed: Candidate[] = [];
    const superRoots: SuperRootGame[] = [];
    for (const game of games) {
      const claim = readClaim(game, this.#options.stateMachine);
      if (typeof claim === "string") {
        const isProved = claim.startsWith("super_root"); // by the hash of the data
        if (!isProved) this.#details.forget(game);
        keep([game], () => claim, isProved);
      } else if ("timestampSec" in claim) superRoots.push({ ...game, claim });
      else placed.push({ ...game, claimed: claim });
    }
    if (superRoots.length > 0) placed.push(...await this.#placeSuperRoots(superRoots, poll, keep));
    const l2Height = placed.length === 0 ? 0n : await this.#deps.l2.fetchHeight(signal);
    return keep(placed, ({ claimed }) => judgeHeight(claimed.l2Height, { hubHeight, l2Height }));
  }

  /** Finds the blocks that super roots are about. */
  async #placeSuperRoots(
    games: readonly SuperRootGame[],
    { view: { state, hubHeight }, signal }: Poll,
    keep: Keep<FoundGame>,
  ): Promise<readonly Candidate[]> {
    const { l2, hub: { reads } } = this.#deps;
    const at = { id: commitmentIdOf(state), height: hubHeight ?? 0n };
    // Earlier seconds are of no use, whatever a node of the rollup reports.
    const { timestampSec: hubSec = 0n } = await reads.fetchCommitment(at, signal) ?? {};
    const later = keep(
      games,
      ({ claim }) => claim.timestampSec < hubSec ? "not above the hub's height" : undefined,
      true,
    );
    const head = await fetchHead(l2, signal);
    const turnOf = ({ game }: FoundGame): number => this.#searched.get(game.proxy) ?? -1;
    const inTurn = later.toSorted((a, b) =>
      turnOf(a) - turnOf(b) || Number(b.claim.timestampSec - a.claim.timestampSec)
    );
    const end = this.#searches + MAX_SEARCHES;
    const placed: Candidate[] = [];
    for (const { claim: { timestampSec, outputRoot }, ...game } of inTurn) {
      const needsSearch = timestampSec < head.head.timestampSec;
      const mustWait = needsSearch && this.#searches === end;
      if (needsSearch && !mustWait) this.#searched.set(game.game.proxy, this.#searches++);
      const l2Height = mustWait ? "undecided" : await fetchBlockAt(l2, timestampSec, head, signal);
      if (typeof l2Height === "string") keep([game], () => `of a time whose block is ${l2Height}`);
      else placed.push({ ...game, claimed: { l2Height, outputRoot } });
    }
    dropOldest(this.#searched, MAX_SEARCHED);
    return placed;
  }

  /**
   * Finds types whose implementation on the L1 is not the one that the hub expects: its governance has to register each
   * upgrade.
   */
  async #unknownTypes(
    { view, rules: { factory, gameTypes }, l1, signal }: Poll,
    candidates: readonly ListedGame[],
  ): Promise<ReadonlySet<number>> {
    const types = [...new Set(candidates.map(({ game }) => game.gameType))];
    if (types.length === 0) return new Set();
    const slots = types.map(gameImplementationSlot);
    const [answer] = await l1.fetchProofs([{ account: factory, slots }], view.l1, signal);
    if (answer === undefined) throw new Error("A proof without an answer");
    const root = provenStorageRoot(accountNodesOf(answer), view.l1.stateRoot, factory);
    const words = new Map(
      slots.map((slot, index) => [types[index] ?? 0, provenWord(slotNodesOf(answer, index), root, slot)]),
    );
    const unknown = findUnknownImplementations(gameTypes, words);
    for (const gameType of types) {
      const other = unknown.find((each) => each.gameType === gameType);
      const { expected, found = "none" } = other ?? {};
      this.#report(
        `implementation of ${gameType}`,
        other !== undefined,
        () =>
          this.#deps.log.warn("rollup_mismatch.implementation_changed", {
            gameType,
            expected,
            found,
            factory,
          }),
      );
    }
    return new Set(unknown.map(({ gameType }) => gameType));
  }

  async prove(game: Candidate, { view, rules, l1, signal }: Poll): Promise<ProvenClaim> {
    const { claimed, config } = game;
    const challenge = challengeWord(config.kind, game.game.proxy);
    const [factory, proven] = await l1.fetchProofs(
      [
        { account: rules.factory, slots: factoryProofSlots(game.game, game.extraData) },
        ...challenge === undefined ? [] : [{ account: challenge.account, slots: [challenge.slot] }],
      ],
      view.l1,
      signal,
    );
    if (factory === undefined) throw new Error("A proof is missing");
    try {
      checkIsInFactory(game, {
        factory: rules.factory,
        answer: factory,
        stateRoot: view.l1.stateRoot,
      });
    } catch (error) {
      this.#details.forget(game);
      throw error;
    }
    const rollup = { l2: this.#deps.l2, messageParser: this.#options.messageParser };
    const block = await fetchClaimedBlock(rollup, claimed, signal);
    const value = buildDisputeGameProof({ ...block, ...game, factory, challenge: proven });
    const proof = verifiedUpdate(view, { tag: "OpFaultProofGames", value }, { disputeGames: rules });
    return { proof, height: claimed.l2Height };
  }
}
