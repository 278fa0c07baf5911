import { deepStrictEqual as equal, match, ok, rejects } from "node:assert/strict";
import { Fixture, never } from "./fixture.ts";

Deno.test("sync committee prover: every source leads to updates that the hub takes, the smaller first", async () => {
  await using fixture = await Fixture.following();
  /** Bytes of the beacon node in a look that brings an update of this source. */
  const size = async (source: RegExp): Promise<number> => {
    await fixture.beacon.mine(4);
    fixture.beacon.forgetRequests();
    const finding = await fixture.following.next(never);
    ok(finding.kind === "updates");
    match(finding.summary, source);
    fixture.hub.take(finding.proofs);
    return fixture.beacon.requests.reduce((sum, request) => sum + request.bytes, 0);
  };

  ok(await size(/\(by state proof of honest\)/) < 5_500);
  fixture.beacon.change({ without: ["lodestarProof"] });
  ok(await size(/\(by whole state of honest\)/) > 2_700_000);
  ok(await size(/\(by state prefix of honest\)/) < 3_000_000);
  fixture.beacon.change({ without: ["lodestarProof", "lightClient"] });
  ok(await size(/\(by whole state of honest, whole state of honest\)/) > 5_000_000);
  equal(fixture.hub.height, BigInt(fixture.beacon.finalized.blockNumber));
});

Deno.test("sync committee prover: the whole state is read once a period, otherwise its beginning does", async () => {
  await using fixture = await Fixture.following(["honest"], { without: ["lodestarProof"] });
  const follow = async (): Promise<string> => (await fixture.follow(fixture.following))[0]?.summary ?? "";
  await fixture.beacon.mine(8);
  match(await follow(), /by whole state of honest/);
  await fixture.beacon.mine(8);
  match(await follow(), /by state prefix of honest/);
  await fixture.beacon.advanceToPeriod(fixture.beacon.period + 1);
  match(await follow(), /committee of period \d+ \(by whole state of honest\)/);
  await fixture.beacon.mine(8);
  match(await follow(), /by state prefix of honest/);
});

Deno.test("sync committee prover: without light client routes, blocks and whole states do", async () => {
  await using fixture = await Fixture.following(["honest"], { without: ["lightClient"] });
  await fixture.beacon.mine(8);
  match(
    (await fixture.follow(fixture.following))[0]?.summary ?? "",
    /\(by whole state of honest, whole state of honest\)/,
  );
  fixture.beacon.change({ without: ["lightClient", "blindedBlocks"] });
  await fixture.beacon.advanceToPeriod(fixture.beacon.period + 1);
  match((await fixture.follow(fixture.following))[0]?.summary ?? "", /committee of period/);
  const behind = fixture.hub.state.lightClientState.statePeriod;
  await fixture.beacon.advanceToPeriod(fixture.beacon.period + 2);
  const updates = await fixture.follow(fixture.following);
  equal(updates.map(({ hasMore }) => hasMore), [true, false]);
  equal(fixture.hub.state.lightClientState.statePeriod, behind + 2n);
});

Deno.test("sync committee prover: a state is asked for by its root, and by its slot where that is not known", async () => {
  await using fixture = await Fixture.following(["honest"], { without: ["lodestarProof"] });
  const statesOf = (): readonly string[] =>
    fixture.beacon.requests.filter(({ route }) => route === "debugState")
      .map(({ path, status }) => `${/0x[0-9a-f]{64}$/.test(path) ? "root" : "slot"} ${status}`);
  await fixture.beacon.mine(8);
  fixture.beacon.forgetRequests();
  await fixture.follow(fixture.following);
  equal(new Set(statesOf()), new Set(["root 200"]));
  for (const status of [404, 400, 500]) {
    fixture.beacon.change({
      lie: {
        status: ({ route, path }) => route === "debugState" && path.includes("0x") ? status : undefined,
      },
    });
    await fixture.beacon.mine(8);
    fixture.beacon.forgetRequests();
    match((await fixture.follow(fixture.following))[0]?.summary ?? "", /by state prefix of honest/);
    equal(statesOf(), [`root ${status}`, "slot 200"]);
  }
});

Deno.test("sync committee prover: what a node lacks is not asked for at every poll, but later again", async () => {
  await using fixture = await Fixture.following(["honest"], { without: ["lodestarProof"] });
  const askedFor = async (part: string): Promise<number> => {
    await fixture.beacon.mine(4);
    fixture.asked.length = 0;
    equal((await fixture.follow(fixture.following)).length, 1);
    return fixture.asked.filter(({ path }) => path.includes(part)).length;
  };
  equal([await askedFor("/proof/"), await askedFor("/proof/"), await askedFor("/proof/")], [1, 1, 0]);
  fixture.clock.advance(11 * 60_000);
  equal(await askedFor("/proof/"), 1);
});

Deno.test("sync committee prover: a finalized state that is not found yet is awaited, then reported", async () => {
  await using fixture = await Fixture.following(["young"]);
  await fixture.beacon.mine(4);
  fixture.spoil("young", { status: (path) => /state|historical/.test(path) ? 404 : undefined });
  for (let look = 0; look < 3; look++) {
    const finding = await fixture.following.next(never);
    ok(finding.kind === "nothing" && /not served yet/.test(finding.reason) && finding.againInMs === 24_000);
  }
  await rejects(
    fixture.following.next(never),
    { name: "ProverFault", code: "not_served", endpoint: "young" },
  );
  fixture.spoil("young", undefined);
  fixture.clock.advance(700_000);
  equal((await fixture.follow(fixture.following)).length, 1);
});

Deno.test("sync committee prover: late in a period, a node without old states changes it by a newer block", async () => {
  await using fixture = await Fixture.following();
  const { period } = fixture.beacon;
  await fixture.beacon.advanceToPeriod(period + 1);
  await fixture.beacon.mine(40);
  const oldest = fixture.beacon.finalized.slot - 64;
  fixture.spoil("pruned", {
    status: (path) => {
      const [, state = ""] = /state(?:s\/|\/)(\w+)/.exec(path) ?? [];
      if (state === "head") return undefined;
      return state !== "" && (state.startsWith("0x") || Number(state) < oldest) ? 404 : undefined;
    },
  });
  const [finding] = await fixture.follow(fixture.prover(["pruned"]));
  match(
    finding?.summary ?? "",
    /committee of period \d+ \(by whole state of pruned, whole state of pruned\)/,
  );
  equal(fixture.hub.state.lightClientState.statePeriod, BigInt(period + 1));
});
