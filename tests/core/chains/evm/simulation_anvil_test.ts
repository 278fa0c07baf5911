import assert from "node:assert/strict";
import {
  encodeAbiParameters,
  keccak256,
  parseTransaction,
  serializeTransaction,
  type TransactionSerializable,
} from "viem";
import type { MessageProof } from "../../../../src/core/chains/proofs.ts";
import type { Delivery } from "../../../../src/core/chains/submission.ts";
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import type { Hash256, Hex } from "../../../../src/core/encoding/bytes.ts";
import { concatBytes, fromHex, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { getResponseMessage, type Message } from "../../../../src/core/ismp/message.ts";
import { DEVNET_ACCOUNTS } from "../../../../devnet/evm/accounts.ts";
import type { IsmpHost } from "../../../../devnet/evm/deploy.ts";
import { countReceived, placeHostile, proveHub, sendGet } from "../../../../devnet/evm/host_admin.ts";
import {
  installOpStackOracle,
  opStackPrices,
  setOpStackPrices,
} from "../../../../devnet/evm/rollup_prices.ts";
import { alteringCalls, alteringFetch, fetchWithout } from "../../../support/altered_answers.ts";
import {
  chainOf,
  deliveryOf,
  hub,
  includedOutcome,
  mountainRoot,
  never,
  onFixture,
  postTo,
  proveFromHub,
} from "./chain_fixture.ts";
import { accepted, kindOf, signed } from "../../../support/chain_calls.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

type Plain = Readonly<Record<string, unknown>>;

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The same trace from a node that leaves logs out. */
function withoutLogs(frame: unknown): unknown {
  if (!isPlain(frame)) return frame;
  const { logs: _logs, calls, ...rest } = frame;
  return { ...rest, ...(Array.isArray(calls) ? { calls: calls.map(withoutLogs) } : {}) };
}

/** A delivery of one post to the ping application. */
async function onePost(host: IsmpHost): Promise<Delivery> {
  const messages = [postTo(host, 1n)];
  return deliveryOf(messages, await proveFromHub(host, messages, 10n));
}

/** Posts of which the second and third are not handled: no application, and no code. */
function mixedPosts(host: IsmpHost): readonly Message[] {
  return [
    postTo(host, 1n),
    postTo(host, 2n, { to: host.addresses.feeToken }),
    postTo(host, 3n, { to: "0x00000000000000000000000000000000000000aa" }),
    postTo(host, 4n, { body: concatBytes(new TextEncoder().encode("burn"), Uint8Array.of(0, 6, 26, 128)) }),
  ];
}

const sum = (parts: readonly bigint[]): bigint => parts.reduce((total, part) => total + part, 0n);

test("simulation: a trace shows per message whether it is handled and what gas it adds, and the price (F14)", async ({ host, chain, requests }) => {
  const messages = mixedPosts(host);
  const delivery = deliveryOf(messages, await proveFromHub(host, messages, 10n));
  await chain.check(hub, never);
  await chain.gas.fetchGasQuote(never); // its first price is compared with others
  requests.count = 0;
  const simulation = await accepted(chain, delivery);
  assert.equal(requests.count, 1);
  assert.deepEqual(simulation.handled, [true, false, false, true]);
  const [ping = 0n, token = 0n, empty = 0n, burn = 0n] = simulation.messageGas;
  assert.equal(sum(simulation.messageGas), simulation.gasUsed);
  assert.ok(burn > 400_000n && ping < 120_000n && token < ping && empty < token);
  assert.equal(simulation.gasPriceWei, await host.reader.getGasPrice());
  assert.equal(simulation.dataCostWei, 0n);
  const submission = await signed(chain, delivery);
  await chain.sender.broadcast(submission, never);
  const { handled } = await includedOutcome(chain, submission);
  const delivered = messages.map(({ commitment }) => handled.some((each) => each.commitment === commitment));
  assert.deepEqual(delivered, simulation.handled);
  const receipts = await chain.reads.fetchReceipts(messages, never);
  assert.deepEqual(receipts.map((receipt) => receipt !== undefined), delivered);
});

test("simulation: a message as large as a transaction takes is handled, and its transaction is one that nodes take", async ({ host, chain }) => {
  const message = postTo(host, 1n, { body: new Uint8Array(119_000).fill(7) });
  const delivery = deliveryOf([message], await proveFromHub(host, [message], 10n));
  await chain.check(hub, never);
  assert.deepEqual((await accepted(chain, delivery)).handled, [true]);
  const { raw } = await signed(chain, delivery);
  assert.ok(raw.length > 119_000 && raw.length < 128 * 1024, `${raw.length} bytes`);
  assert.ok(chain.limits.maxCallBytes >= 119_000 + 640);
});

test("simulation: what eth_simulateV1 says is handled is what a trace says", async ({ host }) => {
  const messages = mixedPosts(host);
  const delivery = deliveryOf(messages, await proveFromHub(host, messages, 10n));
  const traced = await accepted(chainOf(host).chain, delivery);

  const lacking = chainOf(host, undefined, {}, fetchWithout("debug_traceCall"));
  const ran = await accepted(lacking.chain, delivery);
  assert.deepEqual(ran.handled, [true, false, false, true]);
  assert.deepEqual([ran.gasUsed, ran.gasLimit], [traced.gasUsed, traced.gasLimit]);
  assert.equal(sum(ran.messageGas), ran.gasUsed);
  lacking.requests.count = 0;
  await accepted(lacking.chain, delivery);
  assert.equal(lacking.requests.count, 1);

  // All modules fail: a trace without logs is complete, and is believed.
  const failing = messages.slice(1, 3);
  const hopeless = deliveryOf(failing, await proveFromHub(host, failing, 11n));
  const silent = alteringFetch((method, result) =>
    method === "debug_traceCall" ? withoutLogs(result) : result
  );
  const fresh = chainOf(host, undefined, {}, silent);
  assert.deepEqual((await accepted(fresh.chain, hopeless)).handled, [false, false]);
  assert.deepEqual(fresh.log.events("info"), []);

  // Only then is a call that does not revert taken for a delivery.
  const last = chainOf(host, undefined, {}, fetchWithout("debug_traceCall", "eth_simulateV1"));
  const guessed = await accepted(last.chain, delivery);
  assert.deepEqual(guessed.handled, [true, true, true, true]);
  assert.equal(last.log.events("warn").length, 1);
});

const hostilePost = (host: IsmpHost, to: Hex, nonce: bigint, body: string): Message =>
  postTo(host, nonce, { to, body: new TextEncoder().encode(body) });

test("simulation: modules that behave only while they are imagined are seen through: by price, gas and balance", async ({ host }) => {
  const to = await placeHostile(host);
  const bodies = ["well", "price", "gas", "rich"];
  for (const missing of [[], ["debug_traceCall"]]) {
    const { chain } = chainOf(host, undefined, {}, fetchWithout(...missing));
    const taken: string[] = [];
    for (const poor of [false, true]) {
      const balance = poor ? 1_000n : 10n ** 22n;
      await host.node.setBalance({ address: toHex(chain.relayer ?? assert.fail()), value: balance });
      for (const [index, body] of bodies.entries()) {
        const messages = [hostilePost(host, to, BigInt(index), body)];
        const height = await host.reader.getBlockNumber();
        const delivery = deliveryOf(messages, await proveFromHub(host, messages, height));
        const simulation = await chain.simulator.simulate(delivery, never);
        if (simulation.kind === "accepted" && simulation.handled[0] === true) taken.push(body);
      }
    }
    assert.deepEqual(taken, ["well", "well"]);
  }
});

test("simulation: without traces a delivery that reverts is refused with its reason and step", async ({ host }) => {
  const [step] = (await onePost(host)).steps;
  assert.ok(step !== undefined);
  for (const missing of [["debug_traceCall"], ["debug_traceCall", "eth_simulateV1"]]) {
    const { chain } = chainOf(host, undefined, {}, fetchWithout(...missing));
    const simulation = await chain.simulator.simulate({ steps: [step, step] }, never);
    assert.deepEqual(simulation, {
      kind: "refused",
      refusal: { code: "duplicate", detail: "BatchCallFailed[1]: DuplicateMessage", step: 1 },
    });
  }
});

/** The answer of the hub to the only get that the host asked. */
async function answerFor(host: IsmpHost): Promise<Extract<Message, { kind: "getResponse" }>> {
  const { chain } = chainOf(host);
  const from = await chain.reads.fetchHeight(never);
  await sendGet(host, { dest: "EVM-1", height: 7n, keys: ["0x2222222222222222222222222222222222222222"] });
  const events = await chain.events.fetchEvents(from + 1n, await chain.reads.fetchHeight(never), never);
  const [get] = events.flatMap((event) =>
    event.kind === "message" && event.message.kind === "get" ? [event.message.request] : []
  );
  assert.ok(get !== undefined);
  return getResponseMessage({
    get,
    values: get.keys.map((key) => ({
      key,
      value: fromHex(encodeAbiParameters([{ type: "uint256" }], [5n])),
    })),
  });
}

/** Consensus proof of the next hub state and two steps that are proved below it: posts, and get responses. */
async function bundle(host: IsmpHost, posts: readonly Message[], answer: Message): Promise<Delivery> {
  const leaves = [...posts, answer];
  const leafCount = BigInt(leaves.length);
  const proof = await proveHub(host, {
    height: 50n,
    timestampSec: 1_700_000_000n,
    mmrRoot: mountainRoot(leaves),
    childTrieRoot: toHash256(keccak256("0x01")),
    rotates: true,
  });
  const part = (first: number, count: number): MessageProof => ({
    kind: "mmr",
    height: { id: hub, height: 50n },
    leafCount,
    items: itemsFor(leaves.map(({ commitment }) => commitment), first, count),
    leafIndices: Array.from({ length: count }, (_, index) => BigInt(first + index)),
  });
  return {
    steps: [
      { kind: "consensus", proof: fromHex(proof) },
      { kind: "messages", messages: posts, proof: part(0, posts.length) },
      { kind: "messages", messages: [answer], proof: part(posts.length, 1) },
    ],
  };
}

/** Items for a range of three leaves (a peak of two and a peak of one) that is one of the peaks. */
function itemsFor(leaves: readonly Hash256[], first: number, count: number): readonly Hash256[] {
  const [a, b, c] = leaves;
  assert.ok(leaves.length === 3 && a !== undefined && b !== undefined && c !== undefined);
  if (first === 0 && count === 2) return [c];
  assert.ok(first === 2 && count === 1);
  return [toHash256(keccak256(concatBytes(fromHex(a), fromHex(b))))];
}

test("simulation: consensus, posts and get responses travel in one batchCall, and the consensus proofs is not charged", async ({ host, chain, requests }) => {
  const posts = [postTo(host, 1n), postTo(host, 2n)];
  const answer = await answerFor(host);
  const delivery = await bundle(host, posts, answer);
  await chain.check(hub, never);
  assert.equal(await chain.hubClient.fetchHasBatchCall(never), true);
  const { setId } = await chain.hubClient.fetchAuthoritySet(never);
  assert.ok(setId !== undefined);
  await chain.gas.fetchGasQuote(never); // its first price is compared with others
  requests.count = 0;
  const simulation = await accepted(chain, delivery);
  assert.equal(requests.count, 2, "the second one has the price and the gas of the transaction");
  assert.deepEqual(simulation.handled, [true, true, true]);
  const consensusProofs = simulation.gasUsed - sum(simulation.messageGas);
  assert.ok(
    consensusProofs > 150_000n && simulation.messageGas.every((gas) => gas > 40_000n),
    `${consensusProofs}`,
  );
  assert.ok(simulation.messageGas.every((gas) => gas < 200_000n));

  const submission = await signed(chain, delivery);
  await chain.sender.broadcast(submission, never);
  const outcome = await includedOutcome(chain, submission);
  assert.deepEqual(outcome.handled.map(({ commitment }) => commitment), [
    ...posts.map(({ commitment }) => commitment),
    answer.requestCommitment,
  ]);
  assert.equal(await countReceived(host), 2n);
  assert.equal((await chain.hubClient.fetchAuthoritySet(never)).setId, setId + 1n);

  // Once more, the client knows the state already; the posts are what fails.
  const again = await chain.simulator.simulate(delivery, never);
  assert.deepEqual(again.kind === "refused" ? [again.refusal.code, again.refusal.step] : again.kind, [
    "duplicate",
    1,
  ]);
  const [consensus, ...rest] = delivery.steps;
  assert.ok(consensus?.kind === "consensus");
  const spoiled = { kind: "consensus", proof: consensus.proof.slice(0, -40) } as const;
  const broken = await chain.simulator.simulate({ steps: [spoiled, ...rest] }, never);
  assert.equal(broken.kind === "refused" ? broken.refusal.step : broken.kind, 0);
});

test("simulation: on the OP stack data and operator are paid for beside gas, asked in the same request", async ({ host }) => {
  await installOpStackOracle(host);
  const { chain, requests } = chainOf(host);
  const delivery = await onePost(host);
  await chain.check(hub, never);
  await chain.gas.fetchGasQuote(never); // its first price is compared with others
  requests.count = 0;
  const simulation = await accepted(chain, delivery);
  assert.equal(requests.count, 2);
  const { operatorFeeScalar, operatorFeeConstantWei } = opStackPrices;
  const operatorFee = (gas: bigint): bigint =>
    gas * BigInt(operatorFeeScalar) / 1_000_000n + operatorFeeConstantWei;
  await setOpStackPrices(host, { ...opStackPrices, l1BaseFeeWei: 0n, blobBaseFeeWei: 0n });
  const withoutL1 = await accepted(chain, delivery);
  assert.equal(withoutL1.dataCostWei, operatorFee(withoutL1.gasUsed));
  const layer1Wei = simulation.dataCostWei - operatorFee(simulation.gasUsed);
  await setOpStackPrices(host, { ...opStackPrices, operatorFeeScalar: 0, operatorFeeConstantWei: 0n });
  assert.equal((await accepted(chain, delivery)).dataCostWei, layer1Wei);
  await setOpStackPrices(host, opStackPrices);
  requests.count = 0;
  assert.deepEqual(await chain.gas.fetchGasQuote(never), { gasPriceWei: await host.reader.getGasPrice() });
  assert.equal(requests.count, 1);
  const signing = await chain.sender.sign(delivery, { simulation, nonceAtLeast: undefined }, never);
  assert.ok(signing.kind === "signed");
  const { raw } = signing.submission;
  const { dataCostWei } = await chain.replacement.fetchReplacementState(signing.submission, never);
  // What was considered covers the transaction that is sent, by no more than its numbers may be shorter.
  const charged = chainCharge(host, raw);
  assert.ok(charged <= layer1Wei && charged * 100n >= layer1Wei * 95n, `${charged} of ${layer1Wei}`);
  const operatorWei = operatorFee(simulation.gasLimit);
  assert.equal(dataCostWei, charged + operatorWei);
  assert.deepEqual([simulation.maxDataCostWei, signing.submission.dataCostWei], [
    layer1Wei + operatorWei,
    layer1Wei + operatorWei,
  ]);
});

/** What the OP stack charges for publishing these bytes: 16 gas for a byte of them, 4 for one that is zero. */
function chainCharge(host: IsmpHost, raw: Uint8Array): bigint {
  const { l1BaseFeeWei, blobBaseFeeWei } = opStackPrices;
  const { r: _r, s: _s, v: _v, yParity: _parity, ...signedParts } = parseTransaction(toHex(raw));
  const unsigned: TransactionSerializable = signedParts;
  const bytes = fromHex(serializeTransaction(unsigned));
  const gas = bytes.reduce((sum, byte) => sum + (byte === 0 ? 4n : 16n), 68n * 16n);
  assert.equal(unsigned.type, "eip1559");
  assert.equal(unsigned.chainId, host.chainId);
  return gas * (16n * 5227n * l1BaseFeeWei + 1_014_213n * blobBaseFeeWei) / 16_000_000n;
}

test("signing: an account that can pay for gas and not for what the OP stack charges beside it is refused", async ({ host }) => {
  await installOpStackOracle(host);
  const { chain } = chainOf(host);
  const delivery = await onePost(host);
  const simulation = await accepted(chain, delivery);
  const price = await host.reader.getGasPrice();
  const address = toAddress(DEVNET_ACCOUNTS.relayer.address);
  // Nothing is mined from here on, so that the price stays; it may be offered up to a quarter higher.
  const forGas = simulation.gasLimit * price * 5n / 4n;
  await host.node.setBalance({ address, value: forGas + simulation.dataCostWei * 2n });
  const hints = { nonceAtLeast: undefined };
  const sign = async (): Promise<string> =>
    kindOf(await chain.sender.sign(delivery, { simulation, ...hints }, never));
  assert.equal(await sign(), "signed");
  await setOpStackPrices(host, { ...opStackPrices, l1BaseFeeWei: 10n ** 15n });
  await host.node.setBalance({ address, value: forGas * 2n });
  assert.equal(await sign(), "insufficient_funds");
});

test("signing: what the OP stack charges more than in the simulation lowers the gas price that the fees pay for", async ({ host }) => {
  await installOpStackOracle(host);
  const { chain } = chainOf(host);
  const delivery = await onePost(host);
  const simulation = await accepted(chain, delivery);
  const { gasUsed, dataCostWei, gasPriceWei } = simulation;
  const signAt = async (maxGasPriceWei: bigint): Promise<bigint | string | undefined> => {
    const hints = { nonceAtLeast: undefined, maxGasPriceWei };
    const result = await chain.sender.sign(delivery, { simulation, ...hints }, never);
    return result.kind === "signed" ? result.submission.gasPriceWei : kindOf(result);
  };
  assert.equal(await signAt(gasPriceWei), gasPriceWei);
  await setOpStackPrices(host, { ...opStackPrices, l1BaseFeeWei: opStackPrices.l1BaseFeeWei * 50n });
  const raised = await accepted(chain, delivery);
  const morePerGas = (raised.dataCostWei - dataCostWei + gasUsed - 1n) / gasUsed;
  assert.ok(morePerGas > 1n, `${raised.dataCostWei} instead of ${dataCostWei} for ${gasUsed} gas`);
  assert.equal(await signAt(raised.gasPriceWei + morePerGas - 1n), "too_expensive");
  assert.equal(await signAt(raised.gasPriceWei + morePerGas), raised.gasPriceWei);
  await setOpStackPrices(host, { ...opStackPrices, l1BaseFeeWei: 0n, blobBaseFeeWei: 0n });
  const cheaper = (await accepted(chain, delivery)).gasPriceWei;
  assert.equal(await signAt(cheaper), cheaper);
  assert.equal(await signAt(cheaper - 1n), "too_expensive");
});

test("simulation: a module that fails in every block but the newest is seen through, by number and time, where nodes take another block", async ({ host }) => {
  const [number, timestamp] = ["43", "42"];
  for (const [index, opcode] of [number, timestamp].entries()) {
    const to: Hex = `0x${`d${index}`.repeat(20)}`;
    const messages = [postTo(host, 1n, { to }), postTo(host, 2n)];
    const delivery = deliveryOf(messages, await proveFromHub(host, messages, 10n + BigInt(index)));
    const block = await host.reader.getBlock();
    const limit = (opcode === number ? block.number : block.timestamp).toString(16).padStart(16, "0");
    await host.node.setCode({ address: to, bytecode: `0x67${limit}${opcode}11600f57005b5f5ffd` });
    const { chain, requests } = chainOf(host);
    await accepted(chain, delivery);
    assert.deepEqual((await accepted(chain, delivery)).handled, [false, true], opcode);
    const old = chainOf(host, undefined, {}, refusing("blockOverrides"));
    for (let times = 0; times < 2; times++) await accepted(old.chain, delivery);
    old.requests.count = requests.count = 0;
    assert.deepEqual(
      (await accepted(old.chain, delivery)).handled,
      [true, true],
      "its traces are used without",
    );
    assert.equal(old.requests.count, 2, "and that is remembered");
  }
});

/** A node that answers parameters with that word by "invalid params". */
function refusing(word: string): Fetch {
  return alteringCalls((_, params) =>
    JSON.stringify(params)?.includes(word)
      ? { code: -32602, message: "invalid params: unknown field" }
      : undefined
  );
}

test("simulation: after the chain's clock has jumped nothing is simulated in the past, where hosts fail", async ({ host, chain }) => {
  await chain.check(hub, never);
  for (const height of [10n, 20n]) {
    const message = postTo(host, height);
    const proof = await proveFromHub(host, [message], height);
    const consensus = fromHex(
      await proveHub(host, {
        height: height + 1n,
        timestampSec: BigInt(Math.floor(Date.now() / 1000)),
        mmrRoot: toHash256(new Uint8Array(32).fill(2)),
        childTrieRoot: toHash256(new Uint8Array(32).fill(1)),
      }),
    );
    const delivery: Delivery = {
      steps: [{ kind: "consensus", proof: consensus }, ...deliveryOf([message], proof).steps],
    };
    assert.deepEqual((await accepted(chain, delivery)).handled, [true]);
    await host.node.increaseTime({ seconds: 3_600 });
    await host.node.mine({ blocks: 1 });
  }
});
