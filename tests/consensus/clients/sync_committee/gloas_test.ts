/** Sepolia's way through Gloas, and what is not served or not followed on it. */
import { deepStrictEqual as equal, match, ok, rejects } from "node:assert/strict";
import type { NodeBehaviour } from "../../../../devnet/beacon/beacon.ts";
import { type ConsensusProver, ProverFault } from "../../../../src/consensus/prover.ts";
import { checkBeaconEndpoints } from "../../../../src/consensus/clients/sync_committee/beacon_checks.ts";
import { sepolia } from "../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { runChecks } from "../../../../src/core/checks/check_row.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { beaconTarget, changeAt, Fixture, GLOAS_EPOCH, type HubRuntime, never } from "./fixture.ts";

const chain = evmStateMachine(sepolia.chainId);
const gloasSlot = Number(GLOAS_EPOCH) * 32;

/** What passed until a slot was final on the hub. */
interface Journey {
  /** Sources of updates, without repetitions, in their order. */
  readonly sources: readonly string[];
  readonly waits: ReadonlySet<string>;
}

/** Mines block by block and submits what the prover finds, until the hub knows a finalized slot. */
async function follow(fixture: Fixture, prover: ConsensusProver, untilSlot: number): Promise<Journey> {
  const sources: string[] = [];
  const waits = new Set<string>();
  for (
    let blocks = 0;
    fixture.hub.state.lightClientState.finalizedHeader.slot < BigInt(untilSlot);
    blocks++
  ) {
    ok(blocks < 80, "The hub does not follow");
    await fixture.beacon.mine(1);
    const finding = await prover.next(never);
    if (finding.kind === "nothing") {
      waits.add(finding.reason);
      continue;
    }
    fixture.hub.take(finding.proofs);
    const source = /\(by (.*)\)/.exec(finding.summary)?.[1] ?? "";
    if (sources.at(-1) !== source) sources.push(source);
  }
  return { sources, waits };
}

const cases: readonly (readonly [string, Partial<NodeBehaviour>, readonly string[]])[] = [
  [
    "a node with light client routes and whole states",
    { without: ["lodestarProof"] },
    ["whole state of honest", "state prefix of honest", "bootstrap of honest"],
  ],
  ["a node with all routes", {}, ["state proof of honest", "bootstrap of honest"]],
  [
    "a node with whole states in JSON alone",
    {
      without: ["lightClient", "lodestarProof"],
      hasJsonStatesOnly: true,
    },
    ["whole state of honest, whole state of honest"],
  ],
];

for (const [what, behaviour, sources] of cases) {
  Deno.test(`gloas: the hub follows through the fork with ${what}`, async () => {
    const runtime: HubRuntime = { layout: "variant", gloasEpoch: GLOAS_EPOCH };
    await using fixture = await Fixture.startBeforeGloas(behaviour, beaconTarget(runtime));
    const prover = fixture.prover();
    await fixture.startClient(prover);
    const journey = await follow(fixture, prover, gloasSlot + 32);
    equal(journey.sources, sources);
    ok([...journey.waits].some((reason) => /first finalized slot \d+ of Gloas/.test(reason)), "21 items");
    ok(fixture.hub.height !== undefined && fixture.hub.height > 0n);
    equal(fixture.log.events("warn"), []);
  });
}

Deno.test("gloas: the hub follows from period to period, in the layout of July, too", async () => {
  const runtime: HubRuntime = { layout: "split", gloasEpoch: GLOAS_EPOCH };
  await using fixture = await Fixture.startBeforeGloas({}, beaconTarget(runtime));
  const prover = fixture.prover();
  await fixture.startClient(prover);
  await follow(fixture, prover, gloasSlot + 32);
  const { period } = fixture.beacon;
  await fixture.beacon.advanceToPeriod(period + 1);
  await fixture.follow(prover);
  await fixture.beacon.advanceToPeriod(period + 4);
  await fixture.follow(prover);
  equal(fixture.hub.state.lightClientState.statePeriod, BigInt(period + 4));
  equal(fixture.log.events("warn"), []);
});

Deno.test("gloas: a hub that does not follow is warned of before, reported after, and followed once it is upgraded", async () => {
  const runtime: HubRuntime = { layout: "flat" };
  await using fixture = await Fixture.startBeforeGloas({}, beaconTarget(runtime));
  const prover = fixture.prover();
  await fixture.startClient(prover);
  await fixture.beacon.mine(4);
  await fixture.follow(prover);
  // The layout is known now.
  equal((await prover.next(never)).kind, "nothing");
  equal(fixture.log.events("warn"), ["client_unusable.fork_not_followed"]);
  const [finding] = await prover.checkHub?.(never) ?? [];
  equal([finding?.result, finding?.check], ["warning", "fork_not_followed"]);
  match(
    finding?.found ?? "",
    /^EVM-11155111: fork gloas .* comes in 0\.0 days and the hub's runtime does not follow it/,
  );
  await rejects(follow(fixture, prover, gloasSlot + 64), (fault) => {
    ok(fault instanceof ProverFault);
    equal(fault.code, "fork_not_followed");
    return true;
  });
  ok(fixture.hub.state.lightClientState.finalizedHeader.slot < BigInt(gloasSlot));
  // The best update of the period, which starts with the fork, finalizes the block that hubs refuse for good.
  await fixture.beacon.mine(24);
  Object.assign(runtime, { layout: "variant", gloasEpoch: GLOAS_EPOCH });
  await follow(fixture, prover, gloasSlot + 5 * 32);
  equal(await prover.checkHub?.(never), []);
});

Deno.test("gloas: an update that another relayer's has outdated is no sign of a hub that does not follow", async () => {
  const runtime: HubRuntime = { layout: "variant", gloasEpoch: GLOAS_EPOCH };
  const hub = beaconTarget(runtime);
  await using fixture = await Fixture.startBeforeGloas({}, hub);
  const prover = fixture.prover();
  await fixture.startClient(prover);
  await follow(fixture, prover, gloasSlot + 32);
  for (let blocks = 0; (await prover.next(never)).kind === "nothing"; blocks++) {
    ok(blocks < 40, "No update");
    await fixture.beacon.mine(1);
  }
  const dryRun = hub.dryRunUpdates.bind(hub);
  hub.dryRunUpdates = (updates) => {
    hub.dryRunUpdates = dryRun;
    hub.take(updates.proofs);
    return dryRun(updates);
  };
  const finding = await prover.next(never);
  ok(finding.kind === "nothing");
  equal(finding.reason, "another relayer has updated the client");
});

Deno.test("gloas: a scheduled fork that this version does not know is a warning of the check and of the log", async () => {
  await using fixture = await Fixture.following();
  const epoch = Math.floor(fixture.beacon.head.slot / 32) + 13 * 225;
  const withHeze = (path: string, body: unknown): unknown => {
    if (!path.endsWith("/config/spec")) return body;
    const { data } = Object(body);
    return {
      data: { ...data, HEZE_FORK_EPOCH: String(epoch), HEZE_FORK_VERSION: "0x90000077", EIP1_FORK_EPOCH: 7 },
    };
  };
  fixture.spoil("newer", { json: withHeze });
  equal((await fixture.prover(["newer"]).next(never)).kind, "nothing");
  equal(fixture.log.events("warn"), ["client_unusable.fork_not_followed"]);
  const rowsOf = async (host: string): Promise<(readonly [string, string])[]> => {
    const job = checkBeaconEndpoints(systemClock, { chain, network: sepolia, nodes: fixture.nodes([host]) });
    const rows = await runChecks({ clock: systemClock }, [job], never);
    return rows.filter(({ check }) => check === "beacon_forks").map(({ result, found }) => [result, found]);
  };
  const [[result, found] = ["", ""]] = await rowsOf("newer");
  equal(result, "warning");
  match(
    found,
    /^fork heze of the beacon chain \(epoch \d+\) comes in 13\.\d days and is not known to this version/,
  );
  equal(await rowsOf("honest"), [["ok", "next fork gloas at epoch 353024"]]);
});

Deno.test("gloas: a node that contradicts a known fork is named, one without a schedule is not", async () => {
  await using fixture = await Fixture.following();
  const prover = fixture.prover(["liar"]);
  await fixture.beacon.mine(4);
  fixture.spoil("liar", {
    json: (path, body) => {
      if (path.endsWith("/config/spec")) changeAt(body, ["data", "FULU_FORK_VERSION"], () => "0x90000099");
      return body;
    },
  });
  await rejects(
    prover.next(never),
    { name: "ProverFault", code: "bad_data", endpoint: "liar" },
  );
  for (const status of [403, 404, 500]) {
    fixture.spoil("denied", { status: (path) => path.endsWith("/config/spec") ? status : undefined });
    equal((await fixture.prover(["denied"]).next(never)).kind, "updates", String(status));
  }
});

const unservedUpdates = [
  { status: 400, hasServed: false },
  { status: 403, hasServed: false },
  { status: 500, hasServed: false },
  { status: 500, hasServed: true },
];
for (const { status, hasServed } of unservedUpdates) {
  const name = `${status}${hasServed ? ", served before" : ""}`;
  Deno.test(`sync committee prover: without light_client/updates (${name}) the period changes by a state`, async () => {
    await using fixture = await Fixture.following();
    const prover = fixture.prover(["gateway"]); // which has been asked for nothing yet
    if (hasServed) {
      await fixture.beacon.advanceToPeriod(fixture.beacon.period + 1);
      await fixture.follow(prover);
    }
    fixture.spoil("gateway", {
      status: (path) => path.includes("light_client/updates") ? status : undefined,
    });
    const { period } = fixture.beacon;
    await fixture.beacon.advanceToPeriod(period + 1);
    for (let blocks = 0; fixture.hub.state.lightClientState.statePeriod <= period; blocks++) {
      ok(blocks < 30, "The period is not changed");
      const finding = await prover.next(never).catch((fault) => equal(status, 500, String(fault)));
      if (finding?.kind === "updates") fixture.hub.take(finding.proofs);
      fixture.clock.advance(24_000);
      await fixture.beacon.mine(1);
    }
    const texts = (await prover.check(never)).map(({ check }) => check);
    equal(texts, status === 500 ? [] : ["light_client_updates_missing"]);
  });
}

Deno.test("sync committee prover: a stuck node does not hide missed periods whose updates the other denies", async () => {
  await using fixture = await Fixture.following();
  const path = "/eth/v1/beacon/light_client/finality_update";
  const old: unknown = await (await fetch(fixture.beacon.url + path)).json();
  fixture.spoil("stuck", { json: (asked, body) => asked === path ? old : body });
  fixture.spoil("gateway", { status: (asked) => asked.includes("light_client/updates") ? 403 : undefined });
  await fixture.beacon.advanceToPeriod(fixture.beacon.period + 3);
  equal((await fixture.prover(["gateway", "stuck"]).next(never)).kind, "updates");
});

Deno.test("sync committee prover: a node that shows no finalized header is named, and does not keep the chain out", async () => {
  await using fixture = await Fixture.following();
  await fixture.beacon.mine(96);
  fixture.spoil("gateway", { status: (path) => path.endsWith("/headers/finalized") ? 404 : undefined });
  const prover = fixture.prover(["gateway"]);
  const rows = await prover.check(never);
  equal(rows.map(({ check, endpoint, result }) => [check, endpoint, result]), [
    ["beacon_routes", "gateway", "warning"],
  ]);
  equal((await prover.next(never)).kind, "updates");
});
