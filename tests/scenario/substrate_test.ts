/** Messages cross between an EVM chain and Substrate chains of every kind, with and without a signer there. */
import assert from "node:assert/strict";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { sr25519PublicKey } from "../../src/core/ismp/signed_messages.ts";
import type { Devnet } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import { demoModuleId } from "../../devnet/hub/hub.ts";
import { sendPing, type SentMessage } from "../../devnet/traffic/messages.ts";
import { sectionOf } from "../../devnet/programs/relayer_config.ts";
import type { DevnetSubstrateOptions } from "../../devnet/chains/substrate_chains.ts";
import { sendFromSubstrate } from "../../devnet/traffic/messages.ts";
import { playScene } from "./support/scene.ts";

const ADDRESS = DEVNET_ACCOUNTS.relayer.address.toLowerCase();

/** Every hashing with every child trie; two with a signer, two without. */
const KINDS: readonly (DevnetSubstrateOptions & { readonly isSigned: boolean })[] = [
  { stateMachine: "KUSAMA-2000", hashing: "Blake2", childTrie: "ISMPv2", isSigned: true },
  { stateMachine: "KUSAMA-2001", hashing: "Keccak", childTrie: "ISMP", isSigned: true },
  { stateMachine: "KUSAMA-2002", hashing: "Blake2", childTrie: "ISMP", isSigned: false },
  { stateMachine: "KUSAMA-2003", hashing: "Keccak", childTrie: "ISMPv2", isSigned: false },
];

Deno.test("messages cross between an EVM chain and Substrate chains of every kind, with a signer and without", () =>
  playScene({
    kinds: ["bsc"],
    substrateChains: KINDS.map(({ isSigned: _, ...chain }) => ({ ...chain, blockTimeMs: 500 })),
  }, async (scene) => {
    const { devnet } = scene;
    const a = devnet.chain("A");
    const relayer = scene.relayer();
    const unsigned = KINDS.filter(({ isSigned }) => !isSigned);
    await relayer.startAndWait({
      disableFeeAccumulation: true,
      minimumProfitPercent: 50, // Substrate chains charge nothing, so everything pays there
      sections: Object.fromEntries(
        unsigned.map(({ stateMachine }) => [sectionOf(stateMachine), { signer: undefined }]),
      ),
    });
    const sent = (await Promise.all([
      sendToAll(devnet),
      ...devnet.substrateChains.map((chain, at) => {
        const fee = 10n ** BigInt(chain.feeTokenDecimals + 1); // ten dollars
        const toA = { dest: a.stateMachine, to: fromHex(a.host.addresses.ping), fee };
        const next = devnet.substrateChains[(at + 1) % KINDS.length] ?? chain;
        const toModule = { to: demoModuleId, fee } as const;
        return sendFromSubstrate(chain, [
          toA,
          toA,
          { ...toModule, dest: next.stateMachine },
          { ...toModule, dest: devnet.hub.identity.stateMachine },
        ]);
      }),
    ])).flat();
    await scene.untilDelivered(sent);
    await relayer.untilEnded(sent);
    // Without a key a relayer goes by the name that the hub knows it by.
    const names = { signed: toHex(sr25519PublicKey(fromHex(DEVNET_KEYS.relayer))), plain: ADDRESS };
    await scene.finish({
      accounts: new Map(
        KINDS.map(({ stateMachine, isSigned }) => [stateMachine, isSigned ? names.signed : names.plain]),
      ),
    });
    const { messages, deliveries } = await relayer.ledger();
    assert.equal(messages.length, 4 * 2 + 4 * 7);
    assert.ok(messages.every(({ state }) => state === "delivered"));
    const paid = deliveries.filter(({ claimState }) => claimState !== "no_fee");
    const crossing = sent.filter(({ request }) => request.dest !== scene.hub);
    assert.deepEqual(commitmentsOf(paid), commitmentsOf(crossing));
  }));

/** A message from the EVM chain to each Substrate chain; the user's transactions go one after the other. */
async function sendToAll(devnet: Devnet): Promise<readonly SentMessage[]> {
  const sent: SentMessage[] = [];
  for (const { name } of devnet.substrateChains) {
    sent.push(...await sendPing(devnet, { from: "A", to: name, fee: 10n ** 18n }));
  }
  return sent;
}

function commitmentsOf(items: readonly { readonly commitment: string }[]): readonly string[] {
  return items.map(({ commitment }) => commitment).toSorted();
}
