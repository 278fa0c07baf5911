/** What the reader of a relay chain does about nodes that do not offer everything, or not at once. */
import assert from "node:assert/strict";
import { RelayChain } from "../../../src/consensus/relay_chain/relay_chain.ts";
import { EndpointUrl } from "../../../src/core/config/redact.ts";
import { fromHex } from "../../../src/core/encoding/bytes.ts";
import { relayBeefyKeys } from "../../../src/consensus/clients/beefy/spec/relay_storage.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { platformSocket } from "../../../src/core/rpc/socket.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { type RelayChainNode, startRelayChain } from "../../../devnet/relay/relay_chain.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";

const never = new AbortController().signal;

function read(node: RelayChainNode): AsyncDisposable & { readonly chain: RelayChain } {
  const deps = { clock: systemClock, randomness: fixedRandomness(0), openSocket: platformSocket };
  const chain = new RelayChain(deps, "relay chain", { rpcWs: new EndpointUrl(node.wsUrl) });
  return { chain, [Symbol.asyncDispose]: () => chain.close() };
}

Deno.test("relay chain: a node without state_queryStorageAt is read key by key, and asked for it once", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual" });
  await using reader = read(node);
  const { chain } = reader;
  const { hash } = node.best;
  const keys = [relayBeefyKeys.leafCount, fromHex("0x1234"), relayBeefyKeys.nextSet];
  const honest = await chain.fetchStorage(keys, hash, never);
  assert.deepEqual(honest.map((value) => value === undefined), [false, true, false]);
  assert.deepEqual(await chain.fetchStorage([], hash, never), []);
  const [before] = await chain.fetchStorage(keys.slice(0, 1), node.hash(node.best.number - 1), never);
  assert.notDeepEqual(before, honest[0]);
  let refusals = 0;
  node.fault = ({ method }) => {
    if (method !== "state_queryStorageAt") return undefined;
    refusals++;
    return { kind: "error", code: -32601, message: "Method not found" };
  };
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(await chain.fetchStorage(keys, hash, never), honest);
  }
  assert.equal(refusals, 1);
});

Deno.test("relay chain: a header with more digest items than any honest one is refused before they are read", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual" });
  await using reader = read(node);
  const { chain } = reader;
  assert.ok((await chain.fetchBlock(node.best.hash, never)).header.digest.length > 0);
  node.alter = ({ method }, result) =>
    method === "chain_getHeader"
      ? { ...Object(result), digest: { logs: new Array<string>(100_001).fill("0x") } }
      : result;
  await assert.rejects(
    chain.fetchBlock(node.best.hash, never),
    (error) =>
      error instanceof RpcFault && error.code === "oversized" && /more than \d+ values/.test(error.message),
  );
});

Deno.test("relay chain: blocks that do not fit into an answer are asked for in smaller parts from then on", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual" });
  await using reader = read(node);
  node.produceBlocks(20);
  const hashes = (await reader.chain.fetchBlocks(5, 20, never)).map(({ hash }) => hash);
  const honest = await reader.chain.fetchJustifications(hashes, "BEEF", never);
  assert.ok(honest.some((each) => each !== undefined));
  const asked = (): number => node.callCounts.get("chain_getBlock") ?? 0;
  let refusals = 0;
  const start = asked();
  // A node whose answers end after the ninth block, twice.
  node.fault = ({ method }) => {
    if (method !== "chain_getBlock" || refusals === 2 || (asked() - start) % 9 !== 0) return undefined;
    refusals++;
    return { kind: "error", code: -32008, message: "Response is too big" };
  };
  assert.deepEqual(await reader.chain.fetchJustifications(hashes, "BEEF", never), honest);
  assert.equal(refusals, 2);
  node.fault = ({ method }) =>
    method === "chain_getBlock" ? { kind: "error", code: -32008, message: "Response is too big" } : undefined;
  await assert.rejects(
    reader.chain.fetchJustifications(hashes, "BEEF", never),
    { name: "RpcFault", code: "too_large" },
  );
});
