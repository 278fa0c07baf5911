import { deepStrictEqual as equal, match, ok, rejects } from "node:assert/strict";
import { ProverFault } from "../../../../src/consensus/prover.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import { falseValue, leafPaths } from "../../../../devnet/beacon/lies.ts";
import { changeAt, Fixture, type Mischief, never } from "./fixture.ts";

/** Hosts whose data was refused, as the log names them. */
function refused(fixture: Fixture): unknown[] {
  return fixture.log.lines.filter(({ event }) => event === "endpoint_data_invalid.contradiction")
    .map(({ fields }) => fields.endpoint);
}

/** A node that is wrong about one field of one route. */
function wrongAbout(route: RegExp, field: string): Mischief {
  return {
    json: (path, body) => {
      if (route.test(path)) changeAt(body, field.split("."), falseValue);
      return body;
    },
  };
}

/** A fixture whose client has something new to follow. */
async function newsFor(
  ...options: Parameters<typeof Fixture.following>
): ReturnType<typeof Fixture.following> {
  const fixture = await Fixture.following(...options);
  await fixture.beacon.mine(4);
  return fixture;
}

Deno.test("sync committee prover: a lie about any field of a finality update is found, and the node is named", async () => {
  await using fixture = await newsFor();
  const truth = await (await fetch(`${fixture.beacon.url}/eth/v1/beacon/light_client/finality_update`))
    .json();
  const used = leafPaths(truth, 1).filter((field) =>
    field !== "version" && !field.startsWith("data.attested_header.execution") &&
    // Nobody signs the slot of the signature, and the hub takes any of the same period and fork.
    field !== "data.signature_slot"
  );
  ok(used.length > 25);
  for (const field of used) {
    fixture.spoil("liar", wrongAbout(/finality_update/, field));
    await rejects(
      fixture.prover(["liar"]).next(never),
      { name: "ProverFault", code: "bad_data", endpoint: "liar" },
      field,
    );
  }
  equal((await fixture.follow(fixture.following)).length, 1);
});

Deno.test("sync committee prover: a source that lies is named, and the next one serves", async () => {
  await using fixture = await newsFor();
  const lie = wrongAbout(/\/proof\/state\//, "data.leaves.1");
  fixture.spoil("liar", lie);
  const finding = await fixture.prover(["liar"]).next(never);
  ok(finding.kind === "updates");
  match(finding.summary, /by whole state of liar/);
  equal(refused(fixture), ["liar"]);
  fixture.spoil("liar", { ...lie, bytes: (_path, bytes) => turned(bytes, 2_736_640) });
  await rejects(
    fixture.prover(["liar"]).next(never),
    { name: "ProverFault", code: "bad_data", endpoint: "liar" },
  );
  const other = await fixture.prover(["liar", "honest"]).next(never);
  ok(other.kind === "updates");
  match(other.summary, /by state proof of honest/);
});

/** A copy with one bit turned. */
function turned(bytes: Uint8Array, at: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

Deno.test("sync committee prover: a lie in the beginning of a state or in a bootstrap is found", async () => {
  await using fixture = await newsFor(["liar", "honest"], { without: ["lodestarProof"] });
  equal((await fixture.follow(fixture.following)).length, 1); // now the summaries are known
  const lies: readonly (readonly [string, Mischief])[] = [
    ["prefix", { bytes: (_path, bytes) => turned(bytes, 2_736_660) }],
    ["bootstrap", wrongAbout(/bootstrap/, "data.current_sync_committee_branch.3")],
    ["other block", wrongAbout(/bootstrap/, "data.header.beacon.slot")],
  ];
  for (const [name, lie] of lies) {
    await fixture.beacon.mine(4);
    fixture.spoil("liar", lie);
    fixture.log.lines.length = 0;
    match((await fixture.follow(fixture.following))[0]?.summary ?? "", /by state prefix of honest/, name);
    ok(refused(fixture).every((host) => host === "liar"));
    fixture.clock.advance(700_000);
  }
});

Deno.test("sync committee prover: a false committee, or one of another period, is not taken", async () => {
  await using fixture = await newsFor(["liar", "honest"]);
  await fixture.beacon.advanceToPeriod(fixture.beacon.period + 1);
  fixture.spoil("liar", wrongAbout(/updates/, "0.data.next_sync_committee.pubkeys.7"));
  match((await fixture.follow(fixture.following))[0]?.summary ?? "", /committee of period/);
  equal(refused(fixture), ["liar"]);
  await fixture.beacon.advanceToPeriod(fixture.beacon.period + 4);
  const lies = ["attested_header.beacon.slot", "next_sync_committee_branch.0", "finality_branch.1"];
  for (const field of lies) {
    fixture.spoil("liar", wrongAbout(/updates/, `0.data.${field}`));
    fixture.log.lines.length = 0;
    const [update] = await fixture.follow(fixture.following, 1).catch(() => []);
    ok(update === undefined || update.kind === "updates");
    ok(refused(fixture).includes("liar"), field);
    fixture.clock.advance(700_000);
  }
  await fixture.follow(fixture.following);
  equal(fixture.hub.state.lightClientState.statePeriod, BigInt(fixture.beacon.period));
});

Deno.test("sync committee prover: a node that claims missed periods has to show them", async () => {
  await using fixture = await newsFor(["liar", "honest"]);
  fixture.spoil("liar", {
    json: (path, body) => {
      if (path.includes("finality_update")) changeAt(body, ["data", "signature_slot"], () => "9999999999");
      return body;
    },
  });
  fixture.asked.length = 0;
  equal((await fixture.follow(fixture.following)).length, 1);
  ok(fixture.asked.every(({ path }) => !path.includes("debug")));
});

Deno.test("sync committee prover: blocks and states that lie are found without light client routes too", async () => {
  await using fixture = await newsFor(["honest"], { without: ["lightClient"] });
  const lies: readonly (readonly [string, Mischief])[] = [
    ["signature", wrongAbout(/blinded_blocks/, "data.message.body.sync_aggregate.sync_committee_signature")],
    ["header", wrongAbout(/headers/, "data.header.message.state_root")],
    ["root", wrongAbout(/headers/, "data.root")],
    ["state", { bytes: (path, bytes) => path.includes("/debug/") ? turned(bytes, 50) : bytes }],
  ];
  for (const [name, lie] of lies) {
    fixture.spoil("liar", lie);
    fixture.log.lines.length = 0;
    const finding = await fixture.prover(["liar", "honest"]).next(never);
    ok(finding.kind === "updates", name);
    const { view, height } = fixture.hub;
    fixture.hub.take(finding.proofs);
    Object.assign(fixture.hub, { view, height });
    ok(refused(fixture).length > 0 && refused(fixture).every((host) => host === "liar"), name);
  }
});

Deno.test("sync committee prover: a syncing, a refusing and a dead node are left out", async () => {
  await using fixture = await newsFor();
  for (const status of [503, 500, 429, 404, 401, 400]) {
    fixture.spoil("ill", { status: () => status });
    equal((await fixture.prover(["ill", "honest"]).next(never)).kind, "updates", String(status));
  }
  fixture.spoil("ill", { status: () => 503 });
  const alone = await fixture.prover(["ill"]).next(never);
  ok(alone.kind === "nothing" && /syncing/.test(alone.reason));
  fixture.spoil("ill", { status: () => 502 });
  await rejects(
    fixture.prover(["ill"]).next(never),
    (fault) => fault instanceof RpcFault && fault.code === "server_error" && !fault.message.includes("key"),
  );
});

Deno.test("sync committee prover: a node whose finality stands is left for one that continues", async () => {
  await using fixture = await newsFor(["frozen", "honest"]);
  equal((await fixture.follow(fixture.following)).length, 1);
  const old = await (await fetch(`${fixture.beacon.url}/eth/v1/beacon/light_client/finality_update`)).json();
  fixture.spoil("frozen", { json: (path, body) => path.includes("finality_update") ? old : body });
  await fixture.beacon.mine(4);
  equal((await fixture.follow(fixture.following)).length, 1);
});

Deno.test("sync committee prover: a node that finds states by slot only is asked by slot", async () => {
  await using fixture = await newsFor(["honest"], { without: ["lightClient"] });
  fixture.spoil("slots", { status: (path) => /(proof|debug)\/.*\/0x/.test(path) ? 404 : undefined });
  const prover = fixture.prover(["slots"]);
  match((await fixture.follow(prover))[0]?.summary ?? "", /by whole state of slots, whole state of slots/);
});

/** Answers of a later fork: another name, and light client headers without the execution header. */
function ofLaterFork(name: string): Mischief {
  const renamed = (body: object): object => ({ ...body, version: name });
  const withoutPayload = (body: unknown): unknown => {
    for (const header of ["finalized_header", "attested_header"]) {
      changeAt(body, ["data", header], (value) => ({ beacon: Object(value).beacon }));
    }
    return body;
  };
  return {
    json: (path, body) =>
      path.includes("finality_update")
        ? renamed(Object(withoutPayload(body)))
        : path.includes("blocks")
        ? renamed(Object(body))
        : body,
  };
}

Deno.test("sync committee prover: a fork that the hub does not know is reported as that, and no node is accused", async () => {
  await using fixture = await newsFor();
  fixture.spoil("new", ofLaterFork("heze"));
  fixture.spoil("newer", ofLaterFork("heze"));
  for (const hosts of [["new"], ["new", "newer"]]) {
    await rejects(fixture.prover(hosts).next(never), (fault) => {
      ok(fault instanceof ProverFault);
      equal([fault.code, fault.endpoint], ["fork_not_followed", undefined]);
      match(fault.detail, /^the beacon chain has reached fork heze, which this version does not know/);
      return true;
    });
  }
  equal(refused(fixture), []);
  equal((await fixture.prover(["new", "honest"]).next(never)).kind, "updates", "one node is no fork");
});

Deno.test("sync committee prover: routes that fail because they do not exist are learned, and others serve", async () => {
  await using fixture = await newsFor();
  for (const status of [500, 502, 504]) {
    const host = `poor${status}`;
    fixture.spoil(host, { status: (path) => path.includes("light_client") ? status : undefined });
    const prover = fixture.prover([host]);
    const finding = await pollUntilFound(fixture, prover);
    match(finding.summary, new RegExp(`by whole state of ${host}, whole state of ${host}`), String(status));
    fixture.asked.length = 0;
    await pollUntilFound(fixture, prover);
    ok(
      fixture.asked.filter(({ path }) => path.includes("light_client")).length <= 1,
      "it is not asked again",
    );
  }
});

/** Looks until an update is found; faults on the way are those of a node that is learned to know. */
async function pollUntilFound(
  fixture: Fixture,
  prover: ReturnType<Fixture["prover"]>,
): Promise<Extract<Awaited<ReturnType<typeof prover.next>>, { kind: "updates" }>> {
  for (let look = 0; look < 4; look++) {
    const finding = await prover.next(never).catch((fault: unknown) => {
      ok(fault instanceof RpcFault, String(fault));
    });
    if (finding?.kind === "updates") return finding;
    fixture.clock.advance(60_000);
  }
  throw new Error("Nothing was found");
}

Deno.test("sync committee prover: a missed period whose best update is of a lost state is made up for by its last block", async () => {
  await using fixture = await newsFor(["archive"]);
  await fixture.follow(fixture.following);
  const missed = fixture.beacon.period + 1;
  // The best update is the one that most have signed: an early one.
  fixture.beacon.change({ signers: 512 });
  await fixture.beacon.advanceToPeriod(missed);
  fixture.beacon.change({ signers: 400 });
  await fixture.beacon.mine(16);
  await fixture.beacon.advanceToPeriod(missed + 2);
  const path = `/eth/v1/beacon/light_client/updates?start_period=${missed}&count=1`;
  const [best] = await (await fetch(fixture.beacon.url + path)).json();
  const { slot, state_root: root } = best.data.finalized_header.beacon;
  const lost = new RegExp(`/(${slot}|${root})(/|[?]|$)`);
  fixture.spoil("archive", { status: (asked) => lost.test(asked) ? 404 : undefined });
  const [first] = await fixture.follow(fixture.following);
  match(first?.summary ?? "", /by whole state of archive, whole state of archive/);
  equal(fixture.hub.state.lightClientState.statePeriod, BigInt(missed + 2));
});
