/** A module accepts deliveries of one account only: its messages wait at no cost, and go when it opens. */
import assert from "node:assert/strict";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { placeGateway, setGate } from "../../devnet/evm/host_admin.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { playScene } from "./support/scene.ts";

Deno.test("gates: messages to a gated module are held, shown and released when it opens", () =>
  playScene({ kinds: ["beacon", "op_stack"] }, async (scene) => {
    const { devnet } = scene;
    const b = devnet.chain("B");
    const other = DEVNET_ACCOUNTS.relayer2.address;
    const gateway = await placeGateway(b.host, other);
    const relayer = scene.relayer();
    await relayer.startAndWait();
    const gated = await sendPing(devnet, { from: "A", to: "B", count: 2, module: gateway });
    const open = await sendPing(devnet, { from: "A", to: "B" });
    await scene.untilDelivered(open);
    await relayer.untilRows(gated, b.stateMachine, { state: "held", reason: "gated" });
    const { submissions } = await relayer.ledger();
    const carried = submissions.filter(({ chain }) => chain === b.stateMachine)
      .flatMap(({ items }) => items.map(({ commitment }) => commitment));
    assert.deepEqual(carried, open.map(({ commitment }) => commitment));
    const shown = await relayer.run("show", gated[0]?.commitment ?? "");
    assert.match(shown.stdout, /gated/);
    assert.ok(shown.stdout.includes(other.toLowerCase()), shown.stdout);
    assert.match((await relayer.run("list", "--reason=gated")).stdout, /gated[^]*gated/);
    assert.match((await relayer.run("status")).stdout, /gated/);
    const byHand = await relayer.run("relay", gated[0]?.commitment ?? "");
    assert.match(byHand.stdout, /Not by us: the receiving module accepts deliveries of 0x/);

    await setGate(b.host, gateway, undefined);
    const released = await relayer.run("release", gateway);
    assert.match(released.stdout, /waited for another account: 2/);
    await scene.untilDelivered(gated);
    await relayer.untilRows(gated, b.stateMachine, { state: "delivered", reason: "handled_by_us" });
    await scene.finish();
  }));
