// The prover of OP stack chains on real nodes: which claims it takes, and that none is lost.
import assert from "node:assert/strict";
import {
  disputeGameRulesKey,
  outputOracleKey,
} from "../../../../src/consensus/clients/op_stack/spec/update.ts";
import type { EvmBlockHeader } from "../../../../src/core/evm/block_header.ts";
import { addressCodec, toAddress } from "../../../../src/core/evm/address.ts";
import { gameTypes } from "../../../../devnet/evm/rollup_games.ts";
import { startHeaderRewriter } from "../../../../devnet/evm/header_rewriter.ts";
import { fetchWithout } from "../../../support/altered_answers.ts";
import { never, reasonForNothing, relay } from "../../rollup/fixture.ts";
import { onFixture, rollupId } from "./fixture.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

test("op stack: games of every kind are used while they are not contested", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const prover = fixture.prover();
  for (const gameType of Object.values(gameTypes)) {
    await fixture.mineL2(2);
    const game = await fixture.propose({ gameType });
    assert.equal(await relay(hub, prover), game.l2Height, `type ${gameType}`);
  }
  for (const gameType of Object.values(gameTypes).filter((type) => type !== gameTypes.succinct)) {
    await fixture.mineL2(2);
    const game = await contracts.proposeOutput(nodes.l2, { gameType });
    await contracts.challengeGame(game.proxy);
    await fixture.advanceL1();
    const refused = new RegExp(`game ${game.proxy}: game_(challenged|blacklisted_on_l1)`);
    assert.match(await reasonForNothing(prover), refused);
  }
});

test("op stack: of several games the highest true one is proved, whatever else is claimed", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const older = await contracts.proposeOutput(nodes.l2);
  await fixture.mineL2(5);
  const newest = await contracts.proposeOutput(nodes.l2);
  const wrong = { claim: older.rootClaim, gameType: gameTypes.aggregate };
  const falseOne = await contracts.proposeOutput(nodes.l2, wrong);
  await contracts.proposeOutput(nodes.l2, { ...wrong, l2Height: newest.l2Height + 1000n });
  await contracts.proposeOutput(nodes.l2, { ...wrong, l2Height: 2n ** 256n - 1n });
  await fixture.mineL2();
  const falseAboveAll = await fixture.propose({ claim: older.rootClaim });

  const prover = fixture.prover();
  assert.equal(await relay(hub, prover), newest.l2Height);
  const warned = fixture.log.lines.filter(({ level }) => level === "warn");
  assert.deepEqual(warned.map(({ fields }) => [fields.claim, fields.explanation]), [
    [`game ${falseAboveAll.proxy}`, "false claim"],
  ]);
  assert.match(await reasonForNothing(prover), /none of 1 claims can be proved \(game 0x.*: false_claim\)/);
  assert.ok(
    !fixture.log.lines.some(({ fields, level }) =>
      level === "warn" && fields["claim"] === `game ${falseOne.proxy}`
    ),
  );
});

test("op stack: an upgrade of games on the L1 is named, and its games wait until the hub's governance knows it", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const game = await contracts.proposeOutput(nodes.l2);
  const found = toAddress(contracts.oracle);
  const [config] = contracts.configs.filter(({ gameType }) => gameType === gameTypes.fault);
  assert.ok(config);
  await contracts.replaceImplementation(gameTypes.fault, contracts.oracle);
  await fixture.advanceL1();
  const prover = fixture.prover();
  const reason = `of type ${gameTypes.fault} with implementation ${found}, and the hub expects ` +
    config.expectedImplementation;
  assert.match(await reasonForNothing(prover), new RegExp(`1 ${reason}`));
  fixture.setRules([{ ...config, expectedImplementation: found }]);
  assert.equal(await relay(hub, prover), game.l2Height);
});

test("op stack: the respected game type orders those of the hub, and leaves none out", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const succinct = await contracts.proposeOutput(nodes.l2, { gameType: gameTypes.succinct });
  await fixture.mineL2();
  const fault = await fixture.propose();
  const picky = fixture.prover({ options: { respectedGameType: gameTypes.succinct } });
  assert.deepEqual(await picky.check(never), []);
  assert.equal(await relay(hub, picky), succinct.l2Height);
  assert.equal(await relay(hub, picky), fault.l2Height);
  assert.deepEqual(fixture.log.events("warn"), []);
  const stubborn = fixture.prover({ options: { respectedGameType: 0 } });
  assert.match(
    (await stubborn.check(never)).map(({ found }) => found).join(),
    /respected_game_type is 0, and the hub lists 8, 621, 6, 9, 5: games of all types that the hub lists are used/,
  );
});

test("op stack: chains without games are proved by their output oracle", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  hub.put(disputeGameRulesKey(rollupId), undefined);
  hub.put(outputOracleKey(rollupId), addressCodec.enc(toAddress(contracts.oracle)));
  const prover = fixture.prover();
  await contracts.proposeToOracle(nodes.l2);
  await fixture.mineL2();
  await contracts.proposeToOracle(nodes.l2);
  await fixture.advanceL1();
  const first = await relay(hub, prover);
  await fixture.mineL2();
  await contracts.proposeToOracle(nodes.l2, { claim: `0x${"11".repeat(32)}`, l2Height: first + 1n });
  await fixture.advanceL1();
  assert.match(await reasonForNothing(prover), /output 2: false_claim/);
  await contracts.proposeToOracle(nodes.l2);
  await fixture.advanceL1();
  assert.equal(await relay(hub, prover), first + 1n);
  await reasonForNothing(prover);
  assert.deepEqual(fixture.log.linesOf("endpoint_data_invalid.logs"), []);
});

test("op stack: headers that carry the message passer's root need no state of the rollup", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const passerRoot = `0x${"5e".repeat(32)}` as const;
  const rule = (header: EvmBlockHeader): EvmBlockHeader => ({ ...header, withdrawalsRoot: passerRoot });
  await using shown = await startHeaderRewriter({ upstream: nodes.l2.rpcUrl, rule });
  const game = await contracts.proposeOutput({ rpcUrl: shown.rpcUrl, chainId: 11155420 });
  await fixture.advanceL1();
  const prover = fixture.prover({ l2Urls: [shown.rpcUrl], l2Transport: fetchWithout("eth_getProof") });
  assert.equal(await relay(hub, prover), game.l2Height);
});
