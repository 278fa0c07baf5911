/**
 * Polkadot Hub: messages to and from it, questions about its state, and what a hub pays for them. Its Ethereum RPC neither
 * proves nor simulates; the Substrate node beside it proves.
 */
import assert from "node:assert/strict";
import { RLP } from "@ethereumjs/rlp";
import { concatHex, type Hex, numberToHex } from "viem";
import { toHex } from "../../src/core/encoding/bytes.ts";
import type { DevnetChain } from "../../devnet/devnet.ts";
import { PING_ABI } from "../../devnet/evm/abi.ts";
import { sendGet } from "../../devnet/evm/host_admin.ts";
import { sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import { creditOf, feeTokensOf, runCommand, TOKEN } from "./support/fee_accounts.ts";
import { playScene } from "./support/scene.ts";

Deno.test("polkadot hub: messages, questions and fees, by two nodes of one chain", () =>
  playScene({ kinds: ["bsc", "polkadot_hub"] }, async (scene) => {
    const { devnet } = scene;
    const [bsc, polkadot] = [devnet.chain("A"), devnet.chain("B")];
    const relayer = scene.relayer();
    const changes = { sections: { relayer: { minimum_withdrawal_amount: 10 } } };
    const process = await relayer.startAndWait(changes);
    const sent = (await Promise.all([
      sendPing(devnet, { from: "A", to: "B", count: 3, fee: 4n * TOKEN }),
      sendPing(devnet, { from: "B", to: "A", count: 3, fee: 5n * TOKEN }),
      sendPing(devnet, { from: "B", to: "hub", count: 2 }),
    ])).flat();
    await scene.untilDelivered(sent);

    // A question each way: a word of Polkadot Hub's child trie, RLP of an Ethereum trie.
    const slot = numberToHex(0, { size: 32 });
    const [ofPolkadot, ofBsc] = [polkadot, bsc].map((chain) => concatHex([chain.host.addresses.ping, slot]));
    assert.ok(ofPolkadot !== undefined && ofBsc !== undefined);
    for (const [from, about, key] of [[bsc, polkadot, ofPolkadot], [polkadot, bsc, ofBsc]] as const) {
      const dest = about.stateMachine;
      const height = devnet.oracle.lastHeight({ from: dest, to: devnet.hub.identity.stateMachine });
      await sendGet(from.host, { dest, height, keys: [key], fee: TOKEN });
    }
    await waitUntil(
      "both are answered",
      async () => await answerOn(bsc, ofPolkadot) !== "0x" && await answerOn(polkadot, ofBsc) !== "0x",
    );
    assert.equal(await answerOn(bsc, ofPolkadot), numberToHex(5, { size: 32 }));
    assert.equal(await answerOn(polkadot, ofBsc), toHex(RLP.encode(3)));

    // The hub of August 2026 cannot read words, so it pays for nothing here: the records stay.
    await process.waitForLine(({ text }) => text.includes("ProofValidationError"));
    assert.deepEqual([bsc, polkadot].map((chain) => creditOf(devnet, chain, "relayer")), [0n, 0n]);

    // A runtime that reads them pays for everything, and the relayer withdraws to both chains.
    await devnet.hub.governance.readWordsOf(polkadot.stateMachine);
    const { code, table } = await runCommand(relayer, ["--wait", "--withdraw"], changes);
    assert.equal(code, 0, table.join("\n"));
    const paid = await Promise.all([bsc, polkadot].map((chain) => feeTokensOf(chain, "relayer")));
    assert.deepEqual(paid, [13n * TOKEN, 16n * TOKEN], "with what the answers paid on arrival");
    await scene.finish();
  }));

/** What the asking application holds for a key. */
function answerOn({ host }: DevnetChain, key: Hex): Promise<Hex> {
  const address = host.addresses.ping;
  return host.reader.readContract({ address, abi: PING_ABI, functionName: "answers", args: [key] });
}
