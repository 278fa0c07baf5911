/** Accepted proofs of the hub on their way to EVM hosts with the live client: what is sent, in which order, and what not. */
import assert from "node:assert/strict";
import { ProvenHub, relay, startHost } from "./world.ts";

for (const missed of [1, 3, 4, 7]) {
  Deno.test(`beefy: ${missed} missed rotations are caught up in order, at most three in a transaction`, async () => {
    await using hub = await ProvenHub.start();
    await using target = await startHost(hub);
    for (let each = 0; each < missed; each++) await hub.rotate();
    await using relayer = relay(hub, target);
    await relayer.until(
      "the newest set",
      async () => (await target.state()).current.id === hub.state.current.id,
    );
    assert.deepEqual(await target.state(), hub.state);
    assert.equal(await target.sent(), Math.ceil(missed / 3));
    await relayer.looks(2);
    assert.equal(await target.sent(), Math.ceil(missed / 3));
  });
}

Deno.test("beefy: a proof without a rotation is delivered only when it brings something for the chain", async () => {
  await using hub = await ProvenHub.start();
  await using target = await startHost(hub);
  await using other = await startHost(hub, { chainId: 31338 });
  hub.post(target.stateMachine);
  const height = await hub.proveNewest();
  await using served = relay(hub, target);
  await using idle = relay(hub, other);
  await served.until("the height", async () => await target.hubHeight() === height);
  await idle.looks(2);
  assert.deepEqual([await target.sent(), await other.sent()], [1, 0]);
  await hub.proveNewest();
  await served.looks(2);
  assert.deepEqual([await target.sent(), await target.hubHeight()], [1, height]);
  hub.post(target.stateMachine);
  const next = await hub.proveNewest();
  await served.until("the next height", async () => await target.hubHeight() === next);
  assert.equal(await target.sent(), 2);
});
