/** Dispute games as claims: the highest valid, unchallenged game of a type that the hub lists is proved. */
import { fetchClaimedBlock, verifiedUpdate } from "./outputs.ts";
import {
  buildDisputeGameProof,
  type ClaimedOutput,
  factoryProofSlots,
  readClaim,
} from "./spec/build_update.ts";
import {
  decodeDetails,
  decodeDisputeGameCreated,
  type Details,
  DISPUTE_GAME_CREATED,
  disputeGameCalls,
  type DisputeGameCreated,
} from "./spec/claim_events.ts";
import { challengeWord, gameImplementationSlot, type SuperRootClaim } from "./spec/output_root.ts";
import {
  blacklistedGameKey,
  type DisputeGameRules,
  type GameTypeConfig,
  type OpStackConsensusState,
} from "./spec/update.ts";
import { requireGame } from "./spec/verify_update.ts";
import { type ClaimKind, ClaimRefusal, type RollupClaim, type RollupDeps } from "../../rollup/claims.ts";
import { accountNodesOf, provenStorageRoot, slotNodesOf } from "../../rollup/spec/l1_storage.ts";
import { type EvmReader, fetchEvmHeader } from "../../evm_reader.ts";
import { fromHex, type Hash256 } from "../../../core/encoding/bytes.ts";
import { type Address, toAddress } from "../../../core/evm/address.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";

/** A game by the log of its creation. */
export type FoundGame = DisputeGameCreated & RollupClaim;

/** A game that may be worth a proof. */
type Candidate = FoundGame & Details & {
  readonly config: GameTypeConfig;
  readonly claim: ClaimedOutput | SuperRootClaim;
  /** Height of the block that it is about, of a super root estimated by its time. */
  readonly estimate: bigint;
  /** Newest block of the rollup. */
  readonly newest: bigint;
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

/** The games of one rollup; of all types, since the hub may list more types later. */
export function disputeGames(
  { l2 }: Pick<RollupDeps, "l2">,
  { stateMachine: chain, respectedGameType, messageParser }: GameOptions,
  { state, rules }: { readonly state: OpStackConsensusState; readonly rules: DisputeGameRules },
): ClaimKind<FoundGame, Candidate> {
  const { factory: contract, gameTypes } = rules;
  return {
    noun: "dispute games",
    contract,
    topic0: DISPUTE_GAME_CREATED,
    decode: (log) => {
      const game = decodeDisputeGameCreated(log, contract);
      if (game === undefined) return undefined;
      const blacklistKey = blacklistedGameKey(state.stateMachineId, game.proxy);
      return { ...game, name: `game ${game.proxy}`, log, blacklistKey };
    },
    plan: async (open, { l1, block, reportSkipped, signal }) => {
      const isListed = (game: FoundGame): boolean =>
        gameTypes.some(({ gameType }) => gameType === game.gameType);
      const listed = open.filter(isListed);
      const unlisted = open.filter((game) => !isListed(game))
        .map(({ gameType }) => `of type ${gameType}, which the hub does not list`);
      if (listed.length === 0) return unlisted;
      const slots = gameTypes.map(({ gameType }) => gameImplementationSlot(gameType));
      const [words, details, head] = await Promise.all([
        l1.fetchProvenWords({ account: contract, slots }, block, signal),
        fetchDetails(l1, listed, signal),
        fetchHead(l2, signal),
      ]);
      const types = gameTypes.map((config, index) => ({ config, implementation: words[index] }));
      const judged = listed.map((game, index) => {
        const answer = details[index];
        if (answer !== undefined) return judgeGame(game, { details: answer, types, head, chain });
        reportSkipped(game, "its address does not answer like a dispute game");
        return "at an address that does not answer like a dispute game";
      });
      const isOther = ({ gameType }: Candidate): number => gameType === respectedGameType ? 0 : 1;
      const candidates = judged.filter((each) => typeof each !== "string")
        .toSorted((a, b) => isOther(a) - isOther(b) || Number(b.estimate - a.estimate));
      return [...unlisted, ...judged.filter((each) => typeof each === "string"), ...candidates];
    },
    prove: async (game, { l1, block, hubHeight = -1n, signal }) => {
      const word = challengeWord(game.config.kind, game.proxy);
      const requests = [
        { account: contract, slots: factoryProofSlots(game, game.extraData) },
        ...word === undefined ? [] : [{ account: word.account, slots: [word.slot] }],
      ];
      const [factory, challenge] = await l1.fetchProofs(requests, block, signal);
      if (factory === undefined) throw new Error("A proof is missing");
      // Otherwise the L1 endpoint returned invalid data, whatever the rollup says.
      requireGame(
        { ...game, timestampSec: game.createdAtSec, disputeGameProof: slotNodesOf(factory, 0) },
        provenStorageRoot(accountNodesOf(factory), block.stateRoot, contract),
        game.rootClaim,
      );
      const claimed = await findOutput(l2, game, signal);
      // The hub stores nothing at or below its height. Which block a super root means is the endpoint's word until then.
      const isOld = claimed.l2Height <= hubHeight;
      if (isOld && "l2Height" in game.claim) return undefined;
      const l2Block = await fetchClaimedBlock({ l2, messageParser }, claimed, signal);
      const value = buildDisputeGameProof({ ...l2Block, ...game, game, claimed, factory, challenge });
      if (isOld) return undefined;
      const proof = verifiedUpdate(state, block, { tag: "OpFaultProofGames", value }, {
        disputeGames: rules,
      });
      return { proof, height: claimed.l2Height };
    },
  };
}

/** What games are judged by. */
interface GameFacts {
  readonly details: Details;
  /** Listed types, with the words of their implementations in the factory, as the L1's state has them. */
  readonly types: readonly {
    readonly config: GameTypeConfig;
    readonly implementation: Hash256 | undefined;
  }[];
  readonly head: Head;
  readonly chain: StateMachine;
}

/** Selects by type, implementation and claim; otherwise the reason to skip the game. */
function judgeGame(game: FoundGame, { details, types, head, chain }: GameFacts): Candidate | string {
  const { config, implementation } = types.find((each) => each.config.gameType === game.gameType) ?? {};
  if (config === undefined) return "of a type that the hub does not list";
  const found = implementation === undefined ? "none" : toAddress(fromHex(implementation).subarray(12));
  if (found !== config.expectedImplementation) {
    return `of type ${game.gameType} with implementation ${found}, and the hub expects ` +
      config.expectedImplementation;
  }
  const claim = readClaim(game, { ...details, kind: config.kind }, chain);
  if (typeof claim === "string") return claim;
  const estimate = "l2Height" in claim ? claim.l2Height : estimateHeight(claim.timestampSec, head);
  if (estimate > head.number) return "about a block that the chain does not have";
  return { ...game, ...details, config, claim, estimate, newest: head.number };
}

/** Reads the properties of games; `undefined` for contracts that do not answer as games do. */
async function fetchDetails(
  l1: EvmReader,
  games: readonly FoundGame[],
  signal: AbortSignal,
): Promise<readonly (Details | undefined)[]> {
  const { extraData, createdAt } = disputeGameCalls;
  const calls = games.flatMap(({ proxy: to }) => [{ to, data: extraData }, { to, data: createdAt }]);
  const results = await l1.fetchCalls(calls, signal);
  return games.map((_, index) => {
    const [data, time] = results.slice(2 * index, 2 * index + 2);
    return data === undefined || time === undefined ? undefined : decodeDetails(data, time);
  });
}

/** Number and time of a block. */
export interface BlockTime {
  readonly number: bigint;
  readonly timestampSec: bigint;
}

/** The rollup's newest block. */
interface Head extends BlockTime {
  /** Seconds since the block before it, at least one. */
  readonly blockSec: bigint;
}

async function fetchHead(l2: EvmReader, signal: AbortSignal): Promise<Head> {
  const { number, timestampSec, parentHash } = await fetchEvmHeader(l2, "latest", signal);
  const parent = number === 0n ? undefined : await l2.fetchHeader(parentHash, signal);
  const blockSec = timestampSec - (parent?.header.timestampSec ?? timestampSec);
  return { number, timestampSec, blockSec: blockSec > 0n ? blockSec : 1n };
}

/** Estimates which block a second means: as if all blocks took as long as the newest. */
function estimateHeight(timestampSec: bigint, { number, timestampSec: headSec, blockSec }: Head): bigint {
  const agoSec = headSec - timestampSec;
  return number - (agoSec > 0n ? agoSec + blockSec - 1n : agoSec) / blockSec;
}

/** Finds the block that a game is about. */
async function findOutput(l2: EvmReader, game: Candidate, signal: AbortSignal): Promise<ClaimedOutput> {
  const { claim } = game;
  if ("l2Height" in claim) return claim;
  const l2Height = await findBlockAt(claim.timestampSec, game, async (number) => {
    const [block, next] = await l2.fetchHeaders([number, number + 1n], signal);
    if (block === undefined || next === undefined) throw new Error("A header without an answer");
    return [block.header, next.header];
  });
  if (l2Height === undefined) throw new ClaimRefusal("block_does_not_exist", "claim");
  return { l2Height, outputRoot: claim.outputRoot };
}

/**
 * Finds the newest block at or before a second; `undefined`: it is before the first. @param around.estimate block to
 * begin with, of the newest one it is the result. @param read times of a block and the next one.
 */
export async function findBlockAt(
  timestampSec: bigint,
  { estimate, newest }: { readonly estimate: bigint; readonly newest: bigint },
  read: (number: bigint) => Promise<readonly [BlockTime, BlockTime]>,
): Promise<bigint | undefined> {
  if (estimate >= newest) return newest;
  let [low, high] = [0n, newest];
  for (let at = estimate < 0n ? 0n : estimate; low < high; at = (low + high) / 2n) {
    const [block, next] = await read(at);
    if (block.timestampSec > timestampSec) high = at;
    else if (next.timestampSec > timestampSec) return at;
    else low = at + 1n;
  }
  return undefined;
}
