import { deepStrictEqual as equal, fail, match, ok, rejects } from "node:assert/strict";
import { sepolia } from "../../../../src/consensus/clients/sync_committee/spec/known_networks.ts";
import {
  formatSummaries,
  parseSummaries,
} from "../../../../src/consensus/clients/sync_committee/spec/summaries_text.ts";
import type { PersistedText } from "../../../../src/consensus/persisted_text.ts";
import { ProverFault } from "../../../../src/consensus/prover.ts";
import type { OptionalRoutes } from "../../../../devnet/beacon/beacon.ts";
import { never, World } from "./fixture.ts";

const summaries: readonly OptionalRoutes[] = ["nimbusSummaries", "lodestarSummaries", "oldLodestarSummaries"];

Deno.test("sync committee prover: every source leads to updates that the hub takes, the smaller first", async () => {
  await using world = await World.start();
  const prover = world.prover();
  await world.startClient(prover);
  /** Bytes of the beacon node in a look that brings an update of this source. */
  const size = async (source: RegExp): Promise<number> => {
    await world.beacon.mine(4);
    world.beacon.forgetRequests();
    const finding = await prover.next(never);
    ok(finding.kind === "updates");
    match(finding.summary, source);
    world.hub.accept(finding.proofs);
    return world.beacon.requests.reduce((sum, request) => sum + request.bytes, 0);
  };

  ok(await size(/\(by state proof of honest\)/) < 5_500);
  world.beacon.change({ without: ["lodestarProof"] });
  ok(await size(/\(by historical summaries of honest\)/) < 75_000);
  world.beacon.change({ without: ["lodestarProof", "nimbusSummaries"] });
  world.clock.advance(700_000);
  ok(await size(/\(by historical summaries of honest\)/) < 160_000);
  world.beacon.change({ without: ["lodestarProof", ...summaries] });
  ok(await size(/\(by state prefix of honest\)/) < 3_000_000);
  world.beacon.change({ without: ["lodestarProof", "lightClient", ...summaries] });
  ok(await size(/\(by whole state of honest, whole state of honest\)/) > 5_000_000);
  equal(world.hub.height, BigInt(world.beacon.finalized.blockNumber));
});

Deno.test("sync committee prover: the whole state is read once, then its beginning does, also over periods", async () => {
  await using world = await World.start({ without: ["lodestarProof", ...summaries] });
  const prover = world.prover();
  await world.startClient(prover);
  await world.beacon.mine(8);
  match((await world.follow(prover))[0]?.summary ?? "", /by whole state of honest/);
  await world.beacon.mine(8);
  match((await world.follow(prover))[0]?.summary ?? "", /by state prefix of honest/);
  await world.beacon.advanceToPeriod(world.beacon.period + 1);
  const [rotation] = await world.follow(prover);
  match(rotation?.summary ?? "", /committee of period \d+ \(by state prefix of honest\)/);
});

Deno.test("sync committee prover: without light client routes, blocks and state proofs do", async () => {
  await using world = await World.start({ without: ["lightClient"] });
  const prover = world.prover();
  await world.startClient(prover);
  await world.beacon.mine(8);
  match(
    (await world.follow(prover))[0]?.summary ?? "",
    /\(by state proof of honest, state proof of honest\)/,
  );
  world.beacon.change({ without: ["lightClient", "blindedBlocks"] });
  await world.beacon.advanceToPeriod(world.beacon.period + 1);
  match((await world.follow(prover))[0]?.summary ?? "", /committee of period/);
  const behind = world.hub.state.lightClientState.statePeriod;
  await world.beacon.advanceToPeriod(world.beacon.period + 2);
  const updates = await world.follow(prover);
  equal(updates.map(({ hasMore }) => hasMore), [true, false]);
  equal(world.hub.state.lightClientState.statePeriod, behind + 2n);
});

Deno.test("sync committee prover: whole states alone are enough, over a change of the committee too", async () => {
  await using world = await World.start({
    without: ["lightClient", "lodestarProof", "blindedBlocks", ...summaries],
  });
  const prover = world.prover();
  await world.startClient(prover);
  await world.beacon.advanceToPeriod(world.beacon.period + 1);
  const [update] = await world.follow(prover);
  match(update?.summary ?? "", /committee of period \d+ \(by whole state of honest, whole state of honest\)/);
});

Deno.test("sync committee prover: states that come in JSON only are read as they arrive", async () => {
  await using world = await World.start({
    hasJsonStatesOnly: true,
    without: ["lightClient", "lodestarProof", "blindedBlocks", ...summaries],
  });
  const prover = world.prover();
  await world.startClient(prover);
  await world.beacon.mine(8);
  const [update] = await world.follow(prover);
  match(update?.summary ?? "", /\(by whole state of honest, whole state of honest\)/);
});

Deno.test("sync committee prover: summaries that an earlier run kept save the whole state, unless they do not fit", async () => {
  await using world = await World.start({ without: ["lodestarProof", ...summaries] });
  let kept: string | undefined;
  const text: PersistedText = {
    read: () => kept,
    write: (written) => {
      kept = written;
      return true;
    },
  };
  const first = world.prover(undefined, undefined, text);
  await world.startClient(first);
  await world.beacon.mine(8);
  match((await world.follow(first))[0]?.summary ?? "", /by whole state of honest/);
  const summaryOfRestart = async (): Promise<string> => {
    await world.beacon.mine(8);
    return (await world.follow(world.prover(undefined, undefined, text)))[0]?.summary ?? "";
  };
  match(await summaryOfRestart(), /by state prefix of honest/);
  // Damaged: not taken, and written again.
  const good = kept ?? fail("nothing was kept");
  kept = good.slice(0, -20);
  match(await summaryOfRestart(), /by whole state of honest/);
  const entriesOf = (written: string): unknown =>
    parseSummaries(sepolia.genesisValidatorsRoot, written)?.entries ?? fail("it is damaged");
  equal(entriesOf(kept), entriesOf(good));
  // Whole, and not those of the chain: nobody is accused.
  const dated = parseSummaries(sepolia.genesisValidatorsRoot, good) ?? fail("it is whole");
  const [one, ...others] = dated.entries;
  ok(one !== undefined);
  kept = formatSummaries(sepolia.genesisValidatorsRoot, { ...dated, entries: [...others, one] });
  match(await summaryOfRestart(), /by whole state of honest/);
  equal(world.log.events("warn"), []);
  ok(world.log.events("info").includes("summaries_discarded"));
});

Deno.test("sync committee prover: a state is asked for by its root, and by its slot where that is not known", async () => {
  await using world = await World.start({ without: ["lodestarProof", ...summaries] });
  const prover = world.prover();
  await world.startClient(prover);
  const statesOf = (): readonly string[] =>
    world.beacon.requests.filter(({ route }) => route === "debugState")
      .map(({ path, status }) => `${/0x[0-9a-f]{64}$/.test(path) ? "root" : "slot"} ${status}`);
  await world.beacon.mine(8);
  world.beacon.forgetRequests();
  await world.follow(prover);
  equal(new Set(statesOf()), new Set(["root 200"]));
  for (const status of [404, 400, 500]) {
    world.beacon.change({
      lie: {
        status: ({ route, path }) => route === "debugState" && path.includes("0x") ? status : undefined,
      },
    });
    await world.beacon.mine(8);
    world.beacon.forgetRequests();
    match((await world.follow(prover))[0]?.summary ?? "", /by state prefix of honest/);
    equal(statesOf(), [`root ${status}`, "slot 200"]);
  }
});

Deno.test("sync committee prover: missed periods are caught up one after the other", async () => {
  await using world = await World.start();
  const prover = world.prover();
  await world.startClient(prover);
  await world.beacon.advanceToPeriod(world.beacon.period + 4);
  const updates = await world.follow(prover);
  equal(updates.map(({ hasMore }) => hasMore), [true, true, true, false]);
  equal(world.hub.state.lightClientState.statePeriod, BigInt(world.beacon.period));
  equal(world.hub.height, BigInt(world.beacon.finalized.blockNumber));
});

Deno.test("sync committee prover: what a node lacks is not asked for at every look, but later again", async () => {
  await using world = await World.start({ without: ["lodestarProof", "nimbusSummaries"] });
  const prover = world.prover();
  await world.startClient(prover);
  const askedFor = async (part: string): Promise<number> => {
    await world.beacon.mine(4);
    world.asked.length = 0;
    equal((await world.follow(prover)).length, 1);
    return world.asked.filter(({ path }) => path.includes(part)).length;
  };
  equal([await askedFor("/proof/"), await askedFor("/proof/"), await askedFor("/proof/")], [1, 1, 0]);
  equal(await askedFor("/nimbus/"), 0);
  world.clock.advance(11 * 60_000);
  equal(await askedFor("/proof/"), 1);
});

Deno.test("sync committee prover: an execution node that tells false withdrawals, or none, costs bytes only", async () => {
  await using world = await World.start({ without: ["lodestarProof"] });
  const prover = world.prover();
  await world.startClient(prover);
  const spoilWith = (change: (text: string) => string): void => {
    world.executionFetch = async (url, init) => new Response(change(await (await fetch(url, init)).text()));
  };
  const lies: readonly ((text: string) => string)[] = [
    (text) => text.replaceAll(/"index":"0x([0-9a-f]+)"/g, (_, hex) => `"index":"0x${hex}0"`),
    (text) => text.replaceAll(/"hash":"0x../g, '"hash":"0x00'),
    () => "no JSON",
    (text) => text.replaceAll(/"withdrawals":\[[^\]]*\]/g, '"withdrawals":[]'),
  ];
  for (const lie of lies) {
    spoilWith(lie);
    await world.beacon.mine(4);
    match((await world.follow(prover))[0]?.summary ?? "", /by (whole state|state prefix) of honest/);
    world.clock.advance(120_000);
  }
  equal(world.log.events("warn"), ["block_withdrawals_mismatch"]);
  spoilWith((text) => text);
  await world.beacon.mine(4);
  match((await world.follow(prover))[0]?.summary ?? "", /by historical summaries of honest/);
});

Deno.test("sync committee prover: a finalized state that is not found yet is awaited, then told", async () => {
  await using world = await World.start();
  const prover = world.prover(["young"]);
  await world.startClient(prover);
  await world.beacon.mine(4);
  world.spoil("young", { status: (path) => /state|historical/.test(path) ? 404 : undefined });
  for (let look = 0; look < 3; look++) {
    const finding = await prover.next(never);
    ok(finding.kind === "nothing" && /not served yet/.test(finding.reason) && finding.againInMs === 24_000);
  }
  await rejects(
    prover.next(never),
    (fault) => fault instanceof ProverFault && fault.code === "not_served" && fault.endpoint === "young",
  );
  world.spoil("young", undefined);
  world.clock.advance(700_000);
  equal((await world.follow(prover)).length, 1);
});
