import assert from "node:assert/strict";
import { cpuUsage } from "node:process";
import { watchLoop } from "./loop_lag.ts";

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 3));

Deno.test("bench, stalls: what this process calculates in one stretch is seen, a rest is not", async () => {
  const readBusy = watchLoop();
  await turn();
  const start = cpuUsage();
  for (let used = { user: 0, system: 0 }; used.user + used.system < 60_000;) used = cpuUsage(start);
  await turn();
  const busy = readBusy();
  assert.ok(busy.maxMs >= 40, `${busy.maxMs}`);
  assert.ok(busy.p99Ms <= busy.maxMs);
  const readIdle = watchLoop();
  await turn();
  const idle = readIdle();
  assert.ok(idle.maxMs < busy.maxMs, `${idle.maxMs} beside ${busy.maxMs}`);
});
