import assert from "node:assert/strict";
import type { UpdateLimit } from "../../src/consensus/config/keys.ts";
import { monitorWorker, StallFault } from "../../src/consensus/monitor.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { idOf, MemoryTarget } from "../support/memory_target.ts";
import { faultOf } from "../support/rpc_faults.ts";
import { RecordedLog } from "../support/recorded_log.ts";

const eth = idOf("EVM-1/ETH0");
const bsc = idOf("EVM-56/BSC0");

class Scene {
  readonly clock = new FakeClock();
  readonly hub = new MemoryTarget({ clock: this.clock });
  readonly log = new RecordedLog();

  /** Starts it; gives what it ended with, once it has. */
  readonly start = (
    ...limits: UpdateLimit[]
  ): { readonly fault: () => unknown; readonly stop: () => void } => {
    const stop = new AbortController();
    let fault: unknown;
    monitorWorker(this, limits).run(stop.signal).catch((error: unknown) => void (fault = error));
    return { fault: () => fault, stop: () => stop.abort(new Error("stop")) };
  };
}

Deno.test("monitor: first after 600 s, then every 180 s; young updates keep it going", async () => {
  const { clock, hub, start } = new Scene();
  hub.store(eth, 5n);
  const run = start({ id: eth, maxSec: 700n });
  await clock.advance(599_999);
  assert.equal(run.fault(), undefined);
  await clock.advance(1);
  assert.equal(run.fault(), undefined, "600 s are less than 700");
  await clock.advance(179_999);
  assert.equal(run.fault(), undefined, "not looked at in between");
  await clock.advance(1);
  assert.ok(run.fault() instanceof StallFault);
  assert.equal(clock.pending, 0);
});

Deno.test("monitor: an update of any relayer resets the count", async () => {
  const { clock, hub, start } = new Scene();
  hub.store(eth, 5n);
  const run = start({ id: eth, maxSec: 700n });
  await clock.advance(500_000);
  hub.store(eth, 6n);
  await clock.advance(640_000);
  assert.equal(run.fault(), undefined, "600, 780, 960 and 1140 s after the start");
  await clock.advance(180_000);
  assert.ok(run.fault() instanceof StallFault);
});

Deno.test("monitor: the line names the pair, the last height, the age by both clocks and the limit", async () => {
  const { clock, hub, log, start } = new Scene();
  hub.store(eth, 5n);
  hub.aheadSec = 30n;
  const run = start({ id: eth, maxSec: 630n });
  await clock.advance(600_000);
  const fault = run.fault();
  assert.ok(fault instanceof StallFault);
  assert.deepEqual([fault.code, fault.pairs], ["stalled", ["EVM-1/ETH0 -> KUSAMA-4009"]]);
  const [line] = log.lines.filter(({ level }) => level === "error");
  assert.equal(line?.event, "update_overdue");
  assert.deepEqual(line?.fields, {
    pair: "EVM-1/ETH0 -> KUSAMA-4009",
    lastHeight: 5n,
    ageSec: 630n,
    limitSec: 630n,
    ageByThisMachineSec: 600n,
  });
});

Deno.test("monitor: each chain is checked, whatever is wrong with the others", async () => {
  const { clock, hub, log, start } = new Scene();
  const broken = idOf("EVM-137/POLY");
  const fetchLatestHeight = hub.fetchLatestHeight.bind(hub);
  hub.fetchLatestHeight = (of) =>
    of.stateMachine === broken.stateMachine
      ? Promise.reject(faultOf("unreachable", "KUSAMA-4009"))
      : fetchLatestHeight(of);
  hub.store(bsc, 9n);
  const limits = [{ id: broken, maxSec: 1n }, { id: eth, maxSec: 700n }, { id: bsc, maxSec: 100n }];
  const run = start(...limits);
  await clock.advance(600_000);
  const fault = run.fault();
  assert.ok(fault instanceof StallFault);
  assert.deepEqual(fault.pairs, ["EVM-56/BSC0 -> KUSAMA-4009"]);
  assert.deepEqual(
    log.lines.filter(({ level }) => level === "warn").map(({ fields }) => fields.pair).sort(),
    [
      "EVM-1/ETH0 -> KUSAMA-4009",
      "EVM-137/POLY -> KUSAMA-4009",
    ],
  );
});

Deno.test("monitor: a chain without any update is late when it had its interval since the start", async () => {
  const { clock, log, start } = new Scene();
  const run = start({ id: eth, maxSec: 900n });
  await clock.advance(899_999);
  assert.equal(run.fault(), undefined);
  assert.deepEqual(log.events("warn"), ["update_missing", "update_missing"]);
  await clock.advance(60_001);
  const fault = run.fault();
  assert.ok(fault instanceof StallFault);
  assert.deepEqual(fault.pairs, ["EVM-1/ETH0 -> KUSAMA-4009"]);
  assert.deepEqual(log.events("error"), ["update_overdue"]);
});

Deno.test("monitor: what cannot be asked ends nothing, and the hub itself is not watched", async () => {
  const { clock, hub, log, start } = new Scene();
  const run = start({ id: eth, maxSec: 1_000n }, { id: hub.id, maxSec: 1n });
  hub.fault = faultOf("timeout", "KUSAMA-4009");
  await clock.advance(600_000);
  hub.fault = undefined;
  await clock.advance(180_000);
  assert.equal(run.fault(), undefined);
  assert.deepEqual(log.events("warn"), [
    "read_failed.update_age",
    "update_missing",
  ]);
  run.stop();
  await clock.settle();
  assert.match(String(run.fault()), /stop/);
});

Deno.test("monitor: of a Substrate chain that follow the hub both directions are watched", async () => {
  const { clock, hub, log } = new Scene();
  const id = idOf("SUBSTRATE-dest/SUB0");
  const target = Object.assign(new MemoryTarget({ clock }), { id });
  hub.store(id, 5n);
  target.store(hub.id, 9n);
  let fault: unknown;
  const worker = monitorWorker({ clock, hub, log, followers: [target] }, [{ id, maxSec: 700n }]);
  worker.run(new AbortController().signal).catch((error: unknown) => void (fault = error));
  await clock.advance(650_000);
  hub.store(id, 6n);
  await clock.advance(200_000);
  assert.ok(fault instanceof StallFault);
  assert.deepEqual(fault.pairs, ["KUSAMA-4009/PAS0 -> SUBSTRATE-dest"]);
});
