/**
 * Proofs of values in Heimdall's state (ICS23): through the IAVL tree of a store, then through the tree of the stores.
 * The npm library of ICS23 (`@confio/ics23`) is not maintained and lacks rules that the hub has, so the rules are here
 * and only the Protobuf form comes from a library. Source: cosmos/ics23: rust/src/{api,verify,ops}.rs; cosmos/ibc-rs:
 * ibc-core/ics23-commitment/types/src/merkle.rs (verify_membership).
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { BinaryReader } from "cosmjs-types/binary";
import {
  CommitmentProof,
  type ExistenceProof,
  HashOp,
  type InnerOp,
  type LeafOp,
  LengthOp,
} from "cosmjs-types/cosmos/ics23/v1/proofs";
import { MerkleProof } from "cosmjs-types/ibc/core/commitment/v1/commitment";
import { concatBytes, equalBytes, type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";
import { PolygonError } from "./polygon_error.ts";
import { lengthPrefixed } from "./protobuf.ts";

/** What is proved. */
export interface ProvenEntry {
  readonly store: string;
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** Shape of the nodes of a kind of tree. */
interface TreeKind {
  readonly isIavl: boolean;
  readonly minPrefix: number;
  readonly maxPrefix: number;
  readonly childSize: number;
}

/** Kinds in the order of the proofs: the store, then the tree of the stores. */
const KINDS: readonly TreeKind[] = [
  { isIavl: true, minPrefix: 4, maxPrefix: 12, childSize: 33 },
  { isIavl: false, minPrefix: 1, maxPrefix: 1, childSize: 32 },
];

/** First byte of leaves in both kinds. */
const LEAF_PREFIX = 0;

/** Bytes after the numbers of an IAVL node: the length of the left hash, or both lengths and the left hash. */
const IAVL_REST: readonly number[] = [1, 34];

/**
 * Joins the parts of a node's answer to the proof that updates carry. @param parts Protobuf of one commitment proof
 * each, the store's first. @throws {PolygonError} `undecodable_proof`
 */
export function joinCommitmentProofs(parts: readonly Uint8Array[]): Uint8Array {
  return decoded(() => {
    const proofs = parts.map((part) => CommitmentProof.decode(part));
    return MerkleProof.encode({ proofs }).finish();
  });
}

/**
 * Requires that the state with this root has the entry. @param proof of {@link joinCommitmentProofs}. @throws
 * {PolygonError} `undecodable_proof`, `milestone_proof`
 */
export function requireProven(proof: Uint8Array, root: Hash256, { store, key, value }: ProvenEntry): void {
  const { proofs } = decoded(() => MerkleProof.decode(proof));
  // The library reads on where a part is longer than what it is in, which the hub refuses.
  const isOneForm = equalBytes(MerkleProof.encode({ proofs }).finish(), proof);
  if (!isOneForm) throw new PolygonError("undecodable_proof");
  const paths = [key, new TextEncoder().encode(store)];
  let subroot = value;
  if (value.length === 0 || proofs.length !== KINDS.length) throw new PolygonError("milestone_proof");
  KINDS.forEach((kind, index) => {
    const { exist, ...others } = proofs[index] ?? {};
    const path = paths[index];
    // The hub takes one member of the message's union: another one stands in the place of the entry.
    const isAlone = Object.values(others).every((other) => other === undefined);
    const isOfEntry = isAlone && exist !== undefined && path !== undefined && equalBytes(exist.key, path) &&
      equalBytes(exist.value, subroot) && isWellFormed(exist, kind);
    if (!isOfEntry) throw new PolygonError("milestone_proof");
    subroot = rootOf(exist);
  });
  if (toHash256(subroot) !== root) throw new PolygonError("milestone_proof");
}

function decoded<T>(decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    // The library throws plain errors at the end of the bytes.
    throw new PolygonError("undecodable_proof", { cause });
  }
}

function isWellFormed({ leaf, path }: ExistenceProof, kind: TreeKind): boolean {
  return leaf !== undefined && isLeaf(leaf, kind) &&
    path.every((step, index) => isInner(step, kind, index + 1));
}

function isLeaf(leaf: LeafOp, { isIavl }: TreeKind): boolean {
  const isOfKind = leaf.hash === HashOp.SHA256 && leaf.prehashKey === HashOp.NO_HASH &&
    leaf.prehashValue === HashOp.SHA256 && leaf.length === LengthOp.VAR_PROTO;
  return isOfKind && leaf.prefix[0] === LEAF_PREFIX && (!isIavl || bytesAfterNumbers(leaf.prefix, 0n) === 0);
}

function isInner({ hash, prefix, suffix }: InnerOp, kind: TreeKind, depth: number): boolean {
  const isOfKind = hash === HashOp.SHA256 && prefix[0] !== LEAF_PREFIX &&
    prefix.length >= kind.minPrefix && prefix.length <= kind.maxPrefix + kind.childSize &&
    suffix.length % kind.childSize === 0;
  if (!isOfKind || !kind.isIavl) return isOfKind;
  const rest = bytesAfterNumbers(prefix, BigInt(depth));
  return rest !== undefined && IAVL_REST.includes(rest);
}

/**
 * Bytes of an IAVL prefix after height, size and version; `undefined`: it does not begin with them, or the height is
 * too low.
 */
function bytesAfterNumbers(prefix: Uint8Array, minHeight: bigint): number | undefined {
  try {
    const reader = new BinaryReader(prefix);
    const height = reader.sint64();
    const size = reader.sint64();
    const version = reader.sint64();
    return height >= minHeight && size >= 0n && version >= 0n ? prefix.length - reader.pos : undefined;
  } catch {
    return undefined;
  }
}

function rootOf({ leaf, key, value, path }: ExistenceProof): Uint8Array {
  const leafHash = sha256(
    concatBytes(leaf?.prefix ?? new Uint8Array(0), lengthPrefixed(key), lengthPrefixed(sha256(value))),
  );
  return path.reduce((child, { prefix, suffix }) => sha256(concatBytes(prefix, child, suffix)), leafHash);
}
