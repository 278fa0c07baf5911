import assert from "node:assert/strict";
import type { HubChain } from "../../../../src/core/chains/hub.ts";
import type { Delivery, SignedSubmission } from "../../../../src/core/chains/submission.ts";
import type { SubstrateChainOptions } from "../../../../src/core/chains/substrate/substrate_chain.ts";
import { fromHex, type Hash256, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { commitmentOfPost, postMessage, type PostRequest } from "../../../../src/core/ismp/message.ts";
import { stateMachineProofCodec } from "../../../../src/core/ismp/proof.ts";
import {
  parseStateMachine,
  toConsensusClientId,
  toConsensusStateId,
} from "../../../../src/core/ismp/state_machine.ts";
import { childTrieKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { decodeStrict } from "../../../../src/core/encoding/scale.ts";
import { readSubstrateProof } from "../../../../src/core/merkle/substrate_proof.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import {
  commitSender,
  post,
  receiver,
  sender,
  senderHost,
  startTestHub,
} from "../../../../devnet/hub/deliveries.ts";
import type { Hub } from "../../../../devnet/hub/hub.ts";
import { type RuntimeChange, RuntimeMetadata } from "../../../../devnet/hub/runtime_metadata.ts";
import { connect, type HubWork, onHub, relayerId } from "./hub_connection.ts";
import { decodeBareExtrinsic } from "../../../../devnet/hub/extrinsic.ts";
import { verifyMmrProof } from "../../../../devnet/trie/mmr_range.ts";
import { WrongClock } from "../../../support/fake_clock.ts";
import { faultWith } from "../../../support/rpc_faults.ts";
import type { MessageProof } from "../../../../src/core/chains/proofs.ts";
import { accepted, kindOf, signed } from "../../../support/chain_calls.ts";

const { signal } = new AbortController();
const test = (name: string, work: HubWork): void => Deno.test(name, onHub(startTestHub, work));
const hints = { nonceAtLeast: undefined };
const fetchStateRoot = (): Promise<undefined> => Promise.resolve(undefined);
/** A delivery of requests of the sender, proven at `height`, which the hub then knows. */
async function deliveryOf(hub: Hub, height: bigint, ...requests: readonly PostRequest[]): Promise<Delivery> {
  const source = await commitSender(hub, height, requests);
  const proof = {
    kind: "state",
    height: { id: sender, height },
    proof: await source.prove(requests),
  } as const;
  return { steps: [{ kind: "messages", messages: requests.map(postMessage), proof }] };
}

/** Sends a delivery of requests of the sender, and makes the block with it. */
async function include(
  hub: Hub,
  chain: HubChain,
  height: bigint,
  ...requests: readonly PostRequest[]
): Promise<SignedSubmission> {
  const submission = await signed(chain, await deliveryOf(hub, height, ...requests));
  assert.deepEqual(await chain.sender.broadcast(submission, signal), { kind: "sent" });
  hub.produceBlock();
  return submission;
}

/** The first message of a delivery alone. */
function firstOf({ steps: [step] }: Delivery): Delivery {
  assert.ok(step?.kind === "messages");
  return { steps: [{ ...step, messages: step.messages.slice(0, 1) }] };
}

/** The file's hub, our adapter and a competitor's. */
function testBoth(
  name: string,
  work: (scene: { readonly hub: Hub; readonly ours: HubChain; readonly theirs: HubChain }) => Promise<void>,
): void {
  test(name, async ({ hub, chain: ours }) => {
    await using other = connect(hub, { relayerId: competitor });
    await work({ hub, ours, theirs: other.chain });
  });
}
const competitor = new Uint8Array(20).fill(9);

test("hub chain: a delivery is simulated, signed, sent, found in its block, and later final", async ({ hub, chain }) => {
  const delivery = await deliveryOf(hub, 10n, post(1n), post(2n));
  const submission = await signed(chain, delivery);
  assert.deepEqual(await chain.outcomes.fetchOutcome(submission, signal), { kind: "unknown" });
  assert.deepEqual(await chain.sender.broadcast(submission, signal), { kind: "sent" });
  assert.deepEqual(await chain.sender.broadcast(submission, signal), { kind: "alreadyKnown" });
  assert.deepEqual(await chain.outcomes.fetchOutcome(submission, signal), { kind: "pending" });
  const block = hub.produceBlock();
  const expected = {
    kind: "included",
    block: { height: BigInt(block.number), hash: block.hash },
    isFinal: false,
    succeeded: true,
    handled: [post(1n), post(2n)].map((each) => ({ commitment: commitmentOfPost(each), relayer: relayerId })),
    refusal: undefined,
    advanced: [],
  } as const;
  assert.deepEqual(await chain.outcomes.fetchOutcome(submission, signal), expected);
  hub.produceBlock();
  hub.produceBlock();
  assert.deepEqual(await chain.outcomes.fetchOutcome(submission, signal), { ...expected, isFinal: true });
  assert.deepEqual(await chain.reads.fetchReceipts([postMessage(post(1n)), postMessage(post(3n))], signal), [
    relayerId,
    undefined,
  ]);
});

testBoth(
  "hub chain: what was delivered by others since the simulation is seen when signing",
  async ({ hub, ours, theirs }) => {
    const delivery = await deliveryOf(hub, 10n, post(1n), post(2n));
    const simulation = await accepted(ours, delivery);
    await theirs.sender.broadcast(await signed(theirs, firstOf(delivery)), signal);
    hub.produceBlock();
    const overtaken = { kind: "overtaken", receipts: [competitor, undefined] };
    assert.deepEqual(await ours.sender.sign(delivery, { simulation, ...hints }, signal), overtaken);
  },
);

testBoth(
  "hub chain: in the pool the same requests count as known; another grouping is taken, and fails with the module's error",
  async ({ hub, ours, theirs }) => {
    const both = await deliveryOf(hub, 10n, post(1n), post(2n));
    const one = firstOf(both);
    const [first, same, second] = [
      await signed(theirs, one),
      await signed(ours, one),
      await signed(ours, both),
    ];
    assert.deepEqual(await theirs.sender.broadcast(first, signal), { kind: "sent" });
    assert.deepEqual(await ours.sender.broadcast(same, signal), { kind: "alreadyKnown" });
    assert.deepEqual(await ours.sender.broadcast(second, signal), { kind: "sent" });
    hub.produceBlock();
    const outcome = await ours.outcomes.fetchOutcome(second, signal);
    assert.ok(outcome.kind === "included" && !outcome.succeeded);
    assert.deepEqual(outcome.handled, []);
    assert.deepEqual(outcome.refusal, { code: "unspecified", detail: "Ismp.InvalidMessage" });
  },
);

test("hub chain: refusals name the rule", async ({ hub, chain }) => {
  const refusal = async (delivery: Delivery): Promise<string> => {
    const result = await chain.simulator.simulate(delivery, signal);
    return result.kind === "refused" ? `${result.refusal.code} ${result.refusal.step ?? ""}` : result.kind;
  };
  const good = await deliveryOf(hub, 10n, post(1n));
  assert.equal(await refusal(good), "accepted");
  const [step] = good.steps;
  assert.ok(step?.kind === "messages" && step.proof.kind === "state");
  const early = { ...step.proof, height: { id: sender, height: 11n } };
  assert.equal(await refusal({ steps: [{ ...step, proof: early }] }), "not_ready 0");
  const old = post(2n, { timeoutTimestampSec: BigInt(Math.floor(hub.nowMs / 1000)) - 10n });
  assert.equal(await refusal(await deliveryOf(hub, 12n, old)), "timed_out 0");
  const other = { ...step, messages: [postMessage(post(7n))] };
  assert.equal(await refusal({ steps: [other] }), "unspecified ");
  const twice = { ...step, messages: [...step.messages, ...step.messages] };
  assert.equal(await refusal({ steps: [twice] }), "duplicate 0");
  await chain.sender.broadcast(await signed(chain, good), signal);
  hub.produceBlock();
  assert.equal(await refusal(good), "duplicate 0");
  const waiting = await deliveryOf(hub, 13n, post(3n));
  const period = hub.setChallengePeriod(sender, 600n);
  hub.produceBlock();
  await period;
  assert.equal(await refusal(waiting), "not_ready 0");
  hub.advanceTime(601_000);
  hub.produceBlock();
  assert.equal(await refusal(waiting), "accepted");
  const frozen = hub.freezeClient(sender.consensusStateId);
  hub.produceBlock();
  await frozen;
  assert.equal(await refusal(waiting), "host_frozen 0");
});

test("hub chain: messages of a chain that the beacon client does not list are refused with that as the cause", async ({ hub, chain }) => {
  const delivery = await deliveryOf(hub, 10n, post(1n));
  assert.equal(await chain.counterparties.findUnlisted(sender, signal), undefined);
  const cause =
    "does not accept messages of EVM-1 yet: IsmpSyncCommitteeEth.SupportedStatemachines does not list " +
    "it. Governance adds it with IsmpSyncCommitteeEth.add_state_machine";

  const change = async (isAccepted: boolean): Promise<void> => {
    const done = hub.acceptMessages(toConsensusClientId("BEAC"), sender.stateMachine, isAccepted);
    hub.produceBlock();
    await done;
  };
  const submission = await signed(chain, delivery);
  await change(false);
  assert.equal((await chain.sender.broadcast(submission, signal)).kind, "refused");
  const refused = await chain.simulator.simulate(delivery, signal);
  assert.deepEqual(refused, {
    kind: "refused",
    refusal: { code: "not_ready", detail: `the hub ${cause}`, step: 0 },
  });
  assert.equal(await chain.counterparties.findUnlisted(sender, signal), cause);
  const bsc = await chain.counterparties.findUnlisted(receiver, signal);
  assert.equal(bsc, undefined, "BSC's client has no list");
  const findings = await chain.counterparties.checkCounterparty({ id: sender, ismpHost: senderHost }, signal);
  assert.deepEqual(findings.map(({ result }) => result), ["warning"]);
  assert.match(
    findings[0]?.found ?? "",
    /yet: .* list it\. Governance .*; until then messages from it are held$/,
  );

  await change(true);
  assert.equal((await chain.simulator.simulate(delivery, signal)).kind, "accepted");
  assert.equal(await chain.counterparties.findUnlisted(sender, signal), undefined);
});

Deno.test("hub chain: a delivery above the size limit is refused, so that it can be split", async () => {
  await using hub = await startTestHub();
  await using connection = connect(hub, { maxCallBytes: 200 });
  const delivery = await deliveryOf(hub, 10n, post(1n));
  assert.equal(kindOf(await connection.chain.simulator.simulate(delivery, signal)), "too_large");
});

test("hub chain: a delivery that shrinks by a fifth travels compressed and is taken like any other", async ({ hub, chain }) => {
  const posts = Array.from({ length: 30 }, (_, nonce) => post(BigInt(nonce)));
  const delivery = await deliveryOf(hub, 10n, ...posts);
  const submission = await signed(chain, delivery);
  const call = decodeBareExtrinsic(submission.raw);
  assert.deepEqual(
    call.slice(0, 2),
    RuntimeMetadata.load("gargantua").callIndex("CallDecompressor", "decompress_call"),
  );
  assert.deepEqual(await chain.sender.broadcast(submission, signal), { kind: "sent" });
  hub.produceBlock();
  const outcome = await chain.outcomes.fetchOutcome(submission, signal);
  assert.ok(outcome.kind === "included" && outcome.succeeded);
  assert.deepEqual(outcome.handled.map(({ commitment }) => commitment), posts.map(commitmentOfPost));
  const refused = await chain.simulator.simulate(delivery, signal);
  assert.equal(refused.kind === "refused" && refused.refusal.code, "duplicate");
  assert.deepEqual(refused.kind === "refused" && refused.refusal.messages, posts.map((_, index) => index));
});

test("hub chain: events come in order, of every kind, with the transaction that caused them", async ({ hub, chain }) => {
  for (let round = 1n; round <= 5n; round++) await include(hub, chain, 10n * round, post(round));
  const vetoed = hub.veto({ id: sender, height: 50n });
  hub.produceBlock();
  await vetoed;
  const events = await chain.events.fetchEvents(0n, BigInt(hub.best.number), signal);
  const heights = events.map((event) => event.at.height);
  assert.deepEqual(heights, heights.toSorted((a, b) => Number(a - b)));
  const messages = events.flatMap((event) => event.kind === "message" ? [event.message] : []);
  assert.deepEqual(messages, [1n, 2n, 3n, 4n, 5n].map((nonce) => postMessage(post(nonce))));
  const handled = events.filter((event) => event.kind === "handled");
  assert.equal(handled.length, 5);
  assert.equal(handled.every((event) => event.at.transaction !== undefined), true);
  const updates = events.flatMap((event) => event.kind === "updated" ? [event.height] : []);
  assert.deepEqual(updates, [10n, 20n, 30n, 40n, 50n]);
  const veto = events.find((event) => event.kind === "vetoed");
  assert.equal(veto?.kind === "vetoed" && veto.height, 50n);
});

test("hub chain: a range beyond the node's head is lagging (F8)", async ({ hub, chain }) => {
  const best = BigInt(hub.best.number);
  await assert.rejects(chain.events.fetchEvents(1n, best + 1n, signal), faultWith("lagging"));
  assert.deepEqual(await chain.events.fetchEvents(best, best, signal), []);
  assert.deepEqual(await chain.events.fetchEvents(0n, 0n, signal), []);
});

/** A node that answers a method with this. */
function answering(of: string, result: unknown): Hub["fault"] {
  return ({ method }) => method === of ? { kind: "result", result } : undefined;
}

/** As `test`, with a clock that can pass the time for which a range that was read counts. */
function testLater(
  name: string,
  work: (scene: { readonly hub: Hub; readonly chain: HubChain; readonly pass: () => void }) => Promise<void>,
): void {
  Deno.test(name, async () => {
    await using hub = await startTestHub();
    const clock = new WrongClock(systemClock);
    await using connection = connect(hub, {}, { clock });
    await work({ hub, chain: connection.chain, pass: () => void (clock.aheadMs += 2_000) });
  });
}

testLater(
  "hub chain: a range wider than 100 blocks, and one that is too large, are asked in parts",
  async ({ hub, chain, pass }) => {
    await include(hub, chain, 10n, post(1n));
    for (let count = 0; count < 230; count++) hub.produceBlock();
    const to = BigInt(hub.best.number);
    const countMessages = async (): Promise<number> =>
      (await chain.events.fetchEvents(1n, to, signal)).filter(({ kind }) => kind === "message").length;
    assert.equal(await countMessages(), 1);
    assert.equal(hub.callCounts.get("ismp_queryEventsWithMetadata"), 3);
    pass();
    hub.fault = ({ method, params: [from, until] }) =>
      method === "ismp_queryEventsWithMetadata" && Number(until) - Number(from) >= 30
        ? { kind: "error", code: -32008, message: "Response is too big" }
        : undefined;
    assert.equal(await countMessages(), 1);
  },
);

testLater(
  "hub chain: half an answer is a fault",
  async ({ hub, chain, pass }) => {
    await include(hub, chain, 10n, post(1n));
    const to = BigInt(hub.best.number);
    assert.equal((await chain.events.fetchEvents(1n, to, signal)).length > 0, true);
    pass();
    const blocks = Array.from(
      { length: Number(to) - 1 },
      (_, at) => [`0x${String(at).padStart(64, "0")}`, []],
    );
    hub.fault = answering("ismp_queryEventsWithMetadata", Object.fromEntries(blocks));
    await assert.rejects(chain.events.fetchEvents(1n, to, signal), faultWith("malformed"));
  },
);

test("hub chain: proofs for EVM chains verify against the hub's MMR, in the order asked", async ({ hub, chain }) => {
  const requests = [1n, 2n, 3n].map((nonce) => post(nonce));
  await include(hub, chain, 10n, ...requests);
  hub.produceBlock();
  hub.produceBlock();
  const height = BigInt(hub.finalized.number);
  const prove = (...nonces: readonly bigint[]): Promise<MessageProof> =>
    chain.proofs.proveMessages(nonces.map((nonce) => postMessage(post(nonce))), {
      height,
      target: { id: receiver, capabilities: { hubProofs: "mmr" }, reads: { fetchStateRoot } },
    }, signal);
  const proof = await prove(3n, 1n);
  assert.ok(proof.kind === "mmr");
  assert.deepEqual(proof.leafIndices, [2n, 0n]);
  assert.equal(proof.leafCount, 3n);
  assert.deepEqual(proof.height, { id: chain.id, height });
  // Leaf hashes are the commitments; verifiers take them in rising order.
  const leaves = [[0n, post(1n)], [2n, post(3n)]] as const;
  verifyMmrProof(
    rootsOf(hub).mmr,
    proof,
    leaves.map(([index, request]) => ({ index, hash: commitmentOfPost(request) })),
  );
  await assert.rejects(prove(9n), faultWith("not_found"));
});

test("hub chain: proofs for Substrate chains hold the requests' commitments under the child trie's root", async ({ hub, chain }) => {
  const requests = Array.from({ length: 130 }, (_, index) => post(BigInt(index)));
  await include(hub, chain, 10n, ...requests);
  const target = { id: receiver, capabilities: { hubProofs: "state" }, reads: { fetchStateRoot } } as const;
  const at = { height: BigInt(hub.best.number), target };
  const proof = await chain.proofs.proveMessages(requests.map(postMessage), at, signal);
  assert.ok(proof.kind === "state");
  const { hasher, storageProof } = decodeStrict(stateMachineProofCodec, proof.proof, "StateMachineProof");
  assert.equal(hasher, "Keccak");
  const keys = requests.map((each) => childTrieKeys.requestCommitment(commitmentOfPost(each)));
  hub.produceBlock();
  const root = rootsOf(hub).childTrie;
  const values = readSubstrateProof({ root, hasher, nodes: storageProof, keys });
  assert.equal([...values.values()].filter((value) => value?.length === 65).length, requests.length);
  assert.equal(hub.callCounts.get("ismp_queryChildTrieProof"), 2);
});

/** The roots in the digest item `Consensus("ISMP", mmr root ++ child trie root)` of the final block. */
function rootsOf(hub: Hub): { readonly mmr: Hash256; readonly childTrie: Hash256 } {
  const item = hub.finalizedHeader.digest.find((each) => toHex(each).includes("49534d50"));
  assert.ok(item !== undefined);
  return { mmr: toHash256(item.slice(-64, -32)), childTrie: toHash256(item.slice(-32)) };
}

test("hub chain: views, heights and times are read from the chain", async ({ hub, chain }) => {
  await deliveryOf(hub, 10n, post(1n));
  hub.produceBlock();
  assert.equal(await chain.reads.fetchHeight(signal), BigInt(hub.best.number));
  assert.equal(await chain.reads.fetchFinalHeight(signal), BigInt(hub.finalized.number));
  const nowSec = BigInt(Math.floor(hub.nowMs / 1000));
  const view = await chain.reads.fetchView(sender, signal);
  assert.equal(view.nowSec >= nowSec - 2n && view.nowSec <= nowSec, true);
  assert.deepEqual({ ...view, nowSec }, { height: 10n, nowSec, challengePeriodSec: 0n, isFrozen: false });
  const unknown = { stateMachine: parseStateMachine("EVM-9"), consensusStateId: toConsensusStateId("NONE") };
  assert.equal((await chain.reads.fetchView(unknown, signal)).height, 0n);
  const stored = await chain.reads.fetchUpdateTime({ id: sender, height: 10n }, signal);
  assert.equal(stored !== undefined && stored >= nowSec - 2n && stored <= nowSec, true);
  assert.equal(await chain.reads.fetchUpdateTime({ id: sender, height: 11n }, signal), undefined);
  assert.equal(await chain.reads.fetchBlockTime(BigInt(hub.best.number), signal) >= nowSec - 2n, true);
  await assert.rejects(chain.reads.fetchBlockTime(10_000n, signal), faultWith("lagging"));
});

test("hub chain: each method takes one round trip, or the number that is written here", async ({ hub, chain, trips }) => {
  const messages = [postMessage(post(1n)), postMessage(post(2n))];
  // Version and metadata are read once, like the name of the child trie.
  await include(hub, chain, 10n, post(1n), post(2n));
  await chain.reads.fetchReceipts(messages, signal);
  const next = await deliveryOf(hub, 11n, post(3n));
  const best = BigInt(hub.best.number);
  const simulation = await accepted(chain, next);
  const submission = await signed(chain, next);
  const counted: readonly (readonly [number, () => Promise<unknown>])[] = [
    [1, () => chain.reads.fetchView(sender, signal)],
    [1, () => chain.reads.fetchHeight(signal)],
    [2, () => chain.reads.fetchFinalHeight(signal)],
    [1, () => chain.reads.fetchUpdateTime({ id: sender, height: 10n }, signal)],
    [1, () => chain.reads.fetchReceipts(messages, signal)],
    [1, () => chain.simulator.simulate(next, signal)],
    [1, () => chain.sender.sign(next, { simulation, ...hints }, signal)],
    // The second reads the counter of messages at both ends of the range.
    [2, () => chain.events.fetchEvents(1n, best, signal)],
    [1, () => chain.sender.broadcast(submission, signal)],
  ];
  for (const [expected, ask] of counted) assert.equal((await trips(ask))[1], expected, String(ask));
  await chain.outcomes.fetchOutcome(submission, signal);
  assert.equal((await trips(() => chain.outcomes.fetchOutcome(submission, signal)))[1], 1);
});

Deno.test("hub chain: the check names the wrong chain, the wrong hashing and missing methods", async () => {
  await using hub = await startTestHub();
  const texts = async (change: Partial<SubstrateChainOptions>): Promise<string[]> => {
    await using connection = connect(hub, change);
    const { chain } = connection;
    return (await chain.check(chain.id, signal)).map(({ result, found }) => `${result}: ${found}`);
  };
  const id = {
    stateMachine: parseStateMachine("POLKADOT-3367"),
    consensusStateId: toConsensusStateId("DOT0"),
  };
  const at = `via 127.0.0.1:${hub.port}`;
  assert.deepEqual(await texts({ id }), [
    `failed: POLKADOT-3367 ${at}: the node is of KUSAMA-4009; set rpc_ws to a node of POLKADOT-3367, or state_machine to KUSAMA-4009`,
  ]);
  assert.deepEqual(await texts({ hashing: "Blake2" }), [
    `failed: KUSAMA-4009 ${at}: headers are hashed with Keccak; set hashing = "Keccak"`,
  ]);
  hub.fault = answering("rpc_methods", { methods: ["ismp_queryEventsWithMetadata"] });
  const found = await texts({});
  assert.equal(found.length, 3);
  assert.match(found[0] ?? "", /^failed: .*lacks the RPC methods ismp_queryChildTrieProof, .*mmr_queryProof/);
  assert.match(found[1] ?? "", /^warning: .*offchain_localStorageGet/);
  assert.match(found[2] ?? "", /^warning: .*system_dryRun/);
});

test("hub chain: of a right configuration nothing is found; a wrong consensus state id or host contract is fatal, with the right one, and so is a chain without heights", async ({ hub, chain }) => {
  await deliveryOf(hub, 10n, post(1n));
  assert.deepEqual(await chain.check(chain.id, signal), []);
  const right = { id: sender, ismpHost: senderHost };
  assert.deepEqual(await chain.counterparties.checkCounterparty(right, signal), []);
  const wrongId = { ...sender, consensusStateId: toConsensusStateId("ARB0") };
  const [byId] = await chain.counterparties.checkCounterparty({ id: wrongId }, signal);
  assert.equal(byId?.result, "failed");
  assert.match(
    byId?.found ?? "",
    /does not know EVM-1 by consensus_state_id "ARB0"; it knows that chain by "ETH0"/,
  );
  const other = { stateMachine: parseStateMachine("EVM-777"), consensusStateId: toConsensusStateId("ETH0") };
  const [byChain, byHost] = await chain.counterparties.checkCounterparty(
    { id: other, ismpHost: senderHost },
    signal,
  );
  assert.match(byChain?.found ?? "", /it knows EVM-1\/ETH0/);
  assert.match(byHost?.found ?? "", /knows no host contract of EVM-777/);
  const created = hub.createConsensusClient({
    stateId: toConsensusStateId("NEW0"),
    clientId: toConsensusClientId("OPFG"),
    unbondingPeriodSec: 100_000n,
    challengePeriodsSec: new Map(),
    state: Uint8Array.of(1),
  });
  hub.produceBlock();
  await created;
  const young = { stateMachine: parseStateMachine("EVM-777"), consensusStateId: toConsensusStateId("NEW0") };
  const [byHeight] = await chain.counterparties.checkCounterparty({ id: young }, signal);
  assert.equal(byHeight?.result, "failed");
  assert.match(
    byHeight?.found ?? "",
    /has a light client "NEW0", but no height of EVM-777 yet: a consensus relayer/,
  );
  const wrongHost = fromHex(`0x${"01".repeat(20)}`);
  const [host] = await chain.counterparties.checkCounterparty({ id: sender, ismpHost: wrongHost }, signal);
  assert.equal(host?.result, "failed");
  assert.match(host?.found ?? "", new RegExp(`as ${toHex(senderHost)}; set ismp_host`));
});

/** Upgrades the hub's runtime; the block after the one with it is the first of the new runtime. */
async function upgrade(hub: Hub, change: RuntimeChange): Promise<void> {
  const done = hub.governance.upgradeRuntime(change);
  hub.produceBlock();
  await done;
}

test("hub chain: a runtime with other indexes and fields is delivered to, and older blocks are read by the older one (F20)", async ({ hub, chain, log }) => {
  const deliver = async (height: bigint, nonce: bigint): Promise<SignedSubmission> => {
    const submission = await signed(chain, await deliveryOf(hub, height, post(nonce)));
    assert.deepEqual(await chain.sender.broadcast(submission, signal), { kind: "sent" });
    return submission;
  };
  const older = await deliver(10n, 1n);
  hub.produceBlock();
  await upgrade(hub, { swapped: ["Ismp", "Relayer"], widened: ["System.ExtrinsicSuccess"] });
  const newer = await deliver(11n, 2n);
  assert.notDeepEqual(newer.raw.slice(0, 8), older.raw.slice(0, 8));
  hub.produceBlock();
  for (const submission of [older, newer]) {
    const outcome = await chain.outcomes.fetchOutcome(submission, signal);
    assert.ok(outcome.kind === "included" && outcome.succeeded);
    assert.equal(outcome.handled.length, 1);
  }
  assert.equal(await chain.runtime?.findUnsupported(signal), undefined);
  assert.deepEqual(log.lines.map((line) => line.event), ["runtime_changed.upgraded"]);
});

test("hub chain: an extrinsic of the older runtime that waits in the pool is lost, and can be made again (F20)", async ({ hub, chain }) => {
  const delivery = await deliveryOf(hub, 10n, post(1n));
  const older = await signed(chain, delivery);
  await upgrade(hub, { swapped: ["Ismp", "Relayer"] });
  const refused = await chain.sender.broadcast(older, signal).catch((fault: unknown) => fault);
  assert.ok(refused instanceof RpcFault || Object(refused).kind === "refused", String(refused));
  assert.deepEqual(await chain.outcomes.fetchOutcome(older, signal), { kind: "unknown" });
  const newer = await signed(chain, delivery);
  await chain.sender.broadcast(newer, signal);
  hub.produceBlock();
  const outcome = await chain.outcomes.fetchOutcome(newer, signal);
  assert.ok(outcome.kind === "included" && outcome.succeeded);
});

test("hub chain: a runtime without what is needed is named, and nothing is made for it until it is replaced (F20)", async ({ hub, chain, log }) => {
  const delivery = await deliveryOf(hub, 10n, post(1n));
  await signed(chain, delivery);
  assert.equal(await chain.runtime?.findUnsupported(signal), undefined);
  await upgrade(hub, { removed: ["Relayer.accumulate_fees"] });
  for (let times = 0; times < 2; times++) {
    await assert.rejects(chain.simulator.simulate(delivery, signal), faultWith("runtime_unsupported"));
  }
  const said = await chain.runtime?.findUnsupported(signal) ?? "";
  assert.match(said, /^runtime gargantua 8401 is another .*Relayer\.accumulate_fees.*; update this program$/);
  await upgrade(hub, {});
  assert.equal(await chain.runtime?.findUnsupported(signal), undefined);
  await signed(chain, delivery);
  assert.deepEqual(log.lines.map((line) => line.event), [
    "runtime_changed.upgraded",
    "runtime_changed.differs",
    "runtime_changed.upgraded",
  ]);
});

test("hub chain: an event that cannot be read, or is of a later kind, is skipped and reported; the others are kept", async ({ hub, chain, log }) => {
  await deliveryOf(hub, 10n, post(1n));
  const { number, hash } = hub.best;
  const meta = { block_hash: hash, transaction_hash: hash, block_number: number };
  const handled = { commitment: hash, relayer: "0x01" };
  const events = [
    { meta, event: { PostRequest: { source: "XXXX" } } },
    { meta, event: { PostRequestHandled: { ...handled, later: 1 } } },
    { meta, event: { Later: {} } },
  ];
  hub.fault = answering("ismp_queryEventsWithMetadata", { [hash]: events });
  const found = await chain.events.fetchEvents(BigInt(number), BigInt(number), signal);
  assert.deepEqual(found.map((event) => event.kind), ["handled"]);
  assert.deepEqual(log.lines.map(({ level, event, fields }) => [level, event, fields.what]), [
    ["warn", "messages_skipped.undecodable", undefined],
    ["warn", "unknown_met", "field later of ISMP event PostRequestHandled"],
    ["warn", "unknown_met", "ISMP event Later"],
  ]);
});
