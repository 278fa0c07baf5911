/** The status server of a consensus relayer over real HTTP, with workers on targets in memory. */
import assert from "node:assert/strict";
import { chainWorker } from "../../../src/consensus/chain_worker.ts";
import { HeightNotifier } from "../../../src/consensus/height_notifier.ts";
import { ConsensusWatch } from "../../../src/consensus/status/consensus_watch.ts";
import type { ConsensusClientView } from "../../../src/core/chains/consensus_target.ts";
import { toConsensusClientId, toConsensusStateId } from "../../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../../src/core/rpc/fault.ts";
import { exitCodes } from "../../../src/core/runtime/exit_codes.ts";
import { platformListener } from "../../../src/core/telemetry/http/http_listener.ts";
import { serveStatus } from "../../../src/core/telemetry/http/serve_status.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryTarget } from "../../support/memory_target.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { ScriptedProver, updateTo } from "../../support/scripted_prover.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";

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
  readonly get: (path: string) => Promise<Response>;
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
  const shared = { clock, random: fixedRandomness(0), log, notifier: new HeightNotifier() };
  const worker = chainWorker(
    { ...shared, hub, observer: watch.updates },
    prover,
    { kind: "checked", findings: [] },
  );
  let port = 0;
  const openListener = (
    ...args: Parameters<typeof platformListener>
  ): ReturnType<typeof platformListener> => {
    const listener = platformListener(...args);
    port = listener.port;
    return listener;
  };
  const address = { host: "127.0.0.1", port: 0 };
  const code = await serveStatus({ openListener, log, address, sources: watch.sources() }, async () => {
    watch.plan({ hub, proved: [prover] });
    const running = worker.run(stop.signal).catch(() => {});
    try {
      await work({ clock, hub, watch, prover, get: (path) => fetch(`http://127.0.0.1:${port}${path}`) });
    } finally {
      stop.abort(new Error("stop"));
      await clock.settle();
      await running;
    }
    return exitCodes.ok;
  });
  assert.equal(code, exitCodes.ok);
}

async function readCodes(get: Scene["get"]): Promise<readonly [number, readonly string[]]> {
  const answer = await get("/readyz");
  const { reasons }: { readonly reasons: readonly { readonly code: string }[] } = await answer.json();
  return [answer.status, reasons.map(({ code }) => code)];
}

Deno.test("consensus watch: an accepted update is counted with its size, and the light client's age begins there", () =>
  withServer((prover) => prover.find = (look) => updateTo(BigInt(look * 10), false), async (scene) => {
    const { get, watch, clock } = scene;
    assert.deepEqual(await readCodes(get), [503, ["starting"]]);
    watch.open();
    await clock.advance(30_000);
    assert.deepEqual(await readCodes(get), [200, []]);
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

Deno.test("consensus watch: polls that fail for a quarter of an hour make the program not ready", () =>
  withServer((prover) =>
    prover.find = () => {
      throw new RpcFault("timeout", "retry", {
        chain: "EVM-1",
        endpointHost: "a.example",
        method: "eth_call",
      });
    }, async ({ get, watch, clock }) => {
    watch.open();
    await clock.advance(14 * 60_000);
    assert.deepEqual(await readCodes(get), [200, []]);
    await clock.advance(2 * 60_000);
    assert.deepEqual(await readCodes(get), [503, ["polls_failing"]]);
  }));

Deno.test("consensus watch: a light client without an update for six hours, and a frozen one, are reasons", () =>
  withServer(() => {}, async ({ get, watch, clock, prover }) => {
    watch.open();
    watch.updates.noteClient(prover.consensusStateId, seen);
    watch.updates.noteClient(toConsensusStateId("NONE"), { ...seen, isFrozen: true });
    assert.deepEqual(await readCodes(get), [200, []]);
    await clock.advance(6 * HOUR_MS + 1);
    assert.deepEqual(await readCodes(get), [503, ["light_client_stalled"]]);
    watch.updates.noteClient(prover.consensusStateId, { ...seen, isFrozen: true });
    assert.deepEqual(await readCodes(get), [503, ["light_client_frozen", "light_client_stalled"]]);
    assert.match(await (await get("/")).text(), /<span class="bad">frozen<\/span>/);
  }));

Deno.test("consensus watch: reads of the hub's light clients are noticed, and nothing else is changed", async () => {
  const clock = new FakeClock(START_MS);
  const target = new MemoryTarget({ clock });
  const watch = new ConsensusWatch(clock, target.id.stateMachine);
  const prover = new ScriptedProver(clock, { id: "EVM-1/ETH0" });
  target.clients.set(prover.consensusStateId, seen);
  watch.plan({ hub: target, proved: [prover] });
  const { id, reads, updates, sender, outcomes } = target;
  const record = {
    id,
    reads,
    updates,
    sender,
    outcomes,
    check: () => target.check(),
    close: () => target.close(),
    planChecks: () => target.planChecks(),
  };
  const observed = watch.observe(record);
  const { signal } = new AbortController();
  assert.deepEqual(await observed.reads.fetchClient(prover.consensusStateId, "best", signal), seen);
  const [route] = watch.updates.list();
  assert.deepEqual([route?.updatedMs, route?.expiresMs], [START_MS, START_MS + 24 * HOUR_MS]);
  assert.equal(observed.sender, sender);
});
