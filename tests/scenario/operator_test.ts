/** A message that does not pay, and what an operator asks and does about it while the relayer runs. */
import assert from "node:assert/strict";
import { delivered, sendPing } from "../../devnet/traffic/messages.ts";
import { playScene } from "./support/scene.ts";

Deno.test("a stuck message is explained by show and delivered by relay, while the relayer runs", () =>
  playScene({ hub: "gargantua" }, async (scene) => {
    const { devnet } = scene;
    const [a, b] = [devnet.chain("A"), devnet.chain("B")];
    const relayer = scene.relayer();
    await relayer.startAndWait({ minimumProfitPercent: 50, disableFeeAccumulation: true });
    const [poor] = await sendPing(devnet, { from: "A", to: "B", fee: 5n });
    assert.ok(poor !== undefined);
    await relayer.untilRows([poor], b.stateMachine, { state: "held", reason: "unprofitable" });
    const shown = await relayer.ask("show", poor.commitment);
    assert.match(shown, /status +held\n.*reason +unprofitable\n.*offered \$ +0\n/s);
    assert.match(shown, /^next +Its fee does not cover the cost and the minimum profit/m);
    assert.ok((await relayer.ask("list", "--status=held", "--json")).includes(poor.commitment));
    assert.match(await relayer.ask("relay", poor.commitment, "--dry-run"), /outcome +possible\n/);
    // By the transaction that sent it: one of its block, whose others have sent nothing.
    const { transactions } = await a.host.reader.getBlock({ blockNumber: poor.height });
    const tried = await Promise.all(transactions.map((hash) => relayer.run("relay", hash, "--dry-run")));
    const found = tried.filter(({ code, stdout }) => code === 0 && stdout.includes(poor.commitment));
    assert.equal(found.length, 1, JSON.stringify(tried));
    assert.deepEqual(await delivered(devnet, [poor]), []);
    assert.match(await relayer.ask("relay", poor.commitment), /outcome +sent\n/);
    await scene.untilDelivered([poor]);
    await relayer.untilEnded([poor]);
    assert.match(await relayer.ask("show", poor.commitment), /rule +operator/);
    assert.match(await relayer.ask("status"), /Legs\n/);
    assert.match(await relayer.ask("profit", "--by=route"), /total +\d/);
    const scanned = await relayer.ask("scan", a.stateMachine, `--from=${poor.height}`, "--to=1000000");
    assert.match(scanned, / none\n/);
    await scene.finish();
  }));
