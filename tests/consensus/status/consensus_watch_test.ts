/** What the status server of a consensus relayer answers, with workers on targets in memory. */
import assert from "node:assert/strict";
import { chainWorker, ProvedClient } from "../../../src/consensus/chain_worker.ts";
import { ConsensusWatch } from "../../../src/consensus/status/consensus_watch.ts";
import { describeFailure } from "../../../src/consensus/poll_loop.ts";
import { formatProgramStatus } from "../../../src/core/checks/program_view.ts";
import { consensusView } from "../../../src/consensus/status/consensus_view.ts";
import type { ConsensusClientView } from "../../../src/core/chains/consensus_target.ts";
import type { HostConsensusView, HubLightClient } from "../../../src/core/chains/hub_client.ts";
import { toHash256 } from "../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import { toConsensusClientId, toConsensusStateId } from "../../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { idOf, MemoryTarget } from "../../support/memory_target.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { ScriptedProver, updateTo } from "../../support/scripted_prover.ts";
import { readerOf, readReasons, type ReadStatus } from "../../support/status_reader.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";
import { toRecord } from "../../support/with_methods.ts";

const START_MS = Date.UTC(2026, 0, 2);
const HOUR_MS = 3_600_000;

/** A light client of the hub. */
const seen: ConsensusClientView = {
  clientId: toConsensusClientId("BEAC"),
  state: new Uint8Array(),
  updatedSec: BigInt(START_MS / 1_000),
  unbondingSec: 86_400n,
  isFrozen: false,
};

/** A worker that is watched and served. */
interface Scene {
  readonly clock: FakeClock;
  readonly hub: MemoryTarget;
  readonly watch: ConsensusWatch;
  readonly prover: ScriptedProver;
  readonly get: ReadStatus;
}

async function withServer(
  prepare: (prover: ScriptedProver) => void,
  work: (scene: Scene) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock(START_MS);
  const hub = new MemoryTarget({ clock });
  const hubName = hub.id.stateMachine;
  const watch = new ConsensusWatch(clock, hubName);
  const prover = new ScriptedProver(clock, { id: "EVM-1/ETH0", intervalMs: 60_000 });
  hub.commitmentsOf.set(prover.consensusStateId, prover.commitmentId);
  prepare(prover);
  const log = new RecordedLog();
  const stop = new AbortController();
  const shared = { clock, random: fixedRandomness(0), log, intervalMs: 10_000 };
  const worker = chainWorker({ ...shared, hub, observer: watch.updates }, prover);
  watch.plan({ hub, proved: [prover] });
  const running = worker.run(stop.signal).catch(() => {});
  try {
    await work({ clock, hub, watch, prover, get: readerOf(watch.sources()) });
  } finally {
    stop.abort(new Error("stop"));
    await clock.settle();
    await running;
  }
}

Deno.test("consensus watch: an accepted update is counted with its size, and the light client's age begins there", () =>
  withServer((prover) => prover.find = (look) => updateTo(BigInt(look * 10), false), async (scene) => {
    const { get, watch, clock } = scene;
    assert.deepEqual(await readReasons(get), [503, ["starting"]]);
    watch.open();
    await clock.advance(30_000);
    assert.deepEqual(await readReasons(get), [200, []]);
    const text = await (await get("/metrics")).text();
    const route = `chain="EVM-1",target="${scene.hub.id.stateMachine}"`;
    assert.match(
      text,
      new RegExp(`^causeway_updates_total\\{${route},kind="update",result="accepted"\\} 1$`, "m"),
    );
    assert.match(text, new RegExp(`^causeway_update_bytes_count\\{${route}\\} 1$`, "m"));
    assert.match(text, new RegExp(`^causeway_update_age_seconds\\{${route}\\} \\d+$`, "m"));
    const { lightClients: [client] } = await (await get("/status.json")).json();
    assert.deepEqual([client.accepted, client.lastUpdate.result, client.waitsFor], [
      1,
      "accepted",
      undefined,
    ]);
    assert.match(await (await get("/")).text(), /EVM-1 on .*accepted/s);
  }));

Deno.test("consensus watch: what a prover waits for is shown with its time", () =>
  withServer(() => {}, async ({ get, watch, clock }) => {
    watch.open();
    await clock.advance(5 * 60_000);
    const { lightClients: [client] } = await (await get("/status.json")).json();
    assert.deepEqual(client.waitsFor, { reason: "nothing is new", sinceMs: START_MS });
    assert.match(await (await get("/")).text(), /nothing is new <span class="faint">for 5 min<\/span>/);
  }));

Deno.test("consensus watch: polls that fail are told after a minute with why and when the next one is, and stop it after a quarter of an hour", () =>
  withServer((prover) =>
    prover.find = () => {
      throw new RpcFault("timeout", {
        chain: "EVM-1",
        endpointHost: "a.example",
        method: "eth_call",
      });
    }, async ({ get, watch, clock }) => {
    watch.open();
    await clock.advance(50_000);
    assert.deepEqual(await readReasons(get), [200, []]);
    await clock.advance(20_000);
    assert.deepEqual(await readReasons(get), [200, ["polls_failing"]]);
    const text = formatProgramStatus(JSON.parse(await (await get("/status.json")).text()), consensusView);
    assert.match(text, /eth_call on EVM-1: timeout \(a\.example\)\..* Tried again in \d+ s\./);
    assert.doesNotMatch(text, /Nothing is in the way/);
    await clock.advance(16 * 60_000);
    assert.deepEqual(await readReasons(get), [503, ["polls_failing"]]);
  }));

Deno.test("consensus watch: a light client that has expired, and a chain whose endpoints name no new block, are told", () =>
  withServer(() => {}, async ({ get, watch, clock, prover, hub }) => {
    watch.open();
    watch.updates.noteClient(hub.id.stateMachine, prover.consensusStateId, {
      ...seen,
      updatedSec: seen.updatedSec - 86_000n,
    });
    const request = { chain: "EVM-1", endpointHost: "a.example", calls: [], tookMs: 1, head: 5n };
    const stop = new AbortController();
    const looking = watch.watchers().find(({ name }) => name === "reasons")?.run(stop.signal).catch(() => {});
    for (let minute = 0; minute < 11; minute++) {
      watch.endpoints.noteRequest(request);
      await clock.advance(60_000);
    }
    assert.deepEqual(await readReasons(get), [503, ["light_client_expired", "chain_stopped"]]);
    watch.endpoints.noteRequest({ ...request, head: 6n });
    assert.deepEqual(await readReasons(get), [503, ["light_client_expired"]]);
    stop.abort();
    await looking;
  }));

Deno.test("consensus watch: a light client without an update for six hours, and a frozen one, are reasons", () =>
  withServer(() => {}, async ({ get, watch, clock, prover, hub }) => {
    watch.open();
    watch.updates.noteClient(hub.id.stateMachine, prover.consensusStateId, seen);
    watch.updates.noteClient(hub.id.stateMachine, toConsensusStateId("NONE"), { ...seen, isFrozen: true });
    assert.deepEqual(await readReasons(get), [200, []]);
    await clock.advance(6 * HOUR_MS + 1);
    assert.deepEqual(await readReasons(get), [503, ["light_client_stalled"]]);
    watch.updates.noteClient(hub.id.stateMachine, prover.consensusStateId, { ...seen, isFrozen: true });
    assert.deepEqual(await readReasons(get), [503, ["light_client_frozen", "light_client_stalled"]]);
    assert.match(await (await get("/")).text(), /<span class="bad">frozen<\/span>/);
  }));

const { signal } = new AbortController();

Deno.test("consensus watch: reads of light clients are noticed on hub and followers, and nothing else is changed", async () => {
  const clock = new FakeClock(START_MS);
  const hub = new MemoryTarget({ clock });
  const follower = new MemoryTarget({ clock, id: "KUSAMA-2000/PAS0" });
  const watch = new ConsensusWatch(clock, hub.id.stateMachine);
  const prover = new ScriptedProver(clock, { id: "EVM-1/ETH0" });
  const ofHub = new ScriptedProver(clock, { id: "KUSAMA-4009/ETH0" });
  hub.clients.set(prover.consensusStateId, seen);
  follower.clients.set(prover.consensusStateId, { ...seen, updatedSec: seen.updatedSec - 60n });
  hub.store(prover.commitmentId, 21n);
  follower.store(ofHub.commitmentId, 7n);
  const proved = { prover: ofHub, target: follower };
  const client = new ProvedClient({ clock, log: new RecordedLog(), hub: follower }, ofHub);
  const check = (): Promise<[]> => Promise.resolve([]);
  const followers = [{ client, proved, check, close: () => ofHub.close() }];
  const rest = { shared: [], skipped: [], skippedText: "" };
  watch.plan({ hub, proved: [prover], hubConsensus: { ...rest, followers } });
  const observed = watch.observe(toRecord(hub));
  assert.deepEqual(await observed.reads.fetchClient(prover.consensusStateId, "best", signal), seen);
  assert.equal(await observed.reads.fetchLatestHeight(prover.commitmentId, signal), 21n);
  const observedFollower = watch.observe(toRecord(follower));
  await observedFollower.reads.fetchClient(ofHub.consensusStateId, "best", signal);
  await observedFollower.reads.fetchLatestHeight(ofHub.commitmentId, signal);
  await observedFollower.reads.fetchLatestHeight(prover.commitmentId, signal);
  const routes = watch.updates.list().map((
    { chain, target, updatedMs, expiresMs, knownHeight },
  ) => [chain, target, updatedMs, expiresMs, knownHeight]);
  assert.deepEqual(routes, [
    ["EVM-1", "KUSAMA-4009", START_MS, START_MS + 24 * HOUR_MS, 21],
    ["KUSAMA-4009", "KUSAMA-2000", START_MS - 60_000, START_MS + 24 * HOUR_MS - 60_000, 7],
  ]);
  assert.equal(observed.sender, hub.sender);
});

/** The hub's light client on an EVM host. */
const onHost: HostConsensusView = {
  state: {
    latestHeight: 1_234n,
    beefyActivationBlock: 0n,
    current: { id: 9n, length: 4, root: toHash256(new Uint8Array(32)) },
    next: { id: 10n, length: 4, root: toHash256(new Uint8Array(32)) },
  },
  stateBytes: 256,
  consensusClient: toAddress(new Uint8Array(20)),
  hubHeight: 56n,
  acceptsHub: true,
  nowSec: seen.updatedSec,
  updatedSec: seen.updatedSec - 120n,
  unstakingSec: 3_600n,
  challengePeriodSec: 0n,
  isFrozen: false,
  pendingHeight: 1_234n,
  pendingSetId: 9n,
};

Deno.test("consensus watch: hosts are shown as other targets are, with what they trust", async () => {
  const clock = new FakeClock(START_MS);
  const hub = idOf("KUSAMA-4009/PAS0");
  const host = idOf("EVM-97/BSC0");
  const watch = new ConsensusWatch(clock, hub.stateMachine);
  const client: HubLightClient = {
    fetchConsensusView: () => Promise.resolve(onHost),
    fetchAuthoritySet: () => Promise.resolve({ setId: 9n, stateBytes: 256 }),
    fetchHasBatchCall: () => Promise.resolve(true),
    fetchClientKind: () => Promise.resolve("router"),
  };
  const observed = watch.observeHost(host.stateMachine, client);
  assert.equal(await observed.fetchConsensusView(hub, signal), onHost);
  assert.deepEqual([
    await observed.fetchAuthoritySet(signal),
    await observed.fetchHasBatchCall(signal),
    await observed.fetchClientKind(onHost.consensusClient, signal),
  ], [{ setId: 9n, stateBytes: 256 }, true, "router"]);
  const route = { chain: hub.stateMachine, target: host.stateMachine };
  const where = { chain: host.stateMachine, endpointHost: "a.example", method: "eth_call" };
  const failure = describeFailure(
    new RpcFault("timeout", where, { detail: "https://a.example/KEY" }),
  );
  watch.updates.notePoll(route, { kind: "failed", failure });
  await clock.advance(60_000);
  watch.updates.notePoll(route, { kind: "nothing", againInMs: undefined, reason: "nothing newer" });
  watch.endpoints.noteRequest({
    chain: hub.stateMachine,
    endpointHost: "hub.example",
    calls: [],
    tookMs: 1,
    final: 60n,
  });
  watch.open();
  const text = formatProgramStatus(JSON.parse(JSON.stringify(watch.status())), consensusView);
  const lines = `${text}\n\n`.split("\n").map((line) => line.trim().split(/ {3,}/));
  const rowsOf = (title: string): readonly (readonly string[])[] => {
    const start = lines.findIndex(([first]) => first === title);
    return lines.slice(start + 1, lines.findIndex(([first], at) => at > start && first === ""));
  };
  const name = "KUSAMA-4009 on EVM-97";
  assert.deepEqual(rowsOf("Light clients")[1], [
    ...[name, "56", "60", "3 min ago", "57 min", "0", "0 s ago", "nothing newer (for 0 s)"],
    "relay block 1234, authority set 9",
  ]);
  assert.deepEqual(rowsOf("Last failures").slice(1), [[
    name,
    "60 s ago",
    "a.example",
    "eth_call on EVM-97: timeout",
  ]]);
  watch.updates.noteHost(route, { ...onHost, hubHeight: 70n });
  assert.match(
    formatProgramStatus(watch.status(), consensusView),
    /EVM-97 +70 +70 /,
    "what is known is never above the newest",
  );
  const page = await watch.sources().page();
  assert.match(page, /relay block 1234, authority set 9/);
  assert.match(page, /a\.example.*eth_call on EVM-97: timeout/s);
  assert.ok(!page.includes("KEY") && !text.includes("KEY"));
});
