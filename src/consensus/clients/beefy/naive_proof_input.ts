/**
 * Reads the input of a naive proof of one relay chain block. The node's own proof of the leaf is tried first; where its
 * offchain database is incomplete, the last mountain is rebuilt from headers and storage. Source:
 * docs/protocol/hub-consensus.md section 5.4.
 */
import { type Hash256, toHash256 } from "../../../core/encoding/bytes.ts";
import { decodeAuthorities, headLeaf } from "./spec/verify_proof.ts";
import type { BeefyJustification, BeefyMmrLeaf } from "../../../core/beefy/commitment.ts";
import { authoritySetCodec, BeefyError, beefyMmrLeafHash, decoded } from "../../../core/beefy/commitment.ts";
import {
  isProven,
  lastMountainBlocks,
  mountainItems,
  type NaiveProofInput,
  type ParachainHead,
  storedPeakPositions,
} from "./spec/build_proof.ts";
import { merkleRoot } from "./spec/merkle_tree.ts";
import { leafProofCodec, parachainIdsCodec, relayBeefyKeys } from "./spec/relay_storage.ts";
import {
  decodeHeadData,
  parachainHeadKey,
  parachainHeadsPrefix,
  parachainOfHeadKey,
} from "../../../core/substrate/parachain_heads.ts";
import { compareIntegers, decodeStrict, u64 } from "../../../core/encoding/scale.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { RelayBlock, RelayChain } from "../../relay_chain/relay_chain.ts";
import { partsOf, runInSlices } from "../../../core/runtime/slices.ts";

/** Reads of the relay chain that proofs need. */
export type ProofRelay = Pick<
  RelayChain,
  | "host"
  | "fetchBlock"
  | "fetchBlocks"
  | "fetchHash"
  | "fetchKeys"
  | "fetchStored"
  | "fetchStorageSets"
  | "fetchMmrProof"
>;

/** Options of the reads. */
export interface RelayReadOptions {
  /** Parachains whose heads are proved; on-demand ones are not in the relay chain's list. */
  readonly paraIds: readonly number[];
  /** Maximum number of storage keys of one request. */
  readonly batchSize: number;
}

/** A relay chain block and its parent's state, from which its leaf is made. */
interface LeafBlock {
  readonly number: number;
  readonly hash: Hash256;
  readonly parentHash: Hash256;
}

/**
 * Parachains whose heads leaves commit to. `listed`: those in the relay chain's list, and on-demand ones that its runtime
 * names, as on Polkadot in August 2026; `all`: every one, as in newer runtimes. Source: docs/protocol/hub-consensus.md
 * section 5.4.
 */
type HeadsForm = "listed" | "all";

/** Maximum number of heads behind a leaf of the form `all`, the first ones by id. */
const MAX_HEADS = 1_024;

interface LeafWithHeads {
  readonly leaf: BeefyMmrLeaf;
  readonly heads: readonly ParachainHead[];
}

/** A justified block to prove. */
export interface ProvedBlock {
  readonly block: RelayBlock;
  readonly justification: BeefyJustification;
  /** Leaves of the mountain range at that block. */
  readonly leafCount: bigint;
  /** Called with the number of leaves of the last mountain, where the node does not prove the leaf itself. */
  readonly mayRead: (leaves: number) => boolean;
}

/** Reader of the input of proofs. Methods may throw an `RpcFault`. */
export class NaiveProofReader {
  readonly #relay: ProofRelay;
  readonly #options: RelayReadOptions;
  /** The form that was right last time first. */
  #forms: readonly HeadsForm[] = ["listed", "all"];

  constructor(relay: ProofRelay, options: RelayReadOptions) {
    this.#relay = relay;
    this.#options = options;
  }

  /**
   * Reads everything for a proof; `undefined` when `mayRead` forbids reading the leaves. @throws {BeefyError}
   * `undecodable_data`, `invalid_mmr_proof` when the node contradicts what was signed
   */
  async read(work: ProvedBlock, signal: AbortSignal): Promise<NaiveProofInput | undefined> {
    const { block, justification, leafCount } = work;
    const [authorities, counted] = await this.#relay.fetchStored([
      { key: relayBeefyKeys.authorities, block: block.hash },
      { key: relayBeefyKeys.leafCount, block: block.hash },
    ], signal);
    const reported = decoded(() => decodeStrict(u64, required(counted), "NumberOfLeaves"));
    // Another count means that the client was given another activation block: no proof would ever verify.
    if (reported !== leafCount) throw new BeefyError("out_of_bounds_leaves");
    const facts = {
      justification,
      authorities: decodeAuthorities(required(authorities)),
      paraIds: this.#options.paraIds,
    };
    const served = await this.#fetchItems(block, signal);
    const found = served && await this.#findForm(work, () => Promise.resolve(served), signal);
    if (found !== undefined) return { ...facts, ...found };
    if (!work.mayRead(mountainLeaves(block, leafCount))) return undefined;
    const read = (form: HeadsForm, { leaf }: LeafWithHeads): Promise<readonly Hash256[]> =>
      this.#readMountain(work, { form, leaf }, signal);
    const computed = await this.#findForm(work, read, signal);
    if (computed === undefined) throw new BeefyError("invalid_mmr_proof");
    return { ...facts, ...computed };
  }

  /** Finds the form of the leaf with which its items lead to the signed root; `undefined`: neither does. */
  async #findForm(
    { block, justification, leafCount }: ProvedBlock,
    readItems: (form: HeadsForm, own: LeafWithHeads) => Promise<readonly Hash256[]>,
    signal: AbortSignal,
  ): Promise<Pick<NaiveProofInput, "leaf" | "heads" | "mmrItems"> | undefined> {
    for (const form of this.#forms) {
      const [own] = await this.#readLeaves([leafBlockOf(block)], form, signal);
      if (own === undefined) throw new BeefyError("undecodable_data");
      const mmrItems = await readItems(form, own);
      if (!isProven({ justification, leaf: own.leaf, mmrItems }, leafCount)) continue;
      this.#forms = form === "all" ? ["all", "listed"] : ["listed", "all"];
      return { ...own, mmrItems };
    }
    return undefined;
  }

  /** Fetches the node's own items, unverified; `undefined`: they have to be computed. */
  async #fetchItems(block: RelayBlock, signal: AbortSignal): Promise<readonly Hash256[] | undefined> {
    try {
      const { proof } = await this.#relay.fetchMmrProof(block, signal);
      return decoded(() => decodeStrict(leafProofCodec, proof, "LeafProof")).items;
    } catch (error) {
      // Nodes forbid the method, lack old nodes of the range, or answer in another format.
      const isUseless = error instanceof BeefyError ||
        (error instanceof RpcFault && error.code !== "wrong_chain");
      if (!isUseless) throw error;
      return undefined;
    }
  }

  /** Reads the stored peaks and the leaves of the last mountain before the block's own; returns that one's items. */
  async #readMountain(
    { block, leafCount }: ProvedBlock,
    { form, leaf }: { readonly form: HeadsForm; readonly leaf: BeefyMmrLeaf },
    signal: AbortSignal,
  ): Promise<readonly Hash256[]> {
    const positions = storedPeakPositions(leafCount);
    const peaks = await this.#relay.fetchStored(
      positions.map((position) => ({ key: relayBeefyKeys.node(position), block: block.hash })),
      signal,
    );
    const { from, to } = lastMountainBlocks(block.header.number, leafCount);
    const leaves: Hash256[] = [];
    // With the block itself, so that its parent link binds the others to it.
    const blocks = from === to ? [] : await this.#relay.fetchBlocks(from, to, signal);
    if (blocks.length > 0 && blocks.at(-1)?.hash !== block.hash) throw new BeefyError("undecodable_data");
    const earlier = blocks.slice(0, -1).map(leafBlockOf);
    const atOnce = Math.max(1, Math.floor(this.#options.batchSize / 4));
    for (const part of partsOf(earlier, atOnce)) {
      const read = await this.#readLeaves(part, form, signal);
      leaves.push(...read.map((each) => beefyMmrLeafHash(each.leaf)));
    }
    return mountainItems(peaks.map((peak) => toHash256(required(peak))), [...leaves, beefyMmrLeafHash(leaf)]);
  }

  /** Reads the leaves of blocks with the heads behind them: three requests or more, as heads need. */
  async #readLeaves(
    blocks: readonly LeafBlock[],
    form: HeadsForm,
    signal: AbortSignal,
  ): Promise<readonly LeafWithHeads[]> {
    const [stored, ids] = await Promise.all([
      this.#relay.fetchStored(
        blocks.map(({ hash: block }) => ({ key: relayBeefyKeys.nextSet, block })),
        signal,
      ),
      form === "all" ? this.#readAllIds(blocks, signal) : this.#readListedIds(blocks, signal),
    ]);
    const nextSets = await this.#readNextSets(blocks, stored, signal);
    const heads = await this.#readHeadSets(blocks, ids, signal);
    return await runInSlices(makeLeaves(blocks, nextSets, heads));
  }

  /** Reads the ids of the parachains in the list of each block's parent, and adds those of the configuration. */
  async #readListedIds(
    blocks: readonly LeafBlock[],
    signal: AbortSignal,
  ): Promise<readonly (readonly number[])[]> {
    const places = blocks.map(({ parentHash: block }) => ({ key: relayBeefyKeys.parachains, block }));
    return (await this.#relay.fetchStored(places, signal)).map((stored) => {
      const listed = decoded(() => decodeStrict(parachainIdsCodec, stored ?? Uint8Array.of(0), "Parachains"));
      return [...new Set([...listed, ...this.#options.paraIds])].sort(compareIntegers);
    });
  }

  /** Reads the ids of all parachains with a head in the state of each block's parent. */
  #readAllIds(blocks: readonly LeafBlock[], signal: AbortSignal): Promise<readonly (readonly number[])[]> {
    return Promise.all(blocks.map(async ({ parentHash }) => {
      const keys = await this.#relay.fetchKeys(parachainHeadsPrefix, parentHash, signal);
      return decoded(() => keys.map(parachainOfHeadKey)).sort(compareIntegers).slice(0, MAX_HEADS);
    }));
  }

  /** Reads the next sets that blocks announce; where one is missing, by the pallet's name in older runtimes. */
  async #readNextSets(
    blocks: readonly LeafBlock[],
    found: readonly (Uint8Array | undefined)[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    const places = blocks.filter((_, at) => found[at] === undefined)
      .map(({ hash }) => ({ key: relayBeefyKeys.olderNextSet, block: hash }));
    if (places.length === 0) return found;
    const older = await this.#relay.fetchStored(places, signal);
    let next = 0;
    return found.map((each) => each ?? older[next++]);
  }

  /** Reads the heads of several blocks' parents, as many blocks per request as the limit on keys allows. */
  async #readHeadSets(
    blocks: readonly LeafBlock[],
    ids: readonly (readonly number[])[],
    signal: AbortSignal,
  ): Promise<readonly (readonly ParachainHead[])[]> {
    const sets = blocks.map(({ parentHash }, at) => ({
      keys: (ids[at] ?? []).map(parachainHeadKey),
      block: parentHash,
    }));
    const values: (readonly (Uint8Array | undefined)[])[] = [];
    for (let start = 0; start < sets.length;) {
      let keys = 0;
      let end = start;
      while (
        end < sets.length &&
        (end === start || keys + (sets[end]?.keys.length ?? 0) <= this.#options.batchSize)
      ) {
        keys += sets[end]?.keys.length ?? 0;
        end++;
      }
      values.push(...await this.#relay.fetchStorageSets(sets.slice(start, end), signal));
      start = end;
    }
    return values.map((found, at) => headsOf(ids[at] ?? [], found));
  }
}

/** Makes the leaves of blocks, a step each: there are dozens of heads behind every one. */
function* makeLeaves(
  blocks: readonly LeafBlock[],
  nextSets: readonly (Uint8Array | undefined)[],
  heads: readonly (readonly ParachainHead[])[],
): Generator<undefined, readonly LeafWithHeads[], undefined> {
  const made: LeafWithHeads[] = [];
  for (const [at, { number, parentHash }] of blocks.entries()) {
    yield;
    const found = heads[at] ?? [];
    const nextAuthoritySet = decoded(() =>
      decodeStrict(authoritySetCodec, required(nextSets[at]), "BeefyNextAuthorities")
    );
    const leaf: BeefyMmrLeaf = {
      version: 0,
      parentNumber: number - 1,
      parentHash,
      nextAuthoritySet,
      extra: merkleRoot(found.map(({ paraId, head }) => headLeaf(paraId, head))),
    };
    made.push({ leaf, heads: found });
  }
  return made;
}

/** Reads the newest heads of parachains in the state of a block. */
export async function readHeads(
  relay: ProofRelay,
  { block, paraIds }: { readonly block: Hash256; readonly paraIds: readonly number[] },
  signal: AbortSignal,
): Promise<readonly ParachainHead[]> {
  const [values = []] = await relay.fetchStorageSets(
    [{ keys: paraIds.map(parachainHeadKey), block }],
    signal,
  );
  return headsOf(paraIds, values);
}

/** Heads of parachains from the stored values, in their order; none where there is no value. */
function headsOf(
  paraIds: readonly number[],
  values: readonly (Uint8Array | undefined)[],
): readonly ParachainHead[] {
  return paraIds.flatMap((paraId, at) => {
    const stored = values[at];
    return stored === undefined ? [] : [{ paraId, head: decoded(() => decodeHeadData(stored)) }];
  });
}

function leafBlockOf({ header, hash }: RelayBlock): LeafBlock {
  return { number: header.number, hash, parentHash: header.parentHash };
}

function mountainLeaves({ header }: RelayBlock, leafCount: bigint): number {
  const { from, to } = lastMountainBlocks(header.number, leafCount);
  return to - from + 1;
}

function required(stored: Uint8Array | undefined): Uint8Array {
  if (stored === undefined) throw new BeefyError("undecodable_data");
  return stored;
}
