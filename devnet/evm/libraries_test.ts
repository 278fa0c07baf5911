// The two proof libraries of the contracts against known answers, on a real EVM.
import assert from "node:assert/strict";
import { encodeFunctionData, type Hex, keccak256, numberToHex, toFunctionSelector } from "viem";
import mmrAnswers from "../../tests/vectors/evm-mmr-proofs.json" with { type: "json" };
import trieAnswers from "../../tests/vectors/hub-mmr-and-tries.json" with { type: "json" };
import { LIBRARY_HARNESS_ABI } from "./abi.ts";
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { startAnvil } from "./anvil.ts";
import { type CallOutcome, callRaw } from "./call.ts";
import { compileContracts } from "./compile.ts";
import { deployIsmpHost, type IsmpHost } from "./deploy.ts";
import { hex } from "./known_run.ts";

interface Leaf {
  readonly index: bigint;
  readonly hash: Hex;
}

interface Harness extends AsyncDisposable {
  root(items: readonly Hex[], leaves: readonly Leaf[], leafCount: bigint): Promise<CallOutcome>;
  lookup(root: Hex, proof: readonly Hex[], key: Hex): Promise<CallOutcome>;
}

async function startHarness(): Promise<Harness> {
  const node = await startAnvil({ chainId: 31337 });
  const host: IsmpHost = await deployIsmpHost({
    rpcUrl: node.rpcUrl,
    chainId: node.chainId,
    hub: { stateMachine: "KUSAMA-4009", paraId: 4009n },
  });
  const { deployedBytecode } = (await compileContracts()).LibraryHarness;
  const at = "0x00000000000000000000000000000000000c0de0";
  await host.node.setCode({ address: at, bytecode: deployedBytecode });
  const call = (data: Hex): Promise<CallOutcome> => callRaw(host, DEVNET_ACCOUNTS.user.address, at, data);
  return {
    root: (items, leaves, leafCount) =>
      call(encodeFunctionData({
        abi: LIBRARY_HARNESS_ABI,
        functionName: "mountainRoot",
        args: [items, leaves, leafCount],
      })),
    lookup: (root, proof, key) =>
      call(
        encodeFunctionData({
          abi: LIBRARY_HARNESS_ABI,
          functionName: "trieLookup",
          args: [root, proof, key],
        }),
      ),
    [Symbol.asyncDispose]: () => node.stop(),
  };
}

/** The known answers' leaves: keccak256 of the index as u64, big endian. */
function leafAt(index: number): Leaf {
  return { index: BigInt(index), hash: keccak256(numberToHex(index, { size: 8 })) };
}

function reverted(error: string): CallOutcome {
  return { kind: "reverted", data: toFunctionSelector(error) };
}

Deno.test("devnet contracts: the mountain range library finds the root of all 63 known proofs", async () => {
  await using harness = await startHarness();
  assert.equal(mmrAnswers.cases.length, 63);
  for (const { leaf_count, leaf_indices, root, items } of mmrAnswers.cases) {
    const leaves = leaf_indices.map(leafAt);
    const outcome = await harness.root(items.map(hex), leaves, BigInt(leaf_count));
    assert.deepEqual(outcome, { kind: "returned", data: root });
    for (let dropped = 0; dropped < items.length; dropped++) {
      const rest = items.filter((_, index) => index !== dropped).map(hex);
      const tampered = await harness.root(rest, leaves, BigInt(leaf_count));
      assert.notDeepEqual(tampered, { kind: "returned", data: root }, "an item less");
    }
    const more = await harness.root(
      [...items.map(hex), numberToHex(7, { size: 32 })],
      leaves,
      BigInt(leaf_count),
    );
    assert.notDeepEqual(more, { kind: "returned", data: root }, "an item more");
  }
});

Deno.test("devnet contracts: the mountain range library names what is wrong with a proof", async () => {
  await using harness = await startHarness();
  const item = numberToHex(1, { size: 32 });
  assert.deepEqual(await harness.root([], [], 0n), reverted("EmptyTree()"));
  assert.deepEqual(await harness.root([], [leafAt(0)], 0n), reverted("EmptyTree()"));
  assert.deepEqual(await harness.root([], [], 4n), reverted("EmptyLeaves()"));
  assert.deepEqual(await harness.root([], [leafAt(1), leafAt(0)], 4n), reverted("UnsortedLeaves()"));
  assert.deepEqual(await harness.root([], [leafAt(1), leafAt(1)], 4n), reverted("UnsortedLeaves()"));
  assert.deepEqual(await harness.root([item], [leafAt(0)], 4n), reverted("ProofExhausted()"));
  assert.deepEqual(await harness.root([item, item, item], [leafAt(0)], 4n), reverted("UnconsumedProof()"));
  assert.deepEqual(await harness.root([item], [leafAt(0)], 1n), reverted("UnconsumedProof()"));
  assert.deepEqual(await harness.root([item], [leafAt(4)], 4n), reverted("OutOfBoundsLeaves()"));
  assert.deepEqual(await harness.root([], [leafAt(1)], 1n), reverted("OutOfBoundsLeaves()"));
});

Deno.test("devnet contracts: the trie library reads present and absent keys of Keccak tries of both layouts", async () => {
  await using harness = await startHarness();
  const tries = trieAnswers.tries.filter((trie) => trie.hasher === "Keccak");
  assert.ok(new Set(tries.map((trie) => trie.layout)).size === 2);
  // Big tries are described by a rule instead of a list, but hold the same key with the same value.
  const values = new Map(tries.flatMap((trie) => trie.entries ?? []).map(([key, value]) => [key, value]));
  for (const trie of tries) {
    const root = hex(trie.root);
    const expected = values.get(trie.presentKey);
    assert.ok(expected !== undefined);
    const present = await harness.lookup(root, trie.presentProof.map(hex), hex(trie.presentKey));
    assert.deepEqual(present, abiBytes(hex(expected)));
    const absent = await harness.lookup(root, trie.absentProof.map(hex), hex(trie.absentKey));
    assert.deepEqual(absent, abiBytes("0x"));
    const cut = await harness.lookup(root, trie.presentProof.slice(1).map(hex), hex(trie.presentKey));
    const all = await harness.lookup(root, [...trie.presentProof].reverse().map(hex), hex(trie.presentKey));
    assert.equal(cut.kind, "reverted");
    assert.deepEqual(all, present, "the order of the nodes does not matter");
  }
});

function abiBytes(content: Hex): CallOutcome {
  const length = (content.length - 2) / 2;
  const padded = content.slice(2).padEnd(Math.ceil(length / 32) * 64, "0");
  return {
    kind: "returned",
    data: `${numberToHex(32, { size: 32 })}${numberToHex(length, { size: 32 }).slice(2)}${padded}`,
  };
}
