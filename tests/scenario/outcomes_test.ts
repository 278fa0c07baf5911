/** Messages that cannot be delivered: what the database says, and what is sent. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { type Hex, stringToHex } from "viem";
import { toHash256 } from "../../src/core/encoding/bytes.ts";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { freezeHost, placeHostile, replaceHandler, turnHostile } from "../../devnet/evm/host_admin.ts";
import { delivered, sendBody, sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import type { ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { untilClaimed } from "./support/profile_scene.ts";
import { playSceneOn, type SceneRelayer, startSceneDevnet } from "./support/scene.ts";

/** No contract lives here. */
const NOBODY: Hex = "0x00000000000000000000000000000000deadbeef";
/** Code that reverts whatever it is asked. */
const REVERTING: Hex = "0x60006000fd";

/** Blocks that are not full leave it as it is. */
const LOWEST_BASE_FEE_WEI = 7n;

Deno.test("outcomes", async (t) => {
  await using devnet = await startSceneDevnet();
  const b = devnet.chain("B");
  const toB = { from: devnet.hub.identity.stateMachine, to: b.stateMachine };
  // A host shows 1 before it knows any height: relayers would wait for another one while updates are held up.
  await waitUntil("chain B knows a height of the hub", () => devnet.oracle.lastHeight(toB) > 1n);

  await t.step(
    "bad messages in a batch are never sent, the others of the batch are",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await devnet.oracle.pause(toB);
        await relayer.startAndWait();
        const good = [...await sendPing(devnet, { from: "A", to: "B", count: 3 })];
        const bad = [
          ...await sendPing(devnet, { from: "A", to: "B", behaviour: "fail" }),
          ...await sendPing(devnet, { from: "A", to: "B", module: NOBODY }),
        ];
        good.push(...await sendPing(devnet, { from: "A", to: "B", count: 3 }));
        const hubGood = await sendPing(devnet, { from: "B", to: "hub", count: 2 });
        const hubBad = await sendPing(devnet, { from: "B", to: "hub", module: NOBODY });
        await relayer.untilRows([...good, ...bad], scene.hub, { state: "delivered" });
        await scene.untilHubFinal();
        devnet.oracle.resume(toB);
        await scene.untilDelivered([...good, ...hubGood]);
        await relayer.untilRows(bad, b.stateMachine, { state: "held", reason: "simulation_failed" });
        await relayer.untilRows(hubBad, scene.hub, { state: "held", reason: "hub_refused" });
        await scene.finish();
        assert.deepEqual(await delivered(devnet, [...bad, ...hubBad]), []);
        await assertNeverSent(relayer, bad, b.stateMachine);
        await assertNeverSent(relayer, hubBad, scene.hub);
        const { submissions } = await relayer.ledger();
        const toChain = submissions.filter(({ chain }) => chain === b.stateMachine);
        assert.deepEqual(toChain.map(({ items }) => items.length), [6], "all good ones travel together");
      }),
  );

  await t.step(
    "a callback that fails only when mined is no delivery, and nothing more is paid for its pair, also after a restart",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await devnet.oracle.pause(toB);
        await relayer.startAndWait({ unprofitableRetryFrequencySec: 2 });
        const sent = await sendPing(devnet, { from: "A", to: "B", count: 2 });
        await relayer.untilRows(sent, scene.hub, { state: "delivered" });
        await scene.untilHubFinal();
        const { node, addresses } = b.host;
        const code = await b.host.reader.getCode({ address: addresses.ping });
        assert.ok(code !== undefined);
        await withHeldBlocks(b, async () => {
          await updateInNextBlock(devnet, b);
          // Simulated and sent while the application works; by the time the transaction is mined it does not.
          await untilInPool(b);
          await node.setCode({ address: addresses.ping, bytecode: REVERTING });
          await node.mine({ blocks: 1 });
          await relayer.untilRows(sent, b.stateMachine, { state: "held", reason: "not_executed" });
        });
        const { deliveries, submissions } = await relayer.ledger();
        assert.deepEqual(deliveries.filter(({ dest }) => dest === b.stateMachine), []);
        const [mined] = submissions.filter(({ chain }) => chain === b.stateMachine);
        assert.deepEqual(mined?.items.map(({ outcome }) => outcome), ["not_handled", "not_handled"]);
        assert.deepEqual(await delivered(devnet, sent), []);
        await node.setCode({ address: addresses.ping, bytecode: code });
        devnet.oracle.resume(toB);
        const later = await sendPing(devnet, { from: "A", to: "B" });
        await relayer.untilRows(later, b.stateMachine, { state: "held", reason: "suspended" });
        await relayer.stop();
        await relayer.startAndWait({ unprofitableRetryFrequencySec: 2 });
        const last = await sendPing(devnet, { from: "A", to: "B" });
        await relayer.untilRows(last, b.stateMachine, { state: "held", reason: "suspended" });
        await relayer.untilRows(sent, b.stateMachine, { state: "held", reason: "not_executed" });
        await scene.finish();
        await assertNeverSent(relayer, [...later, ...last], b.stateMachine);
        const { submissions: all } = await relayer.ledger();
        assert.equal(all.filter(({ chain }) => chain === b.stateMachine).length, 1);
      }),
  );

  await t.step(
    "a chain that has lost maximum_daily_loss gets nothing, also after a restart, until that is a day old; all else continues",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        const pays = 10n ** 18n;
        const changes: ConfigChanges = {
          minimumProfitPercent: 10,
          unprofitableRetryFrequencySec: 2,
          // More than a delivery may cost at most, and less than one that was lost and the next together, at the tip alone.
          sections: { relayer: { maximum_daily_loss: 0.000225 } },
        };
        await devnet.oracle.pause();
        // The price that a node names is what the newest block paid beside the base fee: each update repeats it.
        for (const { host: { node } } of [devnet.chain("A"), b]) {
          await node.setNextBlockBaseFeePerGas({ baseFeePerGas: LOWEST_BASE_FEE_WEI });
          await node.mine({ blocks: 2 });
        }
        devnet.oracle.resume();
        await devnet.oracle.pause(toB);
        await relayer.startAndWait(changes);
        const module = await placeHostile(b.host);
        const trap = await sendBody(devnet.chain("A"), {
          dest: b.stateMachine,
          to: module,
          body: stringToHex("switch"),
          fee: pays,
        });
        await relayer.untilRows(trap, scene.hub, { state: "delivered" });
        await scene.untilHubFinal();
        await withHeldBlocks(b, async () => {
          await updateInNextBlock(devnet, b);
          await untilInPool(b);
          await turnHostile(b.host, true);
          await b.host.node.mine({ blocks: 1 });
          await relayer.untilRows(trap, b.stateMachine, { state: "held", reason: "not_executed" });
        });
        devnet.oracle.resume(toB);
        // Others' messages to the chain are found and delivered to the hub, and wait there.
        const waiting = await sendPing(devnet, { from: "A", to: "B", count: 2, fee: pays });
        await relayer.untilRows(waiting, scene.hub, { state: "delivered" });
        const back = await sendPing(devnet, { from: "B", to: "A", count: 2, fee: pays });
        await scene.untilDelivered(back);
        await untilClaimed(relayer, back);
        await relayer.process.waitForLine("loss_limit_reached");
        const told = relayer.process.lines.filter(({ record }) => record?.event === "loss_limit_reached");
        assert.equal(told.length, 1, "one line says it");
        assert.deepEqual([told[0]?.level, told[0]?.record?.chain], ["warn", b.stateMachine]);
        assert.match(
          String(told[0]?.record?.because),
          /what is left of maximum_daily_loss does not cover it/,
        );
        await relayer.stop();

        await relayer.startAndWait(changes);
        const more = await sendPing(devnet, { from: "B", to: "A", fee: pays });
        await scene.untilDelivered(more);
        await assertNeverSent(relayer, waiting, b.stateMachine);
        assert.deepEqual(await delivered(devnet, [...trap, ...waiting]), []);
        await relayer.stop();
        const { spending } = await relayer.ledger();
        const [lost] = spending.filter(({ chain }) => chain === b.stateMachine);
        assert.ok(lost !== undefined);
        const { gasUsed } = await b.host.reader.getTransactionReceipt({ hash: toHash256(lost.hash) });
        assert.deepEqual([lost.result, lost.gasUsed], ["not_executed", gasUsed], "the ledger tells the loss");

        ageSpending(relayer.process.dbPath, 86_400_000);
        await relayer.startAndWait(changes);
        await scene.untilDelivered(waiting);
        await relayer.untilRows(trap, b.stateMachine, { state: "held", reason: "not_executed" });
        await relayer.untilEnded([...waiting, ...back, ...more]);
        await scene.finish();
      }),
  );

  await t.step(
    "governance replaces the handler and freezes the host while messages are under way: both are reported, nothing is lost",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await devnet.oracle.pause(toB);
        const process = await relayer.startAndWait();
        const sent = await sendPing(devnet, { from: "A", to: "B", count: 3 });
        await relayer.untilRows(sent, scene.hub, { state: "delivered" });
        await scene.untilHubFinal();
        const old = await replaceHandler(b.host);
        devnet.oracle.resume(toB);
        await scene.untilDelivered(sent);
        const told = await process.waitForLine("host_changed");
        const addresses = `${old} -> ${b.host.addresses.handler}`.toLowerCase();
        assert.equal(String(told.record?.handler).toLowerCase(), addresses);

        await freezeHost(b.host, "incoming");
        const frozen = await process.waitForLine("host_unusable.frozen");
        assert.deepEqual([frozen.level, frozen.record?.chain], ["warn", b.stateMachine]);
        const waiting = await sendPing(devnet, { from: "A", to: "B", count: 2 });
        await relayer.untilRows(waiting, scene.hub, { state: "delivered" });
        await freezeHost(b.host, "none");
        await process.waitForLine("host_resumed");
        await scene.untilDelivered(waiting);
        await relayer.untilEnded([...sent, ...waiting]);
        await scene.finish();
      }),
  );

  await t.step(
    "a request that expires before it is delivered, to the second, ends as timed out",
    () =>
      playSceneOn(devnet, async (scene) => {
        const sections = await scene.heightsNow();
        // Expired on the hub's clock before anybody looks.
        const early = await sendPing(devnet, { from: "A", to: "B", timeoutSec: 2n });
        await waitUntil("its deadline has passed on the hub", () => {
          return early.every(({ request }) =>
            devnet.hub.nowMs / 1000 > Number(request.timeoutTimestampSec) + 1
          );
        });
        const relayer = scene.relayer();
        await devnet.oracle.pause(toB);
        await relayer.startAndWait({ sections });
        // Within ten minutes of this machine's clock: beyond that one node does not end a message.
        const exact = await sendPing(devnet, { from: "A", to: "B", timeoutSec: 540n });
        const justLater = await sendPing(devnet, { from: "A", to: "B", timeoutSec: 570n });
        const inTime = await sendPing(devnet, { from: "A", to: "B", timeoutSec: 7_200n });
        await relayer.untilRows(early, scene.hub, { state: "timed_out", reason: "expired" });
        await relayer.untilRows([...exact, ...justLater, ...inTime], scene.hub, { state: "delivered" });
        await scene.untilHubFinal();
        const deadline = exact[0]?.request.timeoutTimestampSec;
        assert.ok(deadline !== undefined);
        await withHeldBlocks(b, async () => {
          await b.host.node.setNextBlockTimestamp({ timestamp: deadline });
          await updateInNextBlock(devnet, b);
          assert.equal((await b.host.reader.getBlock()).timestamp, deadline);
          await relayer.untilRows(exact, b.stateMachine, { state: "timed_out", reason: "expired" });
          await relayer.untilRows(justLater, b.stateMachine, {
            state: "held",
            reason: "too_close_to_timeout",
          });
        });
        devnet.oracle.resume(toB);
        await scene.untilDelivered(inTime);
        await b.host.node.increaseTime({ seconds: 60 });
        await relayer.untilRows(justLater, b.stateMachine, { state: "timed_out", reason: "expired" });
        await relayer.untilEnded(inTime);
        await scene.finish();
        await assertNeverSent(relayer, early, scene.hub);
        await assertNeverSent(relayer, [...exact, ...justLater], b.stateMachine);
        assert.deepEqual(await delivered(devnet, [...early, ...exact, ...justLater]), []);
      }),
  );
});

/** No transaction of the journal carries any of the messages to `target`. */
async function assertNeverSent(
  relayer: SceneRelayer,
  messages: readonly SentMessage[],
  target: string,
): Promise<void> {
  const { submissions } = await relayer.ledger();
  const unwanted = new Set<string>(messages.map(({ commitment }) => commitment));
  const found = submissions.flatMap(({ items }) => items)
    .filter((item) => item.target === target && unwanted.has(item.commitment));
  assert.deepEqual(found, []);
}

/** Runs `work` while the chain makes blocks only when told to. */
async function withHeldBlocks({ host: { node } }: DevnetChain, work: () => Promise<void>): Promise<void> {
  await node.setIntervalMining({ interval: 0 });
  try {
    await work();
  } finally {
    await node.setIntervalMining({ interval: 1 });
  }
}

/** On a chain whose blocks are held: waits until the relayer's transaction is in the pool. */
async function untilInPool({ host: { node } }: DevnetChain): Promise<void> {
  await waitUntil(
    "the relayer's transaction is in the pool",
    async () => (await node.getTxpoolStatus()).pending > 0,
  );
}

/** Moves all that a stopped relayer has spent into the past, as if it had been stopped that long. */
function ageSpending(dbPath: string, ms: number): void {
  using db = new DatabaseSync(dbPath);
  const { changes } = db.prepare("UPDATE spending SET mined_at_ms = mined_at_ms - ?").run(ms);
  assert.ok(Number(changes) > 0);
}

/** On a chain whose blocks are held: the hub's newest height arrives in the next block. */
async function updateInNextBlock(devnet: Devnet, chain: DevnetChain): Promise<void> {
  const direction = { from: devnet.hub.identity.stateMachine, to: chain.stateMachine };
  const { node } = chain.host;
  const told = devnet.oracle.step(direction);
  await waitUntil("the update is in the pool", async () => (await node.getTxpoolStatus()).pending > 0);
  await node.mine({ blocks: 1 });
  await told;
}
