// The prover of OP stack chains with nodes that lie, lag, forget, or belong to another chain: nothing wrong is ever
// offered, and the endpoint is named where its answer can be distinguished from the truth.
import assert from "node:assert/strict";
import { createTestClient, http } from "viem";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { startAnvil } from "../../../../devnet/evm/anvil.ts";
import { type AlterAnswer, alteringFetch, fetchWithout } from "../../../support/altered_answers.ts";
import { headerFields, lieAbout, nudge } from "../../rollup/lies.ts";
import { hostOf, outcomeOf } from "../../rollup/outcome.ts";
import { updatesOf } from "../../findings.ts";
import { never, relay } from "../../rollup/fixture.ts";
import { onFixture } from "./fixture.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

test("op stack: an L1 endpoint that lies about any part of a game is found out and named", async (fixture) => {
  const { hub, nodes } = fixture;
  const game = await fixture.propose();
  const named = `bad_data EVM-11155111 ${hostOf(nodes.l1.rpcUrl)}`;
  const lies: readonly AlterAnswer[] = [
    lieAbout("eth_getLogs", "*.topics.1"),
    lieAbout("eth_getLogs", "*.topics.2", (topic) => `${topic.slice(0, -3)}26d`),
    lieAbout("eth_getLogs", "*.topics.3"),
    lieAbout("eth_getLogs", "*.data", () => "0x00"),
    lieAbout("eth_getLogs", "*.address", () => "0x"),
    lieAbout("eth_getBlockByNumber", "stateRoot"),
    // The time of creation, whatever it is, is a word; the extra data, which are more, end in block 1.
    lieAbout("eth_call", "", (word) => word.length === 66 ? nudge(word) : word),
    lieAbout("eth_call", "", (bytes) => bytes.length > 66 ? `${bytes.slice(0, -1)}0` : bytes),
    lieAbout("eth_call", "", () => "0x1234"),
    lieAbout("eth_getProof", "accountProof.0"),
    lieAbout("eth_getProof", "accountProof.1"),
    lieAbout("eth_getProof", "storageHash"),
    lieAbout("eth_getProof", "storageProof.0.proof.0"),
    lieAbout("eth_getProof", "storageProof.1.proof.0"),
    (method, result) => method === "eth_getProof" ? { ...Object(result), accountProof: [] } : result,
    (method, result) => method === "eth_getProof" ? { ...Object(result), storageProof: [] } : result,
  ];
  for (const [index, lie] of lies.entries()) {
    const outcome = await outcomeOf(fixture.prover({ l1Transport: alteringFetch(lie) }));
    // A made up address of a game cannot be asked for anything: it reads as a game that does not tell.
    if (index === 0) assert.match(outcome, /^nothing|^bad_data/, `lie ${index}`);
    else assert.equal(outcome, named, `lie ${index}`);
  }
  // A log that is left out hides a game, which costs time and nothing else.
  const hiding: AlterAnswer = (method, result) => method === "eth_getLogs" ? [] : result;
  assert.match(await outcomeOf(fixture.prover({ l1Transport: alteringFetch(hiding) })), /^nothing/);
  assert.equal(await relay(hub, fixture.prover()), game.l2Height);
});

test("op stack: an endpoint of the rollup that lies about a header or a proof is found out and named", async (fixture) => {
  const { hub, nodes } = fixture;
  const game = await fixture.propose();
  const named = `bad_data EVM-11155420 ${hostOf(nodes.l2.rpcUrl)}`;
  for (const field of headerFields) {
    const lie = lieAbout("eth_getBlockByNumber", field);
    assert.equal(await outcomeOf(fixture.prover({ l2Transport: alteringFetch(lie) })), named, field);
  }
  for (const path of ["accountProof.0", "accountProof.1", "storageHash"]) {
    const lie = lieAbout("eth_getProof", path);
    assert.equal(await outcomeOf(fixture.prover({ l2Transport: alteringFetch(lie) })), named, path);
  }
  assert.equal(await relay(hub, fixture.prover()), game.l2Height);
});

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
