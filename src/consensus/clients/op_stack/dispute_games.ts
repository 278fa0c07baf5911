/**
 * Dispute games as claims: the highest valid, unchallenged game of a type that the hub lists is proved. Start reading at
 * {@link DisputeGames.plan}.
 */
import { fetchClaimedBlock, verifiedUpdate } from "./claimed_block.ts";
import {
  checkIsInFactory,
  fetchBlockAt,
  fetchChallenges,
  fetchDetails,
  fetchHead,
  fetchOtherImplementations,
  type FoundGame,
  type Game,
  type KnownDetails,
} from "./game_reads.ts";
import {
  buildDisputeGameProof,
  type ClaimedOutput,
  factoryProofSlots,
  readClaim,
} from "./spec/build_update.ts";
import { decodeDisputeGameCreated, DISPUTE_GAME_CREATED } from "./spec/claim_events.ts";
import { challengeWord, type SuperRootClaim } from "./spec/output_root.ts";
import { blacklistedGameKey, type DisputeGameRules, type OpStackConsensusState } from "./spec/update.ts";
import {
  type ClaimKind,
  type ClaimPoll,
  ClaimRefusal,
  type Keep,
  type ProvenClaim,
  type RollupDeps,
} from "../../rollup/claims.ts";
import type { Address } from "../../../core/evm/address.ts";
import type { RawLog } from "../../../core/evm/host_events.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import type { AccountProofAnswer } from "../../../core/merkle/evm_proof.ts";
import { commitmentIdOf } from "../../rollup/spec/rollup_client.ts";

/** A game that may be worth a proof. */
type Candidate = Game & {
  readonly claim: ClaimedOutput | SuperRootClaim;
  /** Height of the block that it is about; of a super root estimated. */
  readonly l2Height: bigint;
};

/** How games are selected and proved. */
export interface GameOptions {
  /** The rollup. */
  readonly stateMachine: StateMachine;
  /** Type of games to try first. */
  readonly respectedGameType?: number | undefined;
  /** Message passer on the rollup. */
  readonly messageParser: Address;
}

/** What the hub holds about the games of a rollup, and what is remembered of them between polls. */
interface KnownGames {
  readonly state: OpStackConsensusState;
  readonly rules: DisputeGameRules;
  readonly details: KnownDetails;
}

/** The games of one rollup; of all types, since the hub may list more types later. */
export class DisputeGames implements ClaimKind<FoundGame, Candidate> {
  readonly noun = "dispute games";
  readonly topic0 = DISPUTE_GAME_CREATED;
  readonly #deps: Pick<RollupDeps, "hub" | "l2">;
  readonly #options: GameOptions;
  readonly #known: KnownGames;

  constructor(deps: Pick<RollupDeps, "hub" | "l2">, options: GameOptions, known: KnownGames) {
    this.#deps = deps;
    this.#options = options;
    this.#known = known;
  }

  get contract(): Address {
    return this.#known.rules.factory;
  }

  decode(log: RawLog & { readonly blockNumber: bigint }): FoundGame | undefined {
    const game = decodeDisputeGameCreated(log, this.contract);
    if (game === undefined) return undefined;
    const blacklistKey = blacklistedGameKey(this.#known.state.stateMachineId, game.proxy);
    return { ...game, name: `game ${game.proxy}`, l1Height: log.blockNumber, blacklistKey };
  }

  /** Selects by type, claim, height, implementation and challenges, in the order of their cost. */
  async plan(
    open: readonly FoundGame[],
    keep: Keep<FoundGame>,
    poll: ClaimPoll,
  ): Promise<readonly Candidate[]> {
    const { l1, signal, block: { height: at } } = poll;
    const placed = await this.#place(await this.#readGames(open, keep, poll), keep, poll);
    if (placed.length === 0) return [];
    const others = await fetchOtherImplementations({ l1, at, signal }, this.#known.rules);
    const usual = keep(
      placed,
      (game) =>
        others.some(({ gameType }) => gameType === game.gameType)
          ? "of an implementation that the hub does not expect"
          : undefined,
    );
    const statuses = await fetchChallenges({ l1, at, signal }, usual);
    const sound = keep(usual, (_, index) => statuses[index] === "unchallenged" ? undefined : "challenged");
    const isOther = ({ gameType }: Candidate): number => gameType === this.#options.respectedGameType ? 0 : 1;
    return sound.toSorted((a, b) => isOther(a) - isOther(b) || Number(b.l2Height - a.l2Height));
  }

  /** Reads the properties of the games of listed types. */
  async #readGames(
    open: readonly FoundGame[],
    keep: Keep<FoundGame>,
    { l1, signal }: ClaimPoll,
  ): Promise<readonly Game[]> {
    const { details, rules: { gameTypes } } = this.#known;
    const listed = keep(
      open,
      (game) =>
        gameTypes.some(({ gameType }) => gameType === game.gameType)
          ? undefined
          : "of a type that the hub does not list",
    );
    await fetchDetails(l1, listed.map(({ proxy }) => proxy), details, signal);
    const readable = keep(listed, ({ proxy }) => details.has(proxy) ? undefined : "unreadable");
    return readable.flatMap((game) => {
      const config = gameTypes.find(({ gameType }) => gameType === game.gameType);
      const known = details.get(game.proxy);
      return config === undefined || known === undefined ? [] : [{ ...game, ...known, config }];
    });
  }

  /** Finds the heights of the blocks that games are about, and skips games about blocks of no use. */
  async #place(
    games: readonly Game[],
    keep: Keep<FoundGame>,
    { hubHeight, signal }: ClaimPoll,
  ): Promise<readonly Candidate[]> {
    const claims = games.map((game) => ({
      ...game,
      claim: readClaim(game, { ...game, kind: game.config.kind }, this.#options.stateMachine),
    }));
    const readable = keep(claims, ({ proxy, claim }) => {
      if (typeof claim !== "string") return undefined;
      // What the hash of the data proves needs no second read.
      if (!claim.startsWith("super_root")) this.#known.details.delete(proxy);
      return claim;
    });
    if (readable.length === 0) return [];
    const isAboutTime = readable.some(({ claim }) => typeof claim !== "string" && "timestampSec" in claim);
    const [newest, heightAt] = await Promise.all([
      this.#deps.l2.fetchHeight(signal),
      isAboutTime ? this.#heightsByTime(hubHeight, signal) : undefined,
    ]);
    const placed = readable.flatMap(({ claim, ...game }): Candidate[] => {
      if (typeof claim === "string") return [];
      const l2Height = "l2Height" in claim ? claim.l2Height : heightAt?.(claim.timestampSec);
      return l2Height === undefined ? [] : [{ ...game, claim, l2Height }];
    });
    return keep(placed, ({ l2Height }) => {
      if (hubHeight !== undefined && l2Height <= hubHeight) return "not above the hub's height";
      return l2Height > newest ? "about a block that the chain does not have" : undefined;
    });
  }

  /** Returns estimates of the heights of blocks by their time: above the hub's height only for later times. */
  async #heightsByTime(
    hubHeight: bigint | undefined,
    signal: AbortSignal,
  ): Promise<(timestampSec: bigint) => bigint> {
    const { l2, hub: { reads } } = this.#deps;
    const hubBlock = { id: commitmentIdOf(this.#known.state), height: hubHeight ?? 0n };
    const known = hubHeight === undefined ? undefined : await reads.fetchCommitment(hubBlock, signal);
    const { head, blockSec } = await fetchHead(l2, signal);
    return (timestampSec) => {
      if (known !== undefined && timestampSec < known.timestampSec + blockSec) return hubBlock.height;
      const agoSec = head.timestampSec - timestampSec;
      const height = head.number - (agoSec > 0n ? agoSec + blockSec - 1n : agoSec) / blockSec;
      return height > hubBlock.height ? height : hubBlock.height + 1n;
    };
  }

  async prove(game: Candidate, poll: ClaimPoll): Promise<ProvenClaim> {
    const { state, rules } = this.#known;
    const { factory, challenge } = await this.#fetchProofs(game, poll);
    const claimed = await this.#findOutput(game, poll);
    const rollup = { l2: this.#deps.l2, messageParser: this.#options.messageParser };
    const l2Block = await fetchClaimedBlock(rollup, claimed, poll.signal);
    const value = buildDisputeGameProof({ ...l2Block, ...game, game, claimed, factory, challenge });
    const proof = verifiedUpdate(state, poll.block, { tag: "OpFaultProofGames", value }, {
      disputeGames: rules,
    });
    return { proof, height: claimed.l2Height };
  }

  /** Fetches the proofs of the game in the factory, which are checked, and of its challenge word. */
  async #fetchProofs(
    game: Candidate,
    { block, l1, signal }: ClaimPoll,
  ): Promise<{ readonly factory: AccountProofAnswer; readonly challenge: AccountProofAnswer | undefined }> {
    const word = challengeWord(game.config.kind, game.proxy);
    const requests = [
      { account: this.contract, slots: factoryProofSlots(game, game.extraData) },
      ...word === undefined ? [] : [{ account: word.account, slots: [word.slot] }],
    ];
    const [factory, challenge] = await l1.fetchProofs(requests, block, signal);
    if (factory === undefined) throw new Error("A proof is missing");
    try {
      checkIsInFactory(game, { factory: this.contract, answer: factory, stateRoot: block.stateRoot });
    } catch (error) {
      this.#known.details.delete(game.proxy);
      throw error;
    }
    return { factory, challenge };
  }

  /** Finds the block that a game is about. */
  async #findOutput({ claim }: Candidate, { hubHeight, signal }: ClaimPoll): Promise<ClaimedOutput> {
    if ("l2Height" in claim) return claim;
    const l2Height = await fetchBlockAt(this.#deps.l2, claim.timestampSec, signal);
    if (typeof l2Height === "string") throw new ClaimRefusal(`block_${l2Height}`, "claim");
    if (hubHeight !== undefined && l2Height <= hubHeight) throw new ClaimRefusal("block_not_new", "claim");
    return { l2Height, outputRoot: claim.outputRoot };
  }
}
