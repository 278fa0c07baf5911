/**
 * The Substrate side of an EVM chain with pallet-revive: a block for each block of an anvil, with the same number and time,
 * whose state holds what contracts store there. Changes are what the anvil's tracer tells of each block, so storage that is
 * set by anvil's own methods is not seen. Start reading at {@link MirroredBlocks.catchUp}.
 */
import { blake2AsU8a, xxhashAsU8a } from "@polkadot/util-crypto";
import {
  concatBytes,
  fromHex,
  type Hash256,
  type Hex,
  toHash256,
  toHex,
} from "../../src/core/encoding/bytes.ts";
import { SubstrateTrie, type TrieKind } from "../trie/substrate_trie.ts";
import { u64 } from "../../src/core/encoding/scale.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { BlockHistory, ChainError, zeroHash } from "../hub/block_history.ts";
import { digestItem } from "../hub/digest.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import type { ServedChain } from "../hub/blocks.ts";

/**
 * State of a Substrate chain with pallet-revive, as far as its EVM contracts go: a record per account, and a child trie
 * per contract with storage. Immutable: each block's state stays what it was. Keys are made with another library than the
 * relayer's. Source: paritytech/polkadot-sdk: substrate/frame/revive/src/{lib,storage,exec}.rs.
 */

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

/** Milliseconds of the chain's slots: every second has one. */
export const REVIVE_SLOT_MS = 1_000n;

const TIMESTAMP_KEY = concatBytes(xxhashAsU8a("Timestamp", 128), xxhashAsU8a("Now", 128));
const NO_CHILD = SubstrateTrie.empty(TRIE);

/** What a block's contracts store, and the block of the anvil that it stands for. */
interface Mirrored {
  readonly tries: ContractTries;
  readonly evmHash: string;
}

/** Block of the anvil, as far as it is needed. */
interface EvmBlock {
  readonly hash: string;
  readonly timestampSec: bigint;
  readonly hasTransactions: boolean;
}

/** The chain so far. */
export class MirroredBlocks extends BlockHistory implements ServedChain {
  readonly #rpcUrl: string;
  #mirrored: Mirrored[] = [];
  #catching: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** @param rpcUrl of the anvil. */
  constructor(rpcUrl: string) {
    super({ hasher: "Blake2", finalityLag: 0, historyBlocks: Infinity });
    this.#rpcUrl = rpcUrl;
  }

  /** Makes the blocks up to what is the anvil's head now. */
  catchUp(): Promise<void> {
    if (this.#catching === undefined) {
      this.#catching = this.#follow().finally(() => this.#catching = undefined);
      return this.#catching;
    }
    // The one that is under way may have read the head before.
    this.#next ??= this.#catching.catch(() => undefined).then(() => {
      this.#next = undefined;
      return this.catchUp();
    });
    return this.#next;
  }

  /** Contracts after a block. */
  tries(number: number): ContractTries {
    return this.#at(number).tries;
  }

  #at(number: number): Mirrored {
    const found = this.#mirrored[number];
    if (found === undefined) throw new ChainError("unknown_block", String(number));
    return found;
  }

  async #follow(): Promise<void> {
    const head = Number(await this.#ask("eth_blockNumber", []));
    await this.#cutToFork(Math.min(head, this.#mirrored.length - 1));
    while (this.#mirrored.length <= head) await this.#mirror(this.#mirrored.length);
    const final = await this.#ask("eth_getBlockByNumber", ["finalized", false]);
    this.finalNumber = Math.min(Number(fieldOf(final, "number")), this.#mirrored.length - 1);
  }

  /** Forgets what the anvil does not have any more. */
  async #cutToFork(from: number): Promise<void> {
    let last = from;
    while (last >= 0 && (await this.#readBlock(last)).hash !== this.#at(last).evmHash) last--;
    this.#mirrored = this.#mirrored.slice(0, last + 1);
    this.cut(last + 1);
  }

  async #mirror(number: number): Promise<void> {
    const evm = await this.#readBlock(number);
    const changes = evm.hasTransactions ? await this.#readChanges(number) : new Map();
    const tries = (this.#mirrored[number - 1]?.tries ?? ContractTries.empty()).change(changes)
      .put(TIMESTAMP_KEY, u64.enc(evm.timestampSec * 1_000n));
    this.append({
      parentHash: this.findNumber(number - 1)?.hash ?? zeroHash,
      number,
      stateRoot: tries.root,
      // Told apart from others of the same state by the block that it stands for.
      extrinsicsRoot: toHash256(evm.hash),
      digest: [
        digestItem("preRuntime", "aura", u64.enc(evm.timestampSec * 1_000n / REVIVE_SLOT_MS)),
        digestItem("seal", "aura", new Uint8Array(64)),
      ],
    }, { extrinsics: [], events: [], state: { main: tries.main, child: NO_CHILD } });
    this.#mirrored.push({ tries, evmHash: evm.hash });
  }

  async #readBlock(number: number): Promise<EvmBlock> {
    const found = await this.#ask("eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
    const transactions = fieldOf(found, "transactions");
    return {
      hash: String(fieldOf(found, "hash")),
      timestampSec: BigInt(String(fieldOf(found, "timestamp"))),
      hasTransactions: Array.isArray(transactions) && transactions.length > 0,
    };
  }

  async #readChanges(number: number): Promise<SlotChanges> {
    const options = { tracer: "prestateTracer", tracerConfig: { diffMode: true } };
    const traces = await this.#ask("debug_traceBlockByNumber", [`0x${number.toString(16)}`, options]);
    if (!Array.isArray(traces)) throw new Error("The node does not trace blocks");
    const changes = new Map<Hex, Map<Hash256, bigint>>();
    for (const trace of traces) addChanges(changes, fieldOf(trace, "result"));
    return changes;
  }

  #ask(method: string, params: readonly unknown[]): Promise<unknown> {
    return resultHttp(this.#rpcUrl, method, params);
  }
}

/** Adds what a transaction changed: slots that were there before and are not afterwards have become 0. */
function addChanges(changes: Map<Hex, Map<Hash256, bigint>>, difference: unknown): void {
  const [pre, post] = [fieldOf(difference, "pre"), fieldOf(difference, "post")];
  for (const [state, isAfter] of [[pre, false], [post, true]] as const) {
    for (const [address, account] of entriesOf(state)) {
      const slots = entriesOf(fieldOf(account, "storage"));
      const isNewContract = isAfter && fieldOf(account, "code") !== undefined;
      if (slots.length === 0 && !isNewContract) continue;
      const contract = toAddress(address);
      const known = changes.get(contract) ?? new Map<Hash256, bigint>();
      changes.set(contract, known);
      for (const [slot, value] of slots) {
        known.set(
          toHash256(BigInt(slot).toString(16).padStart(64, "0")),
          isAfter ? BigInt(String(value)) : 0n,
        );
      }
    }
  }
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

function fieldOf(value: unknown, name: string): unknown {
  return entriesOf(value).find(([each]) => each === name)?.[1];
}
