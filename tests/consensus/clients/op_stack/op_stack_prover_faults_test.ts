// The prover of OP stack chains with nodes that lie, lag, forget, or belong to another chain: nothing wrong is ever
// offered, and the endpoint is named where its answer can be distinguished from the truth.
import assert from "node:assert/strict";
import { createTestClient, http } from "viem";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { startAnvil } from "../../../../devnet/evm/anvil.ts";
import { fetchWithout } from "../../../support/altered_answers.ts";
import { hostOf, outcomeOf } from "../../rollup/outcome.ts";
import { updatesOf } from "../../findings.ts";
import { never, relay } from "../../rollup/fixture.ts";
import { onFixture } from "./fixture.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

test("op stack: an endpoint on another rollup or another L1 is named, and the next one is used", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  await contracts.proposeOutput(nodes.l2);
  const l1Height = await fixture.advanceL1();
  await using stranger = await startAnvil({ chainId: 11155111, genesisTimestampSec: 1_700_000_000 });
  const node = createTestClient({ mode: "anvil", transport: http(stranger.rpcUrl) });
  assert.equal(
    await outcomeOf(fixture.prover({ l1Urls: [stranger.rpcUrl] })),
    `lagging ${hostOf(stranger.rpcUrl)}`,
  );
  await node.mine({ blocks: Number(l1Height) + 5 });
  const named = `bad_data EVM-11155111 ${hostOf(stranger.rpcUrl)}`;
  assert.equal(await outcomeOf(fixture.prover({ l1Urls: [stranger.rpcUrl] })), named);
  const wrongChain = `bad_data EVM-11155111 ${hostOf(nodes.l2.rpcUrl)}`;
  assert.equal(await outcomeOf(fixture.prover({ l1Urls: [nodes.l2.rpcUrl] })), wrongChain);
  await relay(hub, fixture.prover({ l1Urls: [stranger.rpcUrl, nodes.l2.rpcUrl, nodes.l1.rpcUrl] }));
});

test("op stack: an L1 whose head fell below what the hub knows is waited for", async (fixture) => {
  const { contracts, hub, nodes } = fixture;
  const node = createTestClient({ mode: "anvil", transport: http(nodes.l1.rpcUrl) });
  const prover = fixture.prover();
  const before = await node.snapshot();
  const game = await fixture.propose();
  await node.revert({ id: before });
  await assert.rejects(
    prover.next(never),
    { name: "RpcFault", code: "lagging" },
  );
  // The same transaction again, in a block of another time: another fork than the one that the hub followed.
  await node.increaseTime({ seconds: 1000 });
  await contracts.proposeOutput(nodes.l2);
  await node.mine({ blocks: 1 });
  assert.equal(await outcomeOf(prover), `bad_data EVM-11155111 ${hostOf(nodes.l1.rpcUrl)}`);
  await fixture.advanceL1();
  await relay(hub, fixture.prover());
  assert.equal(await hub.fetchLatestHeight(prover.commitmentId), game.l2Height);
});

test("op stack: without the state of the L1 block nothing can be proved, until an endpoint has it", async (fixture) => {
  const { hub, nodes } = fixture;
  const game = await fixture.propose();
  let isPruned = true;
  const transport: typeof platformFetch = async (url, init) => {
    const body: unknown = JSON.parse(String(init.body));
    const calls = Array.isArray(body) ? body : [body];
    if (!isPruned || !calls.some(({ method }) => method === "eth_getProof")) {
      return await platformFetch(url, init);
    }
    const answers = calls.map(({ id }) => ({
      jsonrpc: "2.0",
      id,
      error: { code: -32000, message: "missing trie node 5ab1 (path ) state 0x12 is not available" },
    }));
    return Response.json(Array.isArray(body) ? answers : answers[0]);
  };
  const prover = fixture.prover({ l1Transport: transport });
  for (let look = 0; look < 2; look++) {
    assert.equal(await outcomeOf(prover), `pruned ${hostOf(nodes.l1.rpcUrl)}`);
  }
  isPruned = false;
  assert.equal(await relay(hub, prover), game.l2Height);
});

test("op stack: a rollup endpoint without proofs is distinguished from a false claim", async (fixture) => {
  await fixture.propose();
  assert.match(
    await outcomeOf(fixture.prover({ l2Transport: fetchWithout("eth_getProof") })),
    /^nothing: .*l2_state_not_served/,
  );
  updatesOf(await fixture.prover().next(never));
});
