/** A handler that governance replaces while messages are under way. */
import assert from "node:assert/strict";
import type { Message } from "../../../src/core/ismp/message.ts";
import { mine, outbound, round } from "./rounds.ts";
import { delivered, Fixture, memoryLedger, Relayer } from "./fixture.ts";

async function withMessage(): Promise<
  { readonly fixture: Fixture; readonly relayer: Relayer; readonly message: Message }
> {
  const fixture = new Fixture();
  const [message] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  return { fixture, relayer: new Relayer(fixture, memoryLedger(fixture)), message };
}

Deno.test("handler change: what was signed for the old handler reverts, no message is blamed, and the delivery goes through the new one", async () => {
  const { fixture, relayer, message } = await withMessage();
  const leg = outbound(relayer);
  assert.equal((await round(relayer, leg)).sent, 1);
  fixture.two.replaceHandler();
  await mine(relayer);
  assert.equal(relayer.row(message).reason, "reverted");
  assert.equal(relayer.row(message).detail, "UnauthorizedAction");
  await fixture.clock.advance(5_000);
  assert.equal((await round(relayer, leg)).sent, 1);
  await mine(relayer, 4);
  assert.deepEqual(delivered(fixture.two), [message.commitment]);
  assert.equal(relayer.row(message).state, "delivered");
  assert.equal(fixture.two.reverted().length, 1);
});

Deno.test("handler change: while the endpoint with the host's parameters is behind, messages are held and nothing is paid", async () => {
  const { fixture, relayer, message } = await withMessage();
  const leg = outbound(relayer);
  // The parameters are known before governance acts.
  const plan = { kind: "throw", code: "timeout" } as const;
  relayer.two.faults.add("sign", plan);
  await assert.rejects(round(relayer, leg));
  fixture.two.replaceHandler();
  await fixture.blocks(1);
  relayer.two.blocksBehind = 1n;
  assert.equal((await round(relayer, leg)).sent, 0);
  assert.deepEqual(relayer.stateOf(message), ["held", "handler_replaced"]);
  relayer.two.blocksBehind = 0n;
  await fixture.clock.advance(60_000);
  assert.equal((await round(relayer, leg)).sent, 1);
  await mine(relayer, 4);
  assert.equal(relayer.row(message).state, "delivered");
  assert.equal(fixture.two.reverted().length, 0);
});
