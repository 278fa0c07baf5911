/**
 * Consensus proofs of the hub that the hub itself accepted: their events, and their bytes. Source:
 * polytope-labs/hyperbridge: modules/pallets/beefy-consensus-proofs/src/{lib,types}.rs.
 */
import type { Hash256 } from "../../encoding/bytes.ts";
import { beefyProofsKeys, offchainKeys, otherKeys } from "../../ismp/storage_keys.ts";
import {
  compareIntegers,
  hash256,
  list,
  Option,
  orderedMap,
  Struct,
  u128,
  u64,
} from "../../encoding/scale.ts";
import { resultOf, RpcFault } from "../../rpc/fault.ts";
import { calls, type RuntimeVersion, type StorageChange } from "../../rpc/substrate_calls.ts";
import type { AcceptedProof, AcceptedProofIndex, AcceptedProofs } from "../hub.ts";
import type { SubstrateNode } from "./node.ts";
import type { Runtime } from "./runtime.ts";
import { decodeValue } from "./storage_values.ts";
import { AnnouncedRange, BlockEventReader } from "./block_events.ts";

/** Blocks of one query. Events of a block are a few kilobytes. */
const BLOCKS_PER_QUERY = 100n;

/** Blocks whose proofs are remembered: as many as are searched for a target that is behind. */
const MAX_READ_BLOCKS = 2_000n;

/** Final blocks that were read, without gaps, and the proofs accepted in them. */
interface ReadBlocks {
  readonly from: bigint;
  readonly to: bigint;
  readonly proofs: readonly AcceptedProof[];
}

/** Blocks whose events are asked for. */
interface QueriedRange {
  readonly blocks: readonly Hash256[];
  readonly first: Hash256;
  readonly last: Hash256;
  /** Parent of the first block. */
  readonly parent: Hash256 | undefined;
  /** Version of the runtime that the parent left; `undefined`: it has to be asked for. */
  readonly before: RuntimeVersion | undefined;
  /** True when no block of the range changes the runtime. */
  readonly keepsRuntime: boolean;
}

const rotationsCodec = orderedMap(u64, u64, compareIntegers);

/** Finds accepted proofs; one per hub, so that missing capabilities of its node are detected once. */
export class SubstrateAcceptedProofs implements AcceptedProofs {
  readonly #node: SubstrateNode;
  readonly #blockEvents: BlockEventReader;
  #canQueryRanges = true;
  /** Final blocks that were read last, so that those who follow the hub for several chains share them. */
  #read: ReadBlocks | undefined;
  /** Runtime after the block that was read last. */
  #version: { readonly at: bigint; readonly version: RuntimeVersion } | undefined;

  constructor(node: SubstrateNode) {
    this.#node = node;
    this.#blockEvents = new BlockEventReader(node);
  }

  /**
   * Fetches proofs accepted in the final blocks `from` to `to`, ascending by proven height. Two round trips for up to
   * 100 blocks, one where the node announced them, none for blocks that were read before.
   * @throws {RpcFault} `lagging` when the node has not reached `to`.
   */
  async fetchAcceptedProofs(
    from: bigint,
    to: bigint,
    signal: AbortSignal,
  ): Promise<readonly AcceptedProof[]> {
    const read = this.#read;
    const known = read !== undefined && read.from <= from && read.to >= from - 1n ? read : undefined;
    const proofs = [...known?.proofs ?? []];
    for (let start = known === undefined ? from : known.to + 1n; start <= to; start += BLOCKS_PER_QUERY) {
      const end = start + BLOCKS_PER_QUERY - 1n;
      proofs.push(...await this.#fetchChunk(start, end < to ? end : to, signal));
    }
    if (known === undefined || known.to < to) this.#keep({ from: known?.from ?? from, to, proofs });
    return proofs
      .filter(({ atBlock }) => atBlock >= from && atBlock <= to)
      .sort((a, b) => compareIntegers(a.height, b.height));
  }

  /** Remembers blocks, the newest ones only. Two that read at the same time may both have read the same. */
  #keep({ from, to, proofs }: ReadBlocks): void {
    if (this.#read !== undefined && this.#read.to > to) return;
    const oldest = from > to - MAX_READ_BLOCKS ? from : to - MAX_READ_BLOCKS;
    this.#read = { from: oldest, to, proofs: proofs.filter(({ atBlock }) => atBlock >= oldest) };
  }

  /** Rotations that the hub still keeps: set to proven height, ascending by set; one round trip. */
  async fetchRotations(
    signal: AbortSignal,
  ): Promise<ReadonlyMap<bigint, bigint>> {
    const stored = await this.#node.client.call(calls.storage(beefyProofsKeys.rotationProofs()), signal);
    return this.#readRotations(stored);
  }

  #readRotations(stored: Uint8Array | undefined): ReadonlyMap<bigint, bigint> {
    return decodeValue(this.#node, stored, rotationsCodec, "BeefyConsensusProofs.RotationProofs") ??
      new Map();
  }

  #readMessaging(stored: Uint8Array | undefined): readonly bigint[] {
    return decodeValue(this.#node, stored, list(u64), "BeefyConsensusProofs.MessagingProofs") ?? [];
  }

  /** Accepted proofs that the hub lists at its newest final block. Two round trips. */
  async fetchAcceptedIndex(
    signal: AbortSignal,
  ): Promise<AcceptedProofIndex> {
    const head = await this.#node.client.call(calls.finalizedHash(), signal);
    const [rotations, messaging] = await this.#node.client.callAll([
      calls.storage(beefyProofsKeys.rotationProofs(), head),
      calls.storage(beefyProofsKeys.messagingProofs(), head),
    ], signal);
    return { rotations: this.#readRotations(rotations), messaging: this.#readMessaging(messaging) };
  }

  /**
   * Fetches the bytes of a proof from the node's offchain database; one round trip when they are at the expected key. A
   * height whose proof was a rotation has no messaging proof, and old rotations are stored under the key of their
   * height (docs/protocol/messaging.md section 7.2.1).
   * @throws {RpcFault} `missing_method` when the node does not expose its offchain database.
   */
  async fetchProofBytes(
    { height, newSetId }: Pick<AcceptedProof, "height" | "newSetId">,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const { client } = this.#node;
    const byHeight = calls.offchainValue(offchainKeys.beefyMessagingProof(height));
    if (newSetId !== undefined) {
      const found = await client.call(calls.offchainValue(offchainKeys.beefyRotationProof(newSetId)), signal);
      if (found !== undefined) return found;
      const [old, index] = await client.callAll(
        [byHeight, calls.storage(beefyProofsKeys.messagingProofs())],
        signal,
      );
      // A rotation may prove a height that a messaging proof had already proven: then the bytes are that one's.
      return this.#readMessaging(index).includes(height) ? undefined : old;
    }
    const found = await client.call(byHeight, signal);
    if (found !== undefined) return found;
    for (const [setId, provenHeight] of await this.fetchRotations(signal)) {
      if (provenHeight !== height) continue;
      return await client.call(calls.offchainValue(offchainKeys.beefyRotationProof(setId)), signal);
    }
    return undefined;
  }

  /** Fetches a range; one that is too large, or takes too long, is fetched in halves. */
  async #fetchChunk(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly AcceptedProof[]> {
    try {
      return await this.#readRange(from, to, signal);
    } catch (fault) {
      const isTooMuch = fault instanceof RpcFault && (fault.code === "too_large" || fault.code === "timeout");
      if (!isTooMuch || from === to) throw fault;
      const middle = (from + to) / 2n;
      const lower = await this.#fetchChunk(from, middle, signal);
      return [...lower, ...await this.#fetchChunk(middle + 1n, to, signal)];
    }
  }

  async #readRange(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly AcceptedProof[]> {
    const { client } = this.#node;
    const announced = new AnnouncedRange(this.#node, from, to);
    const before = this.#version?.at === from - 1n ? this.#version.version : undefined;
    const needsParent = before === undefined && from > 0n;
    const { parent, hashes } = await this.#fetchHashes(announced, { from, to, needsParent }, signal);
    const heights = new Map<Hash256, bigint>();
    for (const [index, hash] of hashes.entries()) {
      if (hash !== undefined) heights.set(hash, from + BigInt(index));
    }
    const [first, last] = [hashes[0], hashes.at(-1)];
    if (first === undefined || last === undefined || BigInt(heights.size) !== to - from + 1n) {
      throw client.fault("lagging", "chain_getBlockHash", `not all blocks ${from} to ${to}`);
    }
    const range: QueriedRange = {
      blocks: [...heights.keys()],
      first,
      last,
      parent,
      before,
      keepsRuntime: announced.keepsRuntime,
    };
    const parents = new Map(hashes.map((hash, index) => [hash, index === 0 ? parent : hashes[index - 1]]));
    const { changes, versions } = await this.#fetchEvents(range, signal);
    const proofs: AcceptedProof[] = [];
    for (const { block, value } of changes) {
      const atBlock = heights.get(block);
      if (atBlock === undefined) {
        throw client.fault("lagging", "state_queryStorage", "the chain was reorganised");
      }
      if (value === undefined) continue;
      const runtime = await this.#runtimeOf({ block, parent: parents.get(block) }, versions, signal);
      proofs.push(...this.#readProofs(runtime, value, atBlock));
    }
    const version = versions.at(-1);
    if (version !== undefined) this.#version = { at: to, version };
    return proofs;
  }

  /** Fetches the hashes that were not announced. */
  async #fetchHashes(
    announced: AnnouncedRange,
    { from, to, needsParent }: { readonly from: bigint; readonly to: bigint; readonly needsParent: boolean },
    signal: AbortSignal,
  ): Promise<{ readonly parent: Hash256 | undefined; readonly hashes: readonly (Hash256 | undefined)[] }> {
    const { client } = this.#node;
    const known = announced.hashes;
    if (known === undefined) {
      const all = await client.call(calls.blockHashes(needsParent ? from - 1n : from, to), signal);
      return needsParent ? { parent: all[0], hashes: all.slice(1) } : { parent: undefined, hashes: all };
    }
    if (!needsParent || announced.parent !== undefined) return { parent: announced.parent, hashes: known };
    const [parent] = await client.call(calls.blockHashes(from - 1n, from - 1n), signal);
    return { parent, hashes: known };
  }

  /**
   * Fetches the events of these blocks (those equal to the previous block's may be missing), with the versions that
   * execute the first of them and the one after the last.
   */
  async #fetchEvents(
    { blocks, first, last, parent, before, keepsRuntime }: QueriedRange,
    signal: AbortSignal,
  ): Promise<{ readonly changes: readonly StorageChange[]; readonly versions: readonly RuntimeVersion[] }> {
    const { client } = this.#node;
    const known = before === undefined ? [] : keepsRuntime ? [before, before] : [before];
    const ends = [parent ?? first, last].slice(known.length).map((block) => calls.runtimeVersion(block));
    if (this.#canQueryRanges) {
      const query = calls.storageChanges(otherKeys.systemEvents(), first, last);
      const [changes, ...versions] = await client.callAllSettled([query, ...ends], signal);
      const asked = versions.map(resultOf);
      if (!(changes instanceof RpcFault)) return { changes, versions: [...known, ...asked] };
      if (changes.code !== "missing_method") throw changes;
      this.#canQueryRanges = false;
      this.#node.log.info("storage_query_unavailable");
    }
    const reads = blocks.map((block) => calls.storage(otherKeys.systemEvents(), block));
    const [values, asked] = await Promise.all([
      client.callAll(reads, signal),
      client.callAll(ends, signal),
    ]);
    return {
      changes: values.map((value, index) => ({ block: blocks[index] ?? first, value })),
      versions: [...known, ...asked],
    };
  }

  /**
   * Returns the runtime that executed a block: the one that its parent left, also where the block itself brings another.
   * An upgrade within the range requires the version of each.
   */
  async #runtimeOf(
    { block, parent = block }: { readonly block: Hash256; readonly parent: Hash256 | undefined },
    versions: readonly RuntimeVersion[],
    signal: AbortSignal,
  ): Promise<Runtime> {
    const [first, last] = versions;
    const isSame = first !== undefined && first.specVersion === last?.specVersion;
    const version = isSame ? first : await this.#node.client.call(calls.runtimeVersion(parent), signal);
    return await this.#node.runtimes.ofVersion(version, signal, parent);
  }

  #readProofs(runtime: Runtime, events: Uint8Array, atBlock: bigint): readonly AcceptedProof[] {
    return this.#blockEvents.read(runtime, events, atBlock).flatMap((event) => {
      if (event.pallet !== "BeefyConsensusProofs" || event.name !== "ProofAccepted") return [];
      const fields = this.#blockEvents.readFields(event, proofAcceptedCodec, atBlock);
      return fields === undefined ? [] : [{ height: fields.height, newSetId: fields.newSetId, atBlock }];
    });
  }
}

/** SCALE of the fields of `ProofAccepted`: the hub accepted a consensus proof about itself. */
const proofAcceptedCodec = Struct({
  submitter: hash256,
  height: u64,
  newSetId: Option(u64),
  rewarded: u128,
});
