import { deepStrictEqual as equal } from "node:assert/strict";
import { concatHex, hexToBytes, keccak256, numberToHex } from "viem";
import type {
  DisputeGameKind,
  GameTypeConfig,
} from "../../../../../src/consensus/clients/op_stack/spec/update.ts";
import { type BlockTime, findBlockAt } from "../../../../../src/consensus/clients/op_stack/game_reads.ts";
import {
  findUnknownImplementations,
  findUnlistedGames,
  type FoundGame,
  judgeHeight,
  orderGames,
  readClaim,
  skipReason,
  typesOtherThanRespected,
} from "../../../../../src/consensus/clients/op_stack/spec/plan_update.ts";
import { type Address, toAddress } from "../../../../../src/core/evm/address.ts";
import { word } from "../../../../../src/core/evm/host_storage.ts";
import { concatBytes, fromHex, type Hash256, toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import { evmStateMachine } from "../../../../../src/core/ismp/state_machine.ts";
import { aggregateGame, gameTypes } from "./vectors.ts";

function typeOf(wanted: number): GameTypeConfig {
  const config = gameTypes.find(({ gameType }) => gameType === wanted);
  if (config === undefined) throw new Error(`No type ${wanted}`);
  return config;
}

const fault = typeOf(0);
const proxy = aggregateGame.proof.value.proxy;
const found = { game: { proxy, gameType: fault.gameType, rootClaim: word(1n) }, l1Height: 100n };
const optimism = evmStateMachine(10);

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

Deno.test("games: those of other types or beyond the hub's L1 height are skipped unasked", () => {
  const facts = { configs: gameTypes, l1Height: 100n };
  equal(skipReason(found, facts), undefined);
  equal(skipReason(typed(8), facts), "of a type that the hub does not list");
  equal(skipReason(found, { ...facts, l1Height: 99n }), "newer than the L1 block that the hub knows");
});

Deno.test("games: a claim is about the block in the first word, or about the second of a super root", () => {
  const claimOf = (extraData: Uint8Array, kind: DisputeGameKind, rootClaim = word(1n)): unknown =>
    readClaim(
      { ...found, game: { ...found.game, rootClaim }, config: { ...fault, kind }, extraData },
      optimism,
    );
  const plain = { tag: "FaultDisputeGame" } as const;
  equal(claimOf(fromHex(word(10n)), plain), { l2Height: 10n, outputRoot: word(1n) });
  equal(claimOf(fromHex(`${word(10n)}ffff`), plain), { l2Height: 10n, outputRoot: word(1n) });
  equal(claimOf(new Uint8Array(31), plain), "without a block number");
  // Written by hand: version, time, then chain 10 with its output.
  const extraData = concatHex(["0x01", "0x000000006ab13380", numberToHex(10, { size: 32 }), word(7n)]);
  const permissioned: DisputeGameKind = {
    tag: "SuperPermissionedDisputeGame",
    value: { anchorStateRegistry: proxy },
  };
  for (const kind of [{ tag: "SuperFaultDisputeGame" } as const, permissioned]) {
    const claim = toHash256(keccak256(extraData));
    equal(claimOf(hexToBytes(extraData), kind, claim), { timestampSec: 0x6ab13380n, outputRoot: word(7n) });
    equal(claimOf(hexToBytes(extraData), kind), "with other extra data than claimed");
    const other = hexToBytes(extraData).with(40, 11);
    equal(claimOf(other, kind, toHash256(keccak256(other))), "super_root_without_chain");
  }
});

Deno.test("games: the block must be above the hub's, and one that the chain has", () => {
  const facts = { hubHeight: 5n, l2Height: 99n };
  equal([5n, 6n, 99n, 100n].map((height) => judgeHeight(height, facts)), [
    "not above the hub's height",
    undefined,
    undefined,
    "about a block that the chain does not have",
  ]);
  equal(judgeHeight(0n, { ...facts, hubHeight: undefined }), undefined);
});

Deno.test("games: the respected type comes first, then the highest block, and of the same block the oldest game", () => {
  const claim = (
    l2Height: bigint,
    gameType = 0,
  ): FoundGame & { claimed: { l2Height: bigint; outputRoot: Hash256 } } => ({
    ...typed(gameType),
    claimed: { l2Height, outputRoot: word(1n) },
  });
  const games = [claim(10n), claim(40n, 621), claim(30n), claim(20n, 621)];
  const heights = (respected: number | undefined): readonly bigint[] =>
    orderGames(games, respected).map(({ claimed }) => claimed.l2Height);
  equal(heights(undefined), [40n, 30n, 20n, 10n]);
  equal(heights(0), [30n, 10n, 40n, 20n]);
  equal(heights(621), [40n, 20n, 30n, 10n]);
  equal(heights(8), [40n, 30n, 20n, 10n]);
  const twice = [claim(30n), { ...claim(30n), l1Height: 101n }];
  equal(orderGames(twice, undefined), twice);
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

Deno.test("games: the newest ones count as unlisted up to the first that is listed", () => {
  const game = (gameType: number, timestampSec: bigint): Parameters<typeof findUnlistedGames>[0][number] => ({
    gameType,
    timestampSec,
    proxy,
  });
  const unlisted = (...newest: readonly ReturnType<typeof game>[]): unknown =>
    findUnlistedGames(newest, gameTypes);
  equal(unlisted(), undefined);
  equal(unlisted(game(0, 9n), game(8, 8n)), undefined);
  equal(unlisted(game(9, 9n), game(8, 8n), game(9, 7n), game(0, 6n), game(5, 5n)), {
    count: 3,
    types: [8, 9],
    sinceSec: 7n,
  });
  equal(unlisted(game(5, 9n)), { count: 1, types: [5], sinceSec: 9n });
});

/** Looks a second up in a chain whose blocks have these times; the blocks that were read come along. */
async function blockAt(times: readonly number[], second: number): Promise<[unknown, number]> {
  const blocks = times.map((time, number): BlockTime => ({
    number: BigInt(number),
    timestampSec: BigInt(time),
  }));
  const at = (number: bigint): BlockTime => {
    const block = blocks[Number(number)];
    if (block === undefined) throw new Error(`No block ${number}`);
    return block;
  };
  const [head, previous] = [at(BigInt(times.length - 1)), at(BigInt(times.length - 2))];
  const blockSec = head.timestampSec - previous.timestampSec;
  let reads = 0;
  const found = await findBlockAt(
    BigInt(second),
    { head, blockSec: blockSec > 0n ? blockSec : 1n },
    (number) => {
      reads++;
      return Promise.resolve([at(number), at(number + 1n)]);
    },
  );
  return [found, reads];
}

Deno.test("block of a second: the newest at or before it; the head while no later block can be", async () => {
  const regular = Array.from({ length: 1_000 }, (_, number) => 100 + 2 * number);
  equal(await blockAt(regular, 100), [0n, 1]);
  equal(await blockAt(regular, 101), [0n, 1]);
  equal(await blockAt(regular, 702), [301n, 1]);
  equal(await blockAt(regular, 703), [301n, 1]);
  equal(await blockAt(regular, 2_097), [998n, 1]);
  equal(await blockAt(regular, 2_098), [999n, 0]);
  equal(await blockAt(regular, 2_099), [999n, 0]);
  equal(await blockAt(regular, 2_100), ["undecided", 0]);
  equal((await blockAt(regular, 99))[0], "before_first_block");
});

Deno.test("block of a second: in chains of any block times each second is found, in few reads", async () => {
  const gap = (number: number): number => number % 97 === 0 ? 1_000 : number < 500 ? 12 : number % 3;
  let time = 50;
  const times = Array.from({ length: 900 }, (_, number) => time += gap(number));
  for (const end of [900, 490, 98]) {
    const chain = times.slice(0, end);
    const last = chain.at(-1) ?? 0;
    for (let second = chain[0] ?? 0; second < last; second += 7) {
      const [found, reads] = await blockAt(chain, second);
      equal(found, BigInt(chain.findLastIndex((each) => each <= second)), `second ${second} of ${end}`);
      equal(reads <= 40, true, `${reads} reads`);
    }
  }
});
