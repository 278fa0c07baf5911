import { deepStrictEqual as equal } from "node:assert/strict";
import type { GameTypeConfig } from "../../../../../src/consensus/clients/op_stack/spec/consensus_state.ts";
import {
  describeSkipped,
  findUnknownImplementations,
  type FoundGame,
  type KnownGame,
  planGames,
  skipReason,
  typesOtherThanRespected,
} from "../../../../../src/consensus/clients/op_stack/spec/plan_update.ts";
import { type Address, toAddress } from "../../../../../src/core/evm/address.ts";
import { word } from "../../../../../src/core/evm/host_storage.ts";
import { concatBytes, fromHex, type Hash256, toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import { aggregateGame, gameTypes } from "./vectors.ts";

function configOf(wanted: number): GameTypeConfig {
  const config = gameTypes.find(({ gameType }) => gameType === wanted);
  if (config === undefined) throw new Error(`No type ${wanted}`);
  return config;
}

const fault = configOf(0);
const aggregate = configOf(621);

const proxy = aggregateGame.proof.value.proxy;
const found = { game: { proxy, gameType: fault.gameType, rootClaim: word(1n) }, l1Height: 100n };

const typed = (gameType: number): FoundGame => ({ ...found, game: { ...found.game, gameType } });

Deno.test("game types: the respected one is missed only where games of other listed types were created", () => {
  const types = (games: readonly FoundGame[], respected: number | undefined): readonly number[] =>
    typesOtherThanRespected(games, gameTypes, respected);
  equal(types([typed(621), typed(0), typed(621)], 7), [0, 621]);
  equal(types([typed(621), typed(0)], 0), []);
  equal(types([typed(621)], undefined), []);
  equal(types([typed(8)], 0), []);
  equal(types([], 0), []);
});

Deno.test("games: those of other types, blacklisted or beyond the hub's L1 height are skipped unasked", () => {
  const facts = { configs: gameTypes, blacklistedGames: new Set<Address>(), l1Height: 100n };
  equal(skipReason(found, facts), undefined);
  equal(skipReason(found, { ...facts, configs: [aggregate] }), "other_game_type");
  equal(skipReason(found, { ...facts, blacklistedGames: new Set([proxy]) }), "blacklisted");
  equal(skipReason(found, { ...facts, l1Height: 99n }), "beyond_hub_l1_height");
});

function known(l2Height: bigint, change: Partial<KnownGame> = {}): KnownGame {
  return { ...found, config: fault, extraData: fromHex(word(l2Height)), challengeWord: word(1n), ...change };
}

Deno.test("games: the highest block comes first, and of the same block the oldest game", () => {
  const [low, high, middle, again] = [known(10n), known(30n), known(20n), known(30n, { l1Height: 101n })];
  const plan = planGames([low, high, middle, again], { hubHeight: 5n, l2Height: 99n });
  equal(
    plan.candidates,
    [high, again, middle, low].map((game, at) => ({ ...game, l2Height: [30n, 30n, 20n, 10n][at] })),
  );
  equal(plan.passedOver, []);
});

Deno.test("games: those that are contested, old, impossible or unreadable are skipped", () => {
  const games: [KnownGame, string][] = [
    [known(10n, { challengeWord: word(2n) }), "challenged"],
    [known(10n, { challengeWord: undefined }), "challenged"],
    [known(10n, { config: aggregate, challengeWord: word(1n) }), "challenged"],
    [known(5n), "not_above_hub"],
    [known(100n), "block_does_not_exist"],
    [known(10n, { extraData: new Uint8Array(31) }), "no_block_number"],
  ];
  const plan = planGames(games.map(([game]) => game), { hubHeight: 5n, l2Height: 99n });
  equal(plan.candidates, []);
  equal(plan.passedOver, games.map(([game, reason]) => ({ game, reason })));
});

Deno.test("games: those of the respected type come first, and none is left out for its type", () => {
  const other = (l2Height: bigint): KnownGame =>
    known(l2Height, {
      config: aggregate,
      game: { ...found.game, gameType: aggregate.gameType },
      challengeWord: undefined,
    });
  const heights = (respectedGameType: number | undefined): readonly bigint[] =>
    planGames([known(10n), other(40n), known(30n), other(20n)], {
      hubHeight: 5n,
      l2Height: 99n,
      respectedGameType,
    })
      .candidates.map(({ l2Height }) => l2Height);
  equal(heights(undefined), [40n, 30n, 20n, 10n]);
  equal(heights(0), [30n, 10n, 40n, 20n]);
  equal(heights(621), [40n, 20n, 30n, 10n]);
  equal(heights(8), [40n, 30n, 20n, 10n]);
});

Deno.test("games: an implementation that the hub does not expect is found, with what is there instead", () => {
  const { gameType, expectedImplementation: expected } = fault;
  const other = toAddress(`0x${"77".repeat(20)}`);
  const at = (address: Address): Hash256 => toHash256(concatBytes(new Uint8Array(12), fromHex(address)));
  const unknown = (word: Hash256 | undefined): unknown =>
    findUnknownImplementations(gameTypes, new Map([[gameType, word]]));
  equal(unknown(at(expected)), []);
  equal(unknown(at(other)), [{ gameType, expected, found: other }]);
  equal(unknown(undefined), [{ gameType, expected, found: undefined }]);
  equal(findUnknownImplementations(gameTypes, new Map()), []);
});

Deno.test("games: the reason why none is of use counts what is so", () => {
  equal(
    describeSkipped(["other_game_type", "challenged", "other_game_type"]),
    "none of 3 dispute games can be used: 2 of a type that the hub does not list, 1 challenged",
  );
});

Deno.test("games: at the edges a game still counts", () => {
  const facts = { hubHeight: 5n, l2Height: 99n };
  equal(planGames([known(6n)], facts).candidates.length, 1);
  equal(planGames([known(99n)], facts).candidates.length, 1);
  equal(planGames([known(0n)], { ...facts, hubHeight: undefined }).candidates.length, 1);
  equal(planGames([known(6n, { config: aggregate, challengeWord: undefined })], facts).candidates.length, 1);
});
