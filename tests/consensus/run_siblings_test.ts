/** Whole runs with a parachain beside the hub: configuration, real adapters, simulated chains. */
import assert from "node:assert/strict";
import { connectChains } from "../../src/consensus/connect.ts";
import { runConsensus } from "../../src/consensus/run.ts";
import type { ConsensusConfig } from "../../src/consensus/config/schema.ts";
import { parseConsensusConfig } from "../../src/consensus/config/read.ts";
import { ShutdownRequested } from "../../src/core/runtime/app.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { fastClock } from "../support/fast_clock.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { fixedRandomness } from "../support/seeded_randomness.ts";
import { Fixture, never } from "./clients/parachain/fixture.ts";
import { DEADLINE_MS } from "../../devnet/waiting.ts";

function configOf(fixture: Fixture, sibling = "KUSAMA-2000"): ConsensusConfig {
  const { config, problems } = parseConsensusConfig(
    { readFile: () => assert.fail() },
    `
[hub]
type = "grandpa"
[hub.grandpa]
rpc = "${fixture.relay.wsUrl}"
slot_duration = 6000
para_ids = [4009]
consensus_update_frequency = 5
[hub.substrate]
rpc_ws = "${fixture.hub.wsUrl}"
state_machine = "KUSAMA-4009"
signer = "0x${"11".repeat(32)}"
[relayer]
maximum_update_intervals = [[["${sibling}", "PAS0"], 3600]]
[sibling]
type = "substrate"
state_machine = "${sibling}"
hashing = "Blake2"
rpc_ws = "${fixture.chain.node.wsUrl}"
consensus_state_id = "PAS0"
`,
  );
  assert.deepEqual(problems, []);
  assert.ok(config);
  return config;
}

function depsWith(log: RecordedLog, fixture: Fixture): Parameters<typeof runConsensus>[0] {
  const deps = { clock: fastClock(20), random: fixedRandomness(0), log };
  const config = configOf(fixture);
  return { ...deps, config, connect: () => connectChains(deps, config) };
}

/**
 * Runs until `isDone`: one round of blocks after the other, each with messages, because heads without them wait for
 * their interval.
 */
async function runUntil(fixture: Fixture, log: RecordedLog, isDone: () => boolean): Promise<void> {
  const stop = new AbortController();
  const run = runConsensus(depsWith(log, fixture), { base: undefined }, stop.signal);
  const untilMs = systemClock.now() + DEADLINE_MS;
  while (!isDone()) {
    if (systemClock.now() > untilMs) assert.fail(log.lines.map(({ event }) => event).join("\n"));
    await fixture.send();
    fixture.advance();
    await systemClock.sleep(100, never);
  }
  stop.abort(new ShutdownRequested("SIGTERM"));
  assert.equal(await run, 0);
}

Deno.test("a hub of type grandpa: a parachain beside it and the hub are kept current of each other", async () => {
  await using fixture = await Fixture.start();
  const log = new RecordedLog();
  const first = { hub: BigInt(fixture.hub.best.number), sibling: BigInt(fixture.chain.node.best.number) };
  await runUntil(
    fixture,
    log,
    () => (fixture.knownOfHub ?? 0n) > first.hub && (fixture.knownOfSibling ?? 0n) > first.sibling,
  );
  assert.deepEqual([...log.events("error"), ...log.events("warn")], []);
});

Deno.test("a hub of type grandpa: a parachain that the hub does not follow is reported anyway, and warned about by nobody", async () => {
  await using fixture = await Fixture.start({ followed: [] });
  const log = new RecordedLog();
  const first = BigInt(fixture.hub.best.number);
  await runUntil(fixture, log, () => (fixture.knownOfHub ?? 0n) > first);
  assert.deepEqual([...log.events("error"), ...log.events("warn")], []);
  assert.equal(fixture.knownOfSibling, undefined);
});

Deno.test("a hub of type grandpa: a node of another parachain than the configured one is named by the check", async () => {
  await using fixture = await Fixture.start();
  const deps = { clock: systemClock, random: fixedRandomness(0), log: new RecordedLog() };
  const { hub, proved, hubConsensus } = connectChains(deps, configOf(fixture, "KUSAMA-2001"));
  const { followers = [], shared = [] } = hubConsensus ?? {};
  const rows = await Promise.all(followers.map(({ check }) => check(never).catch(String)));
  assert.match(JSON.stringify(rows), /the node is of KUSAMA-2000/);
  await Promise.all([hub, ...proved, ...followers, ...shared].map((part) => part.close()));
});
