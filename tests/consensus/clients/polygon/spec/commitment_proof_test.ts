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
  numberField,
  sha256Parts,
  simpleTree,
  sized,
  type TreeStep,
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
  readonly partsOf: (index: number, change?: Partial<Parts>) => readonly [Uint8Array, Uint8Array];
  readonly proofAt: (index: number, change?: Partial<Parts>) => Uint8Array;
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
  const partsAt = (index: number): Parts => {
    const item = items[index];
    if (item === undefined) throw new RangeError(`No entry ${index}`);
    return {
      item: { ...item, prefix: iavlLeafPrefix(item) },
      path: store.paths[index] ?? [],
      store: { key: utf8("milestone"), value: store.root, prefix: Uint8Array.of(0) },
      storePath: tree.paths[AT] ?? [],
    };
  };
  const partsOf = (index: number, change?: Partial<Parts>): readonly [Uint8Array, Uint8Array] => {
    const parts = { ...partsAt(index), ...change };
    return [existenceProof(parts.item, parts.path), existenceProof(parts.store, parts.storePath)];
  };
  return {
    root: toHash256(tree.root),
    entryAt: (index) => ({ store: "milestone", ...partsAt(index).item }),
    partsOf,
    proofAt: (index, change) => joinCommitmentProofs(partsOf(index, change)),
  };
}

interface Parts {
  readonly item: Parameters<typeof existenceProof>[0];
  readonly path: readonly TreeStep[];
  readonly store: Parameters<typeof existenceProof>[0];
  readonly storePath: readonly TreeStep[];
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

function judged(change: Partial<Parts>): string {
  return codeOf(() => requireProven(known.proofAt(4, change), root, entry));
}

/** The way from the entry to the root, with one step changed. */
function pathWith(index: number, change: (step: TreeStep) => TreeStep): readonly TreeStep[] {
  const tree = iavlTree(Array.from({ length: 10 }, (_, at) => ({
    key: Uint8Array.of(0x81, at),
    value: utf8(`value ${at}`),
    version: BigInt(at * 100),
  })));
  return (tree.paths[4] ?? []).map((step, at) => at === index ? change(step) : step);
}

Deno.test("proofs of other stores, roots and shapes are refused", () => {
  assert.equal(judged({}), "accepted");
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

Deno.test("nodes of a proof must have the form of their tree", () => {
  const leaf = { ...entry, prefix: iavlLeafPrefix({ ...entry, version: 400n }) };
  const changes: readonly (readonly [string, Partial<Parts>])[] = [
    ["a leaf with an inner node's height", {
      item: { ...leaf, prefix: concatBytes(zigzag(1), zigzag(1), zigzag(400)) },
    }],
    ["a leaf with more than its numbers", {
      item: { ...leaf, prefix: concatBytes(leaf.prefix, Uint8Array.of(1)) },
    }],
    ["a leaf with fewer numbers", { item: { ...leaf, prefix: concatBytes(zigzag(0), zigzag(1)) } }],
    ["a leaf with a negative version", {
      item: { ...leaf, prefix: concatBytes(zigzag(0), zigzag(1), zigzag(-1)) },
    }],
    ["an inner node with a leaf's prefix", {
      path: pathWith(
        0,
        ({ suffix, prefix }) => ({ suffix, prefix: concatBytes(zigzag(0), prefix.slice(1)) }),
      ),
    }],
    ["an inner node that is lower than its place", {
      path: pathWith(
        2,
        ({ suffix, prefix }) => ({ suffix, prefix: concatBytes(zigzag(1), prefix.slice(1)) }),
      ),
    }],
    ["an inner node with a short prefix", {
      path: pathWith(0, ({ suffix }) => ({ suffix, prefix: zigzag(1) })),
    }],
    ["an inner node with a long prefix", {
      path: pathWith(
        0,
        ({ suffix, prefix }) => ({ suffix, prefix: concatBytes(prefix, new Uint8Array(60)) }),
      ),
    }],
    ["an inner node with part of a child", {
      path: pathWith(0, ({ suffix, prefix }) => ({ prefix, suffix: concatBytes(suffix, Uint8Array.of(1)) })),
    }],
    ["an inner node between the lengths", {
      path: pathWith(
        0,
        ({ suffix, prefix }) => ({ suffix, prefix: concatBytes(prefix, Uint8Array.of(1, 2)) }),
      ),
    }],
    ["a store with a long prefix", {
      storePath: [{ prefix: new Uint8Array(34).fill(1), suffix: new Uint8Array(0) }],
    }],
  ];
  for (const [what, change] of changes) assert.equal(judged(change), "milestone_proof", what);
});

Deno.test("a leaf must be hashed as the trees do it", () => {
  const of = (fields: readonly Uint8Array[]): Uint8Array =>
    bytesField(
      1,
      concatBytes(
        bytesField(1, entry.key),
        bytesField(2, entry.value),
        bytesField(3, concatBytes(...fields)),
      ),
    );
  const { prefix } = { prefix: bytesField(5, iavlLeafPrefix({ ...entry, version: 0n })) };
  const single = stores(1);
  const only = single.entryAt(0);
  requireProven(single.proofAt(0), single.root, only);
  const shapes: readonly (readonly Uint8Array[])[] = [
    [numberField(1, 2), numberField(3, 1), numberField(4, 1), prefix],
    [numberField(1, 1), numberField(2, 1), numberField(3, 1), numberField(4, 1), prefix],
    [numberField(1, 1), numberField(4, 1), prefix],
    [numberField(1, 1), numberField(3, 1), prefix],
    [numberField(1, 1), numberField(3, 1), numberField(4, 1)],
  ];
  for (const shape of shapes) {
    const proof = joinCommitmentProofs([of(shape), of(shape)]);
    assert.equal(codeOf(() => requireProven(proof, single.root, only)), "milestone_proof");
  }
});
