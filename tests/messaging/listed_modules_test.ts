import assert from "node:assert/strict";
import { type ListedModules, listModules } from "../../src/messaging/run.ts";
import { Fixture, Relayer, setUp } from "./relay/fixture.ts";

async function withList(
  isPaid: boolean,
  test: (list: ListedModules, fixture: Fixture, relayer: Relayer) => Promise<void>,
): Promise<void> {
  const { fixture, relayer } = setUp();
  relayer.hub.rewards.modules.set("0xABCD", 5n).set("0x01", 0n);
  const list = listModules(relayer.deps, relayer.hub, isPaid);
  const end = list.worker?.run(relayer.signal).catch((error: unknown) => error);
  try {
    await test(list, fixture, relayer);
  } finally {
    relayer.kill();
    const error = await end;
    assert.ok(error === undefined || (error instanceof Error && error.message === "killed"), String(error));
  }
}

Deno.test("listed modules: unknown until read, then those with a reward, in lower case", async () => {
  await withList(true, async (list, fixture) => {
    assert.equal(list.current(), undefined);
    await fixture.clock.settle();
    assert.deepEqual(list.current(), new Map([["0xabcd", 5n]]));
  });
});

Deno.test("listed modules: a list that cannot be read stays unknown and is asked for again soon (F21)", async () => {
  await withList(true, async (list, fixture, relayer) => {
    relayer.hub.faults.add("fetchRewardedModules", { kind: "throw", code: "unreachable" }, { times: 2 });
    await fixture.clock.advance(9_000);
    assert.equal(list.current(), undefined);
    await fixture.clock.advance(12_000);
    assert.deepEqual(list.current(), new Map([["0xabcd", 5n]]));
  });
});

Deno.test("listed modules: changes are noticed within ten minutes; a fault keeps the old list", async () => {
  await withList(true, async (list, fixture, relayer) => {
    await fixture.clock.settle();
    relayer.hub.rewards.modules.set("0x01", 1n).delete("0xABCD");
    relayer.hub.faults.add("fetchRewardedModules", { kind: "throw", code: "timeout" });
    await fixture.clock.advance(600_000);
    assert.deepEqual(list.current(), new Map([["0xabcd", 5n]]));
    await fixture.clock.advance(10_000);
    assert.deepEqual(list.current(), new Map([["0x01", 1n]]));
    assert.equal(relayer.hub.calls.length, 3);
  });
});

Deno.test("listed modules: without an account that could be paid the list is empty and no request is made", async () => {
  await withList(false, async (list, fixture, relayer) => {
    await fixture.clock.advance(700_000);
    assert.deepEqual([list.current(), list.worker], [new Map(), undefined]);
    assert.deepEqual(relayer.hub.calls, []);
  });
});
