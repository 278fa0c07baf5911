import assert from "node:assert/strict";
import { concatBytes, type Hash256, toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import {
  joinCommitmentProofs,
  type ProvenEntry,
  requireProven,
} from "../../../../../src/consensus/clients/polygon/spec/commitment_proof.ts";
import { PolygonError } from "../../../../../src/consensus/clients/polygon/spec/polygon_error.ts";
import {
  bytesField,
  existenceProof,
  iavlLeafPrefix,
  iavlTree,
  sha256Parts,
  simpleTree,
  sized,
  zigzag,
} from "../../../../../devnet/heimdall/wire.ts";
import { verdictOf } from "../../../../support/verdict.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const NAMES = ["bank", "milestone", "stake"];
const AT = 1;

/** A store of `count` entries among others, and how to prove an entry. */
function stores(count: number): {
  readonly root: Hash256;
  readonly entryAt: (index: number) => ProvenEntry;
  readonly partsOf: (index: number) => readonly [Uint8Array, Uint8Array];
  readonly proofAt: (index: number) => Uint8Array;
} {
  const items = Array.from({ length: count }, (_, at) => ({
    key: Uint8Array.of(0x81, at),
    value: utf8(`value ${at}`),
    version: BigInt(at * 100),
  }));
  const store = iavlTree(items);
  const roots = NAMES.map((name, at) => at === AT ? store.root : sha256Parts(utf8(name)));
  const tree = simpleTree(
    roots.map((root, at) => concatBytes(sized(utf8(NAMES[at] ?? "")), sized(sha256Parts(root)))),
  );
  const itemAt = (index: number): Parameters<typeof existenceProof>[0] => {
    const item = items[index];
    if (item === undefined) throw new RangeError(`No entry ${index}`);
    return { ...item, prefix: iavlLeafPrefix(item) };
  };
  const ofStore = existenceProof(
    { key: utf8("milestone"), value: store.root, prefix: Uint8Array.of(0) },
    tree.paths[AT] ?? [],
  );
  const partsOf = (index: number): readonly [Uint8Array, Uint8Array] => {
    return [existenceProof(itemAt(index), store.paths[index] ?? []), ofStore];
  };
  return {
    root: toHash256(tree.root),
    entryAt: (index) => ({ store: "milestone", ...itemAt(index) }),
    partsOf,
    proofAt: (index) => joinCommitmentProofs(partsOf(index)),
  };
}

const codeOf = (work: () => void): string => verdictOf(PolygonError, work);

for (const count of [1, 2, 3, 10, 33]) {
  Deno.test(`each of ${count} entries of a store is proved, and no other value of it`, () => {
    const { root, entryAt, proofAt } = stores(count);
    for (let index = 0; index < count; index++) {
      const entry = entryAt(index);
      requireProven(proofAt(index), root, entry);
      const lie = { ...entry, value: utf8("another") };
      assert.equal(codeOf(() => requireProven(proofAt(index), root, lie)), "milestone_proof");
      const next = { ...entry, key: Uint8Array.of(0x81, index + 1) };
      assert.equal(codeOf(() => requireProven(proofAt(index), root, next)), "milestone_proof");
    }
  });
}

const known = stores(10);
const { root } = known;
const entry = known.entryAt(4);

Deno.test("proofs of other stores, roots and shapes are refused", () => {
  const proof = known.proofAt(4);
  const refusals: readonly (readonly [string, () => void])[] = [
    ["another store", () => requireProven(proof, root, { ...entry, store: "bank" })],
    ["another root", () => requireProven(proof, toHash256(new Uint8Array(32)), entry)],
    ["an empty value", () => requireProven(proof, root, { ...entry, value: new Uint8Array(0) })],
    [
      "one tree",
      () =>
        requireProven(
          joinCommitmentProofs([existenceProof({ ...entry, prefix: zigzag(0) }, [])]),
          root,
          entry,
        ),
    ],
    ["a tree too many", () => requireProven(concatBytes(proof, proof), root, entry)],
    [
      "no existence",
      () =>
        requireProven(
          concatBytes(bytesField(1, bytesField(2, new Uint8Array(0))), bytesField(1, new Uint8Array(0))),
          root,
          entry,
        ),
    ],
  ];
  for (const [what, work] of refusals) assert.equal(codeOf(work), "milestone_proof", what);
  assert.equal(codeOf(() => requireProven(Uint8Array.of(10, 99, 1), root, entry)), "undecodable_proof");
  assert.equal(codeOf(() => void joinCommitmentProofs([Uint8Array.of(10, 99, 1)])), "undecodable_proof");
});

Deno.test("an entry beside another member of the proof's union is refused, as the hub takes one of them", () => {
  const single = stores(1);
  const only = single.entryAt(0);
  const [item, store] = single.partsOf(0);
  for (const member of [2, 3, 4]) {
    const other = bytesField(member, new Uint8Array(0));
    for (
      const parts of [[concatBytes(item, other), store], [concatBytes(other, item), store], [
        item,
        concatBytes(store, other),
      ]]
    ) {
      const proof = joinCommitmentProofs(parts);
      assert.equal(codeOf(() => requireProven(proof, single.root, only)), "milestone_proof", `${member}`);
    }
  }
  requireProven(joinCommitmentProofs([item, store]), single.root, only);
});
