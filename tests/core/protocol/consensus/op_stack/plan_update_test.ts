import { deepStrictEqual as equal } from "node:assert/strict";
import type { OutputProposed } from "../../../../../src/core/protocol/consensus/op_stack/claim_events.ts";
import type { GameTypeConfig } from "../../../../../src/core/protocol/consensus/op_stack/consensus_state.ts";
import {
  chooseGameTypes,
  type KnownGame,
  newestOutput,
  planGames,
  reasonToPassOver,
} from "../../../../../src/core/protocol/consensus/op_stack/plan_update.ts";
import type { Address } from "../../../../../src/core/protocol/evm/address.ts";
import { word } from "../../../../../src/core/protocol/evm/host_storage.ts";
import { fromHex } from "../../../../../src/core/protocol/bytes.ts";
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

Deno.test("game types: the operator's type is preferred only when the hub lists it", () => {
  equal(chooseGameTypes(gameTypes, undefined), { configs: gameTypes, preference: "none" });
  equal(chooseGameTypes(gameTypes, 621), { configs: [aggregate], preference: "applied" });
  equal(chooseGameTypes(gameTypes, 0), { configs: [fault], preference: "applied" });
  equal(chooseGameTypes(gameTypes, 7), { configs: gameTypes, preference: "hub_does_not_list_it" });
});

Deno.test("games: those of other types, blacklisted or beyond the hub's L1 height are passed over unasked", () => {
  const facts = { configs: gameTypes, blacklistedGames: new Set<Address>(), l1Height: 100n };
  equal(reasonToPassOver(found, facts), undefined);
  equal(reasonToPassOver(found, { ...facts, configs: [aggregate] }), "other_game_type");
  equal(reasonToPassOver(found, { ...facts, blacklistedGames: new Set([proxy]) }), "blacklisted");
  equal(reasonToPassOver(found, { ...facts, l1Height: 99n }), "beyond_hub_l1_height");
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

Deno.test("games: those that are contested, old, impossible or unreadable are passed over", () => {
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

Deno.test("games: at the edges a game still counts", () => {
  const facts = { hubHeight: 5n, l2Height: 99n };
  equal(planGames([known(6n)], facts).candidates.length, 1);
  equal(planGames([known(99n)], facts).candidates.length, 1);
  equal(planGames([known(0n)], { ...facts, hubHeight: undefined }).candidates.length, 1);
  equal(planGames([known(6n, { config: aggregate, challengeWord: undefined })], facts).candidates.length, 1);
});

Deno.test("outputs: the highest index above the hub's height is taken", () => {
  const output = (index: bigint, l2Height: bigint): OutputProposed => ({
    outputRoot: word(index),
    index,
    l2Height,
    l1TimestampSec: 1n,
  });
  const outputs = [output(1n, 10n), output(3n, 30n), output(2n, 20n)];
  equal(newestOutput(outputs, 15n), output(3n, 30n));
  equal(newestOutput(outputs, undefined), output(3n, 30n));
  equal(newestOutput(outputs, 30n), undefined);
  equal(newestOutput([], undefined), undefined);
});
