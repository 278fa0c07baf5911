import assert from "node:assert/strict";
import { fromHex, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { BEEFY_ENGINE, decodeBeefyJustification } from "../../src/core/beefy/commitment.ts";
import {
  finalityProofCodec,
  GRANDPA_ENGINE,
  grandpaAuthoritiesCodec,
  scheduledAuthorities,
} from "../../src/consensus/clients/grandpa/spec/message.ts";
import {
  decodeGrandpaJustification,
  verifyGrandpaJustification,
} from "../../src/consensus/clients/grandpa/spec/verify_justification.ts";
import { decodeHeadData, parachainHeadKey, provenHeads } from "../../src/core/substrate/parachain_heads.ts";
import { decodeSubstrateHeader, readSlot } from "../../src/core/substrate/header.ts";
import { decodeStrict, list, u32, u64 } from "../../src/core/encoding/scale.ts";
import { encodeHeader } from "../hub/digest.ts";
import { callHttp, resultHttp } from "../hub/json_rpc_client.ts";
import { type RelayChainNode, startRelayChain } from "./relay_chain.ts";
import { connectRelay } from "./relay_reader.ts";
import { relayKeys } from "./relay_state.ts";
import { runAtOnce } from "./run_at_once.ts";

const { signal } = new AbortController();

function ask(node: RelayChainNode, method: string, ...params: readonly unknown[]): Promise<unknown> {
  return resultHttp(node.httpUrl, method, params);
}

/** Code of the error that a method answers with. */
async function codeOf(node: RelayChainNode, method: string, ...params: readonly unknown[]): Promise<number> {
  const answer = await callHttp(node.httpUrl, method, params);
  assert.ok(answer.kind === "error", `${method} succeeded`);
  return answer.error.code;
}

/** A block's value as the node serves it. */
async function stored(node: RelayChainNode, key: Uint8Array, block: number): Promise<Uint8Array> {
  return fromHex(String(await ask(node, "state_getStorage", toHex(key), node.hash(block))));
}

Deno.test("relay chain: a new session's first block announces its set and is finalized by the one before", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual", validators: 10 });
  node.produceBlocks(5);
  const before = node.session;
  const { number } = node.rotate();
  node.produceBlocks(4);
  assert.deepEqual(node.session, {
    index: 1,
    grandpaSetId: before.grandpaSetId + 1n,
    beefySetId: before.beefySetId + 1n,
    firstBlock: number,
  });
  const authorities = async (block: number): Promise<ReturnType<typeof grandpaAuthoritiesCodec.dec>> => {
    const answer = await ask(node, "state_call", "GrandpaApi_grandpa_authorities", "0x", node.hash(block));
    return decodeStrict(grandpaAuthoritiesCodec, fromHex(String(answer)), "AuthorityList");
  };
  const setId = async (block: number): Promise<bigint> =>
    decodeStrict(u64, await stored(node, relayKeys.grandpaSetId, block), "SetId");
  const [old, fresh] = [await authorities(number - 1), await authorities(number)];
  assert.notDeepEqual(old, fresh);
  assert.deepEqual(scheduledAuthorities(decodeSubstrateHeader(encodeHeader(node.header(number)))), fresh);
  assert.equal(await setId(number), await setId(number - 1) + 1n);
  assert.equal(decodeStrict(u64, await stored(node, relayKeys.beefySetId, number), "SetId"), 11n);
  const verify = (block: number, set: typeof old, id: bigint): void =>
    runAtOnce(
      verifyGrandpaJustification(decodeGrandpaJustification(node.grandpaJustification(block)), set, id),
    );
  verify(number, old, before.grandpaSetId);
  verify(number + 1, fresh, before.grandpaSetId + 1n);
  assert.throws(() => verify(number, fresh, before.grandpaSetId + 1n));
  const beefy = decodeBeefyJustification(node.beefyJustification(number)).commitment;
  assert.equal(beefy.validatorSetId, before.beefySetId + 1n);
});

Deno.test("relay chain: sessions end by themselves where a length is given", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual", sessionBlocks: 6 });
  node.produceBlocks(20 - node.best.number);
  assert.deepEqual([5, 6, 11, 12, 18].map((block) => node.sessionOf(block).index), [0, 1, 1, 2, 3]);
});

Deno.test("relay chain: grandpa_proveFinality proves by the last block of a set, or by the newest block", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual", finalityLag: 2 });
  node.produceBlocks(5);
  const { number: change } = node.rotate();
  node.produceBlocks(6);
  const prove = async (block: number): Promise<readonly [hash: string, headers: readonly number[]]> => {
    const proof = decodeStrict(
      finalityProofCodec,
      fromHex(String(await ask(node, "grandpa_proveFinality", block))),
      "FinalityProof",
    );
    assert.equal(decodeGrandpaJustification(proof.justification).commit.targetHash, proof.block);
    return [proof.block, proof.unknownHeaders.map(({ number }) => number)];
  };
  assert.deepEqual(await prove(change - 2), [node.hash(change), [change - 1, change]]);
  assert.deepEqual(await prove(change), [node.hash(change), []]);
  const newest = node.finalized.number;
  assert.deepEqual(await prove(newest - 1), [node.hash(newest), [newest]]);
  assert.equal(await codeOf(node, "grandpa_proveFinality", newest + 1), 4);
  assert.equal(await codeOf(node, "grandpa_proveFinality", 0), 4);
  // A set that has ended, but not in a final block, still votes.
  node.produceBlocks(1);
  node.rotate();
  assert.deepEqual(await prove(node.finalized.number), [node.finalized.hash, []]);
});

Deno.test("relay chain: blocks show the justifications that a node keeps, as lists of numbers", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual", grandpaPeriod: 8, beefyPeriod: 3 });
  node.produceBlocks(6);
  const { number: change } = node.rotate();
  node.produceBlocks(12);
  await using relay = connectRelay(node.wsUrl);
  const kept: Record<string, number[]> = { [GRANDPA_ENGINE]: [], [BEEFY_ENGINE]: [] };
  for (let number = 0; number <= node.best.number; number++) {
    const [hash, { justifications }] = [
      node.hash(number),
      Object(await ask(node, "chain_getBlock", node.hash(number))),
    ];
    assert.ok(justifications === null || Array.isArray(justifications[0][0]));
    for (const [engine, blocks] of Object.entries(kept)) {
      const found = await relay.chain.fetchJustification(hash, engine, signal);
      if (found !== undefined) blocks.push(number);
    }
  }
  const isFinal = (number: number): boolean => number <= node.finalized.number;
  assert.deepEqual(kept[GRANDPA_ENGINE], [8, change, 16, 24].filter(isFinal).sort((a, b) => a - b));
  assert.deepEqual(
    kept[BEEFY_ENGINE],
    [6, 9, 12, change, 15, 18, 21, 24].filter(isFinal).sort((a, b) => a - b),
  );
  assert.equal(await ask(node, "beefy_getFinalizedHead"), node.hash(kept[BEEFY_ENGINE]?.at(-1) ?? 0));
});

Deno.test("relay chain: votes on several blocks are valid for GRANDPA and carry the headers between", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual", splitVotes: (block) => block % 2 === 0 });
  node.produceBlocks(4);
  const number = node.finalized.number - node.finalized.number % 2;
  const { commit, votesAncestries } = decodeGrandpaJustification(node.grandpaJustification(number));
  assert.equal(commit.targetHash, node.hash(number));
  assert.deepEqual(
    new Set(commit.precommits.map(({ targetHash }) => targetHash)),
    new Set([
      node.hash(number),
      node.hash(number + 1),
    ]),
  );
  assert.deepEqual(votesAncestries.map(({ number: height }) => height), [number + 1]);
});

Deno.test("relay chain: heads of parachains are in the state of each block, and proved by it", async () => {
  let height = 1;
  const head = (): Uint8Array => encodeHeader({ ...node0.header(1), number: height });
  await using node0 = await startRelayChain({ blockTimeMs: "manual" });
  await using node = await startRelayChain({ blockTimeMs: "manual", heads: () => new Map([[4009, head()]]) });
  height = 77;
  const block = node.produceBlocks();
  await using relay = connectRelay(node.wsUrl);
  const nodes = await relay.chain.fetchReadProof(
    [1000, 4009, 5].map((id) => parachainHeadKey(id)),
    toHash256(block.hash),
    signal,
  );
  const heads = provenHeads(nodes, node.header(block.number).stateRoot, [1000, 4009, 5]);
  const hubHead = heads.get(4009);
  assert.ok(hubHead && heads.get(1000) !== undefined);
  assert.equal(decodeSubstrateHeader(decodeHeadData(hubHead)).number, 77);
  assert.equal(heads.get(5), undefined);
  const listed = decodeStrict(
    list(u32),
    await stored(node, relayKeys.parachains, block.number),
    "Parachains",
  );
  assert.deepEqual(listed, [1000, 1002, 2999, 4100]);
  const slot = readSlot(decodeSubstrateHeader(encodeHeader(node.header(block.number))));
  assert.ok(slot !== undefined && slot > 0n);
});

Deno.test("relay chain: methods can be missing, BEEFY not ready, and answers untrue; calls are counted", async () => {
  await using node = await startRelayChain({
    blockTimeMs: "manual",
    missingMethods: ["state_getKeysPaged", "mmr_generateProof"],
    beefyReady: false,
  });
  assert.equal(await codeOf(node, "state_getKeysPaged", "0x", 1), -32601);
  assert.equal(await codeOf(node, "mmr_generateProof", [5], 5), -32601);
  const { methods } = Object(await ask(node, "rpc_methods"));
  assert.ok(methods.includes("beefy_getFinalizedHead") && !methods.includes("state_getKeysPaged"));
  assert.equal(await codeOf(node, "beefy_getFinalizedHead"), 1);
  node.beefyReady = true;
  node.missingMethods = new Set();
  assert.equal(await ask(node, "beefy_getFinalizedHead"), node.beefyFinalized.hash);
  assert.equal((await ask(node, "state_getKeysPaged", "0x", 1) as unknown[]).length, 1);
  node.alter = ({ method }, result) => method === "system_chain" ? `Not ${result}` : result;
  assert.equal(await ask(node, "system_chain"), "Not Paseo devnet");
  node.alter = undefined;
  assert.equal(await ask(node, "system_chain"), "Paseo devnet");
  assert.equal(node.callCounts.get("system_chain"), 2);
  assert.equal(node.callCounts.get("state_getKeysPaged"), 1);
  assert.equal(await codeOf(node, "mmr_generateProof", [2], 5), 8001);
});

Deno.test("relay chain: a node that keeps few states says so of older blocks, whose headers it has", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual", keepStates: 4 });
  node.produceBlocks(6);
  const { number } = node.best;
  const key = toHex(relayKeys.mmrLeafCount);
  assert.equal(typeof await ask(node, "state_getStorage", key, node.hash(number - 3)), "string");
  assert.equal(await codeOf(node, "state_getStorage", key, node.hash(number - 4)), 4003);
  assert.ok(await ask(node, "chain_getHeader", node.hash(number - 4)));
});
