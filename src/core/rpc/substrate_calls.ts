/**
 * Standard JSON-RPC methods of Substrate nodes that are used, and readers for their answers. Source:
 * paritytech/polkadot-sdk: substrate/client/rpc-api/src.
 */
import {
  fromHex,
  type Hash256,
  type Hex,
  isHexBytes,
  toHash256,
  toHex,
  toLowerHex,
} from "../encoding/bytes.ts";
import { isJsonObject, type Json } from "./json.ts";

/** Throws an `RpcFault` `malformed`. */
export type Fail = (detail: string) => never;

/** Call with a reader for its result. */
export interface TypedCall<T> {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly read: (result: Json, fail: Fail) => T;
  /**
   * For values that can be asked for one by one, where a node denies the call for many, or cannot answer for as many:
   * the calls at a block, and what their values together are. Absent: there is no other way.
   */
  readonly singly?: {
    readonly calls: (best: Hash256) => readonly TypedCall<Uint8Array | undefined>[];
    readonly join: (values: readonly (Uint8Array | undefined)[]) => T;
  };
}

/** Reads hex of any length. */
export function readHex(value: Json | undefined, fail: Fail): Uint8Array {
  return isHexBytes(value) ? fromHex(value) : fail("expected hex");
}

/** Reads a 32-byte hex string. */
export function parseHash(value: Json | undefined, fail: Fail): Hash256 {
  const bytes = readHex(value, fail);
  return bytes.length === 32 ? toHash256(bytes) : fail("expected 32 bytes");
}

/** Reads bytes that ISMP methods encode as an array of numbers and gateways as hex. */
export function parseBytes(value: Json | undefined, fail: Fail): Uint8Array {
  if (!Array.isArray(value)) return readHex(value, fail);
  const isBytes = value.every((each) => typeof each === "number" && each >= 0 && each <= 255);
  return isBytes ? Uint8Array.from(value, Number) : fail("expected bytes");
}

/** Reads an unsigned integer given as a number, or as hex as in headers. */
function parseInteger(value: Json | undefined, fail: Fail): bigint {
  if (typeof value === "string") {
    return /^0x[0-9a-fA-F]{1,32}$/.test(value) ? BigInt(value) : fail("expected an integer");
  }
  if (typeof value !== "bigint" && typeof value !== "number") return fail("expected an integer");
  if (typeof value === "number" && !Number.isSafeInteger(value)) return fail("expected an integer");
  const integer = BigInt(value);
  return integer < 0n ? fail("expected an unsigned integer") : integer;
}

/** Reads an object. */
export function readObject(value: Json | undefined, fail: Fail): { readonly [name: string]: Json } {
  return isJsonObject(value) ? value : fail("expected an object");
}

/** Maximum number of items of an array: no honest answer has nearly as many, and each takes microseconds to read. */
const MAX_ITEMS = 100_000;

/** Reads an array. */
export function readArray(value: Json | undefined, fail: Fail): readonly Json[] {
  if (!Array.isArray(value)) return fail("expected an array");
  return value.length > MAX_ITEMS ? fail(`an array of ${value.length} items`) : value;
}

function readHexList(value: Json | undefined, fail: Fail): readonly Uint8Array[] {
  return readArray(value, fail).map((each) => readHex(each, fail));
}

/** Block header as JSON-RPC returns it, with its SCALE encoding. */
export interface Header {
  readonly height: bigint;
  readonly parent: Hash256;
  /** SCALE of the header; its hash is the block's hash. */
  readonly fields: {
    readonly stateRoot: Hash256;
    readonly extrinsicsRoot: Hash256;
    readonly logs: readonly Uint8Array[];
  };
}

/** Block numbers of Substrate chains are u32. */
const MAX_BLOCK = 0xffff_ffffn;

function readHeader(value: Json, fail: Fail): Header {
  const header = readObject(value, fail);
  const height = parseInteger(header.number, fail);
  if (height > MAX_BLOCK) return fail("expected a block number");
  const digest = readObject(header.digest, fail);
  return {
    height,
    parent: parseHash(header.parentHash, fail),
    fields: {
      stateRoot: parseHash(header.stateRoot, fail),
      extrinsicsRoot: parseHash(header.extrinsicsRoot, fail),
      logs: readHexList(digest.logs, fail),
    },
  };
}

function optional<T>(read: TypedCall<T>["read"]): TypedCall<T | undefined>["read"] {
  return (value, fail) => value === null ? undefined : read(value, fail);
}

/** Block number as a JSON-RPC parameter. */
function blockNumber(height: bigint): number {
  if (height < 0n || height > MAX_BLOCK) throw new RangeError(`Not a block number: ${height}`);
  return Number(height);
}

function numbersOf(from: bigint, to: bigint): readonly number[] {
  return Array.from({ length: Number(to - from) + 1 }, (_, index) => blockNumber(from + BigInt(index)));
}

function at(block: Hash256 | undefined): readonly Hash256[] {
  return block === undefined ? [] : [block];
}

function typed<T>(method: string, params: readonly unknown[], read: TypedCall<T>["read"]): TypedCall<T> {
  return { method, params, read };
}

/** Values of a storage query, by key. */
export type StorageValues = ReadonlyMap<Hex, Uint8Array | undefined>;

/**
 * Standard calls that are used. `block` is a block hash; without it the node's best block is read. Source:
 * paritytech/polkadot-sdk: substrate/client/rpc-api/src.
 */
export const calls = {
  header: (block?: Hash256): TypedCall<Header | undefined> =>
    typed("chain_getHeader", at(block), optional(readHeader)),
  finalizedHash: (): TypedCall<Hash256> => typed("chain_getFinalizedHead", [], parseHash),
  blockHash: (height: bigint): TypedCall<Hash256 | undefined> =>
    typed("chain_getBlockHash", [blockNumber(height)], optional(parseHash)),
  bestHash: (): TypedCall<Hash256> => typed("chain_getBlockHash", [], parseHash),
  /** Hashes of blocks `from` to `to`, both inclusive. */
  blockHashes: (from: bigint, to: bigint): TypedCall<readonly (Hash256 | undefined)[]> =>
    typed(
      "chain_getBlockHash",
      [numbersOf(from, to)],
      (value, fail) =>
        readArray(value, fail).map((each) => each === null ? undefined : parseHash(each, fail)),
    ),
  /** Extrinsics of a block, each with its length prefix. */
  extrinsics: (block: Hash256): TypedCall<readonly Uint8Array[] | undefined> =>
    typed(
      "chain_getBlock",
      [block],
      optional((value, fail) => {
        const inner = readObject(readObject(value, fail).block, fail);
        return readHexList(inner.extrinsics, fail);
      }),
    ),
  pendingExtrinsics: (): TypedCall<readonly Uint8Array[]> =>
    typed("author_pendingExtrinsics", [], readHexList),
  submit: (extrinsic: Uint8Array): TypedCall<Hash256> =>
    typed("author_submitExtrinsic", [toHex(extrinsic)], parseHash),
  storage: (key: Uint8Array, block?: Hash256): TypedCall<Uint8Array | undefined> =>
    typed("state_getStorage", [toHex(key), ...at(block)], optional(readHex)),
  /** Several values at one block. */
  storageAt: (keys: readonly Uint8Array[], block?: Hash256): TypedCall<StorageValues> => ({
    ...typed("state_queryStorageAt", [keys.map(toHex), ...at(block)], readStorageValues),
    singly: {
      calls: (best) => keys.map((key) => calls.storage(key, block ?? best)),
      join: (values) => new Map(keys.map((key, index) => [toHex(key), values[index]])),
    },
  }),
  /** Keys after `start`, in order; at most 1000 at a time (paritytech/polkadot-sdk: substrate/client/rpc). */
  keysPaged: (
    prefix: Uint8Array,
    count: number,
    start?: Uint8Array,
    block?: Hash256,
  ): TypedCall<readonly Uint8Array[]> =>
    typed("state_getKeysPaged", [
      toHex(prefix),
      count,
      ...(start ?? block ? [toHex(start ?? prefix)] : []),
      ...at(block),
    ], readHexList),
  childStorage: (trie: Uint8Array, key: Uint8Array, block?: Hash256): TypedCall<Uint8Array | undefined> =>
    typed("childstate_getStorage", [toHex(trie), toHex(key), ...at(block)], optional(readHex)),
  /** Several values of a child trie at a block, without one at the best, in the order of the keys. */
  childStorageEntries: (
    trie: Uint8Array,
    keys: readonly Uint8Array[],
    block?: Hash256,
  ): TypedCall<readonly (Uint8Array | undefined)[]> => ({
    ...typed("childstate_getStorageEntries", [toHex(trie), keys.map(toHex), ...at(block)], (value, fail) => {
      const values = readArray(value, fail);
      if (values.length !== keys.length) fail(`expected ${keys.length} values, got ${values.length}`);
      return values.map((each) => optional(readHex)(each, fail));
    }),
    singly: {
      calls: (best) => keys.map((key) => calls.childStorage(trie, key, block ?? best)),
      join: (values) => values,
    },
  }),
  /** Value of the node's offchain database (kind PERSISTENT). Unsafe method. */
  offchainValue: (key: Uint8Array): TypedCall<Uint8Array | undefined> =>
    typed("offchain_localStorageGet", ["PERSISTENT", toHex(key)], optional(readHex)),
  /** Nodes of the main trie that prove `keys`. */
  readProof: (keys: readonly Uint8Array[], block: Hash256): TypedCall<readonly Uint8Array[]> =>
    typed("state_getReadProof", [keys.map(toHex), block], readProofNodes),
  /** Nodes of a child trie that prove `keys`; `trie` is its key in the main trie. */
  childReadProof: (
    trie: Uint8Array,
    keys: readonly Uint8Array[],
    block: Hash256,
  ): TypedCall<readonly Uint8Array[]> =>
    typed("state_getChildReadProof", [toHex(trie), keys.map(toHex), block], readProofNodes),
  stateCall: (method: string, argument: Uint8Array, block?: Hash256): TypedCall<Uint8Array> =>
    typed("state_call", [method, toHex(argument), ...at(block)], readHex),
  runtimeVersion: (block?: Hash256): TypedCall<RuntimeVersion> =>
    typed("state_getRuntimeVersion", at(block), (value, fail) => {
      const version = readObject(value, fail);
      const specName = typeof version.specName === "string" ? version.specName : fail("no specName");
      return { specName, specVersion: Number(parseInteger(version.specVersion, fail)) };
    }),
  metadata: (block?: Hash256): TypedCall<Uint8Array> => typed("state_getMetadata", at(block), readHex),
  methods: (): TypedCall<ReadonlySet<string>> =>
    typed("rpc_methods", [], (value, fail) => {
      const methods = Array.isArray(value) ? value : readArray(readObject(value, fail).methods, fail);
      return new Set(methods.filter((each) => typeof each === "string"));
    }),
  dryRun: (extrinsic: Uint8Array): TypedCall<Uint8Array> =>
    typed("system_dryRun", [toHex(extrinsic)], readHex),
};

/** Version of a chain's runtime. */
export interface RuntimeVersion {
  readonly specName: string;
  readonly specVersion: number;
}

function readProofNodes(value: Json, fail: Fail): readonly Uint8Array[] {
  return readHexList(readObject(value, fail).proof, fail);
}

function readStorageValues(value: Json, fail: Fail): StorageValues {
  const values = new Map<Hex, Uint8Array | undefined>();
  for (const set of readArray(value, fail)) {
    for (const change of readArray(readObject(set, fail).changes, fail)) {
      const [key, stored = null] = readArray(change, fail);
      if (!isHexBytes(key)) return fail("expected hex");
      values.set(toLowerHex(key), stored === null ? undefined : readHex(stored, fail));
    }
  }
  return values;
}
