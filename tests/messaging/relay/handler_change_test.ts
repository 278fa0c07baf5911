/** A handler that governance replaces while messages are under way. */
import assert from "node:assert/strict";
import type { Message } from "../../../src/core/ismp/message.ts";
import { outbound, round, settle } from "./rounds.ts";
import { delivered, memoryLedger, Relayer, World } from "./fixture.ts";

async function withMessage(): Promise<
  { readonly world: World; readonly relayer: Relayer; readonly message: Message }
> {
  const world = new World();
  const [message] = await world.sendFrom(world.hub, world.two, 1);
  assert.ok(message !== undefined);
  return { world, relayer: new Relayer(world, memoryLedger(world)), message };
}

Deno.test("handler: what was signed for the old one reverts, nobody is to blame, and the message goes through the new one", async () => {
  const { world, relayer, message } = await withMessage();
  const leg = outbound(relayer);
  assert.equal((await round(relayer, leg)).sent, 1);
  world.two.replaceHandler();
  await world.blocks(1);
  await settle(relayer);
  assert.equal(relayer.row(message).reason, "reverted");
  assert.equal(relayer.row(message).detail, "UnauthorizedAction");
  await world.clock.advance(5_000);
  assert.equal((await round(relayer, leg)).sent, 1);
  await world.blocks(4);
  await settle(relayer);
  assert.deepEqual(delivered(world.two), [message.commitment]);
  assert.equal(relayer.row(message).state, "delivered");
  assert.equal(world.two.reverted().length, 1);
});

Deno.test("handler: while the endpoint that tells the host's parameters is behind, messages are held and nothing is paid", async () => {
  const { world, relayer, message } = await withMessage();
  const leg = outbound(relayer);
  // The parameters are known before governance acts.
  const plan = { kind: "throw", code: "timeout" } as const;
  relayer.two.faults.add("sign", plan);
  await assert.rejects(round(relayer, leg));
  world.two.replaceHandler();
  await world.blocks(1);
  relayer.two.blocksBehind = 1n;
  assert.equal((await round(relayer, leg)).sent, 0);
  assert.equal(relayer.row(message).state, "held");
  assert.equal(relayer.row(message).reason, "handler_replaced");
  relayer.two.blocksBehind = 0n;
  await world.clock.advance(60_000);
  assert.equal((await round(relayer, leg)).sent, 1);
  await world.blocks(4);
  await settle(relayer);
  assert.equal(relayer.row(message).state, "delivered");
  assert.equal(world.two.reverted().length, 0);
});
