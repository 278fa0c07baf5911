/** Credit on the hub becomes fee tokens on the chain: on time, above the minimum, and once, however often it is killed. */
import assert from "node:assert/strict";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import type { Devnet } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import type { ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { creditOf, feeTokensOf, TOKEN } from "./support/fee_accounts.ts";
import type { LedgerSnapshot } from "./support/ledger_reader.ts";
import { type RpcProxy, startRpcProxy } from "./support/rpc_proxy.ts";
import { playScene, type SceneRelayer } from "./support/scene.ts";

/** Seconds between the rounds of the relayer that withdraws by itself, and its minimum. */
const EVERY_SEC = 5;
const MINIMUM = 25;

Deno.test("withdrawals: by itself above the minimum only; by hand once, although killed in every state", () =>
  playScene({ kinds: ["beacon", "op_stack", "bsc"] }, async (scene) => {
    const { devnet } = scene;
    const [a, b, c] = [devnet.chain("A"), devnet.chain("B"), devnet.chain("C")];
    await using proxy = await startRpcProxy({ upstream: a.rpcUrl });
    // One delivers to C and is killed; the other delivers to A and B and withdraws by itself.
    const killed = scene.relayer("relayer");
    const steady = scene.relayer("relayer2");
    const toC: ConfigChanges = {
      deliveryEndpoints: [c.stateMachine],
      rpcUrls: { [a.stateMachine]: [proxy.httpUrl] },
    };
    const toAAndB: ConfigChanges = {
      deliveryEndpoints: [a.stateMachine, b.stateMachine],
      sections: { relayer: { withdrawal_frequency: EVERY_SEC, minimum_withdrawal_amount: MINIMUM } },
    };
    await Promise.all([killed.startAndWait(toC), steady.startAndWait(toAAndB)]);
    const sent = [
      ...await sendPing(devnet, { from: "A", to: "C", count: 3, fee: 10n * TOKEN }),
      ...await sendPing(devnet, { from: "A", to: "B", count: 2, fee: 14n * TOKEN }),
      ...await sendPing(devnet, { from: "B", to: "A", count: 2, fee: 10n * TOKEN }),
    ];
    await scene.untilDelivered(sent);
    // The other one may have withdrawn some of it by now.
    await waitUntil("all fees are claimed", async () => {
      const { deliveries } = await steady.ledger();
      const claimed = deliveries.filter(({ claimState }) => claimState === "claimed");
      return creditOf(devnet, a, "relayer") === 30n * TOKEN && claimed.length === 4;
    }, { everyMs: 400 });
    await killed.stop();

    await killEverywhere(devnet, killed, { changes: toC, proxy });
    assert.equal(await feeTokensOf(a, "relayer"), 30n * TOKEN);
    assert.equal(creditOf(devnet, a, "relayer"), 0n);
    const { withdrawals } = await killed.ledger();
    assert.deepEqual(withdrawals.map(({ state, amount }) => [state, amount]), [["done", 30n * TOKEN]]);
    const address = fromHex(DEVNET_ACCOUNTS.relayer.address);
    assert.equal(devnet.hub.governance.nonceOf(address, a.stateMachine), 1n, "one order");

    // A minute after its start the other one looks at its credit for the first time.
    const stays = await steady.process.waitForLine(
      ({ record }) =>
        record?.event === "withdrawal_failed.below_minimum" && record.chain === b.stateMachine &&
        record.available === "20",
    );
    assert.equal(stays.record?.minimum, `${MINIMUM}`);
    await waitUntil("A has paid", async () => await feeTokensOf(a, "relayer2") === 28n * TOKEN);
    assert.deepEqual([creditOf(devnet, b, "relayer2"), await feeTokensOf(b, "relayer2")], [20n * TOKEN, 0n]);
    // What is missing comes in: the next round finds enough.
    await sendPing(devnet, { from: "B", to: "A", fee: 5n * TOKEN });
    await waitUntil("B has paid", async () => await feeTokensOf(b, "relayer2") === 25n * TOKEN);
    await untilDone(steady, 2);
    await scene.finish();
  }));

/**
 * Runs `accumulate-fees --withdraw` again and again, each time until the withdrawal from A is in another state
 * (docs/protocol/messaging.md section 16.4), and kills it there. The relayer itself sees to the rest.
 */
async function killEverywhere(
  devnet: Devnet,
  relayer: SceneRelayer,
  { changes, proxy }: { readonly changes: ConfigChanges; readonly proxy: RpcProxy },
): Promise<void> {
  const a = devnet.chain("A");
  const toA = { from: devnet.hub.identity.stateMachine, to: a.stateMachine };
  const sending = ["eth_sendRawTransaction"];
  const dieWhen = async (what: string, holds: (ledger: LedgerSnapshot) => boolean): Promise<void> => {
    const process = await relayer.start(changes, { extraArguments: ["accumulate-fees", "--withdraw"] });
    await waitUntil(what, async () => holds(await relayer.ledger()), {
      everyMs: 20,
    });
    assert.ok(process.isRunning, what);
    await process.kill();
  };
  const isIn = ({ withdrawals }: LedgerSnapshot, state: string): boolean => withdrawals[0]?.state === state;
  const isSent = ({ submissions }: LedgerSnapshot, kind: string, state: string): boolean =>
    submissions.filter((each) => each.kind === kind).at(-1)?.state === state;

  onOrder(devnet, () => ({ kind: "hang" }));
  await dieWhen("the order is in the journal and the hub has not heard of it", (ledger) => {
    return isIn(ledger, "requested") && isSent(ledger, "withdraw", "signed");
  });
  await devnet.oracle.pause(toA);
  onOrder(devnet, () => void devnet.hub.pauseBlocks());
  await dieWhen("the order is on its way to a block", (ledger) => {
    return isIn(ledger, "requested") && isSent(ledger, "withdraw", "broadcast");
  });
  devnet.hub.fault = undefined;
  devnet.hub.resumeBlocks();
  await dieWhen("the payment was found, and A cannot verify it yet", (ledger) => isIn(ledger, "dispatched"));

  devnet.oracle.resume(toA);
  await proxy.setMode({ kind: "hang" }, sending);
  await dieWhen("the payment is in the journal and A has not heard of it", (ledger) => {
    return isIn(ledger, "dispatched") && proxy.countCalls("eth_sendRawTransaction") > 0;
  });
  const paid = await feeTokensOf(a, "relayer");
  // From here on A makes only the blocks that it is told to make, and nobody waits for others.
  await devnet.oracle.pause(toA);
  await a.host.node.setIntervalMining({ interval: 0 });
  await proxy.setMode({ kind: "pass" });
  await dieWhen("the payment is on its way to a block of A", (ledger) => {
    return isIn(ledger, "dispatched") && ledger.submissions.at(-1)?.state === "broadcast";
  });
  assert.equal(await feeTokensOf(a, "relayer"), paid);
  // One block and no other: the payment stands in it, and it cannot become final before the relayer has seen it.
  await a.host.node.mine({ blocks: 1 });
  await dieWhen("A has paid, and its block is not final", (ledger) => {
    return isIn(ledger, "dispatched") &&
      ledger.messages.some(({ kind, source, target, state }) =>
        kind === "post" && source === toA.from && target === toA.to && state === "delivered"
      );
  });
  await a.host.node.setIntervalMining({ interval: 1 });
  devnet.oracle.resume(toA);
  await relayer.startAndWait(changes);
  await untilDone(relayer, 1);
}

/** What the hub does with the order of the relayer that is killed; others' pass. */
function onOrder({ hub }: Devnet, act: () => { readonly kind: "hang" } | undefined): void {
  const signer = DEVNET_ACCOUNTS.relayer.address.slice(2).toLowerCase();
  hub.fault = ({ method, params: [extrinsic] }) =>
    method === "author_submitExtrinsic" && String(extrinsic).includes(signer) ? act() : undefined;
}

/** Waits until so many withdrawals were made and all of them are over. */
async function untilDone(relayer: SceneRelayer, count: number): Promise<void> {
  await waitUntil(`${count} withdrawals are done`, async () => {
    const { withdrawals } = await relayer.ledger();
    return withdrawals.length === count && withdrawals.every(({ state }) => state === "done");
  }, { everyMs: 400 });
}
