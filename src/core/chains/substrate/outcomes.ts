/**
 * Outcomes of extrinsics, found without state of its own: by searching their hashes in the blocks since they were
 * created, then in the transaction pool.
 */
import { dropOldest } from "../../runtime/slices.ts";
import { equalBytes, type Hash256 } from "../../encoding/bytes.ts";
import { messageHandledCodec, stateMachineUpdatedCodec } from "../../ismp/event.ts";
import type { StateMachineHeight } from "../../ismp/state_machine.ts";
import { RpcFault } from "../../rpc/call.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { BlockRef, SignedSubmission, SubmissionOutcome } from "../submission.ts";
import type { UpdateOutcome } from "../consensus_target.ts";
import { extrinsicHash } from "./extrinsics.ts";
import { toRefusalCode } from "./refusal.ts";
import type { RuntimeEvent } from "./event_records.ts";
import type { SubstrateNode } from "./node.ts";
import type { HubOutcomes } from "../hub.ts";
import { BlockEventReader } from "./stored_events.ts";

/**
 * Blocks in which an extrinsic is searched. The pool drops messages after 25 (longevity: docs/protocol/hub.md section
 * 3.3); twice that leaves room for nodes that revalidate late, and for reorganisations.
 */
const WINDOW_BLOCKS = 64n;
/** Blocks requested beyond the best known one, to save a round trip while the chain grows. */
const AHEAD_BLOCKS = 4n;
/** Windows of blocks read by one fetch of an extrinsic without longevity; each is two round trips. */
const WINDOWS_PER_FETCH = 4;
/** Maximum number of cached blocks and results; both are small. */
const MAX_CACHED = 512;

type Included = Extract<SubmissionOutcome, { kind: "included" }>;
interface Result extends Pick<Included, "succeeded" | "handled" | "refusal"> {
  /** Heights of other chains that it stored. */
  readonly advanced: readonly StateMachineHeight[];
}

type Found = Included & Result;

/** Map that drops its oldest entries. */
class Cache<Key, Value> extends Map<Key, Value> {
  override set(key: Key, value: Value): this {
    super.set(key, value);
    dropOldest(this, MAX_CACHED);
    return this;
  }
}

/** Index of a block whose body is larger than what the node answers with: nobody can tell what is in it. */
const HIDDEN: ReadonlyMap<Hash256, number> = new Map();

interface WindowScan {
  /** First block of the window. */
  readonly from: bigint;
  readonly bestHeight: bigint;
  readonly finalized: Hash256;
  /** `undefined`: the node does not expose its transaction pool. */
  readonly isInPool: boolean | undefined;
  /** Canonical blocks of the window, up to the best block. */
  readonly blocks: readonly BlockRef[];
}

/** Finds extrinsics; one per chain, shared by all submissions, so that each block is read once. */
export class SubstrateOutcomes implements HubOutcomes {
  readonly #node: SubstrateNode;
  readonly #blockEvents: BlockEventReader;
  /** Per block the extrinsics by hash, with their index, or {@link HIDDEN}. */
  readonly #blocks = new Cache<Hash256, ReadonlyMap<Hash256, number>>();
  /** Result per block and extrinsic. */
  readonly #results = new Cache<string, Result>();
  readonly #heights = new Cache<Hash256, bigint>();
  /** Per extrinsic that stays valid forever, the first block not yet searched. */
  readonly #progress = new Cache<Hash256, bigint>();
  #bestSeen = 0n;

  constructor(node: SubstrateNode) {
    this.#node = node;
    this.#blockEvents = new BlockEventReader(node);
  }

  /**
   * Fetches the current outcome. One round trip while there are no new blocks, two with new blocks, three when found.
   * @throws {RpcFault}
   */
  async fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome> {
    return withoutHeights(await this.fetchUpdateOutcome(submission, signal));
  }

  /** As {@link fetchOutcome}, with the heights of other chains that the extrinsic stored. @throws {RpcFault} */
  async fetchUpdateOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<UpdateOutcome> {
    const scan = await this.#scanWindow(submission, submission.madeAtHeight, signal);
    const { found } = await this.#search(submission, scan, signal);
    if (typeof found === "string") return { kind: found };
    return found ?? await this.#settle(submission, scan, signal);
  }

  /**
   * As {@link fetchOutcome} for extrinsics that the pool keeps forever (pallet Relayer): searched in all blocks since they
   * were created, a few windows at a time; final blocks are not read again. `pending` while blocks are left.
   * @throws {RpcFault}
   */
  async fetchCallOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome> {
    let from = this.#progress.get(submission.hash) ?? submission.madeAtHeight;
    for (let window = 0; window < WINDOWS_PER_FETCH; window++) {
      const scan = await this.#scanWindow(submission, from, signal);
      const { found, finalHeight } = await this.#search(submission, scan, signal);
      if (typeof found === "string") return { kind: found };
      if (found !== undefined) return withoutHeights(found);
      const end = from + WINDOW_BLOCKS;
      if (scan.bestHeight < end) return withoutHeights(await this.#settle(submission, scan, signal));
      const isComplete = BigInt(scan.blocks.length) === WINDOW_BLOCKS &&
        scan.blocks.every((block) => this.#blocks.get(block.hash) !== undefined);
      // Blocks were reorganised meanwhile: the next fetch reads their successors.
      if (!isComplete) break;
      from = end;
      this.#progress.set(submission.hash, end <= finalHeight ? end : finalHeight + 1n);
    }
    return { kind: "pending" };
  }

  /** Outcome of an extrinsic that is not in the blocks of `scan`. */
  async #settle(submission: SignedSubmission, scan: WindowScan, signal: AbortSignal): Promise<UpdateOutcome> {
    if (scan.isInPool === true) return { kind: "pending" };
    // It may have moved from the pool into a block between the two answers: search again, in the blocks since then.
    const again = await this.#scanWindow(submission, scan.from, signal);
    const { found } = await this.#search(submission, again, signal);
    if (typeof found === "string") return { kind: found };
    if (found !== undefined || again.isInPool === true) return found ?? { kind: "pending" };
    const isShown = again.isInPool !== undefined;
    const isOld = again.bestHeight >= submission.madeAtHeight + WINDOW_BLOCKS;
    return isShown || isOld ? { kind: "unknown" } : { kind: "pending" };
  }

  async #scanWindow(
    submission: SignedSubmission,
    from: bigint,
    signal: AbortSignal,
    upTo = this.#bestSeen + AHEAD_BLOCKS,
  ): Promise<WindowScan> {
    const heights: bigint[] = [];
    const last = upTo < from + AHEAD_BLOCKS ? from + AHEAD_BLOCKS : upTo;
    for (let height = from; height <= last && height < from + WINDOW_BLOCKS; height++) heights.push(height);
    const [pool, header, finalized, ...hashes] = await this.#node.client.callAllSettled(
      [calls.pendingExtrinsics(), calls.header(), calls.finalizedHash(), ...heights.map(calls.blockHash)],
      signal,
    );
    if (pool instanceof RpcFault && pool.code !== "missing_method") throw pool;
    if (header instanceof RpcFault) throw header;
    if (finalized instanceof RpcFault) throw finalized;
    const bestHeight = header?.height ?? 0n;
    if (bestHeight > this.#bestSeen) this.#bestSeen = bestHeight;
    const isShort = bestHeight > last && last < from + WINDOW_BLOCKS - 1n;
    if (isShort) return await this.#scanWindow(submission, from, signal, bestHeight);
    const blocks: BlockRef[] = [];
    for (const [index, hash] of hashes.entries()) {
      if (hash instanceof RpcFault) throw hash;
      if (hash !== undefined) blocks.push({ height: from + BigInt(index), hash });
    }
    return {
      from,
      bestHeight,
      finalized,
      blocks,
      isInPool: pool instanceof RpcFault ? undefined : pool.some((each) => equalBytes(each, submission.raw)),
    };
  }

  /**
   * Searches the blocks. `unknown`: it is in a final block whose events the node has pruned (`--state-pruning`, 256
   * blocks by default) or does not answer with. Its effect is then visible in the newest state only, as for one that is
   * not found at all. `pending`: it may be in a block that cannot be read and is not final yet.
   */
  async #search(
    submission: SignedSubmission,
    scan: WindowScan,
    signal: AbortSignal,
  ): Promise<{ readonly found: Found | "unknown" | "pending" | undefined; readonly finalHeight: bigint }> {
    const finalHeight = await this.#readNew(scan, signal);
    for (const block of scan.blocks) {
      const index = this.#blocks.get(block.hash)?.get(submission.hash);
      if (index === undefined) continue;
      const parent = scan.blocks.find(({ height }) => height === block.height - 1n)?.hash;
      // The block was found by its height, so it is on the chain of the final block.
      const isFinal = block.height <= finalHeight;
      try {
        const result = await this.#resultOf(block, index, parent, signal);
        return { found: { kind: "included", block, isFinal, ...result }, finalHeight };
      } catch (fault) {
        if (!(fault instanceof RpcFault) || !isFinal) throw fault;
        if (fault.code === "too_large") {
          this.#noteUnreadable(block, fault);
          return { found: "unknown", finalHeight };
        }
        if (fault.code !== "pruned") throw fault;
        this.#node.log.info("events_pruned", {
          block: block.height,
          extrinsic: submission.hash,
        });
        return { found: "unknown", finalHeight };
      }
    }
    const mayBeHidden = scan.isInPool !== true &&
      scan.blocks.some(({ hash, height }) => height > finalHeight && this.#blocks.get(hash) === HIDDEN);
    return { found: mayBeHidden ? "pending" : undefined, finalHeight };
  }

  /** Reads the blocks that were not read before, and finds the height of the final block: one round trip. */
  async #readNew(scan: WindowScan, signal: AbortSignal): Promise<bigint> {
    const { client } = this.#node;
    const fresh = scan.blocks.filter((block) => this.#blocks.get(block.hash) === undefined);
    const known = scan.blocks.find((block) => block.hash === scan.finalized)?.height ??
      this.#heights.get(scan.finalized);
    const bodies = fresh.map((block) => calls.extrinsics(block.hash));
    const header = known === undefined ? [calls.header(scan.finalized)] : [];
    if (fresh.length === 0 && known !== undefined) return known;
    const answers = await Promise.all([
      client.callAllSettled(bodies, signal),
      client.callAll(header, signal),
    ]);
    const height = known ?? answers[1][0]?.height ?? 0n;
    this.#heights.set(scan.finalized, height);
    for (const [index, block] of fresh.entries()) {
      const extrinsics = await this.#bodyOf(block, answers[0][index], signal);
      if (extrinsics === undefined) {
        if (block.height <= height) {
          throw client.fault("pruned", "chain_getBlock", `no body of ${block.height}`);
        }
        // Reorganised away since it was found: the next search will find another.
        continue;
      }
      this.#blocks.set(block.hash, extrinsics === "hidden" ? HIDDEN : this.#indexOf(extrinsics));
    }
    return height;
  }

  #indexOf(extrinsics: readonly Uint8Array[]): ReadonlyMap<Hash256, number> {
    return new Map(extrinsics.map((each, position) => [extrinsicHash(this.#node, each), position]));
  }

  /**
   * Extrinsics of a block by the answer to a request for several; `hidden` when the block alone is larger than what the node
   * answers with (`--rpc-max-response-size`).
   */
  async #bodyOf(
    block: BlockRef,
    answer: readonly Uint8Array[] | RpcFault | undefined,
    signal: AbortSignal,
  ): Promise<readonly Uint8Array[] | "hidden" | undefined> {
    if (!(answer instanceof RpcFault)) return answer;
    if (answer.code !== "too_large") throw answer;
    const [alone] = await this.#node.client.callAllSettled([calls.extrinsics(block.hash)], signal);
    if (!(alone instanceof RpcFault)) return alone;
    if (alone.code !== "too_large") throw alone;
    this.#noteUnreadable(block, alone);
    return "hidden";
  }

  #noteUnreadable({ height }: BlockRef, error: RpcFault): void {
    this.#node.log.warn("block_unreadable", { block: height, error });
  }

  /** Reads the result of an extrinsic. */
  async #resultOf(
    block: BlockRef,
    index: number,
    parent: Hash256 | undefined,
    signal: AbortSignal,
  ): Promise<Result> {
    const key = `${block.hash}/${index}`;
    const known = this.#results.get(key);
    if (known !== undefined) return known;
    const before = parent ?? (await this.#node.client.call(calls.header(block.hash), signal))?.parent ??
      block.hash;
    const { runtime, events: all } = await this.#blockEvents.fetch({ ...block, parent: before }, signal);
    const events = all.filter((event) => event.extrinsic === index);
    const failed = events.find((event) => event.pallet === "System" && event.name === "ExtrinsicFailed");
    const error = failed === undefined ? undefined : runtime.dispatchErrorName(failed.fields);
    const result: Result = {
      succeeded: failed === undefined,
      handled: events.filter(isHandled).flatMap((event) => {
        const handled = this.#blockEvents.readFields(event, messageHandledCodec, block.height);
        return handled === undefined ? [] : [handled];
      }),
      refusal: error === undefined ? undefined : { code: toRefusalCode(error), detail: error },
      advanced: events.filter(isUpdate).flatMap((event) => {
        const update = this.#blockEvents.readFields(event, stateMachineUpdatedCodec, block.height);
        return update === undefined ? [] : [{ id: update.stateMachineId, height: update.latestHeight }];
      }),
    };
    this.#results.set(key, result);
    return result;
  }
}

function isHandled(event: RuntimeEvent): boolean {
  return event.pallet === "Ismp" &&
    (event.name === "PostRequestHandled" || event.name === "GetRequestHandled");
}

function isUpdate(event: RuntimeEvent): boolean {
  return event.pallet === "Ismp" && event.name === "StateMachineUpdated";
}

function withoutHeights({ advanced: _, ...outcome }: UpdateOutcome): SubmissionOutcome {
  return outcome;
}
