import { deepStrictEqual as equal, match, ok, rejects } from "node:assert/strict";
import { catchProverFault } from "../../findings.ts";
import { decodeBeaconConsensusState } from "../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import { beaconConsensusStateCodec } from "../../../../src/consensus/clients/sync_committee/spec/update.ts";
import { beaconTarget, changeAt, eth0, Fixture, type HubRuntime, never } from "./fixture.ts";

const chain = "EVM-11155111";

Deno.test("sync committee prover: the initial state is that of the finalized block", async () => {
  await using fixture = await Fixture.start();
  const initial = await fixture.prover().fetchInitialState(never);
  equal(initial.clientId, "BEAC");
  equal(initial.unbondingSec, 5_832_000n);
  equal([...initial.challengePeriods], [[chain, 300n]]);
  const [commitment] = initial.commitments;
  equal(commitment?.height.id, { stateMachine: chain, consensusStateId: eth0 });
  equal(commitment?.height.height, BigInt(fixture.beacon.head.blockNumber));
  const state = decodeBeaconConsensusState(initial.state);
  equal(state.lightClientState.finalizedHeader.slot, BigInt(fixture.beacon.finalized.slot));
  equal(state.chainId, 11155111);
  fixture.spoil("liar", {
    json: (path, body) => {
      if (path.includes("/headers/")) changeAt(body, ["data", "header", "message", "slot"], () => "1");
      return body;
    },
  });
  await rejects(
    fixture.prover(["liar"]).fetchInitialState(never),
    { name: "ProverFault", code: "bad_data", endpoint: "liar" },
  );
});

Deno.test("sync committee prover: a hub that is ahead, or gains nothing, is left alone", async () => {
  await using fixture = await Fixture.following();
  const reasonOf = async (): Promise<string> => {
    const finding = await fixture.following.next(never);
    return finding.kind === "nothing" ? finding.reason : finding.summary;
  };
  equal(await reasonOf(), "the hub knows the newest finalized epoch");
  await fixture.beacon.mine(4);
  const { view } = fixture.hub;
  ok(view);
  fixture.hub.height = 1000n;
  equal(await reasonOf(), "the hub knows height 1000 already");
  fixture.hub.height = undefined;
  await fixture.follow(fixture.following);
  await fixture.beacon.advanceToPeriod(fixture.beacon.period + 1);
  await fixture.follow(fixture.following);
  const { height } = fixture.hub;
  // Another relayer was quicker by a period than this one's beacon node.
  const state = fixture.hub.state;
  const light = { ...state.lightClientState, statePeriod: state.lightClientState.statePeriod + 1n };
  fixture.hub.start(beaconConsensusStateCodec.enc({ ...state, lightClientState: light }));
  await fixture.beacon.mine(6);
  equal(await reasonOf(), "the beacon node is a period behind the hub");
  equal(fixture.hub.height, height);
});

Deno.test("sync committee prover: a change of the committee is submitted though the height is known", async () => {
  await using fixture = await Fixture.following();
  await fixture.beacon.advanceToPeriod(fixture.beacon.period + 1);
  fixture.hub.height = 10_000n;
  const finding = await fixture.following.next(never);
  ok(finding.kind === "updates");
  equal(finding.height, undefined);
  match(finding.summary, /^finalized slot \d+, committee of period \d+ \(by state proof of honest\)$/);
});

Deno.test("sync committee prover: too few signers are waited out", async () => {
  await using fixture = await Fixture.following();
  fixture.beacon.change({ signers: 341 });
  await fixture.beacon.mine(4);
  const light = await fixture.following.next(never);
  ok(light.kind === "nothing" && light.againInMs === 12_000);
  match(light.reason, /too few members/);
  fixture.beacon.change({ without: ["lightClient"] });
  const reference = await fixture.following.next(never);
  // Blocks before these had enough signers, and no newer finality.
  ok(reference.kind === "nothing");
  match(reference.reason, /knows the newest finalized epoch/);
  fixture.beacon.change({ without: [], signers: 342 });
  await fixture.beacon.mine(1);
  equal((await fixture.follow(fixture.following)).length, 1);
});

Deno.test("sync committee prover: the layout that the hub read last is tried first, and others when it changes", async () => {
  const runtime: HubRuntime = { layout: "variant" };
  const hub = beaconTarget(runtime);
  await using fixture = await Fixture.following(["honest"], {}, hub);
  const followed = async (): Promise<number> => {
    await fixture.beacon.mine(4);
    equal((await fixture.follow(fixture.following)).length, 1);
    return hub.tried.length;
  };
  equal([await followed(), await followed()], [3, 4]);
  equal(fixture.log.events("info"), ["runtime_changed.update_layout"]);
  for (const layout of ["flat", "split"] as const) {
    runtime.layout = layout;
    await followed();
  }
});

Deno.test("sync committee prover: a client of another chain is reported, and one that is missing by the check", async () => {
  await using fixture = await Fixture.start();
  const prover = fixture.prover();
  equal((await prover.check(never)).map(({ result }) => result), ["warning"]);
  await fixture.startClient(prover);
  equal(await prover.check(never), []);
  fixture.hub.state = { ...fixture.hub.state, chainId: 1 };
  const { code, detail } = await catchProverFault(prover.next(never));
  equal(code, "hub_state");
  match(detail, /follows chain 1/);
});

Deno.test("sync committee prover: the check finds nodes of other networks and such that do not answer", async () => {
  await using fixture = await Fixture.following(["honest", "other", "dead"]);
  fixture.spoil("other", {
    json: (path, body) => {
      if (path.endsWith("/genesis")) {
        changeAt(body, ["data", "genesis_validators_root"], () => `0x${"11".repeat(32)}`);
      }
      return body;
    },
  });
  fixture.spoil("dead", { status: () => 502 });
  const findings = await fixture.following.check(never);
  equal(findings.map(({ result }) => result), ["failed", "warning"]);
  match(findings[0]?.found ?? "", /is of another network/);
  ok(findings.every((row) => !JSON.stringify(row).includes("key-")));
  await fixture.following.close();
});
