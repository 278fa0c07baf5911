/** What a delivery costs and what its fee offers decide whether it is delivered, with every number in the database. */
import assert from "node:assert/strict";
import { delivered, sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import type { HubRuntime } from "../../devnet/chains/proven_chains.ts";
import type { ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { numbersOf, raiseFee, steadyRequirement } from "./support/decision_numbers.ts";
import { playSceneOn, startSceneDevnet } from "./support/scene.ts";

/** Dollars for a native token of the devnet's chains: fixed where the hub is a test network's, else of the router. */
const DOLLARS: Readonly<Record<HubRuntime, bigint>> = { gargantua: 1n, nexus: 2_000n };

Deno.test("profit on gargantua", (t) => playProfit(t, "gargantua"));

Deno.test("profit on nexus", (t) => playProfit(t, "nexus"));

async function playProfit(t: Deno.TestContext, hub: HubRuntime): Promise<void> {
  await using devnet = await startSceneDevnet({ hub });
  /** Worth delivering whatever it costs. */
  const generous = 10n ** 18n * DOLLARS[hub];
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const toB = { from: devnet.hub.identity.stateMachine, to: b.stateMachine };
  const careful: ConfigChanges = {
    minimumProfitPercent: 50,
    unprofitableRetryFrequencySec: 2,
    disableFeeAccumulation: true,
  };

  await t.step(
    "with 50 percent, what pays is delivered and what does not is held with both numbers, until its fee is raised",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await relayer.startAndWait(careful);
        const poor = await sendPing(devnet, { from: "A", to: "B", count: 2, fee: 5n });
        const rich = await sendPing(devnet, { from: "A", to: "B", count: 2, fee: generous });
        await scene.untilDelivered(rich);
        await relayer.untilRows(poor, b.stateMachine, { state: "held", reason: "unprofitable" });
        assert.deepEqual(await delivered(devnet, poor), []);
        for (const { offered, required } of await numbersOf(relayer, poor)) {
          assert.equal(offered, 5n);
          // A delivery uses 50,000 to 500,000 gas.
          const price18 = await b.host.reader.getGasPrice() * DOLLARS[hub];
          assert.ok(required > 50_000n * price18 / 4n && required < 500_000n * price18 * 4n, `${required}`);
        }
        for (const message of poor) await raiseFee(a, message, generous);
        await scene.untilDelivered(poor);
        await scene.finish();
      }),
  );

  await t.step(
    "a fee of exactly what is required is enough, one unit less is not",
    () =>
      playSceneOn(devnet, async (scene) => {
        // Neither the gas price nor the proof changes from here on, and so does not what is required.
        await b.host.node.setNextBlockBaseFeePerGas({ baseFeePerGas: 0n });
        const relayer = scene.relayer();
        await relayer.startAndWait(careful);
        const [probe] = await sendPing(devnet, { from: "A", to: "B", fee: 1n });
        assert.ok(probe !== undefined);
        await relayer.untilRows([probe], b.stateMachine, { state: "held", reason: "unprofitable" });
        await devnet.oracle.pause(toB);
        const required = await steadyRequirement(relayer, probe);
        const gasPrice = await b.host.reader.getGasPrice();
        const multiple = 3n * gasPrice * DOLLARS[hub];
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

  if (hub === "nexus") return; // what follows is not about prices

  await t.step(
    "without a retry frequency the held ones stay, until their fee is raised",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        const { unprofitableRetryFrequencySec: _, ...once } = careful;
        await relayer.startAndWait(once);
        const [poor] = await sendPing(devnet, { from: "A", to: "B", fee: 5n });
        assert.ok(poor !== undefined);
        await relayer.untilRows([poor], b.stateMachine, { state: "held", reason: "unprofitable" });
        const rich = await sendPing(devnet, { from: "A", to: "B", fee: generous });
        await scene.untilDelivered(rich);
        assert.deepEqual(await delivered(devnet, [poor]), []);
        assert.equal((await relayer.row(poor.commitment, b.stateMachine))?.offeredUsd18, 5n);
        await raiseFee(a, poor, generous);
        await scene.untilDelivered([poor]);
        await scene.finish();
      }),
  );

  await t.step(
    "a stuck message is explained by show and delivered by relay, while the relayer runs",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        const { unprofitableRetryFrequencySec: _, ...once } = careful;
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

  await t.step(
    "with 0 percent everything is delivered, whatever it offers",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await devnet.oracle.pause(toB);
        await relayer.startAndWait({ ...careful, minimumProfitPercent: 0 });
        const sent = [
          ...await sendPing(devnet, { from: "A", to: "B" }),
          ...await sendPing(devnet, { from: "A", to: "B", fee: 5n }),
          ...await sendPing(devnet, { from: "A", to: "B", fee: generous }),
        ];
        devnet.oracle.resume(toB);
        await scene.untilDelivered(sent);
        await relayer.untilEnded(sent);
        await scene.finish();
      }),
  );
}
