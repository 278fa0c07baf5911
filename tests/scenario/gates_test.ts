/** Modules and the host's manager accept deliveries of one account only: others wait at no cost, and that one delivers. */
import assert from "node:assert/strict";
import type { Address } from "viem";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { type DevnetChain, readHostParams } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS, type DevnetRole } from "../../devnet/evm/accounts.ts";
import { gateManager, placeGateway, setGate } from "../../devnet/evm/host_admin.ts";
import { sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import { creditOf, feeTokensOf, TOKEN } from "./support/fee_accounts.ts";
import { playSceneOn, type Scene, startSceneDevnet } from "./support/scene.ts";

/** A relayer begins to withdraw a minute after its start, which a busy machine may need for a step: none does here. */
const NEVER_WITHDRAWING = { relayer: { minimum_withdrawal_amount: 1_000_000 } } as const;

const addressOf = (role: DevnetRole): Address => DEVNET_ACCOUNTS[role].address;

Deno.test("gates", async (t) => {
  await using devnet = await startSceneDevnet({ kinds: ["beacon", "op_stack"] });
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];

  await t.step(
    "messages to a gated module are held, shown and released when it opens; its account delivers, and never gives up",
    () =>
      playSceneOn(devnet, async (scene) => {
        const gateway = await placeGateway(b.host, addressOf("relayer2"));
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
        assert.ok(shown.stdout.includes(addressOf("relayer2").toLowerCase()), shown.stdout);
        assert.match((await relayer.run("list", "--reason=gated")).stdout, /gated[^]*gated/);
        assert.match((await relayer.run("status")).stdout, /gated/);
        const byHand = await relayer.run("relay", gated[0]?.commitment ?? "");
        assert.match(byHand.stdout, /Not by us: the receiving module accepts deliveries of 0x/);

        await setGate(b.host, gateway, undefined);
        const released = await relayer.run("release", gateway);
        assert.match(released.stdout, /waited for another account: 2/);
        await scene.untilDelivered(gated);
        await relayer.untilRows(gated, b.stateMachine, { state: "delivered", reason: "handled_by_us" });

        // Governance closes it again, for the other relayer, while messages are on their way.
        await setGate(b.host, gateway, addressOf("relayer2"));
        const keeper = scene.relayer("relayer2");
        await keeper.startAndWait();
        const [failing] = await sendPing(devnet, { from: "A", to: "B", module: gateway, behaviour: "fail" });
        const more = await sendPing(devnet, { from: "A", to: "B", count: 2, module: gateway });
        await scene.untilDelivered(more);
        await keeper.untilRows(more, b.stateMachine, { state: "delivered", reason: "handled_by_us" });
        assert.ok(failing !== undefined);
        // It is tried again, a minute later and from then on, although nobody asked for that.
        await waitUntil("the failing message is tried again", async () => {
          const { messages } = await keeper.ledger();
          const row = messages.find((each) =>
            each.commitment === failing.commitment && each.target === b.stateMachine
          );
          return row?.state === "held" && row.attempts >= 2 && row.nextAttemptAtMs < Date.now() + 3_600_000;
        }, { everyMs: 1_000 });
        await scene.finish();
      }),
  );

  await t.step(
    "payouts behind a gated manager wait for the network's relayer, cost nothing, and are reported when it pays",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        const heights = await scene.heightsNow();
        await relayer.startAndWait({ sections: NEVER_WITHDRAWING });
        await earn(scene, 30n);
        await gate(scene, a, "relayer2");

        const before = await feeTokensOf(a, "relayer");
        const first = await relayer.run("accumulate-fees", "--withdraw");
        assert.equal(first.code, 0, first.stdout);
        assert.match(
          first.stdout,
          /30 +dispatched, waits for the network's relayer \(gated: .* deliveries of 0x/,
        );
        assert.equal(creditOf(devnet, a, "relayer"), 0n);
        const waiting = relayer.run("accumulate-fees", "--wait", "--withdraw");
        await relayer.process.waitForLine("payment_delayed.gated");
        const { messages, submissions, withdrawals } = await relayer.ledger();
        assert.deepEqual(withdrawals.map(({ state }) => state), ["dispatched"]);
        const payment = messages.find(({ source, target }) =>
          source === scene.hub && target === a.stateMachine
        );
        assert.deepEqual([payment?.state, payment?.reason], ["held", "gated"]);
        assert.ok(
          !submissions.some(({ items }) =>
            items.some(({ commitment }) => commitment === payment?.commitment)
          ),
        );

        // The network's relayer delivers what the hub pays, whoever it is for.
        const network = scene.relayer("relayer2");
        await network.startAndWait({ moduleFilter: ["ISMP-RLYR"], sections: heights });
        const second = await waiting;
        assert.equal(second.code, 0, second.stdout);
        assert.match(second.stdout, /30 +paid out/);
        assert.equal(await feeTokensOf(a, "relayer"), before + 30n * TOKEN);
        await relayer.process.waitForLine("withdrawal_made.received");
        await network.stop();

        // Governance makes the relayer itself the one that may: it delivers its own payment.
        await gate(scene, a, "relayer");
        await earn(scene, 20n);
        const third = await relayer.run("accumulate-fees", "--wait", "--withdraw");
        assert.equal(third.code, 0, third.stdout);
        assert.match(third.stdout, /20 +paid out/);
        assert.equal(await feeTokensOf(a, "relayer"), before + 50n * TOKEN);
        await scene.finish();
      }),
  );

  /** Earns so many fee tokens of A, and waits until the hub credits them. */
  async function earn(scene: Scene, tokens: bigint): Promise<void> {
    const before = creditOf(devnet, a, "relayer");
    await scene.untilDelivered(await sendPing(devnet, { from: "A", to: "B", fee: tokens * TOKEN }));
    await waitUntil("the fee is credited", () => creditOf(devnet, a, "relayer") === before + tokens * TOKEN);
  }

  /** Governance gives a host the manager of September 2026, and the hub its address. */
  async function gate({ devnet: { hub } }: Scene, chain: DevnetChain, role: DevnetRole): Promise<void> {
    await gateManager(chain.host, addressOf(role));
    await hub.governance.setHostParams(chain.stateMachine, await readHostParams(chain.host));
    assert.ok(fromHex(chain.host.addresses.hostManager).length === 20);
  }
});
