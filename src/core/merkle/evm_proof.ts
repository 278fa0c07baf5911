/**
 * State proofs of EVM chains in the form of the hub: built from `eth_getProof` answers, read with the hub's rules.
 * The proof and its SCALE form are in `../ismp/proof.ts`. Start at {@link readEvmState}.
 */
import type { Hash256, Hex } from "../encoding/bytes.ts";
import { fromHex, keccak256, toHash256, toHex } from "../encoding/bytes.ts";
import { CodedError, mapError } from "../encoding/coded_error.ts";
import { locateSlot } from "../evm/host_storage.ts";
import type { EvmStateProof } from "../ismp/proof.ts";
import { TrieError, TrieNodes } from "./trie_nodes.ts";
import { decodeRlp, EMPTY_NODE, EMPTY_ROOT, readPatricia } from "./patricia.ts";

/**
 * Reason why the hub refuses a state proof; names follow polytope-labs/hyperbridge: modules/ismp/state-machines/evm.
 */
export type EvmProofErrorCode =
  /** A key is not 20, 32 or 52 bytes. */
  | "unsupported_key_length"
  /** A key was requested twice. */
  | "duplicate_key"
  /** A contract of the keys has no storage proof. */
  | "incomplete_storage_proof"
  /** The proof contains storage of a contract that no key requests. */
  | "unrequested_contract_proof"
  /** The account nodes do not lead from the state root to the account; `cause` is a `TrieError`. */
  | "invalid_account_proof"
  /** The account nodes show that there is no such account. */
  | "account_not_present"
  /** The account leaf is not RLP of (nonce, balance, storage root, code hash); on Substrate the record is none of a contract. */
  | "account_malformed"
  /** The storage nodes do not decide a slot; `cause` is a `TrieError`. */
  | "storage_unreadable"
  /** An answer of `eth_getProof` or an address is not hex of the right length. */
  | "malformed_answer"
  /** Substrate: the nodes of the main trie do not decide a record or the root of a child trie; `cause` is a `TrieError`. */
  | "main_trie_unreadable"
  /** Substrate: the contract stores nothing: there is no child trie, and absence cannot be proved. */
  | "no_storage"
  /** Substrate: the root of the child trie is not 32 bytes long. */
  | "storage_root_malformed";

/** State proof of contracts that the hub would refuse, or an answer that contains none. */
export class EvmProofError extends CodedError<EvmProofErrorCode> {
  override readonly name = "EvmProofError";
}

/** Fields of an `eth_getProof` answer (EIP-1186) that make up a state proof. */
export interface AccountProofAnswer {
  readonly address: string;
  readonly accountProof: readonly string[];
  readonly storageHash: string;
  readonly storageProof: readonly { readonly proof: readonly string[] }[];
}

/**
 * Packs `eth_getProof` answers taken at one block into one proof: account nodes in the order of the answers, storage
 * nodes sorted, both without repetitions. Several answers for one address are joined; an answer without slots adds no
 * storage entry, since the hub refuses storage that no key requests. Entries rise by address.
 *
 * RPC endpoints may omit the one node of an empty storage trie, without which the hub cannot read it: it is added.
 * @throws {EvmProofError} malformed_answer.
 */
export function buildEvmStateProof(answers: readonly AccountProofAnswer[]): EvmStateProof {
  const accountNodes = new Set<Hex>();
  const storageNodes = new Map<Hex, Set<Hex>>();
  for (const answer of answers) {
    addNodes(accountNodes, [answer.accountProof]);
    if (answer.storageProof.length === 0) continue;
    const address = normalHex(answer.address, 20);
    const nodes = storageNodes.get(address) ?? new Set<Hex>();
    storageNodes.set(address, nodes);
    addNodes(nodes, answer.storageProof.map(({ proof }) => proof));
    if (normalHex(answer.storageHash, 32) === toHex(EMPTY_ROOT)) nodes.add(toHex(EMPTY_NODE));
  }
  const byAddress = [...storageNodes].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    contractProof: [...accountNodes].map(fromHex),
    storageProof: new Map(byAddress.map(([address, nodes]) => [address, [...nodes].sort().map(fromHex)])),
  };
}

/**
 * The storage root of the account of `address` under `stateRoot`, or `undefined` when the nodes show that there is none.
 * @throws {EvmProofError} invalid_account_proof, account_malformed.
 */
export function readAccountRoot(
  accountNodes: Iterable<Uint8Array>,
  stateRoot: Hash256,
  address: Uint8Array,
): Hash256 | undefined {
  const leaf = readTrie("invalid_account_proof", new TrieNodes(accountNodes, keccak256), stateRoot, address);
  return leaf === undefined ? undefined : decodeStorageRoot(leaf);
}

/**
 * Reads the values of `keys` in `proof`, with the rules of the hub (polytope-labs/hyperbridge:
 * modules/ismp/state-machines/evm, verify_state_proof).
 *
 * A key of 32 bytes is a slot of `host`, 52 bytes are address ++ slot, 20 bytes an account; slots are not hashed yet.
 * The storage proof must hold exactly the contracts of the slot keys.
 * @param options.host 20-byte address of the ISMP host contract.
 * @returns by hex of the key: RLP of the slot's value, `undefined` for an empty slot; for an account RLP of (nonce,
 * balance, storage root, code hash).
 * @throws {EvmProofError} any code; an account that does not exist is refused, not absent.
 */
export function readEvmState(
  options: {
    readonly stateRoot: Hash256;
    readonly host: Uint8Array;
    readonly proof: EvmStateProof;
    readonly keys: readonly Uint8Array[];
  },
): Map<Hex, Uint8Array | undefined> {
  const { stateRoot, proof } = options;
  const { slots, accounts } = groupKeys(options.keys, options.host);
  for (const contract of slots.keys()) {
    if (!proof.storageProof.has(contract)) throw new EvmProofError("incomplete_storage_proof");
  }
  for (const contract of proof.storageProof.keys()) {
    if (!slots.has(contract)) throw new EvmProofError("unrequested_contract_proof");
  }
  const accountNodes = new TrieNodes(proof.contractProof, keccak256);
  const values = new Map<Hex, Uint8Array | undefined>();
  for (const [contract, nodes] of proof.storageProof) {
    const storageRoot = decodeStorageRoot(requireAccountLeaf(accountNodes, stateRoot, fromHex(contract)));
    const storageNodes = new TrieNodes(nodes, keccak256);
    for (const { key, slot } of slots.get(contract) ?? []) {
      values.set(toHex(key), readTrie("storage_unreadable", storageNodes, storageRoot, slot));
    }
  }
  for (const address of accounts) {
    const leaf = requireAccountLeaf(accountNodes, stateRoot, address);
    decodeStorageRoot(leaf);
    values.set(toHex(address), leaf);
  }
  return values;
}

interface SlotKey {
  readonly key: Uint8Array;
  readonly slot: Uint8Array;
}

/** Sorts keys by the contract they belong to. @throws {EvmProofError} duplicate_key, unsupported_key_length */
export function groupKeys(
  keys: readonly Uint8Array[],
  host: Uint8Array,
): { slots: Map<Hex, SlotKey[]>; accounts: Uint8Array[] } {
  if (new Set(keys.map(toHex)).size !== keys.length) throw new EvmProofError("duplicate_key");
  const slots = new Map<Hex, SlotKey[]>();
  const accounts: Uint8Array[] = [];
  for (const key of keys) {
    if (key.length === 20) {
      accounts.push(key);
      continue;
    }
    const located = locateSlot(key, host);
    if (located === undefined) throw new EvmProofError("unsupported_key_length");
    const contract = toHex(located.contract);
    const group = slots.get(contract) ?? [];
    slots.set(contract, group);
    group.push({ key, slot: located.slot });
  }
  return { slots, accounts };
}

/** Reads a key of a trie, whose nodes are refused with that code. */
function readTrie(
  code: "storage_unreadable" | "invalid_account_proof",
  nodes: TrieNodes,
  root: Hash256,
  key: Uint8Array,
): Uint8Array | undefined {
  const read = (): Uint8Array | undefined => readPatricia(nodes, fromHex(root), keccak256(key));
  return mapError(TrieError, read, (cause) => new EvmProofError(code, { cause }));
}

function requireAccountLeaf(bag: TrieNodes, stateRoot: Hash256, address: Uint8Array): Uint8Array {
  const leaf = readTrie("invalid_account_proof", bag, stateRoot, address);
  if (leaf === undefined) throw new EvmProofError("account_not_present");
  return leaf;
}

/** Reads the storage root of an account, whose other fields must be what the hub accepts, too. */
function decodeStorageRoot(leaf: Uint8Array): Hash256 {
  const item = mapError(
    TrieError,
    () => decodeRlp(leaf),
    (cause) => new EvmProofError("account_malformed", { cause }),
  );
  const items = Array.isArray(item) && item.length === 4 ? item : [];
  const fields = items.filter((field) => field instanceof Uint8Array);
  const [nonce, balance, storageRoot, codeHash] = fields;
  const isAccount = fields.length === 4 && isUint(nonce, 8) && isUint(balance, 32) && codeHash?.length === 32;
  if (!isAccount || storageRoot?.length !== 32) throw new EvmProofError("account_malformed");
  return toHash256(storageRoot);
}

function isUint(bytes: Uint8Array | undefined, maxBytes: number): boolean {
  return bytes !== undefined && bytes.length <= maxBytes && bytes[0] !== 0;
}

/** Adds the nodes of proofs that begin alike. @throws {EvmProofError} malformed_answer. */
function addNodes(nodes: Set<Hex>, proofs: readonly (readonly string[])[]): void {
  for (const text of new Set(proofs.flat())) nodes.add(normalHex(text));
}

/** Lower-case hex with `0x`, of exactly `length` bytes when given. */
function normalHex(text: string, length?: number): Hex {
  const bytes = mapError(
    RangeError,
    () => fromHex(text),
    (cause) => new EvmProofError("malformed_answer", { cause }),
  );
  if (length !== undefined && bytes.length !== length) throw new EvmProofError("malformed_answer");
  return toHex(bytes);
}
