/**
 * Outcomes of extrinsics, found without state of its own: by searching their hashes in the blocks since they were
 * created, then in the transaction pool.
 */
import type { Codec } from "scale-ts";
import { dropOldest } from "../../runtime/slices.ts";
import { equalBytes, type Hash256 } from "../../encoding/bytes.ts";
import { messageHandledCodec, stateMachineUpdatedCodec } from "../../ismp/event.ts";
import { keepFault, resultOf, RpcFault } from "../../rpc/call.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { BlockRef, Outcomes, SignedSubmission } from "../submission.ts";
import type { UpdateOutcome } from "../consensus_target.ts";
import { extrinsicHash } from "./extrinsics.ts";
import { toRefusalCode } from "./refusal.ts";
import type { SubstrateNode } from "./node.ts";
import { BlockEventReader } from "./stored_events.ts";

/**
 * Blocks for which an extrinsic is waited for, and of one search. The pool drops messages after 25 (longevity:
 * docs/protocol/hub.md section 3.3); twice that leaves room for nodes that revalidate late, and for reorganisations.
 */
const WINDOW_BLOCKS = 64n;
/** Maximum number of cached blocks and results; both are small. */
const MAX_CACHED = 512;

/** Map that drops its oldest entries. */
class Cache<Key, Value> extends Map<Key, Value> {
  override set(key: Key, value: Value): this {
    super.set(key, value);
    dropOldest(this, MAX_CACHED);
    return this;
  }
}

type Included = Extract<UpdateOutcome, { kind: "included" }>;

/** What an extrinsic did in its block. */
type Result = Pick<Included, "succeeded" | "handled" | "refusal" | "advanced">;

/** Index of a block whose body is larger than what the node answers with: nobody can tell what is in it. */
const HIDDEN: ReadonlyMap<Hash256, number> = new Map();

/** Search for an extrinsic in the blocks of a window. */
interface Scan {
  /** First block of the window. */
  readonly from: bigint;
  readonly bestHeight: bigint;
  readonly finalHeight: bigint;
  /** Canonical blocks of the window, up to the best block. */
  readonly blocks: readonly BlockRef[];
  /** `undefined`: the node does not expose its transaction pool. */
  readonly isInPool: boolean | undefined;
  /** `undefined`: it is in none of the blocks. */
  readonly found: UpdateOutcome | undefined;
}

/** Finds extrinsics; one per chain, shared by all submissions, so that each block is read once. */
export class SubstrateOutcomes implements Outcomes {
  /** Per block the extrinsics by hash, with their index, or {@link HIDDEN}. */
  readonly #blocks = new Cache<Hash256, ReadonlyMap<Hash256, number>>();
  /** Per extrinsic the first block not yet searched, where that is not the one of its creation. */
  readonly #progress = new Cache<Hash256, bigint>();
  /** Per extrinsic the best block when the pool was first seen to list it. */
  readonly #listedAt = new Cache<Hash256, bigint>();

  constructor(
    readonly node: SubstrateNode,
    readonly blockEvents: BlockEventReader = new BlockEventReader(node),
  ) {}

  /**
   * Fetches the current outcome. Extrinsics of pallet Relayer stay valid forever: all blocks since the extrinsic was
   * created are searched, a window at a time; final blocks are not read again. `pending` while blocks are left. One round
   * trip while there are no new blocks, two with new blocks, three when found.
   * @throws {RpcFault}
   */
  async fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<UpdateOutcome> {
    const from = this.#progress.get(submission.hash) ?? submission.madeAtHeight;
    const scan = await this.#scan(submission, from, signal);
    const end = from + WINDOW_BLOCKS;
    if (scan.found !== undefined || scan.bestHeight < end) {
      return await this.#conclude(submission, scan, signal);
    }
    // Blocks that were reorganised meanwhile are read by the next fetch.
    const isComplete = BigInt(scan.blocks.length) === WINDOW_BLOCKS &&
      scan.blocks.every((block) => this.#blocks.has(block.hash));
    if (isComplete) {
      this.#progress.set(submission.hash, end <= scan.finalHeight ? end : scan.finalHeight + 1n);
    }
    return { kind: "pending" };
  }

  /**
   * Outcome by a search. The pool's word counts until the blocks of a whole window are final without the extrinsic: then
   * it is gone, whatever the node still lists.
   */
  async #conclude(submission: SignedSubmission, scan: Scan, signal: AbortSignal): Promise<UpdateOutcome> {
    const { hash, madeAtHeight } = submission;
    if (scan.isInPool === true && !this.#listedAt.has(hash)) this.#listedAt.set(hash, scan.bestHeight);
    const since = this.#listedAt.get(hash) ?? madeAtHeight;
    const mayCome = ({ isInPool, finalHeight }: Scan): boolean =>
      isInPool !== false && finalHeight < since + WINDOW_BLOCKS;
    if (scan.found !== undefined) return scan.found;
    if (mayCome(scan)) return { kind: "pending" };
    // It may have moved from the pool into a block between the two answers.
    const again = await this.#scan(submission, scan.from, signal);
    if (again.found !== undefined || mayCome(again)) return again.found ?? { kind: "pending" };
    if (again.isInPool === true) {
      this.node.log.warn("transaction_failed.never_included", {
        extrinsic: hash,
        since,
        final: again.finalHeight,
      });
    }
    return { kind: "unknown" };
  }

  async #scan(submission: SignedSubmission, from: bigint, signal: AbortSignal): Promise<Scan> {
    const [pool, header, finalHash, hashes] = await this.node.client.callAllSettled([
      calls.pendingExtrinsics(),
      calls.header(),
      calls.finalizedHash(),
      calls.blockHashes(from, from + WINDOW_BLOCKS - 1n),
    ], signal);
    if (pool instanceof RpcFault && pool.code !== "missing_method") throw pool;
    const best = resultOf(header);
    const blocks = resultOf(hashes).flatMap((hash, index): readonly BlockRef[] =>
      hash === undefined ? [] : [{ height: from + BigInt(index), hash }]
    );
    const isInPool = pool instanceof RpcFault
      ? undefined
      : pool.some((each) => equalBytes(each, submission.raw));
    const finalHeight = await this.#readNew(blocks, resultOf(finalHash), signal);
    const scan = { from, bestHeight: best?.height ?? 0n, finalHeight, blocks, isInPool };
    return { ...scan, found: await this.#search(submission, scan, signal) };
  }

  /**
   * Searches the blocks. `unknown`: it is in a final block whose events the node has pruned (`--state-pruning`, 256
   * blocks by default), does not answer with, or gives in a form that cannot be read. Its effect is then visible in the
   * newest state only, as for one that is not found at all. `pending`: it may be in a block that cannot be read and is
   * not final yet.
   */
  async #search(
    { hash }: SignedSubmission,
    { blocks, finalHeight, isInPool }: Omit<Scan, "found">,
    signal: AbortSignal,
  ): Promise<UpdateOutcome | undefined> {
    const block = blocks.find((each) => this.#blocks.get(each.hash)?.has(hash));
    if (block === undefined) {
      const mayBeHidden = isInPool !== true &&
        blocks.some((each) => each.height > finalHeight && this.#blocks.get(each.hash) === HIDDEN);
      return mayBeHidden ? { kind: "pending" } : undefined;
    }
    // The block was found by its height, so it is on the chain of the final block.
    const isFinal = block.height <= finalHeight;
    const parent = blocks.find(({ height }) => height === block.height - 1n)?.hash;
    const result = await this.#resultOf({ ...block, parent }, hash, signal).catch(keepFault);
    if (!(result instanceof RpcFault)) return { kind: "included", block, isFinal, ...result };
    if (!isFinal) throw result;
    if (result.code === "too_large") this.#noteUnreadable(block, result);
    else if (result.code === "pruned") {
      this.node.log.info("endpoint_limited.events", { block: block.height, extrinsic: hash });
    } else if (result.code === "malformed") {
      this.node.log.warn("messages_skipped.undecodable", { block: block.height, error: result });
    } else throw result;
    return { kind: "unknown" };
  }

  /** Reads the blocks that were not read before, and finds the height of the final block: one round trip. */
  async #readNew(blocks: readonly BlockRef[], finalHash: Hash256, signal: AbortSignal): Promise<bigint> {
    const { client, finalBlocks } = this.node;
    const fresh = blocks.filter(({ hash }) => !this.#blocks.has(hash));
    const [bodies, { height: finalHeight }] = await Promise.all([
      client.callAllSettled(fresh.map(({ hash }) => calls.extrinsics(hash)), signal),
      finalBlocks.at(finalHash, signal),
    ]);
    for (const [index, block] of fresh.entries()) {
      const extrinsics = await this.#bodyOf(block, bodies[index], signal);
      if (extrinsics !== undefined) this.#blocks.set(block.hash, extrinsics);
      else if (block.height <= finalHeight) {
        throw client.fault("pruned", "chain_getBlock", `no body of ${block.height}`);
      }
      // Else it was reorganised away since it was found: the next search will find another.
    }
    return finalHeight;
  }

  /**
   * Extrinsics of a block by the answer to a request for several; {@link HIDDEN} when the block alone is larger than what
   * the node answers with (`--rpc-max-response-size`).
   */
  async #bodyOf(
    block: BlockRef,
    answer: readonly Uint8Array[] | RpcFault | undefined,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Hash256, number> | undefined> {
    let body = answer;
    if (body instanceof RpcFault && body.code === "too_large") {
      [body] = await this.node.client.callAllSettled([calls.extrinsics(block.hash)], signal);
      if (body instanceof RpcFault && body.code === "too_large") {
        this.#noteUnreadable(block, body);
        return HIDDEN;
      }
    }
    if (body instanceof RpcFault) throw body;
    return body && new Map(body.map((each, position) => [extrinsicHash(this.node, each), position]));
  }

  #noteUnreadable({ height }: BlockRef, error: RpcFault): void {
    this.node.log.warn("endpoint_limited.block_size", { block: height, error });
  }

  /** Reads the result of an extrinsic in this block. */
  async #resultOf(
    block: BlockRef & { readonly parent: Hash256 | undefined },
    extrinsic: Hash256,
    signal: AbortSignal,
  ): Promise<Result> {
    const index = this.#blocks.get(block.hash)?.get(extrinsic);
    const parent = block.parent ??
      (await this.node.client.call(calls.header(block.hash), signal))?.parent ?? block.hash;
    const { runtime, events: all } = await this.blockEvents.fetch({ ...block, parent }, signal);
    const events = all.filter((event) => event.extrinsic === index);
    const failed = events.find((event) => event.pallet === "System" && event.name === "ExtrinsicFailed");
    const error = failed === undefined ? undefined : runtime.dispatchErrorName(failed.fields);
    const read = <T extends object>(names: readonly string[], codec: Codec<T>): readonly T[] =>
      events.filter(({ pallet, name }) => pallet === "Ismp" && names.includes(name))
        .flatMap((event) => this.blockEvents.readFields(event, codec, block.height) ?? []);
    return {
      succeeded: failed === undefined,
      handled: read(["PostRequestHandled", "GetRequestHandled"], messageHandledCodec),
      refusal: error === undefined ? undefined : { code: toRefusalCode(error), detail: error },
      advanced: read(["StateMachineUpdated"], stateMachineUpdatedCodec)
        .map(({ stateMachineId, latestHeight }) => ({ id: stateMachineId, height: latestHeight })),
    };
  }
}
