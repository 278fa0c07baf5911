/**
 * Accounts whose keys only a Web3Signer holds: messages and withdrawals are signed. A signer that lies, and
 * proofs of the hub: `consensus_hosts_test.ts`.
 */
import assert from "node:assert/strict";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { relayerConfig, sectionOf } from "../../devnet/programs/relayer_config.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { ChainSigner } from "./support/chain_signer.ts";
import { feeTokensOf, runCommand, TOKEN } from "./support/fee_accounts.ts";
import { playSceneOn, startSceneDevnet } from "./support/scene.ts";
import { withSecrets } from "./support/secrets.ts";

Deno.test("remote signers: what a key began is continued after SIGHUP by signers, which sign deliveries and withdrawals", async () => {
  await using devnet = await startSceneDevnet();
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  await using signerA = new ChainSigner();
  await using signerB = new ChainSigner();
  const remote = {
    sections: { [sectionOf(a.stateMachine)]: signerA.keys, [sectionOf(b.stateMachine)]: signerB.keys },
  };
  await playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    const process = await relayer.startAndWait();
    await scene.untilDelivered(await sendPing(devnet, { from: "A", to: "B" }));

    await Deno.writeTextFile(
      process.configPath,
      withSecrets(relayerConfig(devnet.endpoints, { signer: relayer.role, ...remote })),
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
});
