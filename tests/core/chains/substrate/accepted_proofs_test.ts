import assert from "node:assert/strict";
import { concatBytes, fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { beefyProofsKeys, offchainKeys, otherKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { compareIntegers, list, orderedMap, pair, u64 } from "../../../../src/core/encoding/scale.ts";
import { RpcFault } from "../../../../src/core/rpc/fault.ts";
import { hubMetadata, hubScale } from "../../../support/hub_vectors.ts";
import { ScriptedError } from "../../../support/scripted_socket.ts";
import { blockHashes, hashOf, type Script, scriptHub } from "./scripted_hub.ts";

const { signal } = new AbortController();

function faultWith(code: string): (error: unknown) => boolean {
  return (error) => error instanceof RpcFault && error.code === code;
}

/** `System.Events` with one `ProofAccepted`, from the known answer with another height and set. */
function accepted(height: bigint, newSetId?: bigint, hub: "nexus" | "gargantua" = "nexus"): string {
  const known = fromHex(hubScale(`event.${hub}.BeefyConsensusProofs.ProofAccepted`).scale);
  const head = known.slice(0, 8 + 32);
  const set = newSetId === undefined ? [0] : [1, ...u64.enc(newSetId)];
  return toHex(
    concatBytes(head, u64.enc(height), Uint8Array.from(set), new Uint8Array(16), new Uint8Array(1)),
  );
}

const quiet = "0x00";
const other = hubScale("event.nexus.Ismp.PostRequestHandled").scale;

/** A node at block `best` with these events; all other blocks have none. */
function eventsOf(blocks: ReadonlyMap<number, string>, best: number): Script {
  const valueAt = (height: number): string => blocks.get(height) ?? quiet;
  const heights = new Map<unknown, number>();
  for (let height = 0; height <= best; height++) heights.set(hashOf(`b${height}`), height);
  const heightOf = (hash: unknown): number => heights.get(hash) ?? assert.fail("an unknown block");
  return {
    chain_getBlockHash: blockHashes(best),
    state_getStorage: (key, at) => {
      assert.equal(key, toHex(otherKeys.systemEvents()));
      return valueAt(heightOf(at));
    },
    state_queryStorage: (keys, from, to) => {
      assert.deepEqual(keys, [toHex(otherKeys.systemEvents())]);
      const changes: unknown[] = [];
      for (let height = heightOf(from); height <= heightOf(to); height++) {
        const isChange = height === heightOf(from) || valueAt(height) !== valueAt(height - 1);
        const change = [toHex(otherKeys.systemEvents()), valueAt(height)];
        if (isChange) changes.push({ block: hashOf(`b${height}`), changes: [change] });
      }
      return changes;
    },
  };
}

const events = new Map([[6, accepted(70n)], [8, other], [9, accepted(68n, 4n)], [11, accepted(80n)], [
  12,
  accepted(90n, 5n),
]]);
const last = { height: 90n, newSetId: 5n, atBlock: 12n };
const expected = [
  { height: 68n, newSetId: 4n, atBlock: 9n },
  { height: 70n, newSetId: undefined, atBlock: 6n },
  { height: 80n, newSetId: undefined, atBlock: 11n },
];

Deno.test("accepted proofs: a range is read by one query and listed by proven height", async () => {
  const { chain, run, trips } = scriptHub(eventsOf(events, 12));
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedProofs(5n, 11n, signal)), expected);
  trips();
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedProofs(5n, 12n, signal)), [...expected, last]);
  assert.equal(trips(), 2, "hashes and events of the new block alone");
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedProofs(7n, 8n, signal)), []);
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedProofs(6n, 6n, signal)), [expected[1]]);
  assert.equal(trips(), 0, "these blocks were read before");
  await chain.close();
});

Deno.test("accepted proofs: an event that cannot be read leaves the others", async () => {
  // The byte of the Option is neither 0 nor 1 in block 7, where the metadata has it so: only that event is skipped.
  const broken = accepted(69n, 3n).replace(/01(0300000000000000)/, "02$1");
  const { chain, run, log } = scriptHub(eventsOf(new Map([...events, [7, broken]]), 11));
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedProofs(5n, 11n, signal)), expected);
  assert.deepEqual(log.events("warn"), ["event_unreadable"]);
  await chain.close();
});

Deno.test("accepted proofs: older blocks are read again than those that are remembered", async () => {
  const { chain, run } = scriptHub(eventsOf(events, 12));
  const fetch = (from: bigint, to: bigint): Promise<unknown> =>
    run(chain.acceptedProofs.fetchAcceptedProofs(from, to, signal));
  assert.deepEqual(await fetch(12n, 12n), [last]);
  assert.deepEqual(await fetch(7n, 9n), [expected[0]]);
  assert.deepEqual(await fetch(5n, 12n), [...expected, last]);
  assert.deepEqual(await fetch(9n, 12n), [expected[0], expected[2], last]);
  await chain.close();
});

Deno.test("accepted proofs: a node without the range query is read block by block, and not asked again", async () => {
  const { node, chain, run, trips } = scriptHub(eventsOf(events, 12));
  let refusals = 0;
  node.answer("state_queryStorage", () => {
    refusals += 1;
    throw new ScriptedError(-32601, "RPC call is unsafe to be called externally");
  });
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedProofs(5n, 11n, signal)), expected);
  trips();
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedProofs(5n, 12n, signal)), [...expected, last]);
  // Hashes, then the events of all blocks and the version at the end.
  assert.equal(trips(), 3);
  assert.equal(refusals, 1);
  await chain.close();
});

Deno.test("accepted proofs: a range beyond the head is lagging, and so is a block that was replaced", async () => {
  const { node, chain, run } = scriptHub(eventsOf(events, 12));
  await assert.rejects(run(chain.acceptedProofs.fetchAcceptedProofs(5n, 13n, signal)), faultWith("lagging"));
  node.answer("state_queryStorage", () => [{ block: hashOf("fork"), changes: [["0x01", accepted(1n)]] }]);
  await assert.rejects(run(chain.acceptedProofs.fetchAcceptedProofs(5n, 11n, signal)), faultWith("lagging"));
  await chain.close();
});

Deno.test("accepted proofs: a range over an upgrade is decoded by the runtime that each block's parent left", async () => {
  const runtimes = {
    nexus: hubMetadata("nexus-head"),
    gargantua: hubMetadata("gargantua-head"),
  };
  // Block 9 brings the new runtime, and is executed by the old one.
  const before = new Set([4, 5, 6, 7, 8].map((height) => hashOf(`b${height}`)));
  const runtimeAt = (block: unknown): (typeof runtimes)["nexus"] =>
    block === undefined || before.has(String(block) as ReturnType<typeof hashOf>)
      ? runtimes.nexus
      : runtimes.gargantua;
  const blocks = new Map([[6, accepted(70n)], [9, accepted(71n)], [10, accepted(72n, 2n, "gargantua")]]);
  const { chain, run } = scriptHub({
    ...eventsOf(blocks, 12),
    state_getRuntimeVersion: (block) => {
      const { specName, specVersion } = runtimeAt(block);
      return { specName, specVersion: runtimeAt(block) === runtimes.nexus ? specVersion : specVersion + 1 };
    },
    state_getMetadata: (block) => toHex(runtimeAt(block).metadata),
  });
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedProofs(5n, 11n, signal)), [
    { height: 70n, newSetId: undefined, atBlock: 6n },
    { height: 71n, newSetId: undefined, atBlock: 9n },
    { height: 72n, newSetId: 2n, atBlock: 10n },
  ]);
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedProofs(9n, 9n, signal)), [
    { height: 71n, newSetId: undefined, atBlock: 9n },
  ]);
  await chain.close();
});

Deno.test("accepted proofs: wide ranges are asked in hundreds, too large ones in halves", async () => {
  const script = eventsOf(new Map([[6, accepted(1n)], [205, accepted(2n)]]), 210);
  for (const [refusals, queries] of [[0, 3], [1, 5]] as const) {
    const { node, chain, run } = scriptHub(script);
    let refused = 0;
    node.answer("state_queryStorage", (...params) => {
      if (refused++ >= refusals) return script.state_queryStorage?.(...params);
      throw new ScriptedError(-32008, "Response is too big");
    });
    const found = await run(chain.acceptedProofs.fetchAcceptedProofs(1n, 210n, signal));
    assert.deepEqual(found.map(({ height }) => height), [1n, 2n]);
    const asked = node.exchanges.filter(({ methods }) => methods.includes("state_queryStorage"));
    assert.equal(asked.length, queries);
    await chain.close();
  }
});

/** A node whose offchain database and storage hold these. */
function offchain(
  blobs: ReadonlyMap<string, string>,
  rotations: readonly (readonly [bigint, bigint])[] = [],
): Script {
  return {
    offchain_localStorageGet: (kind, key) => {
      assert.equal(kind, "PERSISTENT");
      return blobs.get(String(key)) ?? null;
    },
    state_getStorage: (key) => {
      if (key === toHex(beefyProofsKeys.messagingProofs())) return toHex(list(u64).enc([61n, 70n]));
      assert.equal(key, toHex(beefyProofsKeys.rotationProofs()));
      return rotations.length === 0 ? null : toHex(list(pair(u64, u64)).enc(rotations));
    },
  };
}

const byHeight = (height: bigint): string => toHex(offchainKeys.beefyMessagingProof(height));
const bySet = (setId: bigint): string => toHex(offchainKeys.beefyRotationProof(setId));

Deno.test("accepted proofs: bytes lie under the height, or under the set of a rotation", async () => {
  const blobs = new Map([[byHeight(70n), "0x00aa"], [bySet(4n), "0x01bb"], [byHeight(68n), "0x00cc"]]);
  const { chain, run, trips } = scriptHub(offchain(blobs));
  const fetch = async (height: bigint, newSetId?: bigint): Promise<string | undefined> => {
    const bytes = await run(chain.acceptedProofs.fetchProofBytes({ height, newSetId }, signal));
    return bytes === undefined ? undefined : toHex(bytes);
  };
  assert.equal(await fetch(70n), "0x00aa");
  assert.equal(trips(), 1);
  assert.equal(await fetch(68n, 4n), "0x01bb");
  assert.equal(trips(), 1);
  await chain.close();
});

Deno.test("accepted proofs: a rotation's height leads to its set, an old rotation lies under its height", async () => {
  const blobs = new Map([[bySet(4n), "0x01bb"], [byHeight(90n), "0x01dd"]]);
  const { chain, run } = scriptHub(offchain(blobs, [[3n, 60n], [4n, 68n]]));
  assert.deepEqual(
    await run(chain.acceptedProofs.fetchProofBytes({ height: 68n, newSetId: undefined }, signal)),
    fromHex("0x01bb"),
  );
  assert.deepEqual(
    await run(chain.acceptedProofs.fetchProofBytes({ height: 90n, newSetId: 5n }, signal)),
    fromHex("0x01dd"),
  );
  assert.equal(
    await run(chain.acceptedProofs.fetchProofBytes({ height: 60n, newSetId: undefined }, signal)),
    undefined,
  );
  assert.equal(
    await run(chain.acceptedProofs.fetchProofBytes({ height: 71n, newSetId: undefined }, signal)),
    undefined,
  );
  assert.equal(
    await run(chain.acceptedProofs.fetchProofBytes({ height: 71n, newSetId: 9n }, signal)),
    undefined,
  );
  await chain.close();
});

Deno.test("accepted proofs: a messaging proof at the height of a rotation is not taken for the rotation (F16)", async () => {
  const { chain, run } = scriptHub(offchain(new Map([[byHeight(70n), "0x01dd"]])));
  assert.equal(
    await run(chain.acceptedProofs.fetchProofBytes({ height: 70n, newSetId: 5n }, signal)),
    undefined,
  );
  await chain.close();
});

Deno.test("accepted proofs: a node that hides its offchain database lacks the method", async () => {
  const { node, chain, run } = scriptHub({});
  node.answer("offchain_localStorageGet", () => {
    throw new ScriptedError(-32601, "RPC call is unsafe to be called externally");
  });
  await assert.rejects(
    run(chain.acceptedProofs.fetchProofBytes({ height: 1n, newSetId: undefined }, signal)),
    faultWith("missing_method"),
  );
  await chain.close();
});

Deno.test("accepted proofs: rotations are a map of sets to heights", async () => {
  const { node, chain, run } = scriptHub(offchain(new Map(), [[3n, 60n], [4n, 68n]]));
  assert.deepEqual([...await run(chain.acceptedProofs.fetchRotations(signal))], [[3n, 60n], [4n, 68n]]);
  node.answer("state_getStorage", () => null);
  assert.equal((await run(chain.acceptedProofs.fetchRotations(signal))).size, 0);
  node.answer(
    "state_getStorage",
    () => toHex(orderedMap(u64, u64, compareIntegers).enc(new Map([[1n, 2n]])).slice(1)),
  );
  await assert.rejects(run(chain.acceptedProofs.fetchRotations(signal)), faultWith("malformed"));
  await chain.close();
});

Deno.test("accepted proofs: what the hub keeps is listed at its final block, without unsafe methods", async () => {
  const final = hashOf("final");
  const stored = new Map<string, string>([
    [
      toHex(beefyProofsKeys.rotationProofs()),
      toHex(orderedMap(u64, u64, compareIntegers).enc(new Map([[4n, 68n], [5n, 90n]]))),
    ],
    [toHex(beefyProofsKeys.messagingProofs()), toHex(list(u64).enc([70n, 80n]))],
  ]);
  const { chain, node, run, trips } = scriptHub({
    chain_getFinalizedHead: () => final,
    state_getStorage: (key, at) => {
      assert.equal(at, final);
      return stored.get(String(key)) ?? null;
    },
  });
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedIndex(signal)), {
    rotations: new Map([[4n, 68n], [5n, 90n]]),
    messaging: [70n, 80n],
  });
  trips();
  node.answer("state_getStorage", () => null);
  assert.deepEqual(await run(chain.acceptedProofs.fetchAcceptedIndex(signal)), {
    rotations: new Map(),
    messaging: [],
  });
  assert.equal(trips(), 2);
  await chain.close();
});
