// Super-root games on real nodes, and what governance of the hub may add while the prover runs.
import assert from "node:assert/strict";
import { createTestClient, http } from "viem";
import { gameTypes } from "../../../../devnet/evm/rollup_games.ts";
import { fetchRollupBlock } from "../../../../devnet/evm/rollup_l1.ts";
import {
  disputeGameRulesKey,
  encodeGameRules,
} from "../../../../src/consensus/clients/op_stack/spec/update.ts";
import type { Hash256 } from "../../../../src/core/encoding/bytes.ts";
import { never, reasonForNothing, relay } from "../../rollup/fixture.ts";
import { onFixture, type OpStackFixture, rollupId } from "./fixture.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

const SUPER_TYPES = [gameTypes.superFault, gameTypes.superPermissioned] as const;
const output: Hash256 = `0x${"5c".repeat(32)}`;

/** Makes new blocks on the rollup, ten seconds after one another, so that there are seconds between them. */
async function mineL2({ nodes }: OpStackFixture, blocks = 1): Promise<void> {
  const node = createTestClient({ mode: "anvil", transport: http(nodes.l2.rpcUrl) });
  await node.increaseTime({ seconds: 10 });
  await node.mine({ blocks, interval: 10 });
}

/** Lines that need attention. */
function warnings({ log }: OpStackFixture): readonly string[] {
  return log.lines.filter(({ level }) => level === "warn" || level === "error").map(({ event }) => event);
}

test("super roots: games of both kinds advance the hub, whatever their second within a block", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const prover = fixture.prover();
  for (const gameType of SUPER_TYPES) {
    for (const later of [0n, 1n, 9n]) {
      await mineL2(fixture, 3);
      const { header } = await fetchRollupBlock(nodes.l2);
      const { l2Height } = await contracts.proposeOutput(nodes.l2, {
        gameType,
        timestampSec: header.timestampSec + later,
      });
      // Blocks after the claim: its block is searched by time.
      await mineL2(fixture, 5);
      await fixture.advanceL1();
      assert.equal(await relay(hub, prover), l2Height, `type ${gameType}, ${later} s later`);
    }
  }
  assert.match(await reasonForNothing(prover), /not above the hub's height/);
  assert.deepEqual(warnings(fixture), []);
});

test("super roots: games of other chains are skipped, those of later seconds tried again", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  await mineL2(fixture, 2);
  const prover = fixture.prover();
  const gameType = gameTypes.superFault;
  await contracts.proposeOutput(nodes.l2, {
    gameType,
    outputs: new Map([[10n, output], [8453n, output]]),
  });
  const { header } = await fetchRollupBlock(nodes.l2);
  const early = await fixture.propose({
    gameType,
    timestampSec: header.timestampSec + 600n,
  });
  const reason = await reasonForNothing(prover);
  assert.match(reason, /none of 2 dispute games can be used/);
  assert.match(reason, /1 super root without chain/);
  assert.match(reason, /1 about a block that the chain does not have/);
  // No block follows for 600 seconds: the claim is about the block that was the newest then.
  const node = createTestClient({ mode: "anvil", transport: http(nodes.l2.rpcUrl) });
  await node.increaseTime({ seconds: 700 });
  await node.mine({ blocks: 1 });
  assert.equal(await relay(hub, prover), early.l2Height);
});

test("unlisted games: they are counted, and listed they are proved without a restart", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const plain = contracts.configs.filter(({ gameType }) => gameType === gameTypes.fault);
  fixture.setRules(plain);
  const prover = fixture.prover();
  await contracts.proposeOutput(nodes.l2);
  await mineL2(fixture, 3);
  const { l2Height } = await fixture.propose({ gameType: gameTypes.superFault });
  await relay(hub, prover);
  assert.match(await reasonForNothing(prover), /1 of type 9, which the hub does not list/);
  assert.deepEqual(warnings(fixture), []);
  fixture.setRules(contracts.configs);
  assert.equal(await relay(hub, prover), l2Height);
});

test("unknown kinds: the first is named with its cost, and games of known kinds before it continue", async (fixture) => {
  const { contracts, hub } = fixture;
  const plain = contracts.configs.find(({ gameType }) => gameType === gameTypes.fault);
  assert.ok(plain);
  const known = encodeGameRules({ factory: contracts.factory, gameTypes: [plain] });
  // One item more than the list announces, of kind 9 with a word of payload, after the known one.
  const newer = new Uint8Array([
    12,
    0,
    0,
    0,
    ...new Uint8Array(20).fill(0xee),
    9,
    ...new Uint8Array(32).fill(7),
  ]);
  const bytes = new Uint8Array([...known.subarray(0, 20), 8, ...known.subarray(21), ...newer]);
  hub.put(disputeGameRulesKey(rollupId), bytes);
  const prover = fixture.prover();
  const text =
    /the hub lists game type 12 of kind 9 \(implementation 0x(ee)+\), which this version does not know: such games/;
  const found = await prover.check(never);
  assert.deepEqual(found.map(({ result, check }) => [result, check]), [[
    "warning",
    "rollup_settings_unknown",
  ]]);
  assert.match(found[0]?.found ?? "", text);
  const { l2Height } = await fixture.propose();
  assert.equal(await relay(hub, prover), l2Height);
  assert.deepEqual(warnings(fixture), []);
});
