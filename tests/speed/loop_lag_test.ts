import assert from "node:assert/strict";
import { watchLoop } from "./loop_lag.ts";
import { readThreadCpuMs } from "./process_usage.ts";

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 3));

Deno.test("bench, stalls: what this process calculates in one stretch is seen, a rest is not", async () => {
  const readBusy = watchLoop();
  await turn();
  const startMs = readThreadCpuMs();
  while (readThreadCpuMs() - startMs < 60);
  await turn();
  const busy = readBusy();
  assert.ok(busy.maxMs >= 40, `${busy.maxMs}`);
  assert.ok(busy.p99Ms <= busy.maxMs);
  const readIdle = watchLoop();
  await turn();
  const idle = readIdle();
  assert.ok(idle.maxMs < busy.maxMs, `${idle.maxMs} beside ${busy.maxMs}`);
});
