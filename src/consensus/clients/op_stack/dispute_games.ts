/**
 * Dispute games as claims: the highest valid, unchallenged game of a type that the hub lists is proved. Start reading at
 * `plan` of {@link disputeGames}.
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
  type RollupDeps,
} from "../../rollup/claims.ts";
import type { Address } from "../../../core/evm/address.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
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

/**
 * The games of one rollup; of all types, since the hub may list more types later. @param onHub.details remembered between
 * polls.
 */
export function disputeGames(
  deps: Pick<RollupDeps, "hub" | "l2">,
  { stateMachine: chain, respectedGameType, messageParser }: GameOptions,
  { state, rules, details }: {
    readonly state: OpStackConsensusState;
    readonly rules: DisputeGameRules;
    readonly details: KnownDetails;
  },
): ClaimKind<FoundGame, Candidate> {
  const { factory, gameTypes } = rules;

  /** Returns estimates of the heights of blocks by their time: above the hub's height only for later times. */
  async function heightsByTime(
    hubHeight: bigint | undefined,
    signal: AbortSignal,
  ): Promise<(timestampSec: bigint) => bigint> {
    const hubBlock = { id: commitmentIdOf(state), height: hubHeight ?? 0n };
    const known = hubHeight === undefined
      ? undefined
      : await deps.hub.reads.fetchCommitment(hubBlock, signal);
    const { head, blockSec } = await fetchHead(deps.l2, signal);
    return (timestampSec) => {
      if (known !== undefined && timestampSec < known.timestampSec + blockSec) return hubBlock.height;
      const agoSec = head.timestampSec - timestampSec;
      const height = head.number - (agoSec > 0n ? agoSec + blockSec - 1n : agoSec) / blockSec;
      return height > hubBlock.height ? height : hubBlock.height + 1n;
    };
  }

  /** Finds the heights of the blocks that games are about, and skips games about blocks of no use. */
  async function place(
    games: readonly Game[],
    { hubHeight, signal }: ClaimPoll,
    keep: Keep<FoundGame>,
  ): Promise<readonly Candidate[]> {
    const claims = games.map((game) => ({
      ...game,
      claim: readClaim(game, { ...game, kind: game.config.kind }, chain),
    }));
    const readable = keep(claims, ({ proxy, claim }) => {
      if (typeof claim !== "string") return undefined;
      // What the hash of the data proves needs no second read.
      if (!claim.startsWith("super_root")) details.delete(proxy);
      return claim;
    });
    if (readable.length === 0) return [];
    const isAboutTime = readable.some(({ claim }) => typeof claim !== "string" && "timestampSec" in claim);
    const [newest, heightAt] = await Promise.all([
      deps.l2.fetchHeight(signal),
      isAboutTime ? heightsByTime(hubHeight, signal) : undefined,
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

  /** Finds the block that a game is about. */
  async function findOutput({ claim }: Candidate, { hubHeight, signal }: ClaimPoll): Promise<ClaimedOutput> {
    if ("l2Height" in claim) return claim;
    const l2Height = await fetchBlockAt(deps.l2, claim.timestampSec, signal);
    if (typeof l2Height === "string") throw new ClaimRefusal(`block_${l2Height}`, "claim");
    if (hubHeight !== undefined && l2Height <= hubHeight) throw new ClaimRefusal("block_not_new", "claim");
    return { l2Height, outputRoot: claim.outputRoot };
  }

  return {
    noun: "dispute games",
    contract: factory,
    topic0: DISPUTE_GAME_CREATED,
    decode: (log) => {
      const game = decodeDisputeGameCreated(log, factory);
      if (game === undefined) return undefined;
      const blacklistKey = blacklistedGameKey(state.stateMachineId, game.proxy);
      return { ...game, name: `game ${game.proxy}`, l1Height: log.blockNumber, blacklistKey };
    },
    // By type, claim, height, implementation and challenges, in the order of their cost.
    plan: async (open, keep, poll) => {
      const { l1, signal, block: { height: at } } = poll;
      const listed = keep(
        open,
        (game) =>
          gameTypes.some(({ gameType }) => gameType === game.gameType)
            ? undefined
            : "of a type that the hub does not list",
      );
      await fetchDetails(l1, listed.map(({ proxy }) => proxy), details, signal);
      const readable = keep(listed, ({ proxy }) => details.has(proxy) ? undefined : "unreadable");
      const games = readable.flatMap((game): Game[] => {
        const config = gameTypes.find(({ gameType }) => gameType === game.gameType);
        const known = details.get(game.proxy);
        return config === undefined || known === undefined ? [] : [{ ...game, ...known, config }];
      });
      const placed = await place(games, poll, keep);
      if (placed.length === 0) return [];
      const others = await fetchOtherImplementations({ l1, at, signal }, rules);
      const usual = keep(
        placed,
        (game) =>
          others.some(({ gameType }) => gameType === game.gameType)
            ? "of an implementation that the hub does not expect"
            : undefined,
      );
      const statuses = await fetchChallenges({ l1, at, signal }, usual);
      const sound = keep(usual, (_, index) => statuses[index] === "unchallenged" ? undefined : "challenged");
      const isOther = ({ gameType }: Candidate): number => gameType === respectedGameType ? 0 : 1;
      return sound.toSorted((a, b) => isOther(a) - isOther(b) || Number(b.l2Height - a.l2Height));
    },
    prove: async (game, poll) => {
      const { block, l1, signal } = poll;
      const challenge = challengeWord(game.config.kind, game.proxy);
      const requests = [
        { account: factory, slots: factoryProofSlots(game, game.extraData) },
        ...challenge === undefined ? [] : [{ account: challenge.account, slots: [challenge.slot] }],
      ];
      const [answer, proven] = await l1.fetchProofs(requests, block, signal);
      if (answer === undefined) throw new Error("A proof is missing");
      try {
        checkIsInFactory(game, { factory, answer, stateRoot: block.stateRoot });
      } catch (error) {
        details.delete(game.proxy);
        throw error;
      }
      const claimed = await findOutput(game, poll);
      const l2Block = await fetchClaimedBlock({ l2: deps.l2, messageParser }, claimed, signal);
      const value = buildDisputeGameProof({
        ...l2Block,
        ...game,
        game,
        claimed,
        factory: answer,
        challenge: proven,
      });
      const proof = verifiedUpdate(state, block, { tag: "OpFaultProofGames", value }, {
        disputeGames: rules,
      });
      return { proof, height: claimed.l2Height };
    },
  };
}
