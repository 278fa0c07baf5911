/** Two relayers with accounts and databases of their own want to deliver the same messages. */
import assert from "node:assert/strict";
import { readDeliverers, sendPing, type SentMessage } from "../../devnet/traffic/messages.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { playScene, type SceneRelayer } from "../scenario/support/scene.ts";

const BURSTS = 6;
const PER_BURST = 6;

Deno.test("race: two relayers share the work without errors, and each database knows who delivered what", async () => {
  await playScene({}, async (scene) => {
    const { devnet } = scene;
    const first = scene.relayer("relayer");
    const second = scene.relayer("relayer2");
    await Promise.all([first.startAndWait(), second.startAndWait()]);
    const sent: SentMessage[] = [];
    for (let burst = 0; burst < BURSTS; burst++) {
      const parts = await Promise.all([
        sendPing(devnet, { from: "A", to: "B", count: PER_BURST }),
        sendPing(devnet, { from: "B", to: "A", count: PER_BURST }),
        sendPing(devnet, { from: "A", to: "hub", count: 1 }),
      ]);
      sent.push(...parts.flat());
    }
    await scene.untilDelivered(sent);
    await Promise.all([first.untilEnded(sent), second.untilEnded(sent)]);
    // A duplicate costs each relayer at most one transaction on each chain (I5).
    await scene.finish({ mostReverts: devnet.chains.length });

    for (const relayer of [first, second]) await assertKnowsDeliverers(relayer, sent, scene.hub);
    const receipts = await Promise.all(
      devnet.chains.map(({ stateMachine }) =>
        readDeliverers(
          devnet,
          stateMachine,
          sent.filter(({ request }) => request.dest === stateMachine).map(({ commitment }) => commitment),
        )
      ),
    );
    const accounts = [first, second].map(({ role }) => DEVNET_ACCOUNTS[role].address.toLowerCase());
    assert.ok(receipts.flat().every((relayer) => relayer !== undefined && accounts.includes(relayer)));
  });
});

/** Every row of the relayer says by whom its message was delivered: itself, or the other one. */
async function assertKnowsDeliverers(
  relayer: SceneRelayer,
  sent: readonly SentMessage[],
  hub: string,
): Promise<void> {
  const { messages } = await relayer.ledger();
  const rows = new Map(messages.map((row) => [`${row.commitment} ${row.target}`, row]));
  for (const { commitment, request } of sent) {
    for (const target of new Set([hub, request.dest])) {
      const row = rows.get(`${commitment} ${target}`);
      assert.ok(
        row?.state === "delivered" || row?.state === "delivered_by_other",
        `${relayer.role}: ${commitment} to ${target} is ${row?.state}`,
      );
    }
  }
}
