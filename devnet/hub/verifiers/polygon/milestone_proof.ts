/**
 * Whether Heimdall's state has a milestone: the proof of its store, and that of the store among all. Source: cosmos/ics23:
 * rust/src/{api,verify,ops}.rs, proto/cosmos/ics23/v1/proofs.proto; polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs (Milestone, verify_consensus).
 */
import { ClientRefusal, converted, require } from "../refusals.ts";
import { concatBytes, equalBytes } from "../../../../src/core/encoding/bytes.ts";
import { type ScaleMilestone } from "./layouts.ts";
import { numberField, octets, sha256Parts, sized, textField } from "../../../heimdall/wire.ts";
import { ByteReader, ProtobufFault, ProtobufFields } from "./protobuf.ts";

/** How nodes of a tree are written: what stands before the child in an inner node, and how long a child is. */
interface TreeForm {
  readonly head: { readonly min: number; readonly max: number };
  readonly child: number;
  /** Nodes begin with their height, size and version. */
  readonly isVersioned: boolean;
}

const STORE_TREE: TreeForm = { head: { min: 4, max: 12 }, child: 33, isVersioned: true };
const TREE_OF_STORES: TreeForm = { head: { min: 1, max: 1 }, child: 32, isVersioned: false };

const SHA_256 = 1n;
const NO_HASH = 0n;
const PROTOBUF_LENGTH = 1n;

/** An entry of a tree. */
interface Entry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** An entry of one of Heimdall's stores. */
export interface StoredEntry extends Entry {
  readonly store: string;
}

/** Makes sure that the state with that root has the entry. @throws {ClientRefusal} */
export function requireEntry(proof: Uint8Array, root: Uint8Array, { store, ...entry }: StoredEntry): void {
  const parts = readable(() => new ProtobufFields(proof).list(1).map((part) => new ProtobufFields(part)));
  const [ofEntry, ofStore, ...more] = parts;
  const isPair = ofEntry !== undefined && ofStore !== undefined && more.length === 0;
  require(isPair && entry.value.length > 0, "MembershipProofFailed");
  const storeRoot = readable(() => rootShownBy(ofEntry, entry, STORE_TREE));
  const ofAll = { key: new TextEncoder().encode(store), value: storeRoot };
  const shown = readable(() => rootShownBy(ofStore, ofAll, TREE_OF_STORES));
  require(equalBytes(shown, root), "MembershipProofFailed");
}

/** A milestone as Heimdall stores it: behind `0x81` and its number, the highest byte first. */
export function storedMilestone(index: bigint, milestone: ScaleMilestone): StoredEntry {
  const digits = index.toString(16).padStart(16, "0");
  return {
    store: "milestone",
    key: concatBytes(Uint8Array.of(0x81), Uint8Array.fromHex(digits)),
    value: concatBytes(
      textField(1, milestone.proposer),
      numberField(2, milestone.startBlock),
      numberField(3, milestone.endBlock),
      octets(4, milestone.hash),
      textField(5, milestone.borChainId),
      textField(6, milestone.milestoneId),
      numberField(7, milestone.timestamp),
      numberField(8, milestone.totalDifficulty),
    ),
  };
}

function readable<T>(read: () => T): T {
  const refusal = (cause: Error): Error => new ClientRefusal("ConstructMerkleProof", { cause });
  return converted(ProtobufFault, refusal, read);
}

/** Root of the tree in which the proof shows the entry. */
function rootShownBy(proof: ProtobufFields, { key, value }: Entry, form: TreeForm): Uint8Array {
  const exist = proof.last === 1 ? proof.message(1) : undefined;
  const leaf = exist?.message(3);
  require(exist !== undefined && leaf !== undefined, "MembershipProofFailed");
  const isOfEntry = equalBytes(exist.octets(1), key) && equalBytes(exist.octets(2), value);
  const start = leaf.octets(5);
  const isLeaf = leaf.number(1) === SHA_256 && leaf.number(2) === NO_HASH && leaf.number(3) === SHA_256 &&
    leaf.number(4) === PROTOBUF_LENGTH && start[0] === 0 &&
    (!form.isVersioned || afterVersion(start, 0n) === 0);
  require(isOfEntry && isLeaf, "MembershipProofFailed");
  let hash = sha256Parts(start, sized(key), sized(sha256Parts(value)));
  for (const [above, step] of exist.list(4).entries()) {
    const fields = new ProtobufFields(step);
    const before = fields.octets(2);
    const after = fields.octets(3);
    const rest = form.isVersioned ? afterVersion(before, BigInt(above + 1)) : undefined;
    const isInner = fields.number(1) === SHA_256 && before[0] !== 0 && before.length >= form.head.min &&
      before.length <= form.head.max + form.child && after.length % form.child === 0 &&
      // Before the left child stands its length; before the right one the left child, too, with both lengths.
      (!form.isVersioned || rest === 1 || rest === 34);
    require(isInner, "MembershipProofFailed");
    hash = sha256Parts(before, hash, after);
  }
  return hash;
}

/** Bytes behind height, size and version; `undefined`: they are not there, or the height is too low. */
function afterVersion(bytes: Uint8Array, lowest: bigint): number | undefined {
  try {
    const reader = new ByteReader(bytes);
    const [height, size, version] = [signed(reader), signed(reader), signed(reader)];
    return height >= lowest && size >= 0n && version >= 0n ? reader.left : undefined;
  } catch (error) {
    if (error instanceof ProtobufFault) return undefined;
    throw error;
  }
}

/** Even numbers are twice what they mean, odd ones are below zero. */
function signed(reader: ByteReader): bigint {
  const value = reader.varint();
  return value % 2n === 0n ? value / 2n : -(value + 1n) / 2n;
}
