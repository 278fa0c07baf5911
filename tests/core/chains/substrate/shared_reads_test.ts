/** What the legs of many chains read of the hub when they poll: as much as for one chain. */
import assert from "node:assert/strict";
import { Runtimes } from "../../../../src/core/chains/substrate/node.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { u64 } from "../../../../src/core/encoding/scale.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { ismpKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import { SocketEndpoint } from "../../../../src/core/rpc/socket.ts";
import { SubstrateClient } from "../../../../src/core/rpc/substrate_client.ts";
import { translateSubstrateError } from "../../../../src/core/rpc/substrate_errors.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { hubMetadata } from "../../../support/hub_vectors.ts";
import { ScriptedError, ScriptedNode } from "../../../support/scripted_socket.ts";
import { fixedRandomness } from "../../../support/seeded_randomness.ts";
import { startTestHub } from "../../../../devnet/hub/deliveries.ts";
import { connect } from "./hub_connection.ts";
import { blockHashes, hashOf, headerJson, scriptHub } from "./scripted_hub.ts";

const { signal } = new AbortController();
const chains = [1, 10, 56, 100, 8453].map((id) => ({
  stateMachine: parseStateMachine(`EVM-${id}`),
  consensusStateId: toConsensusStateId("ETH0"),
}));

Deno.test("the views and accepted proofs of all chains are read at once, and again at the next poll", async () => {
  const [first] = chains;
  assert.ok(first);
  let height = 5n;
  const { chain, clock, node, run, trips } = scriptHub({
    chain_getFinalizedHead: () => hashOf("b9"),
    chain_getBlockHash: blockHashes(9),
    chain_getHeader: () => headerJson(9),
    state_queryStorageAt: (keys) => {
      const known = new Set(chains.map((id) => toHex(ismpKeys.latestStateMachineHeight(id))));
      assert.ok(Array.isArray(keys));
      const value = toHex(u64.enc(height));
      return [{ block: hashOf("b9"), changes: keys.map((key) => [key, known.has(key) ? value : null]) }];
    },
  });
  const poll = (): Promise<unknown[]> =>
    run(Promise.all([
      ...chains.map(async (id) => (await chain.reads.fetchView(id, signal)).height),
      ...chains.map(() => chain.acceptedProofs.fetchAcceptedIndex(signal)),
    ]));
  await poll();
  clock.jump(1_000);
  trips();
  height = 6n;
  const found = await poll();
  assert.deepEqual(found.slice(0, chains.length), chains.map(() => 6n));
  assert.equal(trips(), 1, "one request for all views and lists");

  clock.jump(1_000);
  const gone = new AbortController();
  const abandoned = run(chain.reads.fetchView(first, gone.signal));
  gone.abort(new Error("the caller is gone"));
  await assert.rejects(abandoned, /the caller is gone/);
  assert.equal((await run(chain.reads.fetchView(first, signal))).height, 6n);

  clock.jump(1_000);
  node.answer("state_queryStorageAt", () => {
    throw new ScriptedError(-32000, "busy");
  });
  await assert.rejects(poll(), RpcFault);
});

Deno.test("the events of a range are read once for all legs that reach it at the same time, and again later", async () => {
  await using hub = await startTestHub();
  const clock = new FakeClock();
  await using connection = connect(hub, {}, { clock });
  while (hub.best.number < 12) hub.produceBlock();
  const read = (to: bigint): Promise<unknown[]> =>
    Promise.all(chains.map(() => connection.chain.events.fetchEvents(5n, to, signal)));
  const counts: (number | undefined)[] = [];
  for (const [to, laterMs] of [[9n, 0], [9n, 900], [10n, 0], [10n, 1_100]] as const) {
    clock.jump(laterMs);
    await read(to);
    counts.push(hub.callCounts.get("ismp_queryEventsWithMetadata"));
  }
  assert.deepEqual(counts, [1, 1, 2, 3]);
});

Deno.test("a runtime that several wait for is loaded whoever of them gives up", async () => {
  const { metadata, specName, specVersion } = hubMetadata("nexus-head");
  const clock = new FakeClock();
  const node = new ScriptedNode({
    state_getRuntimeVersion: () => ({ specName, specVersion }),
    state_getMetadata: () => clock.sleep(5_000, signal).then(() => toHex(metadata)),
  });
  const deps = { clock, randomness: fixedRandomness(0), openSocket: node.open };
  const chain = "POLKADOT-3367";
  const endpoint = new SocketEndpoint(deps, {
    url: "ws://node.example",
    chain,
    translate: translateSubstrateError,
  });
  const runtimes = new Runtimes(new SubstrateClient(deps, endpoint, chain), chain, "hub");
  const gone = new AbortController();
  const abandoned = assert.rejects(runtimes.current(gone.signal), /the check is over/);
  await clock.settle();
  const other = runtimes.current(signal);
  await clock.advance(1_000);
  gone.abort(new Error("the check is over"));
  await abandoned;
  assert.equal((await clock.run(other)).version.specVersion, specVersion);
  assert.equal(node.exchanges.filter(({ methods }) => methods.includes("state_getMetadata")).length, 1);
  await endpoint.close();
});
