/**
 * Reads of dispute games on the L1: their own properties, the words of their challenges, and their place in the
 * factory.
 */
import { type Hash256, toHash256 } from "../../../core/encoding/bytes.ts";
import type { Address } from "../../../core/evm/address.ts";
import type { AccountProofAnswer } from "../../../core/merkle/evm_proof.ts";
import type { ContractRead, EvmReader } from "../../evm_reader.ts";
import { badData, ClaimRefusal } from "../../rollup/claim_dry_run.ts";
import type { RollupDeps } from "../../rollup/rollup_options.ts";
import type { RollupView } from "../../rollup/rollup_prover.ts";
import { accountNodesOf, provenStorageRoot, provenWord, slotNodesOf } from "../../rollup/spec/l1_storage.ts";
import { RollupDataError } from "../../rollup/spec/rollup_data_error.ts";
import { factoryProofSlots } from "./spec/build_update.ts";
import {
  decodeCreatedAt,
  decodeExtraData,
  disputeGameCalls,
  type DisputeGameCreated,
} from "./spec/claim_events.ts";
import type { OpStackConsensusState } from "./spec/consensus_state.ts";
import { challengeSlot, gameIdWord } from "./spec/output_root.ts";
import type { FoundGame, KnownGame } from "./spec/plan_update.ts";

/** Properties that a game reports. */
interface Details {
  readonly extraData: Uint8Array;
  readonly createdAtSec: bigint;
}

/** A game with its own properties. */
export type Game = FoundGame & Details;

/** Games with and without properties. */
export interface DetailedGames {
  readonly games: readonly Game[];
  /** Contracts that do not answer as games do. */
  readonly unreadable: readonly FoundGame[];
}

/** Properties of the open games of types that the hub lists; they never change, so each is read once. */
export class GameDetails {
  readonly #deps: Pick<RollupDeps, "l1" | "log">;
  #known: ReadonlyMap<Address, Details> = new Map();

  constructor(deps: Pick<RollupDeps, "l1" | "log">) {
    this.#deps = deps;
  }

  /** Reads the details of games; those without any are returned apart. */
  async read(games: readonly FoundGame[], l1: EvmReader, signal: AbortSignal): Promise<DetailedGames> {
    const unknown = games.filter(({ game }) => !this.#known.has(game.proxy));
    const results = await l1.fetchReads(unknown.flatMap(({ game }) => gameCalls(game)), signal);
    const unreadable: FoundGame[] = [];
    const asked = unknown.flatMap((each, index): [Address, Details][] => {
      const [extraData, createdAt] = results.slice(2 * index, 2 * index + 2);
      if (extraData === undefined || createdAt === undefined) {
        this.#deps.log.info("game_unreadable", {
          game: each.game.proxy,
        });
        unreadable.push(each);
        return [];
      }
      const details = {
        extraData: readLog(this.#deps.l1, () => decodeExtraData(extraData)),
        createdAtSec: readLog(this.#deps.l1, () => decodeCreatedAt(createdAt)),
      };
      return [[each.game.proxy, details]];
    });
    const known = new Map([...this.#known, ...asked]);
    const found = games.flatMap((each): Game[] => {
      const details = known.get(each.game.proxy);
      return details === undefined ? [] : [{ ...each, ...details }];
    });
    this.#known = new Map(found.map(({ game, extraData, createdAtSec }) => [
      game.proxy,
      { extraData, createdAtSec },
    ]));
    return { games: found, unreadable };
  }
}

/** Reads an answer about dispute games. @throws {ProverFault} `bad_data` when it does not match the ABI */
export function readLog<T>(l1: EvmReader, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof RollupDataError)) throw cause;
    throw badData(l1, "an answer about dispute games does not match its ABI", cause);
  }
}

/** Calls of a game's getters; their results never change, so no old state is needed. */
function gameCalls({ proxy }: DisputeGameCreated): readonly ContractRead[] {
  return [
    { kind: "call", to: proxy, data: disputeGameCalls.extraData, at: "latest" },
    { kind: "call", to: proxy, data: disputeGameCalls.createdAt, at: "latest" },
  ];
}

/** Reads the words of the challenge slots by proxy, for games that have one. */
export async function fetchChallengeWords(
  { l1, view }: { readonly l1: EvmReader; readonly view: Pick<RollupView<OpStackConsensusState>, "l1"> },
  games: readonly (Game & Pick<KnownGame, "config">)[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Address, Hash256>> {
  const reads = games.flatMap(({ game, config }) => {
    const slot = challengeSlot(config.kind);
    return slot === undefined
      ? []
      : [{ kind: "word" as const, account: game.proxy, slot, at: view.l1.height }];
  });
  const words = await l1.fetchReads(reads, signal);
  return new Map(reads.flatMap(({ account }, index) => {
    const word = words[index];
    return word === undefined ? [] : [[account, toHash256(word)] as const];
  }));
}

/**
 * Checks that the factory created this game at this time: otherwise the L1 endpoint returned invalid data, whatever the
 * rollup says. @throws {ClaimRefusal} `game_missing`, `game_mismatch` @throws {EvmProofError}
 */
export function checkIsInFactory(
  { game, extraData, createdAtSec }: Game,
  proven: { readonly factory: Address; readonly answer: AccountProofAnswer; readonly stateRoot: Hash256 },
): void {
  const root = provenStorageRoot(accountNodesOf(proven.answer), proven.stateRoot, proven.factory);
  const [slot] = factoryProofSlots(game, extraData);
  if (slot === undefined) throw new Error("The slot of the game is missing");
  const found = provenWord(slotNodesOf(proven.answer, 0), root, slot);
  if (found === undefined) throw new ClaimRefusal("game_missing", "l1");
  const expected = gameIdWord({ gameType: game.gameType, timestampSec: createdAtSec, proxy: game.proxy });
  if (found !== expected) throw new ClaimRefusal("game_mismatch", "l1");
}
