// The prover of OP stack chains with nodes that lie, lag, forget, or belong to another chain: nothing wrong is ever
// offered, and the endpoint is named where its answer can be distinguished from the truth.
import assert from "node:assert/strict";
import { createTestClient, http } from "viem";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { startAnvil } from "../../../../devnet/evm/anvil.ts";
import { gameTypes } from "../../../../devnet/evm/rollup_games.ts";
import { alteringFetch, fetchWithout } from "../../../support/altered_answers.ts";
import { hostOf, never, outcomeOf, relay } from "../../rollup/fixture.ts";
import { updatesOf } from "../../findings.ts";
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

test("op stack: a rollup endpoint without proofs is distinguished from a false claim", async (fixture) => {
  await fixture.propose();
  assert.match(
    await outcomeOf(fixture.prover({ l2Transport: fetchWithout("eth_getProof") })),
    /^nothing: .*l2_state_not_served/,
  );
  updatesOf(await fixture.prover().next(never));
});

test("op stack: no endpoint's word on a game's height alone ends the game", async (fixture) => {
  const { hub, nodes } = fixture;
  await fixture.propose();
  await relay(hub, fixture.prover());
  const mineL2 = async (node: { readonly rpcUrl: string }, seconds: number): Promise<void> => {
    const client = createTestClient({ mode: "anvil", transport: http(node.rpcUrl) });
    await client.increaseTime({ seconds });
    await client.mine({ blocks: 1 });
  };
  // Another chain whose first block was the newest at any second of today.
  await using stranger = await startAnvil({ chainId: 11155420, genesisTimestampSec: 1_600_000_000 });
  await mineL2(stranger, 10);
  await mineL2(stranger, 2_000_000_000);
  let isLying = true;
  const saysBlock0 = alteringFetch((method, result) =>
    method === "eth_call" && String(result).length === 194
      ? `${String(result).slice(0, 130)}${"0".repeat(64)}`
      : result
  );
  const lies = [
    [gameTypes.fault, {
      l1Transport: (...request) => (isLying ? saysBlock0 : platformFetch)(...request),
    }],
    [gameTypes.superFault, {
      l2Transport: (url, init) => platformFetch(isLying ? stranger.rpcUrl : url, init),
    }],
  ] as const satisfies readonly (readonly [number, Parameters<typeof fixture.prover>[0]])[];
  for (const [gameType, lie] of lies) {
    for (let block = 0; block < 2; block++) await mineL2(nodes.l2, 10);
    const { l2Height } = await fixture.propose({ gameType });
    const prover = fixture.prover(lie);
    isLying = true;
    await outcomeOf(prover);
    isLying = false;
    // Where its data of the L1 was untrue, it is read again first.
    await outcomeOf(prover).catch(() => undefined);
    assert.equal(await relay(hub, prover), l2Height, String(gameType));
  }
});
