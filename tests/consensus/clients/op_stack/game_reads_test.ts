// What games claim, and which block a second means.
import { deepStrictEqual as equal } from "node:assert/strict";
import { concatHex, hexToBytes, keccak256, numberToHex } from "viem";
import { type BlockTime, findBlockAt } from "../../../../src/consensus/clients/op_stack/game_reads.ts";
import { readClaim } from "../../../../src/consensus/clients/op_stack/spec/build_update.ts";
import type { DisputeGameKind } from "../../../../src/consensus/clients/op_stack/spec/update.ts";
import { fromHex, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { word } from "../../../../src/core/evm/host_storage.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { aggregateGame } from "./spec/vectors.ts";

const { proxy } = aggregateGame.proof.value;

Deno.test("games: a claim is about the block in the first word, or about the second of a super root", () => {
  const claimOf = (extraData: Uint8Array, kind: DisputeGameKind, rootClaim = word(1n)): unknown =>
    readClaim({ proxy, gameType: 0, rootClaim }, { kind, extraData }, evmStateMachine(10));
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
