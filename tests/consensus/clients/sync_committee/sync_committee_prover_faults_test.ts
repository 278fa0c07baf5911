import { deepStrictEqual as equal, match, ok, rejects } from "node:assert/strict";
import { ProverFault } from "../../../../src/consensus/prover.ts";
import { RpcFault } from "../../../../src/core/rpc/fault.ts";
import { falseValue, leafPaths } from "../../../../devnet/beacon/lies.ts";
import type { OptionalRoutes } from "../../../../devnet/beacon/beacon.ts";
import { changeAt, type Mischief, never, World } from "./fixture.ts";

const summaries: readonly OptionalRoutes[] = ["nimbusSummaries", "lodestarSummaries", "oldLodestarSummaries"];

/** Hosts whose data was refused, as the log names them. */
function refused(world: World): unknown[] {
  return world.log.lines.filter(({ event }) => event === "endpoint_data_invalid")
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

/** A world with a client, in which there is something new. */
async function newsFor(hosts: readonly string[], options: Parameters<typeof World.start>[0] = {}): Promise<{
  readonly world: World;
  readonly prover: ReturnType<World["prover"]>;
}> {
  const world = await World.start(options);
  const prover = world.prover(hosts);
  await world.startClient(prover);
  await world.beacon.mine(4);
  return { world, prover };
}

Deno.test("sync committee prover: a lie about any field of a finality update is found, and its teller named", async () => {
  const { world, prover } = await newsFor(["honest"]);
  await using _ = world;
  const truth = await (await fetch(`${world.beacon.url}/eth/v1/beacon/light_client/finality_update`)).json();
  const used = leafPaths(truth, 1).filter((field) =>
    field !== "version" && !field.startsWith("data.attested_header.execution") &&
    // Nobody signs the slot of the signature, and the hub takes any of the same period and fork.
    field !== "data.signature_slot"
  );
  ok(used.length > 25);
  for (const field of used) {
    world.spoil("liar", wrongAbout(/finality_update/, field));
    await rejects(
      world.prover(["liar"]).next(never),
      (fault) => fault instanceof ProverFault && fault.code === "bad_data" && fault.endpoint === "liar",
      field,
    );
  }
  equal((await world.follow(prover)).length, 1);
});

Deno.test("sync committee prover: behind a node that lies the next one is asked", async () => {
  const { world } = await newsFor(["honest"]);
  await using _ = world;
  for (const field of ["attested_header.beacon.slot", "finality_branch.0", "signature_slot"]) {
    world.spoil("liar", wrongAbout(/finality_update/, `data.${field}`));
    world.log.lines.length = 0;
    const finding = await world.prover(["liar", "honest"]).next(never);
    ok(finding.kind === "updates", field);
    const { view, height } = world.hub;
    world.hub.accept(finding.proofs);
    Object.assign(world.hub, { view, height });
    equal(refused(world), field === "signature_slot" ? [] : ["liar"]);
  }
});

Deno.test("sync committee prover: a source that lies is named, and the next one serves", async () => {
  const { world } = await newsFor(["honest"]);
  await using _ = world;
  const lie: Mischief = {
    json: (path, body) => path.includes("historical") ? changed(body, "data.proof.2") : body,
    bytes: (path, bytes) => path.includes("/proof/state/") ? turned(bytes, 40) : bytes,
  };
  world.spoil("liar", lie);
  const finding = await world.prover(["liar"]).next(never);
  ok(finding.kind === "updates");
  match(finding.summary, /by historical summaries of liar/);
  equal(refused(world), ["liar"]);
  world.spoil("liar", {
    bytes: (path, bytes) => turned(bytes, path.startsWith("/eth/v2/debug") ? 2_736_640 : 40),
  });
  await rejects(
    world.prover(["liar"]).next(never),
    (fault) => fault instanceof ProverFault && fault.code === "bad_data" && fault.endpoint === "liar",
  );
  const other = await world.prover(["liar", "honest"]).next(never);
  ok(other.kind === "updates");
  match(other.summary, /by state proof of honest/);
});

function changed(body: unknown, field: string): unknown {
  changeAt(body, field.split("."), falseValue);
  return body;
}

/** A copy with one bit turned. */
function turned(bytes: Uint8Array, at: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

Deno.test("sync committee prover: a lie in the beginning of a state or in a bootstrap is found", async () => {
  const { world, prover } = await newsFor(["liar", "honest"], { without: ["lodestarProof", ...summaries] });
  await using _ = world;
  equal((await world.follow(prover)).length, 1); // now the summaries are known
  const lies: readonly (readonly [string, Mischief])[] = [
    ["prefix", { bytes: (_path, bytes) => turned(bytes, 2_736_660) }],
    ["bootstrap", wrongAbout(/bootstrap/, "data.current_sync_committee_branch.3")],
    ["other block", wrongAbout(/bootstrap/, "data.header.beacon.slot")],
  ];
  for (const [name, lie] of lies) {
    await world.beacon.mine(4);
    world.spoil("liar", lie);
    world.log.lines.length = 0;
    match((await world.follow(prover))[0]?.summary ?? "", /by state prefix of honest/, name);
    ok(refused(world).every((host) => host === "liar"));
    world.clock.advance(700_000);
  }
});

Deno.test("sync committee prover: a false committee, or one of another period, is not taken", async () => {
  const { world, prover } = await newsFor(["liar", "honest"]);
  await using _ = world;
  await world.beacon.advanceToPeriod(world.beacon.period + 1);
  world.spoil("liar", wrongAbout(/updates/, "0.data.next_sync_committee.pubkeys.7"));
  match((await world.follow(prover))[0]?.summary ?? "", /committee of period/);
  equal(refused(world), ["liar"]);
  await world.beacon.advanceToPeriod(world.beacon.period + 4);
  const lies = ["attested_header.beacon.slot", "next_sync_committee_branch.0", "finality_branch.1"];
  for (const field of lies) {
    world.spoil("liar", wrongAbout(/updates/, `0.data.${field}`));
    world.log.lines.length = 0;
    const [update] = await world.follow(prover, 1).catch(() => []);
    ok(update === undefined || update.kind === "updates");
    ok(refused(world).includes("liar"), field);
    world.clock.advance(700_000);
  }
  await world.follow(prover);
  equal(world.hub.state.lightClientState.statePeriod, BigInt(world.beacon.period));
});

Deno.test("sync committee prover: a node that claims missed periods has to show them", async () => {
  const { world, prover } = await newsFor(["liar", "honest"]);
  await using _ = world;
  world.spoil("liar", {
    json: (path, body) => {
      if (path.includes("finality_update")) changeAt(body, ["data", "signature_slot"], () => "9999999999");
      return body;
    },
  });
  world.asked.length = 0;
  equal((await world.follow(prover)).length, 1);
  ok(world.asked.every(({ path }) => !path.includes("debug")));
});

Deno.test("sync committee prover: blocks and states that lie are found without light client routes too", async () => {
  const { world } = await newsFor(["honest"], { without: ["lightClient"] });
  await using _ = world;
  const lies: readonly (readonly [string, Mischief])[] = [
    ["signature", wrongAbout(/blinded_blocks/, "data.message.body.sync_aggregate.sync_committee_signature")],
    ["header", wrongAbout(/headers/, "data.header.message.state_root")],
    ["root", wrongAbout(/headers/, "data.root")],
    ["checkpoint", wrongAbout(/states\/0x.*finality_checkpoints/, "data.finalized.root")],
    ["epoch", wrongAbout(/states\/0x.*finality_checkpoints/, "data.finalized.epoch")],
    ["proof", { bytes: (_path, bytes) => turned(bytes, 50) }],
  ];
  for (const [name, lie] of lies) {
    world.spoil("liar", lie);
    world.log.lines.length = 0;
    const finding = await world.prover(["liar", "honest"]).next(never);
    ok(finding.kind === "updates", name);
    const { view, height } = world.hub;
    world.hub.accept(finding.proofs);
    Object.assign(world.hub, { view, height });
    ok(refused(world).length > 0 && refused(world).every((host) => host === "liar"), name);
  }
});

Deno.test("sync committee prover: answers of a wrong length or shape are refused, not believed", async () => {
  const { world } = await newsFor(["honest"]);
  await using _ = world;
  const shapes: readonly ((body: unknown) => unknown)[] = [
    (body) => (changeAt(body, ["data", "finality_branch"], (branch) => [branch].flat().slice(1)), body),
    (body) => (changeAt(body, ["data", "finality_branch"], () => []), body),
    () => ({ data: null }),
    () => [],
    () => "text",
  ];
  for (const shape of shapes) {
    world.spoil("odd", { json: (_path, body) => shape(body) });
    const finding = await world.prover(["odd", "honest"]).next(never);
    ok(finding.kind === "updates");
  }
});

Deno.test("sync committee prover: a syncing, a refusing and a dead node are left out", async () => {
  const { world } = await newsFor(["honest"]);
  await using _ = world;
  for (const status of [503, 500, 429, 404, 401, 400]) {
    world.spoil("ill", { status: () => status });
    equal((await world.prover(["ill", "honest"]).next(never)).kind, "updates", String(status));
  }
  world.spoil("ill", { status: () => 503 });
  const alone = await world.prover(["ill"]).next(never);
  ok(alone.kind === "nothing" && /syncing/.test(alone.reason));
  world.spoil("ill", { status: () => 502 });
  await rejects(
    world.prover(["ill"]).next(never),
    (fault) => fault instanceof RpcFault && fault.code === "server_error" && !fault.message.includes("key"),
  );
});

Deno.test("sync committee prover: a node whose finality stands is left for one that goes on", async () => {
  const { world, prover } = await newsFor(["frozen", "honest"]);
  await using _ = world;
  equal((await world.follow(prover)).length, 1);
  const old = await (await fetch(`${world.beacon.url}/eth/v1/beacon/light_client/finality_update`)).json();
  world.spoil("frozen", { json: (path, body) => path.includes("finality_update") ? old : body });
  await world.beacon.mine(4);
  equal((await prover.next(never)).kind, "nothing");
  world.clock.advance(800_000);
  equal((await world.follow(prover)).length, 1);
});

Deno.test("sync committee prover: a head that was replaced is no matter, by either way", async () => {
  const { world, prover } = await newsFor(["honest"]);
  await using _ = world;
  equal((await world.follow(prover)).length, 1);
  for (const without of [[], ["lightClient"]] as const) {
    world.beacon.change({ without });
    await world.beacon.mine(4);
    await world.beacon.reorg(3);
    equal((await world.follow(prover)).length, 1);
  }
});

Deno.test("sync committee prover: a node that finds states by slot only is asked by slot", async () => {
  const { world } = await newsFor(["honest"], { without: ["lightClient"] });
  await using _ = world;
  world.spoil("slots", { status: (path) => /(proof|debug)\/.*\/0x/.test(path) ? 404 : undefined });
  const prover = world.prover(["slots"]);
  match((await world.follow(prover))[0]?.summary ?? "", /by state proof of slots, state proof of slots/);
  world.beacon.change({ without: ["lightClient", "lodestarProof"] });
  await world.beacon.mine(4);
  match((await world.follow(prover))[0]?.summary ?? "", /by whole state of slots, whole state of slots/);
});

/** Answers of a later fork: another name, and light client headers without the execution header. */
function ofLaterFork(name: string | undefined): Mischief {
  const renamed = (body: object): object => {
    const { version: _, ...rest } = { version: undefined, ...body };
    return name === undefined ? rest : { version: name, ...rest };
  };
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

Deno.test("sync committee prover: a fork that the hub does not know is told as that, and no node is accused", async () => {
  const { world } = await newsFor(["honest"]);
  await using _ = world;
  world.spoil("new", ofLaterFork("gloas"));
  world.spoil("newer", ofLaterFork("gloas"));
  for (const hosts of [["new"], ["new", "newer"]]) {
    await rejects(world.prover(hosts).next(never), (fault) => {
      ok(fault instanceof ProverFault);
      equal([fault.code, fault.endpoint], ["unrecoverable", undefined]);
      match(
        fault.detail,
        /^the beacon chain has reached fork gloas, which the hub's client does not know yet/,
      );
      return true;
    });
  }
  equal(refused(world), []);
  equal((await world.prover(["new", "honest"]).next(never)).kind, "updates", "one node is no fork");
});

Deno.test("sync committee prover: answers without the execution header and without a name are of a later fork", async () => {
  const { world } = await newsFor(["honest"]);
  await using _ = world;
  world.spoil("new", ofLaterFork(undefined));
  world.spoil("blocks", { status: (path) => path.includes("light_client") ? 404 : undefined });
  equal((await world.prover(["new", "honest"]).next(never)).kind, "updates");
  equal(refused(world), []);
  world.spoil("electra", {
    json: (path, body) =>
      path.includes("finality_update") ? { ...Object(ofLaterFork("electra").json?.(path, body)) } : body,
  });
  await rejects(
    world.prover(["electra"]).next(never),
    (fault) => fault instanceof ProverFault && fault.code === "bad_data" && fault.endpoint === "electra",
  );
});

Deno.test("sync committee prover: routes that fail because they do not exist are learned, and others serve", async () => {
  const { world } = await newsFor(["honest"]);
  await using _ = world;
  for (const status of [500, 502, 504]) {
    const host = `poor${status}`;
    world.spoil(host, { status: (path) => path.includes("light_client") ? status : undefined });
    const prover = world.prover([host]);
    const finding = await lookUntilFound(world, prover);
    match(finding.summary, new RegExp(`by state proof of ${host}, state proof of ${host}`), String(status));
    world.asked.length = 0;
    await lookUntilFound(world, prover);
    ok(world.asked.filter(({ path }) => path.includes("light_client")).length <= 1, "it is not asked anew");
  }
});

/** Looks until an update is found; faults on the way are those of a node that is learned to know. */
async function lookUntilFound(
  world: World,
  prover: ReturnType<World["prover"]>,
): Promise<Extract<Awaited<ReturnType<typeof prover.next>>, { kind: "updates" }>> {
  for (let look = 0; look < 4; look++) {
    const finding = await prover.next(never).catch((fault: unknown) => {
      ok(fault instanceof RpcFault, String(fault));
    });
    if (finding?.kind === "updates") return finding;
    world.clock.advance(60_000);
  }
  throw new Error("Nothing was found");
}

Deno.test("sync committee prover: a missed period whose best update is of a lost state is made up for by its last block", async () => {
  const { world, prover } = await newsFor(["archive"]);
  await using _ = world;
  await world.follow(prover);
  const missed = world.beacon.period + 1;
  // The best update is the one that most have signed: an early one.
  world.beacon.change({ signers: 512 });
  await world.beacon.advanceToPeriod(missed);
  world.beacon.change({ signers: 400 });
  await world.beacon.mine(16);
  await world.beacon.advanceToPeriod(missed + 2);
  const path = `/eth/v1/beacon/light_client/updates?start_period=${missed}&count=1`;
  const [best] = await (await fetch(world.beacon.url + path)).json();
  const { slot, state_root: root } = best.data.finalized_header.beacon;
  const lost = new RegExp(`/(${slot}|${root})(/|[?]|$)`);
  world.spoil("archive", { status: (asked) => lost.test(asked) ? 404 : undefined });
  const [first] = await world.follow(prover);
  match(first?.summary ?? "", /by state proof of archive, state proof of archive/);
  equal(world.hub.state.lightClientState.statePeriod, BigInt(missed + 2));
});
