/**
 * State of Substrate chains as the hub reads it from proofs, both layouts of nodes. Written for the hub alone: a mistake of
 * the relayer's reader is none of the hub's.
 * Source: paritytech/polkadot-sdk: substrate/primitives/trie/src/{node_header,node_codec}.rs.
 */
import { blake2b } from "@noble/hashes/blake2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import {
  concatBytes,
  fromHex,
  type Hash256,
  type Hex,
  toHash256,
  toHex,
} from "../../../src/core/encoding/bytes.ts";
import type { HashAlgorithm, SubstrateEvmProof } from "../../../src/core/ismp/proof.ts";
import { ProofRefusal } from "./refusals.ts";
import { blake2AsU8a, xxhashAsU8a } from "@polkadot/util-crypto";

/** Reads bytes one after the other. */
class Cursor {
  #at = 0;
  constructor(readonly bytes: Uint8Array) {}

  take(count: number): Uint8Array {
    const taken = this.bytes.slice(this.#at, this.#at + count);
    if (taken.length !== count) throw new ProofRefusal("malformed_node");
    this.#at += count;
    return taken;
  }

  byte(): number {
    return this.take(1)[0] ?? 0;
  }

  /** Length of what follows, of at most 30 bits: no node is larger. */
  compact(): number {
    const first = this.byte();
    const mode = first & 3;
    if (mode === 0) return first >> 2;
    if (mode === 1) return (first | this.byte() << 8) >> 2;
    if (mode === 2) {
      const [a = 0, b = 0, c = 0] = this.take(3);
      return (first | a << 8 | b << 16 | c << 24) >>> 2;
    }
    throw new ProofRefusal("malformed_node");
  }
}

/** What the first bits of a node say. */
interface Header {
  readonly hasChildren: boolean;
  readonly value: "none" | "inline" | "hashed";
  /** Bits of the first byte that hold the length of the partial key. */
  readonly lengthBits: number;
}

function headerOf(first: number): Header | undefined {
  if (first >> 6 === 1) return { hasChildren: false, value: "inline", lengthBits: 6 };
  if (first >> 6 === 2) return { hasChildren: true, value: "none", lengthBits: 6 };
  if (first >> 6 === 3) return { hasChildren: true, value: "inline", lengthBits: 6 };
  if (first >> 5 === 1) return { hasChildren: false, value: "hashed", lengthBits: 5 };
  if (first >> 4 === 1) return { hasChildren: true, value: "hashed", lengthBits: 4 };
  return undefined;
}

/** Nibbles of a partial key; an odd number begins in the lower half of the first byte. */
function partialKey(cursor: Cursor, first: number, lengthBits: number): number[] {
  const most = 2 ** lengthBits - 1;
  let length = first & most;
  if (length === most) {
    for (let more = 255; more === 255;) {
      more = cursor.byte();
      length += more;
    }
  }
  const nibbles = [...cursor.take(Math.ceil(length / 2))].flatMap((byte) => [byte >> 4, byte & 15]);
  return nibbles.slice(length % 2);
}

/** Nodes and values of a proof by their hashes. */
class Proof {
  readonly #byHash: ReadonlyMap<Hex, Uint8Array>;

  constructor(nodes: Iterable<Uint8Array>, hasher: HashAlgorithm) {
    const hash = (bytes: Uint8Array): Uint8Array =>
      hasher === "Keccak" ? keccak_256(bytes) : blake2b(bytes, { dkLen: 32 });
    // The node of an empty trie need not come along.
    this.#byHash = new Map([Uint8Array.of(0), ...nodes].map((node) => [toHex(hash(node)), node]));
  }

  find(hash: Uint8Array): Uint8Array {
    const found = this.#byHash.get(toHex(hash));
    if (found === undefined) throw new ProofRefusal("missing_node");
    return found;
  }

  /** The value at a key below a root; `undefined`: there is none. */
  read(root: Uint8Array, key: Uint8Array): Uint8Array | undefined {
    let path = [...key].flatMap((byte) => [byte >> 4, byte & 15]);
    let cursor = new Cursor(this.find(root));
    for (;;) {
      const first = cursor.byte();
      if (first === 0) return undefined;
      const header = headerOf(first);
      if (header === undefined) throw new ProofRefusal("malformed_node");
      const partial = partialKey(cursor, first, header.lengthBits);
      const isOnPath = partial.every((nibble, at) => path[at] === nibble);
      path = path.slice(partial.length);
      const bitmap = header.hasChildren ? cursor.byte() | cursor.byte() << 8 : 0;
      const value = this.#value(cursor, header);
      if (!isOnPath) return undefined;
      const [next] = path;
      if (next === undefined) return value?.();
      if ((bitmap >> next & 1) === 0) return undefined;
      let child = new Uint8Array(0);
      for (let at = 0; at <= next; at++) {
        if ((bitmap >> at & 1) === 1) child = Uint8Array.from(cursor.take(cursor.compact()));
      }
      path = path.slice(1);
      cursor = new Cursor(child.length === 32 ? this.find(child) : child);
    }
  }

  /** Values stored by their hash are looked for only when they are wanted. */
  #value(cursor: Cursor, { value }: Header): (() => Uint8Array) | undefined {
    if (value === "none") return undefined;
    if (value === "inline") {
      const bytes = cursor.take(cursor.compact());
      return () => bytes;
    }
    const hash = cursor.take(32);
    return () => this.find(hash);
  }
}

/** What a proof shows for keys below a root, by their hex. @throws {ProofRefusal} */
export function readSubstrateState(
  { root, hasher, nodes, keys }: {
    readonly root: Hash256;
    readonly hasher: HashAlgorithm;
    readonly nodes: Iterable<Uint8Array>;
    readonly keys: readonly Uint8Array[];
  },
): ReadonlyMap<Hex, Uint8Array | undefined> {
  const proof = new Proof(nodes, hasher);
  return new Map(keys.map((key) => [toHex(key), proof.read(fromHex(root), key)]));
}

/** What is read, and where. */
export interface ContractQuestion {
  readonly stateRoot: Hash256;
  /** Address of the ISMP host. */
  readonly host: Uint8Array;
  readonly proof: SubstrateEvmProof;
}

function only(root: Hash256, nodes: readonly Uint8Array[], key: Uint8Array): Uint8Array | undefined {
  return readSubstrateState({ root, hasher: "Blake2", nodes, keys: [key] }).get(toHex(key));
}

/** Content of a byte list at the start of bytes. @throws {ProofRefusal} */
function byteList(bytes: Uint8Array): Uint8Array {
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const [length, skipped] =
    [[a >> 2, 1], [(a | b << 8) >> 2, 2], [(a | b << 8 | c << 16 | d << 24) >>> 2, 4]][a & 3] ??
      [Infinity, 0];
  const taken = bytes.slice(skipped, (skipped ?? 0) + (length ?? 0));
  if (bytes.length === 0 || taken.length !== length) throw new ProofRefusal("malformed_node");
  return taken;
}

/** Root of a contract's storage. @throws {ProofRefusal} */
function storageRootOf({ stateRoot, proof }: ContractQuestion, contract: Uint8Array): Hash256 {
  const prefix = concatBytes(xxhashAsU8a("Revive", 128), xxhashAsU8a("AccountInfoOf", 128));
  const record = only(stateRoot, proof.mainProof, concatBytes(prefix, contract));
  // The only variant that is read is the one of contracts.
  if (record === undefined || record[0] !== 0) throw new ProofRefusal("no_account");
  const trie = byteList(record.slice(1));
  const name = new TextEncoder().encode(":child_storage:default:");
  const root = only(stateRoot, proof.mainProof, concatBytes(name, trie));
  if (root === undefined || root.length < 32) throw new ProofRefusal("no_account");
  return toHash256(root.slice(0, 32));
}

function slotOf(question: ContractQuestion, contract: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
  const root = storageRootOf(question, contract);
  const nodes = question.proof.storageProof.get(toHex(contract));
  if (nodes === undefined) throw new ProofRefusal("wrong_contracts");
  return only(root, nodes, blake2AsU8a(slot, 256));
}

/** Makes sure that all slots of the host are set. @throws {ProofRefusal} */
export function requireContractSlots(question: ContractQuestion, slots: readonly Uint8Array[]): void {
  for (const slot of slots) {
    if (slotOf(question, question.host, slot) === undefined) throw new ProofRefusal("no_value");
  }
}

/** What a proof shows for keys, by their hex. @throws {ProofRefusal} */
export function readContractState(
  question: ContractQuestion,
  keys: readonly Uint8Array[],
): ReadonlyMap<Hex, Uint8Array | undefined> {
  const values = new Map(keys.map((key) => {
    if (key.length !== 32 && key.length !== 52) throw new ProofRefusal("wrong_keys");
    const isOfHost = key.length === 32;
    const contract = isOfHost ? question.host : key.slice(0, 20);
    return [toHex(key), slotOf(question, contract, isOfHost ? key : key.slice(20))] as const;
  }));
  if (values.size !== keys.length) throw new ProofRefusal("wrong_keys");
  return values;
}
