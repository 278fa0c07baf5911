// What games claim, and which block a second means.
import { deepStrictEqual as equal } from "node:assert/strict";
import { concatHex, hexToBytes, keccak256, numberToHex } from "viem";
import { type BlockTime, findBlockAt } from "../../../../src/consensus/clients/op_stack/dispute_games.ts";
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

Deno.test("block of a second: whatever the first guess, it is the newest at or before it", async () => {
  const gap = (number: number): number => number % 97 === 0 ? 1_000 : number < 500 ? 12 : number % 3;
  let time = 50;
  const times = Array.from({ length: 900 }, (_, number) => time += gap(number));
  const at = (number: bigint): BlockTime => ({ number, timestampSec: BigInt(times[Number(number)] ?? NaN) });
  const find = async (second: number, estimate: bigint): Promise<[unknown, number]> => {
    let reads = 0;
    const around = { estimate, newest: 899n };
    const found = await findBlockAt(BigInt(second), around, (number) => {
      reads++;
      return Promise.resolve([at(number), at(number + 1n)]);
    });
    return [found, reads];
  };
  const last = times.at(-1) ?? 0;
  for (let second = times[0] ?? 0; second < last; second += 7) {
    const expected = BigInt(times.findLastIndex((each) => each <= second));
    equal(await find(second, expected), [expected, 1]);
    for (const estimate of [-5n, 0n, 450n, 898n]) {
      const [found, reads] = await find(second, estimate);
      equal([found, reads <= 12], [expected, true], `second ${second}, ${reads} reads`);
    }
  }
  equal((await find((times[0] ?? 0) - 1, 450n))[0], undefined);
  equal(await find(last, 899n), [899n, 0], "no later block is known");
});
