import { deepStrictEqual as equal, match, ok, rejects } from "node:assert/strict";
import { ProverFault } from "../../../src/consensus/prover.ts";
import { RpcFault } from "../../../src/core/rpc/fault.ts";
import { falseValue, leafPaths } from "../../devnet/beacon/lies.ts";
import type { OptionalRoutes } from "../../devnet/beacon/beacon.ts";
import { changeAt, type Mischief, never, World } from "./world.ts";

const summaries: readonly OptionalRoutes[] = ["nimbusSummaries", "lodestarSummaries", "oldLodestarSummaries"];

/** Hosts whose data was refused, as the log names them. */
function refused(world: World): unknown[] {
  return world.log.lines.filter(({ message }) => message === "Data of a beacon node refused")
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
