/**
 * Client of the chain that finalizes the hub (a relay chain, or a standalone chain): headers whose hashes are computed,
 * justifications, storage and its proofs. Start reading at {@link RelayChain}.
 */
import type { Randomness } from "../../core/runtime/clock.ts";
import { type Hash256, toHex } from "../../core/encoding/bytes.ts";
import { decodeDigestItem, hashSubstrateHeader, type SubstrateHeader } from "../../core/substrate/header.ts";
import { ScaleError } from "../../core/encoding/scale.ts";
import type { EndpointUrl } from "../../core/config/redact.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import type { RpcObserver } from "../../core/rpc/observed_endpoint.ts";
import { type SocketDeps, SocketEndpoint } from "../../core/rpc/socket.ts";
import {
  calls,
  type Header,
  parseBytes,
  parseHash,
  readArray,
  readHex,
  readObject,
  type TypedCall,
} from "../../core/rpc/substrate_calls.ts";
import { SubstrateClient } from "../../core/rpc/substrate_client.ts";
import { translateSubstrateError } from "../../core/rpc/substrate_errors.ts";

/** A block of the chain. */
export interface RelayBlock {
  readonly header: SubstrateHeader;
  readonly hash: Hash256;
}

/** Options of the connection. */
export interface RelayChainOptions {
  readonly rpcWs: EndpointUrl;
  /** Maximum size of one request or response, bytes; default 32 MB: some blocks with all their extrinsics. */
  readonly maxPayloadBytes?: number;
}

/** A node's unverified answer about a leaf of its MMR. */
export interface MmrAnswer {
  /** SCALE of a list of opaque leaves. */
  readonly leaves: Uint8Array;
  /** SCALE of a leaf proof. */
  readonly proof: Uint8Array;
}

/** Calls that only chains with finality gadgets have. */
const finalityCalls = {
  /** SCALE of a finality proof; `undefined`: the node has none for that block. */
  proveFinality: (block: number): TypedCall<Uint8Array | undefined> => ({
    method: "grandpa_proveFinality",
    params: [block],
    read: (value, fail) => value === null ? undefined : readHex(value, fail),
  }),
  beefyFinalizedHead: (): TypedCall<Hash256> => ({
    method: "beefy_getFinalizedHead",
    params: [],
    read: parseHash,
  }),
  /** SCALE of the leaf of a block and of its path to the MMR root at that block. */
  mmrProof: (block: number, hash: Hash256): TypedCall<MmrAnswer> => ({
    method: "mmr_generateProof",
    params: [[block], block, hash],
    read: (value, fail) => {
      const { leaves, proof } = readObject(value, fail);
      return { leaves: readHex(leaves, fail), proof: readHex(proof, fail) };
    },
  }),
  /** Justifications of a block by engine: both are returned as lists of numbers. */
  justifications: (block: Hash256): TypedCall<ReadonlyMap<string, Uint8Array>> => ({
    method: "chain_getBlock",
    params: [block],
    read: (value, fail) => {
      const found = readObject(value, fail).justifications ?? null;
      if (found === null) return new Map();
      return new Map(
        readArray(found, fail).map((entry) => {
          const [engine = null, bytes = null] = readArray(entry, fail);
          return [String.fromCharCode(...parseBytes(engine, fail)), parseBytes(bytes, fail)] as const;
        }),
      );
    },
  }),
};

/** Headers per request. */
const HEADERS_AT_A_TIME = 128;

/**
 * Maximum number of blocks whose justifications are fetched in one request: they come with all their extrinsics, up to
 * 1 MB of text each, and nodes answer with 15 MB (paritytech/polkadot-sdk: substrate/client/cli,
 * rpc-max-response-size).
 */
const BODIES_AT_A_TIME = 8;

/** Keys in one answer: nodes list no more. Source: paritytech/polkadot-sdk: substrate/client/rpc/src/state/mod.rs. */
const KEYS_PER_PAGE = 1_000;

/** Maximum number of answers with keys that are read. */
const MAX_KEY_PAGES = 5;

/** Dependencies of the client. */
export interface RelayChainDeps extends SocketDeps {
  readonly randomness: Randomness;
  /** Notified of every request; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
}

/** Opens the chain that finalizes a hub. */
export function connectFinality(deps: RelayChainDeps, hub: StateMachine, rpcWs: EndpointUrl): RelayChain {
  return new RelayChain(deps, `finality of ${hub}`, { rpcWs });
}

/** The chain; connects at the first call. Every method may throw an `RpcFault`. */
export class RelayChain {
  readonly #endpoint: SocketEndpoint;
  readonly #client: SubstrateClient;
  /** Number of blocks with extrinsics that this node puts into one answer. */
  #bodiesAtATime = BODIES_AT_A_TIME;

  constructor(
    deps: RelayChainDeps,
    name: string,
    { rpcWs, maxPayloadBytes = 32_000_000 }: RelayChainOptions,
  ) {
    this.#endpoint = new SocketEndpoint(deps, {
      url: rpcWs.reveal(),
      chain: name,
      translate: translateSubstrateError,
      maxPayloadBytes,
    });
    this.#client = new SubstrateClient(deps, this.#endpoint, name);
  }

  /** Host of the node, safe to log. */
  get host(): string {
    return this.#client.host;
  }

  /** Fetches the newest block that GRANDPA has finalized. */
  async fetchFinalized(signal: AbortSignal): Promise<RelayBlock> {
    const hash = await this.#client.call(calls.finalizedHash(), signal);
    return await this.fetchBlock(hash, signal);
  }

  /** Fetches the newest block that BEEFY has finalized; a freshly started node does not know it yet. */
  async fetchBeefyFinalized(signal: AbortSignal): Promise<RelayBlock> {
    const hash = await this.#client.call(finalityCalls.beefyFinalizedHead(), signal);
    return await this.fetchBlock(hash, signal);
  }

  /**
   * Fetches a block by hash. @throws {RpcFault} `lagging` when the node does not have it, `malformed` when it serves
   * another one.
   */
  async fetchBlock(hash: Hash256, signal: AbortSignal): Promise<RelayBlock> {
    const header = await this.#client.call(calls.header(hash), signal);
    return this.#toBlock(header, hash);
  }

  /** Fetches the hash of the block of that number on the node's best chain. */
  async fetchHash(block: number, signal: AbortSignal): Promise<Hash256> {
    const hash = await this.#client.call(calls.blockHash(BigInt(block)), signal);
    if (hash === undefined) throw this.#client.fault("lagging", "chain_getBlockHash", `no block ${block}`);
    return hash;
  }

  /** Fetches blocks `from` to `to` of the node's best chain, ascending; each is the parent of the next. */
  async fetchBlocks(from: number, to: number, signal: AbortSignal): Promise<readonly RelayBlock[]> {
    const blocks: RelayBlock[] = [];
    for (let first = from; first <= to; first += HEADERS_AT_A_TIME) {
      const last = Math.min(to, first + HEADERS_AT_A_TIME - 1);
      const hashes = await this.#client.call(calls.blockHashes(BigInt(first), BigInt(last)), signal);
      const known = hashes.map((hash, at) => {
        if (hash !== undefined) return hash;
        throw this.#client.fault("lagging", "chain_getBlockHash", `no block ${first + at}`);
      });
      const headers = await this.#client.callAll(known.map((hash) => calls.header(hash)), signal);
      blocks.push(...headers.map((header, at) => this.#toBlock(header, known[at])));
    }
    const broken = blocks.findIndex(({ header }, at) => at > 0 && header.parentHash !== blocks[at - 1]?.hash);
    if (broken === -1) return blocks;
    throw this.#client.fault("malformed", "chain_getHeader", `blocks up to ${from + broken} are not linked`);
  }

  /** Fetches the justification of a block by an engine; `undefined`: the node stores none. */
  async fetchJustification(
    hash: Hash256,
    engine: string,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    return (await this.fetchJustifications([hash], engine, signal))[0];
  }

  /** Fetches the justifications of several blocks, in their order, in as few requests as the node's limits allow. */
  async fetchJustifications(
    hashes: readonly Hash256[],
    engine: string,
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    const found: (Uint8Array | undefined)[] = [];
    while (found.length < hashes.length) {
      const part = hashes.slice(found.length, found.length + this.#bodiesAtATime);
      try {
        const answers = await this.#client.callAll(part.map(finalityCalls.justifications), signal);
        found.push(...answers.map((each) => each.get(engine)));
      } catch (fault) {
        const isTooMuch = fault instanceof RpcFault && ["too_large", "timeout"].includes(fault.code);
        if (!isTooMuch || part.length === 1) throw fault;
        this.#bodiesAtATime = Math.ceil(part.length / 2);
      }
    }
    return found;
  }

  /** Fetches the SCALE finality proof of a block; `undefined`: the node has none. */
  proveFinality(block: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
    return this.#client.call(finalityCalls.proveFinality(block), signal);
  }

  /** Fetches values at a block (the best one when omitted), in the order of the keys, in one request. */
  async fetchStorage(
    keys: readonly Uint8Array[],
    block: Hash256 | undefined,
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    const [first, ...others] = keys;
    if (first === undefined) return [];
    if (others.length === 0) return [await this.#client.call(calls.storage(first, block), signal)];
    const found = await this.#client.call(calls.storageAt(keys, block), signal);
    return keys.map((key) => found.get(toHex(key)));
  }

  /** Fetches the keys with a prefix at a block, in their order. @throws {RpcFault} `too_large` for more than 5,000. */
  async fetchKeys(prefix: Uint8Array, block: Hash256, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const keys: Uint8Array[] = [];
    for (let page = 0; page < MAX_KEY_PAGES; page++) {
      const found = await this.#client.call(
        calls.keysPaged(prefix, KEYS_PER_PAGE, keys.at(-1), block),
        signal,
      );
      keys.push(...found);
      if (found.length < KEYS_PER_PAGE) return keys;
    }
    throw this.#client.fault("too_large", "state_getKeysPaged", `more than ${keys.length} keys`);
  }

  /** Fetches the MMR proof of a block's leaf. @throws {RpcFault} also where the node's offchain MMR is incomplete. */
  fetchMmrProof({ header, hash }: RelayBlock, signal: AbortSignal): Promise<MmrAnswer> {
    return this.#client.call(finalityCalls.mmrProof(header.number, hash), signal);
  }

  /** Fetches the trie nodes that prove the values of keys at a block. */
  fetchReadProof(
    keys: readonly Uint8Array[],
    block: Hash256,
    signal: AbortSignal,
  ): Promise<readonly Uint8Array[]> {
    return this.#client.call(calls.readProof(keys, block), signal);
  }

  /** Calls a runtime function without arguments. */
  callRuntime(method: string, block: Hash256, signal: AbortSignal): Promise<Uint8Array> {
    return this.#client.call(calls.stateCall(method, new Uint8Array(0), block), signal);
  }

  /** Ends the connection. */
  close(): Promise<void> {
    return this.#endpoint.close();
  }

  #toBlock(reported: Header | undefined, hash: Hash256 | undefined): RelayBlock {
    if (reported === undefined || hash === undefined) {
      throw this.#client.fault("lagging", "chain_getHeader", `no block ${hash}`);
    }
    const { height, parent, fields: { logs, ...roots } } = reported;
    const malformed = (detail: string): RpcFault =>
      this.#client.fault("malformed", "chain_getHeader", detail);
    try {
      const digest = logs.map(decodeDigestItem);
      const header = { parentHash: parent, number: Number(height), ...roots, digest };
      if (hashSubstrateHeader(header) === hash) return { header, hash };
    } catch (cause) {
      if (!(cause instanceof ScaleError)) throw cause;
      throw malformed(`unreadable digest of block ${height}`);
    }
    throw malformed(`the fields of block ${hash} do not match its hash`);
  }
}
