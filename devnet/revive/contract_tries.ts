/**
 * State of a Substrate chain with pallet-revive, as far as its EVM contracts go: a record per account, and a child trie
 * per contract with storage. Immutable: each block's state stays what it was. Keys are made with another library than the
 * relayer's. Source: paritytech/polkadot-sdk: substrate/frame/revive/src/{lib,storage,exec}.rs.
 */
import { blake2AsU8a, xxhashAsU8a } from "@polkadot/util-crypto";
import { concatBytes, fromHex, type Hash256, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import { SubstrateTrie, type TrieKind } from "../trie/substrate_trie.ts";

/** Tries of Polkadot Hub. */
const TRIE: TrieKind = { layout: "V1", hasher: "Blake2" };

/** Slots of contracts that a block changed, by contract; a slot that became 0 is removed. */
export type SlotChanges = ReadonlyMap<Hex, ReadonlyMap<Hash256, bigint>>;

/** Key of an account's record in the main trie. */
export function recordKey(address: Hex): Uint8Array {
  return concatBytes(xxhashAsU8a("Revive", 128), xxhashAsU8a("AccountInfoOf", 128), fromHex(address));
}

/** Key of a slot in its contract's child trie. */
export function slotKey(slot: Hash256): Uint8Array {
  return blake2AsU8a(fromHex(slot), 256);
}

/** Key of a child trie in the main trie. */
export function childKey(trieId: Uint8Array): Uint8Array {
  return concatBytes(new TextEncoder().encode(":child_storage:default:"), trieId);
}

/** Id of the child trie of a contract, which is another one each time that the contract is made. */
export function trieIdOf(address: Hex, life = 0): Uint8Array {
  const name = new TextEncoder().encode("bcontract_trie_v1");
  return blake2AsU8a(concatBytes(name, fromHex(address), Uint8Array.of(life)), 256);
}

/** Record of an account that is no contract. */
export const eoaRecord: Uint8Array = Uint8Array.of(1, 0, 0, 0, 0);

/** Variant `Contract`, the trie's id, and what else is in a record: code hash, counts and deposits, dust. */
function contractRecord(trieId: Uint8Array): Uint8Array {
  const codeHash = new Uint8Array(32).fill(0xc0);
  const counts = new Uint8Array(8);
  const deposits = new Uint8Array(3 * 16);
  const immutableSizeAndDust = new Uint8Array(8);
  return concatBytes(
    Uint8Array.of(0, trieId.length * 4),
    trieId,
    codeHash,
    counts,
    deposits,
    immutableSizeAndDust,
  );
}

function wordOf(value: bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(64, "0"));
}

/** Contracts of a chain at one block. */
export class ContractTries {
  private constructor(
    readonly main: SubstrateTrie,
    /** By hex of their keys in the main trie. */
    readonly children: ReadonlyMap<Hex, SubstrateTrie>,
  ) {}

  /** A chain without contracts. */
  static empty(): ContractTries {
    return new ContractTries(SubstrateTrie.empty(TRIE), new Map());
  }

  get root(): Hash256 {
    return this.main.root();
  }

  /** With another value in the main trie. */
  put(key: Uint8Array, value: Uint8Array): ContractTries {
    return new ContractTries(this.main.set(key, value), this.children);
  }

  /** With the changes of a block. Accounts without storage have no record: nobody looks at them. */
  change(changes: SlotChanges): ContractTries {
    let { main } = this;
    const children = new Map(this.children);
    for (const [address, slots] of changes) {
      const trieId = trieIdOf(address);
      const key = childKey(trieId);
      let child = children.get(toHex(key)) ?? SubstrateTrie.empty(TRIE);
      for (const [slot, value] of slots) {
        child = value === 0n ? child.delete(slotKey(slot)) : child.set(slotKey(slot), wordOf(value));
      }
      main = main.set(recordKey(address), contractRecord(trieId));
      // The root of an empty child trie is not kept.
      if (child.size === 0) {
        children.delete(toHex(key));
        main = main.delete(key);
      } else {
        children.set(toHex(key), child);
        main = main.set(key, fromHex(child.root()));
      }
    }
    return new ContractTries(main, children);
  }

  /** With a contract that was removed and made again, with this storage. */
  remake(address: Hex, slots: ReadonlyMap<Hash256, bigint>): ContractTries {
    const trieId = trieIdOf(address, 1);
    const key = childKey(trieId);
    const entries = [...slots].map(([slot, value]) => [slotKey(slot), wordOf(value)] as const);
    const child = SubstrateTrie.from(TRIE, entries);
    const main = this.main.delete(childKey(trieIdOf(address))).set(recordKey(address), contractRecord(trieId))
      .set(key, fromHex(child.root()));
    return new ContractTries(main, new Map([...this.children, [toHex(key), child]]));
  }

  /** Nodes that prove keys of a child trie; of one that does not exist, none. */
  proveChild(trieKey: Uint8Array, keys: readonly Uint8Array[]): readonly Uint8Array[] {
    return this.children.get(toHex(trieKey))?.prove(keys) ?? [];
  }

  /** What is stored in a slot. */
  slot(address: Hex, slot: Hash256): bigint {
    const found = this.children.get(toHex(childKey(trieIdOf(address))))?.get(slotKey(slot));
    return found === undefined ? 0n : BigInt(toHex(found));
  }
}
