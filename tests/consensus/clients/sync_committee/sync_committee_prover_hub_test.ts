import { deepStrictEqual as equal, match, ok, rejects } from "node:assert/strict";
import { ProverFault } from "../../../../src/consensus/prover.ts";
import { decodeBeaconConsensusState } from "../../../../src/consensus/clients/sync_committee/spec/beacon_client.ts";
import { beaconConsensusStateCodec } from "../../../../src/consensus/clients/sync_committee/spec/consensus_state.ts";
import { toConsensusClientId } from "../../../../src/core/ismp/state_machine.ts";
import { changeAt, eth0, MemoryBeaconHub, never, World } from "./fixture.ts";

const chain = "EVM-11155111";

Deno.test("sync committee prover: the initial state is that of the finalized block, by either way", async () => {
  await using world = await World.start();
  const initial = await world.prover().fetchInitialState(never);
  equal(initial.clientId, "BEAC");
  equal(initial.unbondingSec, 5_832_000n);
  equal([...initial.challengePeriods], [[chain, 300n]]);
  const [commitment] = initial.commitments;
  equal(commitment?.id, { stateMachine: chain, consensusStateId: eth0 });
  equal(commitment?.at.height, BigInt(world.beacon.head.blockNumber));
  const state = decodeBeaconConsensusState(initial.state);
  equal(state.lightClientState.finalizedHeader.slot, BigInt(world.beacon.finalized.slot));
  equal(state.chainId, 11155111);
  world.beacon.change({ without: ["lightClient"] });
  equal((await world.prover().fetchInitialState(never)).state, initial.state);
  world.spoil("liar", {
    json: (path, body) => {
      if (path.includes("/headers/")) changeAt(body, ["data", "header", "message", "slot"], () => "1");
      return body;
    },
  });
  await rejects(
    world.prover(["liar"]).fetchInitialState(never),
    (fault) => fault instanceof ProverFault && fault.code === "bad_data" && fault.endpoint === "liar",
  );
});

Deno.test("sync committee prover: a hub that is ahead, or gains nothing, is left alone", async () => {
  await using world = await World.start();
  const prover = world.prover();
  await world.startClient(prover);
  const reasonOf = async (): Promise<string> => {
    const finding = await prover.next(never);
    return finding.kind === "nothing" ? finding.reason : finding.summary;
  };
  equal(await reasonOf(), "the hub knows the newest finalized epoch");
  await world.beacon.mine(4);
  const { view } = world.hub;
  ok(view);
  world.hub.height = 1000n;
  equal(await reasonOf(), "the hub knows height 1000 already");
  world.hub.height = undefined;
  await world.follow(prover);
  await world.beacon.advanceToPeriod(world.beacon.period + 1);
  await world.follow(prover);
  const { height } = world.hub;
  // Another relayer was quicker by a period than this one's beacon node.
  const state = world.hub.state;
  const light = { ...state.lightClientState, statePeriod: state.lightClientState.statePeriod + 1n };
  world.hub.start(beaconConsensusStateCodec.enc({ ...state, lightClientState: light }));
  await world.beacon.mine(6);
  equal(await reasonOf(), "the beacon node is a period behind the hub");
  equal(world.hub.height, height);
});

Deno.test("sync committee prover: a change of the committee is submitted though the height is known", async () => {
  await using world = await World.start();
  const prover = world.prover();
  await world.startClient(prover);
  await world.beacon.advanceToPeriod(world.beacon.period + 1);
  world.hub.height = 10_000n;
  const finding = await prover.next(never);
  ok(finding.kind === "updates");
  equal(finding.height, undefined);
  match(finding.summary, /^finalized slot \d+, committee of period \d+ \(by state proof of honest\)$/);
});

Deno.test("sync committee prover: too few signers are waited out", async () => {
  await using world = await World.start();
  const prover = world.prover();
  await world.startClient(prover);
  world.beacon.change({ signers: 341 });
  await world.beacon.mine(4);
  const light = await prover.next(never);
  ok(light.kind === "nothing" && light.againInMs === 12_000);
  match(light.reason, /too few members/);
  world.beacon.change({ without: ["lightClient"] });
  const reference = await prover.next(never);
  // Blocks before these had enough signers, and no newer finality.
  ok(reference.kind === "nothing");
  match(reference.reason, /knows the newest finalized epoch/);
  world.beacon.change({ without: [], signers: 342 });
  await world.beacon.mine(1);
  equal((await world.follow(prover)).length, 1);
});

Deno.test("sync committee prover: the first block of a period is left to the second", async () => {
  const period = 1067;
  await using world = await World.start({ blocksPerEpoch: 1, startEpoch: period * 256 - 14 });
  const prover = world.prover();
  await world.startClient(prover);
  while (world.beacon.period < period) {
    await world.follow(prover);
    await world.beacon.mine(1);
  }
  const finding = await prover.next(never);
  ok(finding.kind === "nothing" && finding.againInMs === 12_000);
  match(finding.reason, /first block of a period/);
  await world.beacon.mine(1);
  match((await world.follow(prover))[0]?.summary ?? "", /committee of period 1068/);
});

Deno.test("sync committee prover: the layout that the hub reads is found out by asking it once", async () => {
  const hub = new MemoryBeaconHub("glamsterdam");
  await using world = await World.start({}, hub);
  const prover = world.prover();
  await world.startClient(prover);
  await world.beacon.mine(4);
  equal((await world.follow(prover)).length, 1);
  equal(hub.tried.length, 2);
  await world.beacon.mine(4);
  equal((await world.follow(prover)).length, 1);
  equal(hub.tried.length, 2);
  equal(world.log.events("info"), ["update_layout_changed"]);
});

Deno.test("sync committee prover: a hub that changes its layout is asked again, a fixed layout never", async () => {
  const hub = new MemoryBeaconHub("current");
  await using world = await World.start({}, hub);
  const prover = world.prover();
  await world.startClient(prover);
  await world.beacon.mine(4);
  await world.follow(prover);
  equal(hub.tried.length, 1);
  Object.assign(hub, { layout: "glamsterdam" });
  await world.beacon.mine(4);
  await rejects(world.follow(prover)); // built for the layout of before, and refused
  equal((await world.follow(prover)).length, 1);
  Object.assign(hub, { layout: "current" });
  await world.beacon.mine(4);
  hub.tried.length = 0;
  const fixed = world.prover(["honest"], "current");
  equal((await world.follow(fixed)).length, 1);
  equal(hub.tried.length, 0);
});

Deno.test("sync committee prover: a hub without a usable client is told as such", async () => {
  await using world = await World.start();
  const prover = world.prover();
  const isFault = (code: ProverFault["code"], text: RegExp) => (fault: unknown): boolean =>
    fault instanceof ProverFault && fault.code === code && text.test(fault.message);
  await rejects(prover.next(never), isFault("hub_state", /has no client ETH0/));
  equal((await prover.check(never)).map(({ severity }) => severity), ["warning"]);
  await world.startClient(prover);
  const { view } = world.hub;
  ok(view);
  equal(await prover.check(never), []);
  const changes = [
    ["frozen", { isFrozen: true }, /is frozen/],
    ["hub_state", { clientId: toConsensusClientId("GNOS") }, /is a GNOS/],
    ["hub_state", { state: view.state.subarray(1) }, /unreadable/],
    [
      "hub_state",
      { state: beaconConsensusStateCodec.enc({ ...world.hub.state, chainId: 1 }) },
      /follows chain 1/,
    ],
  ] as const;
  for (const [code, change, text] of changes) {
    world.hub.view = { ...view, ...change };
    await rejects(prover.next(never), isFault(code, text));
  }
  world.hub.view = { ...view, unbondingSec: 1n };
  world.clock.advance(2000);
  equal((await prover.next(never)).kind, "nothing"); // the hub's clock says otherwise
  world.hub.nowSec = view.updatedSec + 1n;
  await rejects(prover.next(never), isFault("expired", /expired/));
});

Deno.test("sync committee prover: the check finds nodes of other networks and such that do not answer", async () => {
  await using world = await World.start();
  const prover = world.prover(["honest", "other", "dead"]);
  await world.startClient(world.prover());
  world.spoil("other", {
    json: (path, body) => {
      if (path.endsWith("/genesis")) {
        changeAt(body, ["data", "genesis_validators_root"], () => `0x${"11".repeat(32)}`);
      }
      return body;
    },
  });
  world.spoil("dead", { status: () => 502 });
  const findings = await prover.check(never);
  equal(findings.map(({ severity }) => severity), ["fatal", "warning"]);
  match(findings[0]?.text ?? "", /other is of another network/);
  ok(findings.every(({ text }) => !text.includes("key-")));
  await prover.close();
});
