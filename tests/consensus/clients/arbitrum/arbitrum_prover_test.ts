// The prover of Arbitrum chains on real nodes: assertions and nodes, contested and false ones, none of which is lost.
import assert from "node:assert/strict";
import type { Hash256 } from "../../../../src/core/encoding/bytes.ts";
import { updatesOf } from "../../findings.ts";
import { never, reasonForNothing, relay } from "../../rollup/fixture.ts";
import { onFixture, rollupId, startArbitrum } from "./fixture.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

const wrongHash: Hash256 = `0x${"13".repeat(32)}`;

Deno.test("arbitrum: a false node does not advance the hub, and the next true one does", async () => {
  await using fixture = await startArbitrum("ArbitrumOrbit");
  const { contracts, hub, l2 } = fixture;
  const prover = fixture.prover();
  await fixture.mineL2();
  await contracts.createNode(l2, { blockHash: wrongHash });
  await contracts.createNode(l2, { sendRoot: wrongHash });
  await fixture.advanceL1();
  assert.match(
    await reasonForNothing(prover),
    /none of 2 claims can be proved \(node 2: send_root_mismatch\)/,
  );
  const { l2Height } = await contracts.createNode(l2);
  await fixture.advanceL1();
  assert.equal(await relay(hub, prover), l2Height);
});

test("arbitrum: an assertion with a competitor is skipped, and so is one that is not about a block", async (fixture) => {
  const { contracts, hub, l2 } = fixture;
  const prover = fixture.prover();
  await fixture.mineL2();
  const good = await contracts.createAssertion(l2);
  await fixture.mineL2();
  const contested = await contracts.createAssertion(l2);
  await contracts.contestAssertion(contested);
  await fixture.advanceL1();
  assert.equal(await relay(hub, prover), good.l2Height);
  const reasons = fixture.log.linesOf("rollup_claim_skipped").map(({ fields }) => fields.explanation);
  assert.deepEqual(reasons, ["block does not exist", "assertion challenged"]);

  const next = await fixture.claimAssertion({ parent: good.assertionHash, blockHash: wrongHash });
  // It is a third child of a parent that has two.
  await reasonForNothing(prover);
  await contracts.createAssertion(l2, { parent: next.assertionHash, blockHash: wrongHash });
  await fixture.advanceL1();
  assert.match(await reasonForNothing(prover), /block_does_not_exist/);
  await contracts.createAssertion(l2, { sendRoot: wrongHash });
  await fixture.advanceL1();
  assert.match(await reasonForNothing(prover), /send_root_mismatch/);
  const newest = await contracts.createAssertion(l2);
  await fixture.advanceL1();
  assert.equal(await relay(hub, prover), newest.l2Height);
});

test("arbitrum: a client of an unknown generation is named, and assertions are proved", async (fixture) => {
  const { hub } = fixture;
  const client = hub.clients.get(rollupId.consensusStateId);
  assert.ok(client);
  hub.clients.set(rollupId.consensusStateId, { ...client, state: client.state.with(-1, 7) });
  const { l2Height } = await fixture.claimAssertion();
  const [finding] = await fixture.prover().check(never);
  assert.deepEqual([finding?.result, finding?.check], ["warning", "rollup_settings_unknown"]);
  assert.match(finding?.found ?? "", /consensus type that this version does not know: assertions of BoLD/);
  assert.equal(updatesOf(await fixture.prover().next(never)).height, l2Height);
});
