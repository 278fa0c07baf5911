// The prover of OP stack chains on real nodes: which claims it takes, and that none is lost.
import assert from "node:assert/strict";
import { createTestClient, http } from "viem";
import {
  disputeGameRulesKey,
  outputOracleKey,
} from "../../../../src/consensus/clients/op_stack/spec/update.ts";
import { decodeOpStackUpdate } from "../../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import type { EvmBlockHeader } from "../../../../src/core/evm/block_header.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { addressCodec, toAddress } from "../../../../src/core/evm/address.ts";
import { gameTypes } from "../../../../devnet/evm/rollup_games.ts";
import { startHeaderRewriter } from "../../../../devnet/evm/header_rewriter.ts";
import { commitmentIdOf } from "../../../../src/consensus/rollup/spec/rollup_client.ts";
import { alteringFetch, fetchWithLogsOf, fetchWithout } from "../../../support/altered_answers.ts";
import { lieAbout } from "../../rollup/lies.ts";
import { outcomeOf } from "../../rollup/outcome.ts";
import { updatesOf } from "../../findings.ts";
import { l1Id, mineL1, never, reasonForNothing, relay } from "../../rollup/fixture.ts";
import { onFixture, rollupId } from "./fixture.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

const commitmentId = commitmentIdOf({
  finalizedHeight: 0n,
  stateMachineId: rollupId,
  l1StateMachineId: l1Id,
});

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

test("op stack: a claim that looks false at one node stays open, is reported once, and is proved when it is true", async (fixture) => {
  const { hub } = fixture;
  const lie = lieAbout("eth_getProof", "storageHash");
  let isLying = true;
  const l2Transport: typeof platformFetch = (...request) =>
    (isLying ? alteringFetch(lie) : platformFetch)(...request);
  const falseOne = await fixture.propose({ claim: `0x${"11".repeat(32)}` });
  const prover = fixture.prover({ l2Transport });
  isLying = false;
  for (let poll = 0; poll < 15; poll++) assert.match(await reasonForNothing(prover), /false_claim/);
  const warned = fixture.log.linesOf("rollup_claim_skipped");
  assert.deepEqual(warned.map(({ fields }) => [fields.claim, fields.explanation]), [
    [`game ${falseOne.proxy}`, "false claim"],
  ]);
  // The next is about the same block, and tried before the one that has failed.
  isLying = true;
  const game = await fixture.propose();
  for (let poll = 0; poll < 15; poll++) assert.match(await outcomeOf(prover), /bad_data EVM-11155420/);
  isLying = false;
  assert.equal(await relay(hub, prover), game.l2Height);
});

test("op stack: games that were made while no relayer ran are found, and offered until the hub has them", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const game = await contracts.proposeOutput(nodes.l2);
  const beyond = await fixture.advanceL1();
  const prover = fixture.prover();
  const first = updatesOf(await prover.next(never));
  assert.equal(first.height, game.l2Height);
  // The submission fails; the L1 moves on meanwhile.
  const node = createTestClient({ mode: "anvil", transport: http(nodes.l1.rpcUrl) });
  await node.mine({ blocks: 3 });
  await fixture.advanceL1();
  const [again = new Uint8Array(0)] = updatesOf(await prover.next(never)).proofs;
  assert.equal(decodeOpStackUpdate(again).l1Height, beyond + 3n);
  // Without a newer L1 block it is offered again as well.
  assert.equal(await relay(hub, prover), game.l2Height);
  await reasonForNothing(prover);
});

test("op stack: a game is not lost when the hub falls back to an older L1 block", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const before = await fixture.advanceL1();
  const game = await contracts.proposeOutput(nodes.l2);
  const height = await fixture.advanceL1();
  const prover = fixture.prover();
  updatesOf(await prover.next(never));
  hub.rewind({ id: l1Id, height: before });
  await reasonForNothing(prover);
  hub.rewind({ id: l1Id, height });
  assert.equal(await relay(hub, prover), game.l2Height);
});

test("op stack: nothing is offered that is not above the hub's height", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const game = await contracts.proposeOutput(nodes.l2);
  const commitment = { timestampSec: 1n, overlayRoot: undefined, stateRoot: game.rootClaim };
  hub.commit({ height: { id: commitmentId, height: game.l2Height }, commitment });
  const l1Height = await fixture.advanceL1();
  const prover = fixture.prover();
  assert.match(await reasonForNothing(prover), /1 not above the hub's height/);
  hub.forget({ id: l1Id, height: l1Height });
  assert.match(await reasonForNothing(prover), /the hub does not hold block \d+ of EVM-11155111/);
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

test("op stack: an endpoint whose index lacks a game is named and another one asked; alone it is asked again later", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const first = await contracts.proposeOutput(nodes.l2);
  await fixture.mineL2();
  const game = await fixture.propose();
  const bad = nodes.l1.rpcUrl.replace("127.0.0.1", "localhost");
  let lacking: readonly string[] = [first.proxy, game.proxy];
  const behind = fetchWithLogsOf(
    bad,
    (text) => !lacking.some((proxy) => text.includes(proxy.slice(2).toLowerCase())),
  );
  const both = fixture.prover({ l1Urls: [bad, nodes.l1.rpcUrl], l1Transport: behind });
  assert.equal(updatesOf(await both.next(never)).height, game.l2Height);
  const [warning] = fixture.log.lines.filter(({ level }) => level === "warn");
  assert.equal(warning?.event, "endpoint_data_invalid.logs");
  assert.equal(warning?.fields.endpoint, new URL(bad).host);

  const alone = fixture.prover({ l1Urls: [bad], l1Transport: behind });
  assert.match(await reasonForNothing(alone), /there are no new dispute games in L1 blocks/);
  // The blocks are searched again with the next ones.
  lacking = [game.proxy];
  await mineL1(nodes);
  await fixture.advanceL1();
  assert.equal(updatesOf(await alone.next(never)).height, first.l2Height);
  lacking = [];
  await mineL1(nodes);
  await fixture.advanceL1();
  assert.equal(await relay(hub, alone), game.l2Height);
});
