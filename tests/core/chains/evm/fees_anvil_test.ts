import assert from "node:assert/strict";
import type { EvmChain } from "../../../../src/core/chains/evm/evm_chain.ts";
import type { PaidFees } from "../../../../src/core/chains/fees.ts";
import type { CheckRow } from "../../../../src/core/checks/check_row.ts";
import { concatBytes, fromHex, type Hash256, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { requestFeeSlot } from "../../../../src/core/evm/host_storage.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { evmStateProofCodec } from "../../../../src/core/ismp/proof.ts";
import { decodeStrict } from "../../../../src/core/encoding/scale.ts";
import type { Fetch } from "../../../../src/core/rpc/http_exchange.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { readEvmState } from "../../../../src/core/merkle/evm_proof.ts";
import signatures from "../../../vectors/evm-signatures.json" with { type: "json" };
import { DEVNET_ACCOUNTS } from "../../../../devnet/evm/accounts.ts";
import type { IsmpHost } from "../../../../devnet/evm/deploy.ts";
import { sendPings, setNativePrice, updateHostParams } from "../../../../devnet/evm/host_admin.ts";
import { alteringCalls, alteringFetch, fetchWithout } from "../../../support/altered_answers.ts";
import {
  chainOf,
  chainUnderTest,
  deliveryOf,
  hub,
  includedOutcome,
  never,
  onFixture,
  postTo,
  proveFromHub,
  twoUrls,
  withHost,
} from "./chain_fixture.ts";
import { node } from "./scripted_node.ts";
import { catchFault, faultWith } from "../../../support/rpc_faults.ts";
import { signed } from "../../../support/chain_calls.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

const unknown = toHash256(new Uint8Array(32).fill(9));
const relayer = fromHex(DEVNET_ACCOUNTS.relayer.address);

async function dispatched(host: IsmpHost, count: number, fee: bigint): Promise<readonly Hash256[]> {
  const { chain } = chainOf(host);
  const from = await chain.reads.fetchHeight(never);
  await sendPings(host, { dest: "EVM-1", to: host.addresses.ping, count, fee });
  const events = await chain.events.fetchEvents(from + 1n, await chain.reads.fetchHeight(never), never);
  return events.flatMap((event) => event.kind === "message" ? [event.message.commitment] : []);
}

test("fees: what requests put up, and what it is worth, is read in one request; unknown requests have none", async ({ host, chain, requests }) => {
  const free = await dispatched(host, 1, 0n);
  const paid = await dispatched(host, 2, 777n);
  await chain.fees.fetchFees([], never);
  requests.count = 0;
  const fees = await chain.fees.fetchFees([...paid, unknown, ...free], never);
  assert.deepEqual(fees, { units: [777n, 777n, undefined, 0n], decimals: 18 });
  assert.equal(requests.count, 1);
  assert.equal(await chain.gas.fetchBalance(never), await host.reader.getBalance(DEVNET_ACCOUNTS.relayer));
});

Deno.test("fees: no endpoint prices the native token alone where there are two", async () => {
  const hub = { stateMachine: "POLKADOT-3367", paraId: 3367n };
  await withHost(31447, async (host) => {
    const urls = twoUrls(host);
    // One endpoint quotes a thousandth of the price, wherever the number stands in its answers.
    const [quote = "", lie = ""] = [2_500_000_000, 2_500_000].map((units) =>
      units.toString(16).padStart(16, "0")
    );
    const priceWith = (liar: string | undefined): Promise<bigint | undefined> =>
      chainOf(host, urls, {}, changing(liar, (text) => text.replaceAll(quote, lie))).chain.gas
        .fetchRouterPrice(never);
    assert.deepEqual(
      [await priceWith(undefined), await priceWith(urls[0]), await priceWith(urls[1])],
      [2500n * 10n ** 27n, undefined, undefined],
    );
  }, { hub, decimals: 6, feeTokenPerNative: 2_500_000_000n });
});

/** Runs requests of one of two URLs through a change of the answers; those of the other as they are. */
function changing(url: string | undefined, change: (text: string) => string): Fetch {
  return async (to, init) => {
    const response = await platformFetch(to, init);
    if (url === undefined || new URL(to).hostname !== new URL(url).hostname) return response;
    return new Response(change(await response.text()), response);
  };
}

test("fees: no endpoint says alone what a fee is, or what it is worth, where there are two", async ({ host }) => {
  const urls = twoUrls(host);
  const paid = await dispatched(host, 1, 777n);
  const word = (value: bigint): string => value.toString(16).padStart(64, "0");
  const feesWith = (liar: string | undefined, [truth, lie]: readonly [bigint, bigint]): Promise<PaidFees> =>
    chainOf(host, urls, {}, changing(liar, (text) => text.replaceAll(word(truth), word(lie)))).chain.fees
      .fetchFees(paid, never);
  for (const url of urls) {
    assert.deepEqual(
      await feesWith(url, [777n, 10n ** 24n]),
      { units: [777n], decimals: 18 },
      "a higher fee",
    );
    await assert.rejects(feesWith(url, [18n, 6n]), faultWith("malformed"), "other decimals");
  }
  // What it is worth is never remembered: the lie ends with the one who tells it.
  const [first] = urls;
  let lies = true;
  const truthful = (text: string): string => lies ? text.replaceAll(word(18n), word(6n)) : text;
  const { chain } = chainOf(host, urls.slice(0, 1), {}, changing(first, truthful));
  assert.equal((await chain.fees.fetchFees([], never)).decimals, 6);
  lies = false;
  assert.equal((await chain.fees.fetchFees([], never)).decimals, 18);
});

Deno.test("fees: the router's price is scaled by the decimals of its block; a test hub's is a dollar", async () => {
  const hub = { stateMachine: "POLKADOT-3367", paraId: 3367n };
  const setting = { hub, decimals: 6, feeTokenPerNative: 2_500_000_000n };
  await withHost(31441, async (host) => {
    const { chain, requests } = chainOf(host);
    assert.equal((await chain.fees.fetchFees([], never)).decimals, 6);
    requests.count = 0;
    assert.equal(await chain.gas.fetchRouterPrice(never), 2500n * 10n ** 27n);
    assert.equal(requests.count, 2);
    await setNativePrice(host, 3_000_000_000n);
    assert.equal(await chain.gas.fetchRouterPrice(never), 3000n * 10n ** 27n);
    await setNativePrice(host, 0n);
    assert.equal(await chain.gas.fetchRouterPrice(never), undefined);
    assert.equal(await chainOf(host, ["http://127.0.0.1:1"]).chain.gas.fetchRouterPrice(never), undefined);
    await updateHostParams(host, { uniswapV2: "0x0000000000000000000000000000000000000000" });
    assert.equal(await chainOf(host).chain.gas.fetchRouterPrice(never), undefined);
    const gone = new AbortController();
    gone.abort(new Error("shut down"));
    await assert.rejects(chainOf(host).chain.gas.fetchRouterPrice(gone.signal), /shut down/);
  }, setting);
  await withHost(31442, async (host) => {
    assert.equal(await chainOf(host).chain.gas.fetchRouterPrice(never), 10n ** 27n);
  });
  await withHost(31443, async (host) => {
    const fault = await catchFault(chainOf(host).chain.fees.fetchFees([], never));
    assert.equal(fault.code, "malformed");
  }, { decimals: 19 });
});

/** Values that a proof shows at a height. */
async function provenBy(
  host: IsmpHost,
  proof: Uint8Array,
  blockNumber: bigint,
  keys: readonly Uint8Array[],
): Promise<readonly (Uint8Array | undefined)[]> {
  const { stateRoot } = await host.reader.getBlock({ blockNumber });
  const values = readEvmState({
    stateRoot: toHash256(stateRoot),
    host: fromHex(host.addresses.host),
    proof: decodeStrict(evmStateProofCodec, proof, "EvmStateProof"),
    keys,
  });
  return keys.map((key) => values.get(toHex(key)));
}

test("fees: the source side of a claim proves fee and existence, and refuses unknown requests", async ({ host, chain, requests }) => {
  const before = await chain.reads.fetchHeight(never);
  const commitments = await dispatched(host, 3, 12_345n);
  const height = await chain.reads.fetchHeight(never);
  await host.node.mine({ blocks: 3 });
  requests.count = 0;
  const { proof: bytes, fees } = await chain.proofs.proveFees(commitments, { height }, never);
  assert.equal(requests.count, 1);
  assert.deepEqual(fees, [12_345n, 12_345n, 12_345n]);
  const keys = commitments.map((each) => fromHex(requestFeeSlot(each)));
  assert.deepEqual(await provenBy(host, bytes, height, keys), keys.map(() => fromHex("0x823039")));
  await assert.rejects(chain.proofs.proveFees([unknown], { height }, never), faultWith("not_found"));
  await assert.rejects(
    chain.proofs.proveFees(commitments, { height: before }, never),
    faultWith("not_found"),
  );
});

test("fees: the destination side of a claim names the relayers that its own proof shows", async ({ host, chain, requests }) => {
  const messages = [postTo(host, 1n), postTo(host, 2n)];
  const delivery = deliveryOf(messages, await proveFromHub(host, messages, 10n));
  const submission = await signed(chain, delivery);
  await chain.sender.broadcast(submission, never);
  const { block } = await includedOutcome(chain, submission);
  const commitments = [...messages.map(({ commitment }) => commitment), unknown];
  requests.count = 0;
  const { proof, relayers } = await chain.proofs.proveReceipts(
    commitments,
    { height: block.height },
    never,
  );
  assert.equal(requests.count, 1);
  assert.deepEqual(relayers, [relayer, relayer, undefined]);
  assert.ok(proof.length > 500);
  const earlier = await chain.proofs.proveReceipts(commitments, { height: block.height - 1n }, never);
  assert.deepEqual(earlier.relayers, [undefined, undefined, undefined]);

  // A node whose proof is that of another state is not believed; the next one is asked.
  const root = `0x${"11".repeat(32)}`;
  const lying = alteringFetch((method, result) =>
    method === "eth_getBlockByNumber" && typeof result === "object" ? { ...result, stateRoot: root } : result
  );
  const fault = await catchFault(
    chainOf(host, undefined, {}, lying).chain.proofs.proveReceipts(
      commitments,
      { height: block.height },
      never,
    ),
  );
  assert.equal(fault.code, "malformed");
  const none = chainOf(host, undefined, {}, fetchWithout("eth_getProof")).chain;
  await assert.rejects(
    none.proofs.proveReceipts(commitments, { height: block.height }, never),
    faultWith("missing_method"),
  );
});

test("fees: state values are proven at exactly one height, over several contracts in one request (F12)", async ({ host, chain, requests }) => {
  const [commitment] = await dispatched(host, 1, 500n);
  assert.ok(commitment !== undefined);
  const height = await chain.reads.fetchHeight(never);
  await dispatched(host, 2, 9n);
  const at = (address: string, slot: bigint): Uint8Array =>
    concatBytes(fromHex(address), fromHex(toHash256(slot.toString(16).padStart(64, "0"))));
  const keys = [
    concatBytes(fromHex(host.addresses.host), fromHex(requestFeeSlot(commitment))),
    at(host.addresses.ping, 0n),
    at(host.addresses.ping, 77n),
    fromHex(host.addresses.feeToken),
    fromHex(DEVNET_ACCOUNTS.user.address),
    fromHex(requestFeeSlot(commitment)),
  ];
  const [first = new Uint8Array()] = keys;
  requests.count = 0;
  const bytes = await chain.proofs.proveState([...keys, first], { height }, never);
  assert.equal(requests.count, 1);
  const [fee, sent, nothing, token, user, ownFee] = await provenBy(host, bytes, height, keys);
  assert.deepEqual([fee, sent, nothing, ownFee], [
    fromHex("0x8201f4"),
    fromHex("0x01"),
    undefined,
    fromHex("0x8201f4"),
  ]);
  assert.ok(token !== undefined && user !== undefined && token.length > 64);

  const wrongKeys = [
    ...[0, 19, 21, 33, 51, 53].map((length) =>
      [new Uint8Array(length), "unsupported_key_length", new Uint8Array(length)] as const
    ),
    [new Uint8Array(20).fill(0xee), "account_not_present", undefined] as const,
  ];
  for (const [wrong, code, key] of wrongKeys) {
    const refusal = { name: "UnprovableKeyError", code, key };
    await assert.rejects(chain.proofs.proveState([first, wrong], { height }, never), refusal);
  }
  await assert.rejects(chain.proofs.proveState(keys, { height: height + 500n }, never), faultWith("pruned"));
});

for (const { name, preimage, message_hash, signature } of signatures.signatures) {
  Deno.test(`fees: the message is signed as the hub checks it: ${name}`, async () => {
    const { chain } = chainUnderTest(["http://127.0.0.1:1"], {
      ismpHost: DEVNET_ACCOUNTS.user.address,
      stateMachine: evmStateMachine(1),
    });
    const message = { preimage: fromHex(preimage), digest: toHash256(message_hash) };
    assert.deepEqual(await chain.signMessage(message, never), {
      tag: "Evm",
      value: { address: fromHex(signatures.address), signature: fromHex(signature) },
    });
  });
}

/** A node that proves only its newest states, as full nodes do. */
function prunedBelow(height: bigint): Fetch {
  return alteringCalls((method, params) => {
    if (method !== "eth_getProof" || !Array.isArray(params)) return undefined;
    const [, , tag] = params;
    const isOld = typeof tag === "string" && tag.startsWith("0x") && BigInt(tag) < height;
    return isOld
      ? { code: -32000, message: "missing trie node 00 (path ) state 0x00 is not available" }
      : undefined;
  });
}

/** Rows about the proofs of the endpoints at a height. */
async function probe(chain: EvmChain, height: bigint): Promise<readonly CheckRow[]> {
  const jobs = chain.planChecks({ hub, fetchKnownHeight: () => Promise.resolve(height) });
  return await jobs.find(({ check }) => check === "state_proof")?.run(never) ?? [];
}

test("proofs: endpoints are asked at the hub's height, and those without it are named with what serves it", async ({ host, chain }) => {
  const height = await chain.reads.fetchHeight(never);
  assert.deepEqual((await probe(chain, height)).map(({ result }) => result), ["ok"]);
  await chain.proofChecks.requireProofs(height, never);
  await chain.proofChecks.requireProofs(1n, never); // before the host was deployed there is nothing to prove

  await sendPings(host, { dest: "EVM-1", to: host.addresses.ping, count: 1, fee: 0n });
  const full = chainOf(host, [host.rpcUrl], {}, prunedBelow(height + 1n)).chain;
  const [finding, ...others] = await probe(full, height);
  assert.deepEqual([finding?.result, others], ["failed", []]);
  const text = `${finding?.found}; ${finding?.advice}`;
  assert.match(text, new RegExp(`^no eth_getProof of block ${height}, .* \\(pruned\\)`));
  assert.match(text, /nothing is delivered to this chain until an endpoint serves it/);
  assert.match(text, /--gcmode=archive.*--rpc\.eth-proof-window.*--prune\.include-commitment-history/);
  await assert.rejects(full.proofChecks.requireProofs(height, never), faultWith("pruned"));
  await full.proofChecks.requireProofs(height + 1n, never);

  const lying = chainOf(
    host,
    [host.rpcUrl],
    {},
    alteringFetch((method, result) =>
      method === "eth_getProof" && typeof result === "object" ? { ...result, accountProof: ["0xc0"] } : result
    ),
  ).chain;
  assert.match(
    (await probe(lying, height))[0]?.found ?? "",
    /does not verify/,
  );
  await assert.rejects(lying.proofChecks.requireProofs(height, never), faultWith("malformed"));

  const two = chainOf(host, ["http://127.0.0.1:1", host.rpcUrl]).chain;
  assert.deepEqual(
    (await probe(two, height)).map(({ result }) => result),
    ["ok"],
    "silence has a row of its own",
  );
  await two.proofChecks.requireProofs(height, never);

  const stranger = node({ eth_chainId: () => "0x89", eth_getBlockByNumber: () => null });
  const strange = chainOf(host, [stranger.url, host.rpcUrl]).chain;
  assert.deepEqual((await probe(strange, height)).map(({ result }) => result), ["ok"], "of another chain");
});
