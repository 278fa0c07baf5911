/**
 * Deliveries on real nodes: their tracers, their pools' rules, their states, their error texts. Not part of the gate:
 * building Geth takes five minutes. Run by `deno task nodes`.
 */
import assert from "node:assert/strict";
import { bumpPrice } from "../../src/core/chains/replacement.ts";
import type { SignedSubmission } from "../../src/core/chains/submission.ts";
import type { EvmChain } from "../../src/core/chains/evm/evm_chain.ts";
import type { GasPrice } from "../../src/core/chains/evm/gas.ts";
import { RpcFault } from "../../src/core/rpc/call.ts";
import { chainOf, deliveryOf, hub, never, postTo, proveFromHub } from "../core/chains/evm/chain_fixture.ts";
import { accepted } from "../support/chain_calls.ts";
import { deployIsmpHost, type IsmpHost } from "../../devnet/evm/deploy.ts";
import { GETH_KINDS } from "../../devnet/evm/geth.ts";
import { countReceived, sendPost } from "../../devnet/evm/host_admin.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { findNode, type RealNode } from "./real_node.ts";

for (const { name } of GETH_KINDS) testDeliveries(await findNode(name));

function testDeliveries({ name, start }: RealNode): void {
  const ignore = start === undefined;
  const withNode = async (chainId: number, work: (host: IsmpHost) => Promise<void>): Promise<void> => {
    if (start === undefined) return;
    await using node = await start({ chainId });
    const identity = { stateMachine: hub.stateMachine, paraId: 4009n };
    await work(await deployIsmpHost({ rpcUrl: node.rpcUrl, chainId, hub: identity }));
  };

  Deno.test({
    name: `${name}: a delivery is traced, signed, mined, and found again`,
    ignore,
    fn: () =>
      withNode(31601, async (host) => {
        const { chain, log } = chainOf(host);
        assert.deepEqual((await chain.check(hub, never)).filter(({ result }) => result === "failed"), []);
        const messages = [
          postTo(host, 1n),
          postTo(host, 2n, { to: host.addresses.feeToken }),
          postTo(host, 3n, { to: "0x00000000000000000000000000000000000000aa" }),
        ];
        const mixed = deliveryOf(messages, await proveFromHub(host, messages, 10n));
        assert.deepEqual((await accepted(chain, mixed)).handled, [true, false, false]);
        const one = [postTo(host, 4n)];
        const delivery = deliveryOf(one, await proveFromHub(host, one, 11n));
        const signing = await signed(chain, delivery);
        assert.deepEqual(await chain.sender.broadcast(signing, never), { kind: "sent" });
        assert.deepEqual(await chain.sender.broadcast(signing, never), { kind: "alreadyKnown" });
        const outcome = await outcomeOf(chain, signing);
        assert.ok(outcome.kind === "included" && outcome.succeeded);
        assert.equal(outcome.handled.length, 1);
        assert.equal(await countReceived(host), 1n);
        assert.deepEqual(await chain.sender.broadcast(signing, never), { kind: "nonceUsed" });
        assert.deepEqual(log.events("warn"), [], "traces have logs");
      }),
  });

  Deno.test({
    name: `${name}: what waits below the base fee is replaced only for enough more, or cancelled`,
    // Its base fee is zero.
    ignore: ignore || name === "bsc",
    fn: () =>
      withNode(31602, async (host) => {
        const { chain } = chainOf(host);
        const messages = [postTo(host, 1n)];
        const delivery = deliveryOf(messages, await proveFromHub(host, messages, 10n));
        const signing = await signed(chain, delivery);
        const cheap = { type: "eip1559" as const, maxFeeWei: 10_000n, maxPriorityFeeWei: 10n };
        const waiting = await chain.replacement.resign(signing, cheap, never);
        assert.deepEqual(await chain.sender.broadcast(waiting, never), { kind: "sent" });
        assert.deepEqual(await chain.outcomes.fetchOutcome(waiting, never), { kind: "pending" });
        const nearlySame = await chain.replacement.resign(waiting, { ...cheap, maxFeeWei: 10_500n }, never);
        assert.deepEqual(await chain.sender.broadcast(nearlySame, never), { kind: "underpriced" });
        const { offered, market } = await chain.replacement.fetchReplacementState(waiting, never);
        const bumped = bumpPrice(offered, market, { capWei: undefined });
        assert.ok(bumped !== undefined);
        const replacement = await chain.replacement.resign(waiting, bumped, never);
        assert.deepEqual(await chain.sender.broadcast(replacement, never), { kind: "sent" });
        assert.ok((await outcomeOf(chain, replacement)).kind === "included");
      }),
  });

  Deno.test({
    name:
      `${name}: without a base fee the pool has a least price, and what waits is replaced for enough more`,
    ignore: ignore || name !== "bsc",
    fn: () =>
      withNode(31605, async (host) => {
        const { chain } = chainOf(host);
        const messages = [postTo(host, 1n)];
        const delivery = deliveryOf(messages, await proveFromHub(host, messages, 10n));
        const { latest } = await chain.replacement.fetchNonces(never);
        const ahead = await signed(chain, delivery, latest + 1n);
        const cheap = { type: "eip1559" as const, maxFeeWei: 10_000n, maxPriorityFeeWei: 10n };
        const tooCheap = await chain.replacement.resign(ahead, cheap, never);
        assert.deepEqual(await chain.sender.broadcast(tooCheap, never), { kind: "underpriced" });
        const { market } = await chain.replacement.fetchReplacementState(ahead, never);
        const waiting = await chain.replacement.resign(ahead, market, never);
        assert.deepEqual(await chain.sender.broadcast(waiting, never), { kind: "sent" });
        const nearlySame = await chain.replacement.resign(waiting, raisedBy(market, 50n), never);
        assert.deepEqual(await chain.sender.broadcast(nearlySame, never), { kind: "underpriced" });
        const bumped = bumpPrice(market, market, { capWei: undefined });
        assert.ok(bumped !== undefined);
        const replacement = await chain.replacement.resign(waiting, bumped, never);
        assert.deepEqual(await chain.sender.broadcast(replacement, never), { kind: "sent" });
        const below = await signed(chain, delivery);
        assert.equal(below.nonce, latest);
        const filling = await chain.replacement.cancel(below, market, never);
        assert.deepEqual(await chain.sender.broadcast(filling, never), { kind: "sent" });
        assert.ok((await outcomeOf(chain, replacement)).kind === "included");
      }),
  });

  Deno.test({
    name: `${name}: a nonce ahead waits until the gap is filled`,
    ignore,
    fn: () =>
      withNode(31603, async (host) => {
        const { chain } = chainOf(host);
        const messages = [postTo(host, 1n)];
        const delivery = deliveryOf(messages, await proveFromHub(host, messages, 10n));
        const { latest } = await chain.replacement.fetchNonces(never);
        const ahead = await signed(chain, delivery, latest + 1n);
        assert.deepEqual(await chain.sender.broadcast(ahead, never), { kind: "sent" });
        assert.deepEqual(await askOutcome(chain, ahead), { kind: "pending" });
        const { market } = await chain.replacement.fetchReplacementState(ahead, never);
        const below = await signed(chain, delivery);
        assert.equal(below.nonce, latest);
        const filling = await chain.replacement.cancel(below, market, never);
        assert.deepEqual(await chain.sender.broadcast(filling, never), { kind: "sent" });
        assert.ok((await outcomeOf(chain, ahead)).kind === "included");
      }),
  });

  Deno.test({
    name:
      `${name}: a transaction above 128 KiB is too large, and a state of more than 128 blocks ago is not there`,
    ignore,
    fn: () =>
      withNode(31604, async (host) => {
        const { chain } = chainOf(host);
        const messages = [postTo(host, 1n, { body: new Uint8Array(140_000).fill(7) })];
        const delivery = deliveryOf(messages, await proveFromHub(host, messages, 10n));
        const simulation = await chain.simulator.simulate(delivery, never);
        if (simulation.kind === "accepted") {
          const signing = await signed(chain, delivery);
          const sent = await chain.sender.broadcast(signing, never);
          assert.equal(sent.kind === "refused" ? sent.refusal.code : sent.kind, "too_large");
        } else {
          assert.equal(simulation.refusal.code, "too_large");
        }
        const early = await chain.reads.fetchHeight(never);
        // Each block has a state of its own, as on a chain in use: BSC's empty blocks share one, which the node keeps.
        const post = { dest: hub.stateMachine, to: host.addresses.ping, body: "0x01" } as const;
        while (await chain.reads.fetchHeight(never) <= early + 130n) await sendPost(host, post);
        await assert.rejects(
          chain.proofs.proveReceipts([`0x${"11".repeat(32)}`], { height: early }, never),
          (fault) =>
            fault instanceof RpcFault && ["pruned", "state_pruned", "missing_state"].includes(fault.code),
        );
      }),
  });
}

/** A delivery that the chain accepts, signed. */
async function signed(
  chain: EvmChain,
  delivery: ReturnType<typeof deliveryOf>,
  nonceAtLeast?: bigint,
): Promise<SignedSubmission> {
  const simulation = await accepted(chain, delivery);
  const signing = await chain.sender.sign(delivery, { simulation, nonceAtLeast }, never);
  assert.ok(signing.kind === "signed");
  return signing.submission;
}

/** A price with both fees so many thousandths higher. */
function raisedBy(price: GasPrice, permille: bigint): GasPrice {
  const raised = (wei: bigint): bigint => wei * (1000n + permille) / 1000n;
  return price.type === "legacy" ? { ...price, gasPriceWei: raised(price.gasPriceWei) } : {
    ...price,
    maxFeeWei: raised(price.maxFeeWei),
    maxPriorityFeeWei: raised(price.maxPriorityFeeWei),
  };
}

type Outcome = Awaited<ReturnType<EvmChain["outcomes"]["fetchOutcome"]>>;

/** Waits until the chain knows what became of a submission. */
async function outcomeOf(chain: EvmChain, submission: SignedSubmission): Promise<Outcome> {
  let outcome: Outcome = { kind: "unknown" };
  await waitUntil("the transaction has an outcome", async () => {
    outcome = await askOutcome(chain, submission);
    return outcome.kind !== "pending" && outcome.kind !== "unknown";
  });
  return outcome;
}

/** What the chain says of a submission, asked again as the relayer does where a node cannot tell for a moment. */
async function askOutcome(chain: EvmChain, submission: SignedSubmission): Promise<Outcome> {
  const answers: Outcome[] = [];
  await waitUntil("the node has indexed its blocks", async () => {
    try {
      answers.push(await chain.outcomes.fetchOutcome(submission, never));
    } catch (fault) {
      if (!(fault instanceof RpcFault) || fault.reaction !== "retry") throw fault;
    }
    return answers.length > 0;
  });
  const [outcome] = answers;
  if (outcome === undefined) throw new Error("An outcome was reported");
  return outcome;
}
