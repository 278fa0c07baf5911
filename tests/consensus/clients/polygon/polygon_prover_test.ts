import assert from "node:assert/strict";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { PolygonProver } from "../../../../src/consensus/clients/polygon/client.ts";
import type { ProverFinding } from "../../../../src/consensus/prover.ts";
import { usualSigners } from "../../../../devnet/heimdall/heimdall_chain.ts";
import type { HeimdallSigner } from "../../../../devnet/heimdall/signers.ts";
import { catchProverFault, reasonOf } from "../../findings.ts";
import { catchFault } from "../../../support/rpc_faults.ts";
import {
  borHeader,
  followedPolygon,
  MemoryPolygon,
  POLY,
  polygonProver,
  polygonTarget,
} from "./polygon_chain.ts";

const { signal } = new AbortController();

type Scene = Awaited<ReturnType<typeof followedPolygon>>;

/** Looks once when an update is due, at the time of the newest block, and lets the hub take what was found. */
async function look({ chain, hub, prover }: Scene): Promise<ProverFinding> {
  hub.nowSec = chain.heimdall.timeOf(chain.heimdall.head) + 60n;
  hub.change({ updatedSec: hub.nowSec - 30n });
  const found = await prover.next(signal);
  if (found.kind === "updates") hub.take(found.proofs);
  return found;
}

/** A new set every three blocks from block 12 on: two of six leave, and two come. */
function changing(height: bigint): readonly HeimdallSigner[] {
  const turn = height < 12n ? 0 : Number((height - 9n) / 3n);
  return Array.from({ length: 6 }, (_, at) => ({ key: 1 + at + turn, power: 10n + BigInt(at) }));
}

Deno.test("a Polygon prover proves the newest milestone, and nothing twice", async () => {
  const scene = await followedPolygon();
  const { chain, hub } = scene;
  chain.heimdall.growTo(20n);
  chain.finalize(140n);
  chain.finalize(150n);
  const found = await look(scene);
  assert.ok(found.kind === "updates");
  assert.equal(found.summary, "milestone 3 in Heimdall block 24");
  assert.deepEqual([found.height, found.hasMore, found.proofs.length], [150n, false, 1]);
  assert.equal(hub.height, 150n);
  assert.equal(reasonOf(await look(scene)), "the hub knows Heimdall block 24, the node's newest");
  chain.heimdall.addBlock();
  assert.equal(reasonOf(await look(scene)), "the hub knows block 150, which milestone 3 made final");
});

Deno.test("a Polygon prover waits for a milestone that the newest header does not name yet", async () => {
  const scene = await followedPolygon();
  scene.chain.heimdall.growTo(20n);
  scene.chain.heimdall.addBlock({ number: 150n, hash: `0x${"11".repeat(32)}` });
  assert.match(reasonOf(await look(scene)), /^the hub knows block 100, which milestone 1 made final$/);
});

Deno.test("a Polygon prover waits while no node of Bor has the milestone's block", async () => {
  const scene = await followedPolygon();
  const { chain } = scene;
  chain.finalize(150n);
  chain.isBorBehind = true;
  assert.equal(reasonOf(await look(scene)), "no endpoint of rpc_urls has block 150 of milestone 2 yet");
  chain.isBorBehind = false;
  assert.equal((await look(scene)).kind, "updates");
});

Deno.test("a Polygon prover updates as often as configured, and waits for the hub's last block to be final", async () => {
  const scene = await followedPolygon();
  const { chain, hub, prover } = scene;
  chain.finalize(150n);
  hub.change({ updatedSec: hub.nowSec - 10n });
  const early = await prover.next(signal);
  assert.equal(reasonOf(early), "the client was updated 10 s ago, and the next update is due in 20 s");
  assert.equal(early.kind === "nothing" && early.againInMs, 20_000);
  hub.finalState = { ...hub.state, finalizedBlock: 99n };
  const unsure = await prover.next(signal);
  assert.equal(reasonOf(unsure), "the hub has not finalized its last update of this chain yet");
  hub.finalState = undefined;
  assert.equal((await look(scene)).kind, "updates");
});

Deno.test("a Polygon prover waits while its node is syncing", async () => {
  const scene = await followedPolygon();
  scene.chain.finalize(150n);
  scene.chain.heimdall.isSyncing = true;
  assert.equal(reasonOf(await look(scene)), "the Heimdall node is still syncing, at block 12");
});

Deno.test("a Polygon prover keeps the trust in a chain without milestones", async () => {
  const scene = await followedPolygon();
  const { chain, hub } = scene;
  const before = hub.state.finalizedBlock;
  const quarterSec = hub.state.heimdall.trustingPeriodSec / 4n;
  chain.heimdall.growTo(30n);
  hub.nowSec = hub.state.heimdall.timestampSec + quarterSec;
  hub.change({ updatedSec: hub.nowSec - 30n });
  const found = await scene.prover.next(signal);
  assert.ok(found.kind === "updates");
  assert.equal(found.height, undefined);
  assert.equal(found.summary, "Heimdall block 30, for the trust in its validators");
  hub.take(found.proofs);
  assert.deepEqual([hub.state.heimdall.height, hub.state.finalizedBlock], [30n, before]);
});

Deno.test("a Polygon prover follows changing validators, looking after every block", async () => {
  const scene = await followedPolygon({ signersOf: changing });
  const { chain, hub } = scene;
  for (let number = 101n; number < 130n; number++) {
    chain.finalize(number);
    assert.equal((await look(scene)).kind, "updates");
    assert.equal(hub.height, number);
  }
  assert.equal(hub.state.heimdall.height, chain.heimdall.head);
});

Deno.test("a Polygon prover catches up on sets that it missed, eight updates in an extrinsic", async () => {
  const scene = await followedPolygon({ signersOf: changing });
  const { chain, hub } = scene;
  chain.heimdall.growTo(60n);
  chain.finalize(150n);
  const sizes: number[] = [];
  for (let isBehind = true; isBehind;) {
    const found = await look(scene);
    assert.ok(found.kind === "updates");
    sizes.push(found.proofs.length);
    isBehind = found.hasMore;
    assert.equal(found.height, isBehind ? undefined : 150n, "only the last brings a milestone");
  }
  // Sets until block 11, then one per three blocks: the last one of each, and the newest block.
  assert.deepEqual(sizes, [8, 8, 2]);
  assert.equal(hub.height, 150n);
});

Deno.test("a Polygon prover searches the last block of a set in few requests", async () => {
  const signersOf = (height: bigint): readonly HeimdallSigner[] =>
    height < 700n ? usualSigners : [...usualSigners, { key: 9, power: 50n }];
  const scene = await followedPolygon({ signersOf });
  const { chain, hub } = scene;
  chain.heimdall.growTo(1_000n);
  chain.finalize(150n);
  chain.calls.clear();
  const found = await look(scene);
  assert.ok(found.kind === "updates" && found.proofs.length === 2);
  assert.equal(hub.height, 150n);
  assert.ok((chain.calls.get("commit") ?? 0) <= 13, `${chain.calls.get("commit")} headers`);
});

Deno.test("a Polygon prover names a node that has pruned what a catch-up needs", async () => {
  const scene = await followedPolygon({ signersOf: changing });
  const pruned = new MemoryPolygon({ signersOf: changing, lowest: 20n });
  pruned.heimdall.growTo(30n);
  const prover = polygonProver(pruned, scene.hub);
  const { code, where } = await catchFault(prover.next(signal));
  assert.deepEqual([code, where.endpointHost, where.method], ["pruned", "heimdall.example", "commit"]);
});

Deno.test("a Polygon prover names a client whose trusted header is too old", async () => {
  const { chain, hub, prover } = await followedPolygon();
  chain.finalize(150n);
  const { timestampSec, trustingPeriodSec } = hub.state.heimdall;
  hub.nowSec = timestampSec + trustingPeriodSec;
  hub.change({ updatedSec: hub.nowSec - 60n });
  const fault = await catchProverFault(prover.next(signal));
  assert.equal(fault.code, "expired");
  assert.match(
    fault.detail,
    /^client POLY of the hub has expired: Heimdall block 10, which it trusts, is 295200 s old and 295200 s are allowed; .*governance must give it a new state/,
  );
});

Deno.test("a node whose answers the hub would refuse is named", async () => {
  const scene = await followedPolygon();
  const { chain, hub } = scene;
  chain.finalize(150n);
  chain.alter = (method, result) =>
    method === "validators" ? { ...Object(result), validators: [], total: "0" } : result;
  hub.nowSec += 60n;
  const fault = await catchProverFault(scene.prover.next(signal));
  assert.deepEqual([fault.code, fault.endpoint], ["bad_data", "heimdall.example"]);
  assert.equal(fault.detail, "the hub would refuse an update of Heimdall block 12 (next_validators_missing)");
});

Deno.test("a node of a fork is named when the next block has other validators than announced", async () => {
  const scene = await followedPolygon();
  const fork = new MemoryPolygon({ signersOf: () => usualSigners.slice(1) });
  fork.heimdall.growTo(20n);
  const prover = polygonProver(fork, scene.hub);
  const fault = await catchProverFault(prover.next(signal));
  assert.equal(fault.code, "bad_data");
  assert.match(
    fault.detail,
    /^block 11 has other validators than block 10 announced, .* serves another chain or a fork$/,
  );
});

Deno.test("the check of a Polygon prover names wrong chains", async () => {
  const { chain, hub, prover } = await followedPolygon();
  assert.deepEqual(await prover.check(signal), []);
  chain.borChainId = 137n;
  const other = new MemoryPolygon({ borChainId: 137 });
  other.heimdall.growTo(3n);
  const stranger = new PolygonProver({ hub, node: other.node, bor: chain.bor }, {
    stateMachine: parseStateMachine("EVM-80002"),
    consensusStateId: POLY,
    intervalMs: 30_000,
  });
  const bor = { chain: "EVM-80002", endpoint: "bor.example", result: "failed" };
  const heimdall = { ...bor, endpoint: "heimdall.example", check: "endpoint" };
  assert.deepEqual(await stranger.check(signal), [
    {
      ...bor,
      check: "chain_id",
      found: "serves EVM-137, not EVM-80002",
      advice: "remove it from rpc_urls, or correct state_machine",
    },
    { ...heimdall, found: "does not serve heimdallv2-80002", advice: "fix heimdall_rpc_url" },
  ]);
});

Deno.test("the initial state of a Polygon client names the newest milestone, and needs one", async () => {
  const chain = new MemoryPolygon();
  const prover = polygonProver(chain, polygonTarget());
  chain.heimdall.growTo(5n);
  const none = await catchProverFault(prover.fetchInitialState(signal));
  assert.deepEqual([none.code, none.detail], ["not_served", "Heimdall has no milestone yet"]);
  chain.finalize(150n);
  const { clientId, unbondingSec, challengePeriods, commitments } = await prover.fetchInitialState(signal);
  assert.deepEqual([clientId, unbondingSec, [...challengePeriods]], ["PLGN", 295_200n, [[
    "EVM-80002",
    120n,
  ]]]);
  const { timestampSec, stateRoot } = borHeader(150n);
  assert.deepEqual(commitments, [{
    height: { id: { stateMachine: "EVM-80002", consensusStateId: "POLY" }, height: 150n },
    commitment: { timestampSec, overlayRoot: undefined, stateRoot },
  }]);
  chain.isBorBehind = true;
  const absent = await catchProverFault(prover.fetchInitialState(signal));
  assert.equal(absent.detail, "no endpoint of rpc_urls has block 150");
  chain.alter = (method, result) =>
    method === "validators" ? { ...Object(result), validators: [], total: "0" } : result;
  assert.match(
    (await catchProverFault(prover.fetchInitialState(signal))).detail,
    /its validators are not those of block 7/,
  );
});

Deno.test("a Polygon prover is made for Polygon's chains alone", () => {
  const chain = new MemoryPolygon();
  const options = { stateMachine: parseStateMachine("EVM-1"), consensusStateId: POLY, intervalMs: 30_000 };
  assert.throws(
    () => new PolygonProver({ hub: polygonTarget(), node: chain.node, bor: chain.bor }, options),
    /EVM-1: the hub's Polygon client knows EVM-137 and EVM-80002 only/,
  );
});
