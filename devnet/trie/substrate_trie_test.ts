import assert from "node:assert/strict";
import fc from "fast-check";
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import { concatBytes, fromHex, keccak256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import {
  decodeSubstrateNode,
  hashFunction,
  readSubstrateProof,
} from "../../src/core/merkle/substrate_proof.ts";
import { SubstrateTrie, type TrieKind } from "./substrate_trie.ts";
import { TrieError, type TrieErrorCode } from "../../src/core/merkle/trie_nodes.ts";
import vectors from "../../tests/vectors/hub-mmr-and-tries.json" with { type: "json" };
import { encodeSubstrateNode } from "./substrate_node.ts";

const KINDS: readonly TrieKind[] = [
  { layout: "V0", hasher: "Keccak" },
  { layout: "V1", hasher: "Keccak" },
  { layout: "V0", hasher: "Blake2" },
  { layout: "V1", hasher: "Blake2" },
];
const HUB: TrieKind = { layout: "V1", hasher: "Keccak" };

type Vector = (typeof vectors.tries)[number];

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

function commitment(index: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(index));
  return keccak256(bytes);
}

/** Entry `index` by the rule that the vectors state. */
function ruleEntry(index: number): [Uint8Array, Uint8Array] {
  const c = commitment(index);
  if (index % 3 === 0) {
    return [concatBytes(text("RequestCommitments"), c), concatBytes(c, c, Uint8Array.of(0))];
  }
  const relayer = index % 3 === 1 ? c.subarray(0, 20) : c;
  return [concatBytes(text("RequestReceipts"), c), concatBytes(Uint8Array.of(4 * relayer.length), relayer)];
}

function entriesOf(vector: Vector): [Uint8Array, Uint8Array][] {
  if (vector.entries === undefined) {
    return Array.from({ length: vector.entryCount }, (_, index) => ruleEntry(index));
  }
  return vector.entries.map(([key = "", value = ""]) => [fromHex(key), fromHex(value)]);
}

function kindOf(vector: Vector): TrieKind {
  return {
    layout: vector.layout === "V1" ? "V1" : "V0",
    hasher: vector.hasher === "Keccak" ? "Keccak" : "Blake2",
  };
}

function read(
  kind: TrieKind,
  root: Hash256,
  nodes: readonly Uint8Array[],
  key: Uint8Array,
): Uint8Array | undefined {
  return readSubstrateProof({ root, hasher: kind.hasher, nodes, keys: [key] }).get(toHex(key));
}

function refuses(codes: readonly TrieErrorCode[], action: () => unknown): void {
  assert.throws(action, (error) => error instanceof TrieError && codes.includes(error.code));
}

function flipLast(bytes: Uint8Array): Uint8Array {
  return bytes.with(bytes.length - 1, (bytes.at(-1) ?? 0) ^ 1);
}

const sortedHex = (nodes: readonly Uint8Array[]): string[] => nodes.map(toHex).sort();

Deno.test("substrate trie: roots of all 16 vectors, both layouts and hashers", () => {
  assert.equal(vectors.tries.length, 16);
  for (const vector of vectors.tries) {
    assert.equal(SubstrateTrie.from(kindOf(vector), entriesOf(vector)).root(), vector.root);
  }
});

Deno.test("substrate trie: proofs of the vectors verify, and are generated with the same nodes", () => {
  for (const vector of vectors.tries) {
    const kind = kindOf(vector);
    const trie = SubstrateTrie.from(kind, entriesOf(vector));
    const root = toHash256(vector.root);
    const present = fromHex(vector.presentKey);
    const absent = fromHex(vector.absentKey);
    const value = trie.get(present);
    assert(value !== undefined && trie.get(absent) === undefined);
    const presentNodes = vector.presentProof.map(fromHex);
    const absentNodes = vector.absentProof.map(fromHex);
    assert.deepEqual(read(kind, root, presentNodes, present), value);
    assert.deepEqual(read(kind, root, presentNodes.toReversed(), present), value);
    assert.equal(read(kind, root, absentNodes, absent), undefined);
    assert.deepEqual(sortedHex(trie.prove([present])), vector.presentProof.toSorted());
    assert.deepEqual(sortedHex(trie.prove([absent])), vector.absentProof.toSorted());
  }
});

Deno.test("substrate trie: every changed, dropped or cut node, value or root of the vectors is refused", () => {
  const lacking: readonly TrieErrorCode[] = ["missing_root", "missing_node", "missing_value"];
  for (const vector of vectors.tries) {
    const kind = kindOf(vector);
    const root = toHash256(vector.root);
    for (
      const [hex, key] of [
        [vector.presentProof, fromHex(vector.presentKey)],
        [vector.absentProof, fromHex(vector.absentKey)],
      ] as const
    ) {
      const nodes = hex.map(fromHex);
      nodes.forEach((node, at) => {
        refuses(lacking, () => read(kind, root, nodes.with(at, flipLast(node)), key));
        refuses(lacking, () => read(kind, root, nodes.toSpliced(at, 1), key));
        refuses(lacking, () => read(kind, root, nodes.with(at, node.subarray(0, -1)), key));
      });
      refuses(["missing_root"], () => read(kind, toHash256(flipLast(fromHex(root))), nodes, key));
      const other: TrieKind = { ...kind, hasher: kind.hasher === "Keccak" ? "Blake2" : "Keccak" };
      refuses(["missing_root"], () => read(other, root, nodes, key));
    }
  }
});

Deno.test("substrate trie: a proof of a value stored by hash is refused as missing_value without that value", () => {
  const entries = [0, 1, 2, 3].map(ruleEntry);
  const trie = SubstrateTrie.from(HUB, entries);
  const [key, value] = ruleEntry(0);
  const nodes = trie.prove([key]).filter((node) => toHex(node) !== toHex(value));
  refuses(["missing_value"], () => read(HUB, trie.root(), nodes, key));
  assert.deepEqual(read(HUB, trie.root(), [...nodes, value], key), value);
});

Deno.test("substrate trie: values are stored by hash from 33 bytes on, and only in layout V1", () => {
  const key = text("key");
  for (const [length, elements] of [[32, 1], [33, 2]] as const) {
    const value = new Uint8Array(length).fill(7);
    assert.equal(SubstrateTrie.empty(HUB).set(key, value).prove([key]).length, elements);
    assert.equal(SubstrateTrie.empty({ ...HUB, layout: "V0" }).set(key, value).prove([key]).length, 1);
  }
});

Deno.test("substrate trie: the empty trie has the hash of the byte 0 as root and proves absence without nodes", () => {
  for (const kind of KINDS) {
    const trie = SubstrateTrie.empty(kind);
    assert.equal(trie.root(), toHash256(hashFunction(kind.hasher)(Uint8Array.of(0))));
    assert.equal(read(kind, trie.root(), [], text("a")), undefined);
    assert.equal(read(kind, trie.root(), trie.prove([text("a")]), text("a")), undefined);
  }
});

Deno.test("substrate node: paths of any length survive both directions, and every cut is refused", () => {
  const hashed = { kind: "hashed", hash: new Uint8Array(32).fill(9) } as const;
  for (const length of [0, 1, 2, 14, 15, 16, 30, 31, 61, 62, 63, 64, 269, 270, 317, 318, 319, 574]) {
    const partial = new Uint8Array(length).fill(11);
    for (const value of [hashed, { kind: "inline", bytes: text("abc") } as const]) {
      const leaf = { kind: "leaf", partial, value } as const;
      const children = Array.from(
        { length: 16 },
        (_, at) => at % 5 === 1 ? Uint8Array.of(0x40, 0) : undefined,
      );
      const branch = { kind: "branch", partial, value, children } as const;
      const bare = { ...branch, value: undefined };
      for (const node of [leaf, branch, bare]) {
        const bytes = encodeSubstrateNode(node);
        assert.deepEqual(decodeSubstrateNode(bytes), node);
        refuses(["malformed_node"], () => decodeSubstrateNode(Uint8Array.of(...bytes, 0)));
        for (let end = 0; end < bytes.length; end++) {
          refuses(["malformed_node"], () => decodeSubstrateNode(bytes.subarray(0, end)));
        }
      }
    }
  }
});

Deno.test("substrate node: inline values keep every length around the steps of the compact encoding", () => {
  for (const length of [0, 1, 63, 64, 16_383, 16_384, 70_000]) {
    const value = { kind: "inline", bytes: new Uint8Array(length).fill(5) } as const;
    const leaf = { kind: "leaf", partial: Uint8Array.of(1), value } as const;
    assert.deepEqual(decodeSubstrateNode(encodeSubstrateNode(leaf)), leaf);
  }
});

Deno.test("substrate node: bytes that are no node are refused although their hash fits", () => {
  const bad: Record<string, string> = {
    "unknown header": "0x01",
    "padding nibble set": "0x41f100",
    "branch without child": "0x800000",
    "child of 33 bytes": "0x80010084" + "00".repeat(33),
    "child of no bytes": "0x80010000",
    "length of four bytes and more": "0x400300000040",
    "small length in four bytes": "0x400301000000aa",
    "endless path": "0x7f" + "ff".repeat(300),
    "empty node with a tail": "0x0000",
  };
  for (const node of Object.values(bad).map(fromHex)) {
    refuses(["malformed_node"], () => read(HUB, toHash256(keccak256(node)), [node], text("a")));
  }
});

const bytes = (maxLength: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ maxLength });
/** Short keys over a small alphabet: many common prefixes, keys that are prefixes of others. */
const keyArbitrary = fc.oneof(
  fc.array(fc.constantFrom(0x00, 0x01, 0x10, 0x11, 0xff), { maxLength: 4 }).map((list) =>
    Uint8Array.from(list)
  ),
  bytes(6),
);
const changeArbitrary = fc.tuple(keyArbitrary, fc.option(bytes(70), { nil: undefined }));

Deno.test("substrate trie: after any changes it equals a map, a fresh trie of it, and proves every key", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...KINDS),
      fc.array(changeArbitrary, { maxLength: 40 }),
      fc.array(keyArbitrary, { maxLength: 10 }),
      (kind, changes, questions) => {
        let trie = SubstrateTrie.empty(kind);
        const model = new Map<string, Uint8Array>();
        for (const [key, value] of changes) {
          trie = value === undefined ? trie.delete(key) : trie.set(key, value);
          if (value === undefined) model.delete(toHex(key));
          else model.set(toHex(key), value);
        }
        const expected = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
        assert.equal(trie.size, model.size);
        assert.deepEqual([...trie.entries()].map(([key, value]) => [toHex(key), value]), expected);
        const fresh = SubstrateTrie.from(kind, expected.map(([key, value]) => [fromHex(key), value]));
        assert.equal(trie.root(), fresh.root());
        const keys = [...questions, ...changes.map(([key]) => key)];
        const nodes = trie.prove(keys);
        const shown = readSubstrateProof({ root: trie.root(), hasher: kind.hasher, nodes, keys });
        for (const key of keys) assert.deepEqual(shown.get(toHex(key)), model.get(toHex(key)));
        assert.equal(new Set(nodes.map(toHex)).size, nodes.length);
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("substrate trie: dropping any element of a proof makes some key unreadable", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...KINDS),
      fc.uniqueArray(keyArbitrary, { minLength: 1, maxLength: 20, selector: toHex }),
      fc.nat(),
      (kind, keys, pick) => {
        const trie = SubstrateTrie.from(kind, keys.map((key) => [key, keccak256(key)]));
        const nodes = trie.prove(keys);
        const cut = nodes.toSpliced(pick % nodes.length, 1);
        refuses(
          ["missing_root", "missing_node"],
          () => readSubstrateProof({ root: trie.root(), hasher: kind.hasher, nodes: cut, keys }),
        );
      },
    ),
    { numRuns: 100 },
  );
});

Deno.test("substrate trie: snapshots keep their root, values and proofs while later tries change", () => {
  fc.assert(
    fc.property(fc.array(changeArbitrary, { maxLength: 25 }), (changes) => {
      const snapshots: { trie: SubstrateTrie; root: Hash256; entries: [Uint8Array, Uint8Array][] }[] = [];
      let trie = SubstrateTrie.empty(HUB);
      for (const [key, value] of changes) {
        trie = value === undefined ? trie.delete(key) : trie.set(key, value);
        snapshots.push({ trie, root: trie.root(), entries: [...trie.entries()] });
      }
      for (const { trie: old, root, entries } of snapshots) {
        assert.deepEqual([...old.entries()], entries);
        assert.equal(SubstrateTrie.from(HUB, old.entries()).root(), root);
        const keys = changes.map(([key]) => key);
        const shown = readSubstrateProof({ root, hasher: HUB.hasher, nodes: old.prove(keys), keys });
        for (const key of keys) assert.deepEqual(shown.get(toHex(key)), old.get(key));
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("substrate trie: a stored value does not change with the caller's array", () => {
  const value = Uint8Array.of(1, 2, 3);
  const trie = SubstrateTrie.empty(HUB).set(text("a"), value);
  value.fill(0);
  assert.deepEqual(trie.get(text("a")), Uint8Array.of(1, 2, 3));
  assert.equal(trie.set(text("a"), Uint8Array.of(1, 2, 3)), trie);
  assert.equal(trie.delete(text("b")), trie);
  assert.equal(trie.delete(text("a")).size, 0);
});

Deno.test("substrate trie: entries are listed by prefix in rising order of key", () => {
  const trie = SubstrateTrie.from(HUB, ["b", "ab", "a", "abc", "ac"].map((key) => [text(key), text(key)]));
  const listed = (prefix: string): string[] =>
    [...trie.entries(text(prefix))].map(([key]) => new TextDecoder().decode(key));
  assert.deepEqual(listed(""), ["a", "ab", "abc", "ac", "b"]);
  assert.deepEqual(listed("ab"), ["ab", "abc"]);
  assert.deepEqual(listed("abcd"), []);
});
