/**
 * Reads of dispute games on the L1 and of the blocks that they are about: properties of games, their challenge words,
 * their place in the factory, its implementations, and the newest games of all.
 */
import { factoryProofSlots } from "./spec/build_update.ts";
import {
  decodeDetails,
  type Details,
  disputeGameCalls,
  type DisputeGameCreated,
} from "./spec/claim_events.ts";
import type { DisputeGameRules, GameTypeConfig } from "./spec/update.ts";
import {
  type ChallengeStatus,
  challengeStatus,
  challengeWord,
  gameAtSlot,
  gameCountSlot,
  gameIdWord,
  gameImplementationSlot,
  parseGameIdWord,
} from "./spec/output_root.ts";
import type { ContractRead, EvmReader } from "../../evm_reader.ts";
import type { RollupClaim } from "../../rollup/claim_search.ts";
import { ClaimRefusal, readL1 } from "../../rollup/claims.ts";
import { accountNodesOf, provenStorageRoot, provenWord, slotNodesOf } from "../../rollup/spec/l1_storage.ts";
import { fromHex, type Hash256, toHash256 } from "../../../core/encoding/bytes.ts";
import { type Address, toAddress } from "../../../core/evm/address.ts";
import type { AccountProofAnswer } from "../../../core/merkle/evm_proof.ts";
import { dropOldest } from "../../../core/runtime/slices.ts";

/** Newest games of a factory that are compared with the hub's list. */
const MAX_NEWEST = 4n;
/** Games whose details are remembered: more than there are open claims. */
const MAX_DETAILS = 1_024;

/** A game by the log of its creation. */
export type FoundGame = DisputeGameCreated & RollupClaim;

/** A game of a type that the hub lists, with its own properties. */
export type Game = FoundGame & Details & { readonly config: GameTypeConfig };

/** Properties of games; they never change, so each is read once, unless what was read turns out to be wrong. */
export type KnownDetails = Map<Address, Details>;

/** Reads the details of games that are not known yet; contracts that do not answer as games do stay unknown. */
export async function fetchDetails(
  l1: EvmReader,
  proxies: readonly Address[],
  known: KnownDetails,
  signal: AbortSignal,
): Promise<void> {
  const unread = proxies.filter((proxy) => !known.has(proxy));
  const results = await l1.fetchReads(unread.flatMap(gameCalls), signal);
  unread.forEach((proxy, index) => {
    const [extraData, createdAt] = results.slice(2 * index, 2 * index + 2);
    if (extraData === undefined || createdAt === undefined) return;
    known.set(proxy, readL1(l1, () => decodeDetails(extraData, createdAt)));
  });
  dropOldest(known, MAX_DETAILS);
}

/** Calls of a game's getters; their results never change, so no old state is needed. */
function gameCalls(proxy: Address): readonly ContractRead[] {
  return [
    { kind: "call", to: proxy, data: disputeGameCalls.extraData, at: "latest" },
    { kind: "call", to: proxy, data: disputeGameCalls.createdAt, at: "latest" },
  ];
}

/** Block of the L1 at which words are read. */
interface WordReads {
  readonly l1: EvmReader;
  readonly at: bigint;
  readonly signal: AbortSignal;
}

async function fetchWords(
  { l1, at, signal }: WordReads,
  places: readonly { readonly account: Address; readonly slot: Hash256 }[],
): Promise<readonly Hash256[]> {
  const reads = places.map(({ account, slot }) => ({ kind: "word" as const, account, slot, at }));
  return (await l1.fetchReads(reads, signal)).map((word = "0x") => toHash256(word));
}

/** Reads whether games are contested, as an endpoint reports their challenge words. */
export async function fetchChallenges(
  at: WordReads,
  games: readonly Game[],
): Promise<readonly ChallengeStatus[]> {
  const places = games.map(({ proxy, config }) => challengeWord(config.kind, proxy));
  const words = (await fetchWords(at, places.flatMap((place) => place ?? []))).values();
  return places.map((place) => place ? challengeStatus(place, words.next().value) : "unchallenged");
}

/** Type of games with its contract. */
interface Implementation {
  readonly gameType: number;
  /** Contract that the factory clones for games of this type; zero: none. */
  readonly found: Address;
}

async function fetchImplementations(
  at: WordReads,
  account: Address,
  gameTypes: readonly number[],
): Promise<readonly Implementation[]> {
  const words = await fetchWords(
    at,
    gameTypes.map((gameType) => ({ account, slot: gameImplementationSlot(gameType) })),
  );
  return words.map((word, index) => ({
    gameType: gameTypes[index] ?? 0,
    found: toAddress(fromHex(word).subarray(12)),
  }));
}

/** Fetches the listed types whose games the hub refuses: the factory clones another contract for them. */
export async function fetchOtherImplementations(
  at: WordReads,
  { factory, gameTypes }: DisputeGameRules,
): Promise<readonly (Implementation & GameTypeConfig)[]> {
  const found = await fetchImplementations(at, factory, gameTypes.map(({ gameType }) => gameType));
  return gameTypes.flatMap((config, index) => {
    const implementation = found[index];
    return implementation === undefined || implementation.found === config.expectedImplementation
      ? []
      : [{ ...config, ...implementation }];
  });
}

/** Fetches the types of the newest games, in ascending order, if the hub lists none of them. */
export async function fetchUnlistedGames(
  at: WordReads,
  { factory: account, gameTypes }: DisputeGameRules,
): Promise<{ readonly count: number; readonly types: readonly Implementation[] } | undefined> {
  const [length] = await fetchWords(at, [{ account, slot: gameCountSlot }]);
  // A factory with another storage layout has none here.
  const total = BigInt(length ?? 0n);
  const count = Number(total < MAX_NEWEST ? total : MAX_NEWEST);
  const places = Array.from({ length: count }, (_, index) => ({
    account,
    slot: gameAtSlot(total - 1n - BigInt(index)),
  }));
  const games = (await fetchWords(at, places)).map(parseGameIdWord);
  const types = [...new Set(games.map(({ gameType }) => gameType))].toSorted((a, b) => a - b);
  if (types.length === 0 || gameTypes.some(({ gameType }) => types.includes(gameType))) return undefined;
  return { count, types: await fetchImplementations(at, account, types) };
}

/** Finds the block of the rollup that a second means. @returns as {@link findBlockAt} */
export async function fetchBlockAt(
  l2: EvmReader,
  timestampSec: bigint,
  signal: AbortSignal,
): Promise<bigint | "before_first_block" | "undecided"> {
  return await findBlockAt(timestampSec, await fetchHead(l2, signal), async (number) => {
    const [block, next] = await l2.fetchHeaders([number, number + 1n], signal);
    if (block === undefined || next === undefined) throw new Error("A header without an answer");
    return [block.header, next.header];
  });
}

/** Fetches the rollup's newest block with the seconds since the one before it. */
export async function fetchHead(
  l2: EvmReader,
  signal: AbortSignal,
): Promise<{ readonly head: BlockTime; readonly blockSec: bigint }> {
  const [newest] = await l2.fetchHeaders(["latest"], signal);
  if (newest === undefined) throw new Error("A header without an answer");
  const { header: head } = newest;
  const previous = head.number === 0n ? newest : await l2.fetchHeader(head.number - 1n, signal);
  const blockSec = head.timestampSec - (previous ?? newest).header.timestampSec;
  return { head, blockSec: blockSec > 0n ? blockSec : 1n };
}

/**
 * Checks that the factory created this game at this time: otherwise the L1 endpoint returned invalid data, whatever the
 * rollup says. @throws {ClaimRefusal} `game_missing`, `game_mismatch` @throws {EvmProofError}
 */
export function checkIsInFactory(
  game: Game,
  proven: { readonly factory: Address; readonly answer: AccountProofAnswer; readonly stateRoot: Hash256 },
): void {
  const root = provenStorageRoot(accountNodesOf(proven.answer), proven.stateRoot, proven.factory);
  const [slot] = factoryProofSlots(game, game.extraData);
  if (slot === undefined) throw new Error("The slot of the game is missing");
  const found = provenWord(slotNodesOf(proven.answer, 0), root, slot);
  if (found === undefined) throw new ClaimRefusal("game_missing", "l1");
  if (found !== gameIdWord({ ...game, timestampSec: game.createdAtSec })) {
    throw new ClaimRefusal("game_mismatch", "l1");
  }
}

/** Number and time of a block. */
export interface BlockTime {
  readonly number: bigint;
  readonly timestampSec: bigint;
}

/** Blocks to read, with the next one each: enough to halve any chain. */
const MAX_READS = 64;

/**
 * Finds the block. @param head newest block. @param blockSec seconds between its blocks. @param read times of a block and
 * the next one. @returns `before_first_block`; `undecided` while a later block may still be the one.
 */
export async function findBlockAt(
  timestampSec: bigint,
  { head, blockSec }: { readonly head: BlockTime; readonly blockSec: bigint },
  read: (number: bigint) => Promise<readonly [BlockTime, BlockTime]>,
): Promise<bigint | "before_first_block" | "undecided"> {
  if (timestampSec >= head.timestampSec) {
    return timestampSec - head.timestampSec < blockSec ? head.number : "undecided";
  }
  /** Later than the timestamp. */
  let high = head;
  /** Not later; undefined: none is known yet. */
  let low: BlockTime | undefined;
  for (let reads = 0; reads < MAX_READS; reads++) {
    const guess = low === undefined
      ? stepBack(timestampSec, { high, blockSec: blockSec / 2n ** BigInt(reads) })
      : between(timestampSec, { low, high, isHalving: reads % 2 === 1 });
    const [block, next] = await read(guess);
    if (block.timestampSec > timestampSec) {
      if (block.number === 0n) return "before_first_block";
      high = block;
    } else if (next.timestampSec > timestampSec) return block.number;
    else low = next;
    // A node that reorganizes meanwhile: the next poll finds it settled.
    if (low !== undefined && low.number >= high.number) return "undecided";
  }
  return "undecided";
}

function stepBack(
  timestampSec: bigint,
  { high, blockSec }: { readonly high: BlockTime; readonly blockSec: bigint },
): bigint {
  const tooLateSec = high.timestampSec - timestampSec;
  const blocks = blockSec < 1n ? high.number : (tooLateSec + blockSec - 1n) / blockSec;
  return blocks < high.number ? high.number - (blocks < 1n ? 1n : blocks) : 0n;
}

function between(
  timestampSec: bigint,
  { low, high, isHalving }: {
    readonly low: BlockTime;
    readonly high: BlockTime;
    readonly isHalving: boolean;
  },
): bigint {
  const span = high.number - low.number;
  if (isHalving) return low.number + span / 2n;
  return low.number + (timestampSec - low.timestampSec) * span / (high.timestampSec - low.timestampSec);
}
