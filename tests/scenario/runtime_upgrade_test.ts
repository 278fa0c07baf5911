/** Runtimes of the hub and of a Substrate chain that are upgraded while messages cross them; the relayer is not restarted. */
import assert from "node:assert/strict";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { sr25519PublicKey } from "../../src/core/ismp/signed_messages.ts";
import { DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import type { RuntimeChange } from "../../devnet/hub/runtime_metadata.ts";
import { sendPing, type SentMessage } from "../../devnet/traffic/messages.ts";
import { playScene, type Scene, type SceneRelayer } from "./support/scene.ts";
import { waitUntil } from "../../devnet/waiting.ts";

const CHAIN = "KUSAMA-2000";
const FEE = 10n ** 18n;
/** All that cross; some before, some while and some after each upgrade. */
const WAVES = [20, 20, 20, 20, 20] as const;

/** Other indexes of pallets that are called, and events of another length in every block. */
const HUB_CHANGE: RuntimeChange = {
  swapped: ["Ismp", "Relayer"],
  widened: ["System.ExtrinsicSuccess"],
};
const CHAIN_CHANGE: RuntimeChange = { ...HUB_CHANGE, swapped: ["Ismp", "Balances"] };

/** Who is paid on the Substrate chain. */
const accounts = new Map([[CHAIN, toHex(sr25519PublicKey(fromHex(DEVNET_KEYS.relayer)))]]);

function send({ devnet }: Scene, count: number): Promise<readonly SentMessage[]> {
  return sendPing(devnet, { from: "A", to: CHAIN, count, fee: FEE });
}

/** Waits until one of the messages has arrived at a chain. */
async function untilOneArrived(
  relayer: SceneRelayer,
  messages: readonly SentMessage[],
  target: string,
): Promise<void> {
  const wanted = new Set<string>(messages.map(({ commitment }) => commitment));
  await waitUntil(`a message has arrived at ${target}`, async () => {
    const { messages: rows } = await relayer.ledger();
    return rows.some((row) =>
      row.target === target && row.state === "delivered" && wanted.has(row.commitment)
    );
  });
}

Deno.test("runtime upgrades", (t) =>
  playScene({
    kinds: ["bsc"],
    substrateChains: [{ stateMachine: CHAIN, blockTimeMs: 500 }],
  }, async (scene) => {
    const { devnet, hub } = scene;
    const relayer = scene.relayer();
    const process = await relayer.startAndWait({ minimumProfitPercent: 50 });

    await t.step("one of hub and chain in the middle of 100 messages loses none of them (F20)", async () => {
      const [first, second, third, fourth, fifth] = WAVES;
      const sent = [...await send(scene, first)];
      await untilOneArrived(relayer, sent, hub);
      sent.push(...await send(scene, second));
      await devnet.hub.governance.upgradeRuntime(HUB_CHANGE);
      const afterHub = await send(scene, third);
      sent.push(...afterHub);
      await untilOneArrived(relayer, afterHub, hub);
      sent.push(...await send(scene, fourth));
      await devnet.substrateChain(CHAIN).node.governance.upgradeRuntime(CHAIN_CHANGE);
      sent.push(...await send(scene, fifth));
      await scene.untilDelivered(sent);
      await relayer.untilEnded(sent);
      for (const name of [hub, CHAIN]) {
        const upgrades = process.lines.filter(({ record }) =>
          record?.event === "runtime_changed.upgraded" && record.chain === name
        );
        assert.equal(upgrades.length, 1, name);
      }
      const unquiet = process.lines.filter(({ level, record }) =>
        level === "error" || record?.event === "runtime_changed.differs" ||
        record?.event === "messages_skipped.undecodable"
      );
      assert.deepEqual(unquiet.map(({ text }) => text), []);
      const { messages } = await relayer.ledger();
      assert.equal(messages.length, 2 * sent.length);
    });

    await t.step(
      "one without what the relayer needs is named, and its legs wait for the next one (F20)",
      async () => {
        await devnet.hub.governance.upgradeRuntime({ removed: ["Relayer.accumulate_fees"] });
        const held = await send(scene, 5);
        await relayer.untilRows(held, hub, { state: "held", reason: "runtime_unsupported" });
        const line = await process.waitForLine(({ record }) => record?.event === "leg_blocked");
        assert.match(line.text, /Relayer\.accumulate_fees/);
        assert.match(line.text, /update this program/);
        const more = await send(scene, 5);
        await relayer.untilRows(more, hub, { state: "held", reason: "runtime_unsupported" });
        const { submissions } = await relayer.ledger();
        const items = new Set(submissions.flatMap((each) => each.items.map(({ commitment }) => commitment)));
        for (const { commitment } of [...held, ...more]) {
          assert.ok(!items.has(commitment), "nothing was sent");
        }
        await devnet.hub.governance.upgradeRuntime({});
        await scene.untilDelivered([...held, ...more]);
        await relayer.untilEnded([...held, ...more]);
      },
    );

    assert.equal(relayer.process, process, "it was never restarted");
    await scene.finish({ accounts });
    const { messages } = await relayer.ledger();
    assert.ok(messages.every(({ state }) => state === "delivered"));
  }));
