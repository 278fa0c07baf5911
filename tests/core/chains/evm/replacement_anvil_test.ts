import assert from "node:assert/strict";
import { parseTransaction } from "viem";
import type { Delivery, SignedSubmission } from "../../../../src/core/chains/submission.ts";
import type { EvmChain } from "../../../../src/core/chains/evm/evm_chain.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { bumpPrice } from "../../../../src/core/chains/replacement.ts";
import type { IsmpHost } from "../../../../devnet/evm/deploy.ts";
import { countReceived } from "../../../../devnet/evm/host_admin.ts";
import { fetchWithout } from "../../../support/altered_answers.ts";
import {
  chainOf,
  deliveryOf,
  includedOutcome,
  never,
  onFixture,
  postTo,
  proveFromHub,
  twoUrls,
} from "./chain_fixture.ts";
import { signed } from "../../../support/chain_calls.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

async function deliveryTo(host: IsmpHost): Promise<Delivery> {
  const messages = [postTo(host, 1n)];
  return deliveryOf(messages, await proveFromHub(host, messages, 10n));
}

/** A delivery that waits in the pool, and the price that replaces it. */
async function sendUnderpriced(host: IsmpHost, chain: EvmChain): Promise<SignedSubmission> {
  const submission = await signed(chain, await deliveryTo(host));
  await host.node.setAutomine(false);
  assert.deepEqual(await chain.sender.broadcast(submission, never), { kind: "sent" });
  return submission;
}

async function raised(
  chain: EvmChain,
  of: SignedSubmission,
): Promise<Parameters<EvmChain["replacement"]["resign"]>[1]> {
  const { offered, market } = await chain.replacement.fetchReplacementState(of, never);
  const price = bumpPrice(offered, market, { capWei: undefined });
  assert.ok(price !== undefined);
  return price;
}

test("replacement: terms are price, market, nonces and balance at one moment, from one request", async ({ host, chain, requests }) => {
  const submission = await sendUnderpriced(host, chain);
  await chain.gas.fetchGasQuote(never);
  requests.count = 0;
  const terms = await chain.replacement.fetchReplacementState(submission, never);
  assert.equal(requests.count, 1);
  const { maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(toHex(submission.raw));
  assert.deepEqual(terms.offered, {
    type: "eip1559",
    maxFeeWei: maxFeePerGas,
    maxPriorityFeeWei: maxPriorityFeePerGas ?? 0n,
  });
  assert.equal(terms.market.type, "eip1559");
  const nonce = submission.nonce ?? 0n;
  assert.deepEqual(terms.nonces, { latest: nonce, pending: nonce + 1n });
  assert.equal(terms.balanceWei, await chain.gas.fetchBalance(never));
  requests.count = 0;
  assert.deepEqual(await chain.replacement.fetchNonces(never), terms.nonces);
  assert.equal(requests.count, 1);
});

test("replacement: the same call at the same nonce for more takes the place of the first", async ({ host }) => {
  const { chain, requests } = chainOf(host, twoUrls(host));
  const submission = await sendUnderpriced(host, chain);
  requests.count = 0;
  const price = await raised(chain, submission);
  const second = await chain.replacement.resign(submission, price, never);
  assert.equal(requests.count, 1);
  assert.notEqual(second.hash, submission.hash);
  const [before, after] = [submission, second].map(({ raw }) => parseTransaction(toHex(raw)));
  assert.ok(before !== undefined && after !== undefined);
  assert.deepEqual(
    [after.nonce, after.to, after.data, after.gas, after.chainId],
    [before.nonce, before.to, before.data, before.gas, before.chainId],
  );
  assert.equal(second.madeAtHeight, submission.madeAtHeight);
  assert.deepEqual(await chain.sender.broadcast(second, never), { kind: "sent" });
  await host.node.mine({ blocks: 1 });
  assert.equal((await includedOutcome(chain, second)).succeeded, true);
  assert.equal(await countReceived(host), 1n);
});

test("replacement: a cancelled delivery is never mined, and its nonce is used", async ({ host }) => {
  const { chain, requests } = chainOf(host, twoUrls(host));
  const submission = await sendUnderpriced(host, chain);
  const price = await raised(chain, submission);
  requests.count = 0;
  const cancellation = await chain.replacement.cancel(submission, price, never);
  assert.equal(requests.count, 1);
  const { to, value, data, gas, nonce } = parseTransaction(toHex(cancellation.raw));
  assert.equal(to?.toLowerCase(), submission.account);
  assert.deepEqual([value ?? 0n, data, gas, BigInt(nonce ?? 0)], [
    0n,
    undefined,
    21_000n,
    submission.nonce ?? 0n,
  ]);
  await chain.sender.broadcast(cancellation, never);
  await host.node.mine({ blocks: 1 });
  const outcome = await includedOutcome(chain, cancellation);
  assert.deepEqual([outcome.succeeded, outcome.handled], [true, []]);
  assert.equal(await countReceived(host), 0n);
  // Without an estimate it is the gas of a plain transfer.
  const plain = chainOf(host, undefined, {}, fetchWithout("eth_estimateGas")).chain;
  assert.equal((await plain.replacement.cancel(submission, price, never)).gasLimit, 21_000n);
});
