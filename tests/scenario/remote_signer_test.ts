/**
 * Accounts whose keys only a Web3Signer holds: messages and withdrawals are signed; a signer that lies sends nothing.
 * Proofs of the hub: `consensus_hosts_test.ts`.
 */
import assert from "node:assert/strict";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { relayerConfig, sectionOf } from "../../devnet/programs/relayer_config.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { ChainSigner } from "./support/chain_signer.ts";
import { feeTokensOf, runCommand, TOKEN } from "./support/fee_accounts.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";
import { type SceneRelayer, startSceneDevnet } from "./support/scene.ts";
import { playGuardedOn, secretly } from "./support/secrets.ts";

const reachable = { extraArguments: ["--listen=127.0.0.1:0"] };

Deno.test("remote signers", async (t) => {
  await using devnet = await startSceneDevnet();
  await t.step(
    "remote signers: one that signs something else sends nothing, is named everywhere, and is used again later",
    () => playLies(devnet),
  );
  // Last: others would find its payments.
  await t.step(
    "remote signers: what a key began is continued after SIGHUP by signers, which sign deliveries and withdrawals",
    () => playService(devnet),
  );
});

async function playService(devnet: Devnet): Promise<void> {
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  await using signerA = new ChainSigner();
  await using signerB = new ChainSigner();
  const remote = secretly(devnet.endpoints, {
    sections: { [sectionOf(a.stateMachine)]: signerA.keys, [sectionOf(b.stateMachine)]: signerB.keys },
  });
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    const process = await relayer.startAndWait(secretly(devnet.endpoints));
    await scene.untilDelivered(await sendPing(devnet, { from: "A", to: "B" }));

    await Deno.writeTextFile(
      process.configPath,
      relayerConfig(devnet.endpoints, { signer: relayer.role, ...remote }),
    );
    process.signal("SIGHUP");
    const { record } = await process.waitForLine("configuration_reload.applied");
    for (const { stateMachine } of [a, b]) {
      for (const key of ["signer", "signer_address"]) {
        assert.ok(`${record?.changed}`.includes(`[${sectionOf(stateMachine)}].${key}`), `${record?.changed}`);
      }
    }
    const sent = [
      ...await sendPing(devnet, { from: "A", to: "B", count: 3, fee: 10n * TOKEN }),
      ...await sendPing(devnet, { from: "B", to: "A", count: 2, fee: 10n * TOKEN }),
    ];
    await scene.untilDelivered(sent);
    await relayer.untilSettled();
    for (const { signer } of [signerA, signerB]) assert.ok(signer.requests.includes("/api/v1/eth1/sign"));

    const checked = await relayer.run("check");
    for (const { host } of [signerA, signerB]) {
      assert.match(checked.stdout, new RegExp(`signer +ok +${host}: 0x\\w+ signs`));
    }
    const keys = await relayer.run("keys");
    assert.ok(
      keys.stdout.toLowerCase().includes(
        `${DEVNET_ACCOUNTS.relayer.address.toLowerCase()} at ${signerA.host}`,
      ),
      keys.stdout,
    );
    await relayer.stop();

    const before = await feeTokensOf(a, "relayer");
    const paid = await runCommand(relayer, ["--wait", "--withdraw"], remote);
    assert.equal(paid.code, 0, paid.log.join("\n"));
    assert.ok(await feeTokensOf(a, "relayer") >= before + 30n * TOKEN);
    await scene.finish();
  });
}

async function playLies(devnet: Devnet): Promise<void> {
  const a = devnet.chain("A");
  await using held = new ChainSigner();
  held.signer.misbehaviour = { kind: "other_key" };
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    const changes = secretly(devnet.endpoints, { sections: { [sectionOf(a.stateMachine)]: held.keys } });
    const { address } = DEVNET_ACCOUNTS.relayer;
    const nonce = await a.host.reader.getTransactionCount({ address });
    const process = await relayer.startAndWait(changes, reachable);
    const sent = await sendPing(devnet, { from: "B", to: "A", count: 2 });
    const line = await process.waitForLine("signer_answer_wrong");
    assert.equal(line.level, "error");
    held.assertNamed(line, ["find out why"]);
    await process.waitForLine("leg_paused");
    // Messages to the hub and to B need no signature of A.
    await scene.untilDelivered(await sendPing(devnet, { from: "A", to: "B" }));

    await assertWaiting(relayer, a, sent);
    const { submissions } = await relayer.ledger();
    assert.deepEqual(submissions.filter(({ chain }) => chain === a.stateMachine), []);
    assert.equal(await a.host.reader.getTransactionCount({ address }), nonce, "nothing was sent");
    assert.match(
      await notReady(process),
      new RegExp(`signer_unavailable.*${held.host} signs something else`, "s"),
    );
    const checked = await relayer.run("check");
    assert.equal(checked.code, 1);
    assert.match(
      checked.stdout,
      new RegExp(`signer +failed +${held.host}: 0x7099.*: eth1/sign: the signature is of`),
    );

    held.signer.misbehaviour = undefined;
    await scene.untilDelivered(sent);
    await process.waitForLine("signer_recovered");
    await scene.finish({ allowedErrors: ["signer_answer_wrong", "check_failed"] });
  });
}

/** Messages towards a chain are as they were when they were read: neither held nor given up. */
async function assertWaiting(
  relayer: SceneRelayer,
  { stateMachine }: DevnetChain,
  sent: readonly SentMessage[],
): Promise<void> {
  const rows = await Promise.all(sent.map(({ commitment }) => relayer.row(commitment, stateMachine)));
  const states = rows.map((row) => row?.state);
  assert.ok(states.every((state) => state === "seen" || state === "ready"), `${states}`);
}

/** The reasons of `/readyz` once it is not ready for a signer. */
async function notReady(process: RelayerProcess): Promise<string> {
  const { record } = await process.waitForLine("status_server_started");
  let text = "";
  await waitUntil("it is not ready", async () => {
    const answer = await fetch(`http://${record?.address}/readyz`);
    text = await answer.text();
    return answer.status === 503 && text.includes("signer_unavailable");
  });
  return text;
}
