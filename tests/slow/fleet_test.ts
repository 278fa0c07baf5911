/** Three relayers of one operator share the messages to the hub, and one of them dies. */
import assert from "node:assert/strict";
import { DEVNET_ACCOUNTS, type DevnetRole } from "../../devnet/evm/accounts.ts";
import { readDeliverers, sendPing, type SentMessage } from "../../devnet/traffic/messages.ts";
import { fleetWaitMs } from "../../src/messaging/relay/due_messages.ts";
import { playScene, type Scene, type SceneRelayer } from "../scenario/support/scene.ts";

const ROLES: readonly DevnetRole[] = ["relayer", "relayer2", "proposer"];
const BURSTS = 5;
const PER_BURST = 10;

Deno.test("fleet: each delivers its share, and the next one takes over from one that is killed", async () => {
  await playScene({}, async (scene) => {
    const fleet = ROLES.map((role) => scene.relayer(role));
    // Nobody takes over within the first part: whoever delivers is the owner.
    await startAll(fleet, { takeOverSec: 3_600 });
    const shared = await sendBursts(scene);
    await scene.untilDelivered(shared);
    assert.deepEqual(await deliverersOf(scene, shared, fleet), shared.map(ownerOf));

    await Promise.all(fleet.map((relayer) => relayer.stop()));
    for (const relayer of fleet) await attemptAgain(relayer);
    await startAll(fleet, { takeOverSec: 3 });
    const [first, ...others] = fleet;
    await first?.process.kill();
    const orphaned = await sendBursts(scene);
    await scene.untilDelivered(orphaned);
    assert.ok(!(await deliverersOf(scene, orphaned, fleet)).includes(0));
    await Promise.all(others.map((relayer) => relayer.untilEnded(orphaned)));

    await startAll(fleet.slice(0, 1), { takeOverSec: 3 });
    await Promise.all(fleet.map((relayer) => relayer.untilEnded([...shared, ...orphaned])));
    // Nobody pays for a transaction: deliveries to the hub are free, and no other ones were made.
    await scene.finish({ mostReverts: 0 });
  });
});

/** Makes what was left to others due, in the database of a relayer that does not run. */
async function attemptAgain(relayer: SceneRelayer): Promise<void> {
  const command = await relayer.start({}, { extraArguments: ["retry", "--reason=left_to_fleet"] });
  assert.equal(await command.exitCode(), 0);
}

async function startAll(
  relayers: readonly SceneRelayer[],
  { takeOverSec }: { readonly takeOverSec: number },
): Promise<void> {
  await Promise.all(relayers.map((relayer, index) => {
    const fleet = { index, count: ROLES.length, take_over_after: takeOverSec };
    return relayer.startAndWait({ sections: { relayer: { fleet } } });
  }));
}

async function sendBursts({ devnet }: Scene): Promise<readonly SentMessage[]> {
  const sent: SentMessage[] = [];
  for (let burst = 0; burst < BURSTS; burst++) {
    const parts = await Promise.all(
      (["A", "B"] as const).map((from) => sendPing(devnet, { from, to: "hub", count: PER_BURST })),
    );
    sent.push(...parts.flat());
  }
  return sent;
}

/** Numbers of the relayers that the hub has receipts of. */
async function deliverersOf(
  { devnet, hub }: Scene,
  sent: readonly SentMessage[],
  relayers: readonly SceneRelayer[],
): Promise<readonly number[]> {
  const accounts = relayers.map(({ role }) => DEVNET_ACCOUNTS[role].address.toLowerCase());
  const found = await readDeliverers(devnet, hub, sent.map(({ commitment }) => commitment));
  return found.map((address) => accounts.indexOf(address ?? ""));
}

function ownerOf({ commitment }: SentMessage): number {
  return ROLES.findIndex((_, index) =>
    fleetWaitMs(commitment, { index, count: ROLES.length, takeOverMs: 1 }) === 0
  );
}
