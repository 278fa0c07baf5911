/** What a delivery costs and what its fee offers decide whether it is delivered, with every number in the database. */
import assert from "node:assert/strict";
import { delivered, sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import type { ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { numbersOf, raiseFee, steadyRequirement } from "./support/decision_numbers.ts";
import { playScene, playSceneOn, startSceneDevnet } from "./support/scene.ts";

/** Dollars for a native token by the router of a main network's hub; on test networks it counts as one. */
const DOLLARS_ON_NEXUS = 2_000n;

/** Worth delivering whatever it costs, where a native token is a dollar. */
const GENEROUS = 10n ** 18n;

const CAREFUL: ConfigChanges = {
  minimumProfitPercent: 50,
  unprofitableRetryFrequencySec: 2,
  disableFeeAccumulation: true,
};

Deno.test("profit on nexus: with 50 percent, what pays is delivered and what does not is held with both numbers, until its fee is raised", () =>
  playScene({ hub: "nexus" }, async (scene) => {
    const { devnet } = scene;
    const [a, b] = [devnet.chain("A"), devnet.chain("B")];
    const relayer = scene.relayer();
    await relayer.startAndWait(CAREFUL);
    const poor = await sendPing(devnet, { from: "A", to: "B", count: 2, fee: 5n });
    const rich = await sendPing(devnet, { from: "A", to: "B", count: 2, fee: GENEROUS * DOLLARS_ON_NEXUS });
    await scene.untilDelivered(rich);
    await relayer.untilRows(poor, b.stateMachine, { state: "held", reason: "unprofitable" });
    assert.deepEqual(await delivered(devnet, poor), []);
    for (const { offered, required } of await numbersOf(relayer, poor)) {
      assert.equal(offered, 5n);
      // A delivery uses 50,000 to 500,000 gas.
      const price18 = await b.host.reader.getGasPrice() * DOLLARS_ON_NEXUS;
      assert.ok(required > 50_000n * price18 / 4n && required < 500_000n * price18 * 4n, `${required}`);
    }
    for (const message of poor) await raiseFee(a, message, GENEROUS * DOLLARS_ON_NEXUS);
    await scene.untilDelivered(poor);
    await scene.finish();
  }));

Deno.test("profit on gargantua", async (t) => {
  await using devnet = await startSceneDevnet({ hub: "gargantua" });
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const toB = { from: devnet.hub.identity.stateMachine, to: b.stateMachine };

  await t.step(
    "a fee of exactly what is required is enough, one unit less is not",
    () =>
      playSceneOn(devnet, async (scene) => {
        // Neither the gas price nor the proof changes from here on, and so does not what is required.
        await b.host.node.setNextBlockBaseFeePerGas({ baseFeePerGas: 0n });
        const relayer = scene.relayer();
        await relayer.startAndWait(CAREFUL);
        const [probe] = await sendPing(devnet, { from: "A", to: "B", fee: 1n });
        assert.ok(probe !== undefined);
        await relayer.untilRows([probe], b.stateMachine, { state: "held", reason: "unprofitable" });
        await devnet.oracle.pause(toB);
        const required = await steadyRequirement(relayer, probe);
        const gasPrice = await b.host.reader.getGasPrice();
        const multiple = 3n * gasPrice;
        assert.equal(required * 2n % multiple, 0n, "one and a half times gas times its price");
        await raiseFee(a, probe, required - 2n);
        await waitUntil("the raised fee was considered", async () => {
          const [found] = await numbersOf(relayer, [probe]);
          return found?.offered === required - 1n;
        });
        assert.deepEqual(await numbersOf(relayer, [probe]), [{ required, offered: required - 1n }]);
        assert.deepEqual(await delivered(devnet, [probe]), []);
        await raiseFee(a, probe, 1n);
        await scene.untilDelivered([probe]);
        devnet.oracle.resume(toB);
        await scene.finish();
      }),
  );

  await t.step(
    "a stuck message is explained by show and delivered by relay, while the relayer runs",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        const { unprofitableRetryFrequencySec: _, ...once } = CAREFUL;
        await relayer.startAndWait(once);
        const [poor] = await sendPing(devnet, { from: "A", to: "B", fee: 5n });
        assert.ok(poor !== undefined);
        await relayer.untilRows([poor], b.stateMachine, { state: "held", reason: "unprofitable" });
        const shown = await relayer.ask("show", poor.commitment);
        assert.match(shown, /status +held\n.*reason +unprofitable\n.*offered \$ +0\n/s);
        assert.match(shown, /^next +Its fee does not cover the cost and the minimum profit/m);
        const listed = await relayer.ask("list", "--status=held", "--json");
        assert.ok(listed.includes(poor.commitment), listed);
        assert.match(await relayer.ask("relay", poor.commitment, "--dry-run"), /outcome +possible\n/);
        // By the transaction that sent it: one of its block, whose others have sent nothing.
        const { transactions } = await a.host.reader.getBlock({ blockNumber: poor.height });
        const tried = await Promise.all(
          transactions.map((hash) => relayer.run("--log-level=error", "relay", hash, "--dry-run")),
        );
        const found = tried.filter(({ code, stdout }) => code === 0 && stdout.includes(poor.commitment));
        assert.equal(found.length, 1, JSON.stringify(tried));
        assert.deepEqual(await delivered(devnet, [poor]), []);
        assert.match(await relayer.ask("relay", poor.commitment), /outcome +sent\n/);
        await scene.untilDelivered([poor]);
        await relayer.untilEnded([poor]);
        assert.match(await relayer.ask("show", poor.commitment), /rule +operator/);
        await relayer.ask("backup", `${relayer.process.dbPath}.copy`);
        assert.match(await relayer.ask("status"), /Legs\n/);
        assert.match(await relayer.ask("profit", "--by=route"), /total +\d/);
        await relayer.ask("accumulate-fees");
        assert.match(
          await relayer.ask("scan", a.stateMachine, `--from=${poor.height}`, "--to=1000000"),
          / none\n/,
        );
        await scene.finish();
      }),
  );
});
