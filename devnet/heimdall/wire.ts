/**
 * Protobuf and hashes of Heimdall's blocks, for the simulated chain and the hub's client of it. Written apart from the
 * prover's, so that each is a test of the other. Source: protobuf.dev: programming-guides/encoding.
 */
import { createHash } from "node:crypto";
import { concatBytes } from "../../src/core/encoding/bytes.ts";

const NOTHING = new Uint8Array(0);

/** SHA-256 of all parts in a row. */
export function sha256Parts(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
}

/** A number in groups of seven bits; negative ones as 64 bits. */
function varint(value: bigint | number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest >= 128n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  return Uint8Array.of(...bytes, Number(rest));
}

/** A signed number, as IAVL nodes have them. */
export function zigzag(value: bigint | number): Uint8Array {
  const number = BigInt(value);
  return varint(number < 0n ? -2n * number - 1n : 2n * number);
}

/** Bytes after their length. */
export function sized(bytes: Uint8Array): Uint8Array {
  return concatBytes(varint(bytes.length), bytes);
}

/** A number as a field; nothing for zero. */
export function numberField(field: number, value: bigint | number): Uint8Array {
  return BigInt(value) === 0n ? NOTHING : concatBytes(varint(field * 8), varint(value));
}

/** Eight bytes as a field, lowest first; nothing for zero. */
export function fixedField(field: number, value: bigint): Uint8Array {
  if (value === 0n) return NOTHING;
  const eight = new Uint8Array(8);
  new DataView(eight.buffer).setBigUint64(0, BigInt.asUintN(64, value), true);
  return concatBytes(varint(field * 8 + 1), eight);
}

/** Bytes in a row as a field, also without any. */
export function bytesField(field: number, ...parts: readonly Uint8Array[]): Uint8Array {
  return concatBytes(varint(field * 8 + 2), sized(concatBytes(...parts)));
}

/** Bytes as a field; nothing for none. */
export function octets(field: number, value: Uint8Array): Uint8Array {
  return value.length === 0 ? NOTHING : bytesField(field, value);
}

/** A text as a field; nothing for an empty one. */
export function textField(field: number, value: string): Uint8Array {
  return octets(field, new TextEncoder().encode(value));
}

/** A step from a node to its parent. */
export interface TreeStep {
  readonly prefix: Uint8Array;
  readonly suffix: Uint8Array;
}

/** A tree with the way from each leaf to the root, lowest step first. */
export interface HashedTree {
  readonly root: Uint8Array;
  readonly paths: readonly (readonly TreeStep[])[];
}

/** The tree that CometBFT has over fields, validators and stores. */
export function simpleTree(leaves: readonly Uint8Array[]): HashedTree {
  const [only] = leaves;
  if (only === undefined) return { root: sha256Parts(), paths: [] };
  if (leaves.length === 1) return { root: sha256Parts(Uint8Array.of(0), only), paths: [[]] };
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  const left = simpleTree(leaves.slice(0, split));
  const right = simpleTree(leaves.slice(split));
  const one = Uint8Array.of(1);
  const ofLeft = { prefix: one, suffix: right.root };
  const ofRight = { prefix: concatBytes(one, left.root), suffix: NOTHING };
  return {
    root: sha256Parts(one, left.root, right.root),
    paths: [
      ...left.paths.map((path) => [...path, ofLeft]),
      ...right.paths.map((path) => [...path, ofRight]),
    ],
  };
}

/** An entry of a store. */
export interface StoreItem {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  /** Block that wrote it. */
  readonly version: bigint;
}

interface IavlNode extends HashedTree {
  readonly height: number;
  readonly size: number;
  readonly version: bigint;
}

/** Bytes before key and value of a leaf. */
export function iavlLeafPrefix({ version }: StoreItem): Uint8Array {
  return concatBytes(zigzag(0), zigzag(1), zigzag(version));
}

/** The IAVL tree of a store. @param items by ascending key, at least one. */
export function iavlTree(items: readonly StoreItem[]): HashedTree {
  return iavlNode(items);
}

function iavlNode(items: readonly StoreItem[]): IavlNode {
  const [item] = items;
  if (item === undefined) throw new RangeError("A tree without leaves");
  if (items.length === 1) {
    const root = sha256Parts(iavlLeafPrefix(item), sized(item.key), sized(sha256Parts(item.value)));
    return { root, paths: [[]], height: 0, size: 1, version: item.version };
  }
  const split = Math.ceil(items.length / 2);
  const left = iavlNode(items.slice(0, split));
  const right = iavlNode(items.slice(split));
  const height = Math.max(left.height, right.height) + 1;
  const version = left.version > right.version ? left.version : right.version;
  const head = concatBytes(zigzag(height), zigzag(items.length), zigzag(version));
  const length = Uint8Array.of(32);
  const ofLeft = { prefix: concatBytes(head, length), suffix: concatBytes(length, right.root) };
  const ofRight = { prefix: concatBytes(head, length, left.root, length), suffix: NOTHING };
  return {
    root: sha256Parts(head, sized(left.root), sized(right.root)),
    paths: [
      ...left.paths.map((path) => [...path, ofLeft]),
      ...right.paths.map((path) => [...path, ofRight]),
    ],
    height,
    size: items.length,
    version,
  };
}

/** Protobuf of the proof that a leaf is in a tree. */
export function existenceProof(
  { key, value, prefix }: {
    readonly key: Uint8Array;
    readonly value: Uint8Array;
    readonly prefix: Uint8Array;
  },
  path: readonly TreeStep[],
): Uint8Array {
  // SHA-256 of the leaf and of its value, and lengths as Protobuf has them.
  const leaf = concatBytes(numberField(1, 1), numberField(3, 1), numberField(4, 1), bytesField(5, prefix));
  const steps = path.map((step) =>
    bytesField(4, concatBytes(numberField(1, 1), bytesField(2, step.prefix), bytesField(3, step.suffix)))
  );
  const exist = concatBytes(bytesField(1, key), bytesField(2, value), bytesField(3, leaf), ...steps);
  return bytesField(1, exist);
}
