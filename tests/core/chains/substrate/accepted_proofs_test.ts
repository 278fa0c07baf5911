import assert from "node:assert/strict";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import { beefyProofsKeys, offchainKeys } from "../../../../src/core/ismp/storage_keys.ts";
import { compareIntegers, list, orderedMap, u64 } from "../../../../src/core/encoding/scale.ts";
import { hashOf, headerJson, type Script, scriptHub } from "./scripted_hub.ts";
import { faultWith } from "../../../support/rpc_faults.ts";

const { signal } = new AbortController();

const rotationsOf = (entries: readonly (readonly [bigint, bigint])[]): string =>
  toHex(orderedMap(u64, u64, compareIntegers).enc(new Map(entries)));

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
    ...listed(
      hashOf("final"),
      rotations.length === 0 ? null : rotationsOf(rotations),
      toHex(list(u64).enc([61n, 70n])),
    ),
  };
}

/** A node whose final and best blocks list these proofs. */
function listed(final: string, rotations: string | null, messaging: string | null): Script {
  return {
    chain_getFinalizedHead: () => final,
    chain_getHeader: () => headerJson(9),
    state_queryStorageAt: (keys, at) => {
      assert.ok(at === undefined || at === final);
      assert.deepEqual(
        keys,
        [beefyProofsKeys.rotationProofs(), beefyProofsKeys.messagingProofs()].map(toHex),
      );
      return [{ block: final, changes: [rotations, messaging].map((value, index) => [keys[index], value]) }];
    },
  };
}

const byHeight = (height: bigint): string => toHex(offchainKeys.beefyMessagingProof(height));
const bySet = (setId: bigint): string => toHex(offchainKeys.beefyRotationProof(setId));

for (
  const [what, stored, rotations, proof, bytes] of [
    ["a messaging proof lies under its height", [byHeight(70n), "0x00aa"], [], [70n], "0x00aa"],
    ["a rotation lies under its set", [bySet(4n), "0x01bb"], [], [68n, 4n], "0x01bb"],
    [
      "the height of a rotation leads to its set",
      [bySet(4n), "0x01bb"],
      [[3n, 60n], [4n, 68n]],
      [68n],
      "0x01bb",
    ],
    ["an old rotation lies under its height", [byHeight(90n), "0x01dd"], [], [90n, 5n], "0x01dd"],
    ["a height without bytes has none", [bySet(4n), "0x01bb"], [[3n, 60n], [4n, 68n]], [60n], undefined],
    ["a height that is not listed has none", [bySet(4n), "0x01bb"], [[4n, 68n]], [71n], undefined],
    ["a set that is not stored has none", [bySet(4n), "0x01bb"], [], [71n, 9n], undefined],
  ] as const
) {
  Deno.test(`accepted proofs: ${what}`, async () => {
    const { chain, run } = scriptHub(offchain(new Map([stored]), rotations));
    const [height, newSetId] = proof;
    const found = await run(chain.acceptedProofs.fetchProofBytes({ height, newSetId }, signal));
    assert.equal(found && toHex(found), bytes);
  });
}

Deno.test("accepted proofs: a messaging proof at the height of a rotation is not taken for the rotation (F16)", async () => {
  const { chain, run } = scriptHub(offchain(new Map([[byHeight(70n), "0x01dd"]])));
  assert.equal(
    await run(chain.acceptedProofs.fetchProofBytes({ height: 70n, newSetId: 5n }, signal)),
    undefined,
  );
});

Deno.test("accepted proofs: the lists are read at the final block when the newest block has others, without unsafe methods", async () => {
  const rotations = [[4n, 68n], [5n, 90n]] as const;
  const first = listed(hashOf("final"), rotationsOf(rotations), toHex(list(u64).enc([70n, 80n])));
  const { chain, clock, node, run } = scriptHub(first);
  const poll = async (): Promise<unknown> => {
    clock.jump(1_000);
    return await run(chain.acceptedProofs.fetchAcceptedIndex(signal));
  };
  const index = { rotations: new Map(rotations), messaging: [70n, 80n] };
  assert.deepEqual(await poll(), index);
  assert.deepEqual(await poll(), index);
  const finals = node.exchanges.filter(({ methods }) => methods.includes("chain_getFinalizedHead"));
  assert.equal(finals.length, 1, "the list that the newest block has is known");
  const script = (next: Script): void =>
    Object.entries(next).forEach(([name, answer]) => node.answer(name, answer));
  script(listed(hashOf("next"), null, null));
  assert.deepEqual(await poll(), { rotations: new Map(), messaging: [] });
  script(listed(hashOf("last"), rotationsOf([[1n, 2n]]).slice(0, -2), null));
  await assert.rejects(poll(), faultWith("malformed"));
});
