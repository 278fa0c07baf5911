/** A chain asks for the state of another one: the hub answers, and the answer travels back and pays for itself. */
import assert from "node:assert/strict";
import { RLP } from "@ethereumjs/rlp";
import { concatHex, type Hex, numberToHex, toRlp } from "viem";
import { type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import { feeTokensOf, TOKEN } from "./support/fee_accounts.ts";
import { answerOn, ask } from "./support/questions.ts";
import { playScene, type SceneRelayer } from "./support/scene.ts";

const USER = DEVNET_ACCOUNTS.user.address;

Deno.test("a question about another chain is answered by the hub and paid for on arrival, whatever others wait for", () =>
  playScene({}, async (scene) => {
    const { devnet } = scene;
    const [a, b] = [devnet.chain("A"), devnet.chain("B")];
    const relayer = scene.relayer();
    await relayer.startAndWait();
    const sentSlot = slotKey(b.host.addresses.ping, 0);
    const receivedSlot = slotKey(b.host.addresses.ping, 1);

    await sendPing(devnet, { from: "B", to: "hub", count: 3 });
    const first = await heightOnHub(devnet, b);
    await sendPing(devnet, { from: "B", to: "hub", count: 2 });
    const second = await heightOnHub(devnet, b);
    const skipped = await skipHeight(devnet, b);
    const account = { dest: b.stateMachine, height: first, keys: [USER, receivedSlot], fee: TOKEN };
    const slots = { dest: b.stateMachine, height: second, keys: [sentSlot, receivedSlot], fee: 3n * TOKEN };
    const never = await ask(a, { ...slots, height: skipped, fee: 0n });
    const early = await ask(a, { ...slots, height: second + 1_000_000n, fee: 0n, timeoutSec: 3n });
    const before = await feeTokensOf(a, "relayer");
    const answered = [await ask(a, account), await ask(a, slots)];

    await untilEnd(relayer, scene.hub, answered, "delivered");
    await waitUntil("both answers have arrived", async () => {
      const rows = (await relayer.ledger()).messages.filter(({ target }) => target === a.stateMachine);
      return rows.length === 2 && rows.every(({ state }) => state === "delivered");
    });
    assert.equal(await feeTokensOf(a, "relayer") - before, 4n * TOKEN, "both fees are paid with the answers");
    assert.equal(await answerOn(a, USER), await accountAt(b, USER, first));
    assert.equal(await answerOn(a, sentSlot), toHex(RLP.encode(5)));
    assert.equal(await answerOn(a, receivedSlot), "0x");
    assert.notEqual(await accountAt(b, USER, first), await accountAt(b, USER, second));

    await untilEnd(relayer, scene.hub, [early], "timed_out");
    await untilEnd(relayer, scene.hub, [never], "held");
    const { messages, deliveries } = await relayer.ledger();
    const reasonOf = (commitment: Hash256): string | undefined =>
      messages.find((row) => row.commitment === commitment)?.reason;
    assert.deepEqual([reasonOf(never), reasonOf(early)], ["height_unknown", "expired"]);
    const claims = deliveries.filter(({ commitment }) => answered.some((one) => one === commitment));
    assert.deepEqual(claims.map(({ dest, claimState }) => `${dest} ${claimState}`), [
      `${a.stateMachine} no_fee`,
      `${a.stateMachine} no_fee`,
      `${scene.hub} no_fee`,
      `${scene.hub} no_fee`,
    ]);
    await scene.finish();
  }));

/** Key of a slot with a small number: address and slot, 52 bytes. */
function slotKey(contract: Hex, slot: number): Hex {
  return concatHex([contract, numberToHex(slot, { size: 32 })]);
}

/** A height that the hub knows and at which everything sent so far is there. */
async function heightOnHub(devnet: Devnet, chain: DevnetChain): Promise<bigint> {
  const direction = { from: chain.stateMachine, to: devnet.hub.identity.stateMachine };
  const head = await chain.host.reader.getBlockNumber();
  await waitUntil(`the hub knows block ${head}`, () => devnet.oracle.lastHeight(direction) >= head);
  return devnet.oracle.lastHeight(direction);
}

/** A height that the hub skips: it knows only higher ones and lower ones. */
async function skipHeight(devnet: Devnet, chain: DevnetChain): Promise<bigint> {
  const direction = { from: chain.stateMachine, to: devnet.hub.identity.stateMachine };
  await devnet.oracle.pause(direction);
  const skipped = devnet.oracle.lastHeight(direction) + 1n;
  await chain.host.node.mine({ blocks: 4 });
  devnet.oracle.resume(direction);
  await waitUntil("the hub is past the skipped block", () => devnet.oracle.lastHeight(direction) > skipped);
  return skipped;
}

async function untilEnd(
  relayer: SceneRelayer,
  target: string,
  commitments: readonly Hash256[],
  state: string,
): Promise<void> {
  await waitUntil(`${commitments.length} questions ${state}`, async () => {
    const { messages } = await relayer.ledger();
    return commitments.every((commitment) =>
      messages.some((row) => row.commitment === commitment && row.target === target && row.state === state)
    );
  }, { everyMs: 300 });
}

/** RLP of an account as it stood at a height. */
async function accountAt({ host }: DevnetChain, address: Hex, height: bigint): Promise<Hex> {
  const proof = await host.reader.getProof({ address, storageKeys: [], blockNumber: height });
  const { nonce, balance, storageHash, codeHash } = proof;
  const integer = (value: bigint): Hex => value === 0n ? "0x" : numberToHex(value);
  return toRlp([integer(BigInt(nonce)), integer(balance), storageHash, codeHash]);
}
