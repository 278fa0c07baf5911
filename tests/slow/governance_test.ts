/** Governance changes what relayers rely on while messages are under way: nothing is lost, and nothing needs a restart. */
import assert from "node:assert/strict";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { abiEncodePost } from "../../src/core/ismp/message.ts";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { replaceHandler, setChallengePeriod } from "../../devnet/evm/host_admin.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { DEADLINE_MS } from "../../devnet/waiting.ts";
import { playScene, type Scene } from "../scenario/support/scene.ts";

/** Messages of A for which the hub has bandwidth at first, and those that it has none for. */
const PAID = 4;
const UNPAID = 4;

Deno.test("governance: handler, host parameters, game implementations and bandwidth change under the messages, and all arrive", () =>
  playScene({ kinds: ["beacon", "op_stack", "bsc"], bandwidthGate: true, feeds: "each" }, async (scene) => {
    const { devnet } = scene;
    const [a, rollup, c] = [devnet.chain("A"), devnet.chain("B"), devnet.chain("C")];
    await allowAll(devnet, [rollup, c]);
    const relayer = scene.relayer();
    await relayer.startAndWait();

    // The hub's bandwidth for A's application ends in the middle of what it sends.
    const [first] = await sendPing(devnet, { from: "A", to: "C" });
    assert.ok(first !== undefined);
    const size = BigInt(abiEncodePost(first.request).length);
    await creditBytes(devnet, a, size * BigInt(PAID + 1));
    const fromA = [first, ...await sendPing(devnet, { from: "A", to: "C", count: PAID + UNPAID })];
    await untilReceived(scene, fromA, PAID + 1);

    // The rollup's games are made by a contract that the hub does not know.
    const newGames = await upgradeGames(rollup);
    const fromRollup = await sendPing(devnet, { from: "B", to: "C", count: 3 });

    // The host of C gets another handler, and asks for proofs of the hub that are older.
    await replaceHandler(c.host);
    await setChallengePeriod(c.host, 2n);
    const fromC = await sendPing(devnet, { from: "C", to: "A", count: 3 });
    await scene.untilDelivered(fromC, 2 * DEADLINE_MS);

    // The hub follows.
    await creditBytes(devnet, a, size * BigInt(UNPAID));
    await acceptGames(devnet, rollup, newGames);
    await scene.untilDelivered([...fromA, ...fromRollup], 2 * DEADLINE_MS);
    await scene.finish();
  }));

/** Applications that pay nothing for bandwidth. */
async function allowAll(devnet: Devnet, chains: readonly DevnetChain[]): Promise<void> {
  for (const { stateMachine, host } of chains) {
    await devnet.hub.setBandwidthAllowlist(stateMachine, fromHex(host.addresses.ping), true);
  }
}

async function creditBytes(
  { hub }: Devnet,
  { stateMachine, host }: DevnetChain,
  bytes: bigint,
): Promise<void> {
  await hub.creditBandwidth({
    source: stateMachine,
    app: fromHex(host.addresses.ping),
    tier: "TierOne",
    bytes,
    durationSec: 3600n,
  });
}

/** Waits until the hub has taken so many of the messages, and no more of them after some blocks. */
async function untilReceived(
  { devnet }: Scene,
  messages: readonly SentMessage[],
  count: number,
): Promise<void> {
  const received = (): number =>
    messages.filter(({ commitment }) => devnet.hub.findReceipt(commitment) !== undefined).length;
  await waitUntil(`the hub has taken ${count} of ${messages.length}`, () => received() >= count);
  const seen = devnet.hub.best.number;
  await waitUntil("some blocks later", () => devnet.hub.best.number >= seen + 5);
  assert.equal(received(), count, "beyond its bandwidth");
}

/** Puts another contract behind the games that are proposed; returns its address. */
async function upgradeGames({ proven }: DevnetChain): Promise<string> {
  const { opStack } = proven;
  assert.ok(opStack !== undefined);
  const implementation = await opStack.l1.deploy("FaultDisputeGame");
  await opStack.replaceImplementation(gameTypeOf(opStack), toAddress(implementation));
  return implementation;
}

/** The hub's governance learns of the new implementation. */
async function acceptGames(devnet: Devnet, chain: DevnetChain, implementation: string): Promise<void> {
  const { opStack } = chain.proven;
  assert.ok(opStack !== undefined);
  const gameTypes = opStack.configs.map((config) =>
    config.gameType === gameTypeOf(opStack)
      ? { ...config, expectedImplementation: toAddress(implementation) }
      : config
  );
  const id = { stateMachine: chain.stateMachine, consensusStateId: chain.proven.clientStateId };
  await devnet.hub.governance.setDisputeGames(id, { factory: toAddress(opStack.factory), gameTypes });
}

/** The type that the devnet's proposer creates. */
function gameTypeOf({ configs }: { readonly configs: readonly { readonly gameType: number }[] }): number {
  const [first] = configs;
  assert.ok(first !== undefined);
  return first.gameType;
}
