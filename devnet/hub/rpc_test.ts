import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { ApiPromise, HttpProvider } from "@polkadot/api";
import { fromHex, keccak256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { commitmentOfPost, type PostRequest } from "../../src/core/ismp/message.ts";
import { hubExtrinsicHash } from "./extrinsic.ts";
import { verifyMmrProof } from "../trie/mmr_range.ts";
import { mmrProofCodec } from "../../src/core/ismp/proof.ts";
import { childTrieKey, childTrieKeys, ismpKeys, otherKeys } from "../../src/core/ismp/storage_keys.ts";
import { bytes, decodeStrict, list } from "../../src/core/encoding/scale.ts";
import { readSubstrateProof } from "../../src/core/merkle/substrate_proof.ts";
import { commitSender, post, receiver, sender, startTestHub, submit } from "./deliveries.ts";
import { type Hub, startHub } from "./hub.ts";
import { callHttp, postHttp, resultHttp } from "./json_rpc_client.ts";
import { ownHeaderOf } from "./own_proofs.ts";
import type { OwnHeader } from "./pallets/beefy_proofs.ts";

/** A member of an answer. */
function member(value: unknown, name: string): unknown {
  ok(typeof value === "object" && value !== null, `${name}: no object`);
  return Object.entries(value).find(([key]) => key === name)?.[1];
}

function text(value: unknown): string {
  ok(typeof value === "string");
  return value;
}

function byteArray(value: unknown): Uint8Array {
  ok(Array.isArray(value) && value.every((item) => typeof item === "number"));
  return Uint8Array.from(value);
}

type ApiOptions = NonNullable<Parameters<typeof ApiPromise.create>[0]>;

/** The provider's own type does not fit the interface under exact optional properties. */
function isProvider(value: object): value is NonNullable<ApiOptions["provider"]> {
  return "send" in value && "subscribe" in value;
}

function rootsAt(hub: Hub, height: number): OwnHeader {
  const own = ownHeaderOf(hub.header(height));
  ok(own !== undefined);
  return own;
}

async function deliver(hub: Hub, height: bigint, requests: readonly PostRequest[]): Promise<Uint8Array> {
  const source = await commitSender(hub, height, requests);
  const extrinsic = await source.deliver(requests, { height });
  equal((await submit(hub, extrinsic)).kind, "result");
  hub.produceBlock();
  return extrinsic;
}

Deno.test("hub: MMR proofs at any final height verify against the digest's root", async () => {
  await using hub = await startTestHub();
  const requests = [1n, 2n, 3n, 4n, 5n].map((nonce) => post(nonce));
  for (const [index, request] of requests.entries()) await deliver(hub, 10n + BigInt(index), [request]);
  const height = hub.best.number;
  const commitments = requests.map(commitmentOfPost);
  const wanted = [commitments[3], commitments[0]].map((commitment) => toHash256(commitment ?? ""));
  const early = await callHttp(hub.httpUrl, "mmr_queryProof", [height, { Requests: wanted }]);
  deepEqual(early, {
    kind: "error",
    error: { code: 9876, message: "Error generating mmr proof: GenerateProof", data: undefined },
  });
  hub.produceBlock();
  for (const [at, count] of [[height, 5n], [height - 2, 4n]] as const) {
    const answer = await resultHttp(hub.httpUrl, "mmr_queryProof", [at, { Requests: wanted }]);
    equal(member(answer, "height"), at);
    const proof = decodeStrict(mmrProofCodec, byteArray(member(answer, "proof")), "MmrProof");
    equal(proof.leafCount, count);
    deepEqual(proof.leafIndicesAndPos.map(({ leafIndex }) => leafIndex), [3n, 0n]);
    verifyMmrProof(rootsAt(hub, at).mmrRoot, proof, [
      { index: 0n, hash: toHash256(wanted[1] ?? "") },
      { index: 3n, hash: toHash256(wanted[0] ?? "") },
    ]);
  }
  const unknown = `0x${"ab".repeat(32)}`;
  deepEqual(await callHttp(hub.httpUrl, "mmr_queryProof", [height, { Requests: [unknown] }]), {
    kind: "error",
    error: { code: 9876, message: "Error generating mmr proof: LeafNotFound", data: undefined },
  });
});

Deno.test("hub: child and state proofs verify against the header, presence and absence", async () => {
  await using hub = await startTestHub();
  const request = post(1n);
  await deliver(hub, 10n, [request]);
  const height = hub.best.number;
  const { childTrieRoot: child, stateRoot: state } = rootsAt(hub, height);
  const commitment = commitmentOfPost(request);
  const present = childTrieKeys.requestCommitment(commitment);
  const absent = childTrieKeys.requestReceipt(`0x${"cd".repeat(32)}`);
  const answer = await resultHttp(hub.httpUrl, "ismp_queryChildTrieProof", [
    height,
    [[...present], [...absent]],
  ]);
  const nodes = decodeStrict(list(bytes), byteArray(member(answer, "proof")), "proof");
  const values = readSubstrateProof({ root: child, hasher: "Keccak", nodes, keys: [present, absent] });
  equal(values.get(toHex(present))?.length, 65);
  equal(values.get(toHex(absent)), undefined);
  const hash = hub.best.hash;
  const read = await resultHttp(hub.httpUrl, "childstate_getStorage", [
    toHex(childTrieKey()),
    toHex(present),
    hash,
  ]);
  equal(read, toHex(values.get(toHex(present)) ?? new Uint8Array()));
  const both = await resultHttp(hub.httpUrl, "childstate_getStorageEntries", [
    toHex(childTrieKey()),
    [toHex(absent), toHex(present)],
  ]);
  equal(JSON.stringify(both), JSON.stringify([null, read]));
  const key = otherKeys.timestampNow();
  const plain = await resultHttp(hub.httpUrl, "state_getReadProof", [
    [toHex(key), toHex(childTrieKey())],
    hash,
  ]);
  const proof = member(plain, "proof");
  ok(Array.isArray(proof));
  const main = readSubstrateProof({
    root: state,
    hasher: "Keccak",
    nodes: proof.map((node) => fromHex(text(node))),
    keys: [key, childTrieKey()],
  });
  equal(toHex(main.get(toHex(childTrieKey())) ?? new Uint8Array()), child);
  equal(
    await resultHttp(hub.httpUrl, "state_getStorage", [toHex(key), hash]),
    toHex(main.get(toHex(key)) ?? new Uint8Array()),
  );
});

Deno.test("hub: ismp_queryEvents has every block of the range in no order; with metadata names extrinsics", async () => {
  await using hub = await startTestHub();
  const timeoutTimestampSec = 2n ** 64n - 1n;
  const from = hub.best.number;
  const extrinsic = await deliver(hub, 10n, [post(1n, { timeoutTimestampSec })]);
  for (let index = 0; index < 10; index++) hub.produceBlock();
  const to = hub.best.number;
  const events = await resultHttp(hub.httpUrl, "ismp_queryEvents", [from, to]);
  ok(typeof events === "object" && events !== null);
  const inOrder = await resultHttp(hub.httpUrl, "chain_getBlockHash", [
    Array.from({ length: to - from + 1 }, (_, index) => from + index),
  ]);
  ok(Array.isArray(inOrder));
  notEqual(Object.keys(events).join(), inOrder.join());
  deepEqual(new Set(Object.keys(events)), new Set(inOrder));
  const sent = Object.values(events).flat().find((event) => "PostRequest" in event);
  equal(member(member(sent, "PostRequest"), "timeoutTimestamp"), timeoutTimestampSec);
  const located = Object.values(
    await resultHttp(hub.httpUrl, "ismp_queryEventsWithMetadata", [inOrder[0], inOrder.at(-1)]) ?? {},
  ).flat();
  const handled = located.find((item) => "PostRequestHandled" in Object(member(item, "event")));
  deepEqual(member(handled, "meta"), {
    block_hash: inOrder[2],
    transaction_hash: hubExtrinsicHash(extrinsic),
    block_number: from + 2,
  });
  deepEqual(await resultHttp(hub.httpUrl, "ismp_queryEvents", [to, from]), {});
});

Deno.test("hub: custom reads answer as numbers, and failures are 9876 whatever is missing", async () => {
  await using hub = await startTestHub();
  await commitSender(hub, 10n, []);
  const id = { state_id: "EVM-1", consensus_state_id: "ETH0" };
  const unknown = { state_id: "EVM-7", consensus_state_id: "ETH0" };
  equal(await resultHttp(hub.httpUrl, "ismp_queryStateMachineLatestHeight", [id]), 10);
  equal(await resultHttp(hub.httpUrl, "ismp_queryChallengePeriod", [id]), 0);
  const failures: [string, unknown[], string][] = [
    ["ismp_queryStateMachineLatestHeight", [unknown], "Error fetching latest state machine height"],
    ["ismp_queryChallengePeriod", [unknown], "Error fetching Challenge period"],
    ["ismp_queryEvents", [1, 1000], "Invalid block number provided"],
    ["ismp_queryEvents", [0, 1], "Invalid block number or hash provided"],
    ["ismp_queryStateProof", [1000, []], "Could not find valid blockhash for provided height"],
    ["mmr_queryProof", [1000, { Requests: [] }], "invalid block height provided"],
    ["ismp_queryChildTrieProof", [1, [[1]]], "Child trie root storage returned None"],
  ];
  for (const [method, params, message] of failures) {
    const error = { code: 9876, message, data: undefined };
    deepEqual(await callHttp(hub.httpUrl, method, params), { kind: "error", error }, method);
  }
  const hex = await callHttp(hub.httpUrl, "ismp_queryStateProof", [1, ["0x00"]]);
  equal(hex.kind === "error" && hex.error.code, -32602);
  deepEqual(
    await resultHttp(hub.httpUrl, "ismp_queryRequests", [[{ commitment: `0x${"ab".repeat(32)}` }]]),
    [],
  );
});

Deno.test("hub: state of blocks outside of the window is pruned, headers stay", async () => {
  await using hub = await startTestHub({ historyBlocks: 4 });
  const old = hub.best.hash;
  for (let index = 0; index < 4; index++) hub.produceBlock();
  deepEqual(await callHttp(hub.httpUrl, "state_getStorage", [toHex(otherKeys.timestampNow()), old]), {
    kind: "error",
    error: {
      code: 4003,
      message: `Client error: UnknownBlock: State already discarded for ${old}`,
      data: undefined,
    },
  });
  notEqual(await resultHttp(hub.httpUrl, "chain_getHeader", [old]), null);
  equal(await resultHttp(hub.httpUrl, "chain_getBlock", [old]), null);
  const events = await callHttp(hub.httpUrl, "ismp_queryEvents", [1, 2]);
  equal(events.kind === "error" && events.error.code, 9876);
});

Deno.test("hub: keys of storage come page by page", async () => {
  await using hub = await startTestHub();
  const key = toHex(ismpKeys.challengePeriod(sender));
  const prefix = key.slice(0, 66);
  const all = await resultHttp(hub.httpUrl, "state_getKeysPaged", [prefix, 10, null, null]);
  ok(Array.isArray(all) && all.length === 2 && all.includes(key));
  deepEqual(await resultHttp(hub.httpUrl, "state_getKeysPaged", [prefix, 10, all[0], null]), all.slice(1));
  ok(!all.includes(toHex(ismpKeys.challengePeriod({ ...receiver, stateMachine: sender.stateMachine }))));
});

Deno.test("hub: JSON-RPC batches, unknown methods and malformed requests", async () => {
  await using hub = await startTestHub();
  const answers = await postHttp(hub.httpUrl, [
    { jsonrpc: "2.0", id: 1, method: "system_chain" },
    { jsonrpc: "2.0", id: "two", method: "no_such" },
    { jsonrpc: "2.0", method: "system_chain" },
    { id: 3 },
  ]);
  ok(Array.isArray(answers));
  deepEqual(answers.map((answer) => member(answer, "id")), [1, "two", null]);
  deepEqual(answers.map((answer) => member(member(answer, "error") ?? {}, "code")), [
    undefined,
    -32601,
    -32600,
  ]);
  equal(member(member(await postHttp(hub.httpUrl, []), "error"), "code"), -32600);
});

Deno.test("hub: stops and starts on the same port with the same state", async () => {
  await using hub = await startHub({ blockTimeMs: 20 });
  const { httpUrl } = hub;
  const socket = new WebSocket(hub.wsUrl);
  const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  const { number, hash } = hub.best;
  await hub.stop();
  await closed;
  await rejects(callHttp(httpUrl, "system_chain"), TypeError);
  await hub.start();
  equal(hub.httpUrl, httpUrl);
  equal(await resultHttp(httpUrl, "chain_getBlockHash", [number]), hash);
  await hub.setChallengePeriod(sender, 1n);
  ok(hub.best.number > number);
});

Deno.test("hub: faults on demand replace results, and drop connections before or after the call", async () => {
  await using hub = await startTestHub();
  hub.fault = ({ method }) => method === "system_chain" ? { kind: "result", result: 7 } : undefined;
  equal(await resultHttp(hub.httpUrl, "system_chain"), 7);
  equal((await callHttp(hub.httpUrl, "chain_getFinalizedHead")).kind, "result");
  hub.fault = () => ({ kind: "drop" });
  await rejects(callHttp(hub.httpUrl, "system_chain"));
  equal(hub.callCounts.get("system_chain"), undefined);
  hub.fault = () => ({ kind: "drop", afterCall: true });
  await rejects(callHttp(hub.httpUrl, "system_chain"));
  ok((hub.callCounts.get("system_chain") ?? 0) > 0);
});

Deno.test({
  name: "hub: @polkadot/api connects, reads storage and decodes every event",
  // The library keeps two timers for some seconds after disconnect(): the last test, so that they end in no other.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using hub = await startTestHub();
    const provider: object = new HttpProvider(hub.httpUrl);
    ok(isProvider(provider));
    const api = await ApiPromise.create({ provider, noInitWarn: true });
    try {
      equal(api.runtimeVersion.specName.toString(), "gargantua");
      equal(api.runtimeVersion.specVersion.toNumber(), 8400);
      const extrinsic = await deliver(hub, 10n, [post(1n)]);
      const events = await api.query["system"]?.["events"]?.();
      const names = JSON.parse(JSON.stringify(events?.toHuman())).map((record: unknown) => {
        const event = member(record, "event");
        return `${text(member(event, "section"))}.${text(member(event, "method"))}`;
      });
      deepEqual(names, [
        "system.ExtrinsicSuccess",
        "ismp.Request",
        "ismp.PostRequestHandled",
        "system.ExtrinsicSuccess",
      ]);
      const latest = await api.query["ismp"]?.["latestStateMachineHeight"]?.({
        stateId: { Evm: 1 },
        consensusStateId: "ETH0",
      });
      equal(latest?.toString(), "10");
      const block = await api.rpc.chain.getBlock();
      deepEqual(block.block.extrinsics.map((item) => `${item.method.section}.${item.method.method}`), [
        "timestamp.set",
        "ismp.handleUnsigned",
      ]);
      equal(block.block.extrinsics[1]?.toHex(), toHex(extrinsic));
      equal(toHash256(keccak256(block.block.header.toU8a())), hub.best.hash);
    } finally {
      await api.disconnect();
    }
  },
});
