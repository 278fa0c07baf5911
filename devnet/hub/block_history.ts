/** Blocks of a simulated Substrate chain without forks: their history, and which of them are final. */
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import type { HashAlgorithm } from "../../src/core/ismp/proof.ts";
import { hashHeader, type SimulatedHeader } from "./digest.ts";
import type { EventEntry, Snapshot } from "./storage.ts";

/** What a block leaves behind until it leaves the window of history. */
export interface BlockBody {
  readonly extrinsics: readonly Uint8Array[];
  readonly events: readonly EventEntry[];
  readonly state: Snapshot;
}

/** A block; `body` is undefined once it was pruned. */
export interface SimulatedBlock {
  readonly header: SimulatedHeader;
  readonly hash: Hash256;
  readonly body: BlockBody | undefined;
}

/** Why a block or its state cannot be read; the texts are those of a node. */
export class ChainError extends Error {
  override readonly name = "ChainError";
  constructor(readonly code: "unknown_block" | "pruned", readonly hash: string) {
    super(
      code === "pruned"
        ? `UnknownBlock: State already discarded for ${hash}`
        : `UnknownBlock: Header was not found in the database: ${hash}`,
    );
  }
}

/** How many blocks are kept, and when they are final. */
export interface HistoryOptions {
  readonly hasher: HashAlgorithm;
  /** Blocks between best and finalized. */
  readonly finalityLag: number;
  /** Blocks whose state and body are kept. */
  readonly historyBlocks: number;
}

/** Hash of the parent that the first block does not have. */
export const zeroHash: Hash256 = `0x${"00".repeat(32)}`;

/** See above; a chain adds how blocks are made. */
export abstract class BlockHistory {
  readonly #history: HistoryOptions;
  readonly #blocks: SimulatedBlock[] = [];
  readonly #numbers = new Map<Hash256, number>();
  /** Number of the newest final block. */
  protected finalNumber = 0;

  constructor(options: HistoryOptions) {
    this.#history = options;
  }

  /** Newest block. */
  get best(): SimulatedBlock {
    return this.blockAt(this.#blocks.length - 1);
  }

  /** Newest final block. */
  get finalized(): SimulatedBlock {
    return this.blockAt(this.finalNumber);
  }

  /** Block by number. @throws {ChainError} unknown_block. */
  blockAt(number: number): SimulatedBlock {
    const block = this.#blocks[number];
    if (block === undefined) throw new ChainError("unknown_block", String(number));
    return block;
  }

  /** Block by number, undefined when there is none (yet). */
  findNumber(number: number): SimulatedBlock | undefined {
    return this.#blocks[number];
  }

  /** Block by hash, undefined when there is none. */
  find(hash: string): SimulatedBlock | undefined {
    const number = this.#numbers.get(`0x${hash.toLowerCase().replace(/^0x/, "")}`);
    return number === undefined ? undefined : this.#blocks[number];
  }

  /** Block by hash. @throws {ChainError} unknown_block. */
  block(hash: string): SimulatedBlock {
    const block = this.find(hash);
    if (block === undefined) throw new ChainError("unknown_block", hash);
    return block;
  }

  /** State after a block. @throws {ChainError} pruned. */
  stateOf(block: SimulatedBlock): Snapshot {
    return this.bodyOf(block).state;
  }

  /** Extrinsics, events and state of a block. @throws {ChainError} pruned. */
  bodyOf(block: SimulatedBlock): BlockBody {
    const current = this.#blocks[block.header.number];
    if (current?.body === undefined) throw new ChainError("pruned", block.hash);
    return current.body;
  }

  /** Makes blocks final that are old enough. @returns them, oldest first. */
  advanceFinality(): SimulatedBlock[] {
    const before = this.finalNumber;
    this.finalNumber = Math.max(before, this.best.header.number - this.#history.finalityLag);
    return this.#blocks.slice(before + 1, this.finalNumber + 1);
  }

  /** Adds a block on top of the best one, and prunes the one that leaves the window. */
  protected append(header: SimulatedHeader, body: BlockBody): SimulatedBlock {
    const block = { header, hash: hashHeader(header, this.#history.hasher), body };
    this.#blocks.push(block);
    this.#numbers.set(block.hash, header.number);
    const oldest = header.number - this.#history.historyBlocks;
    const old = this.#blocks[oldest];
    if (old !== undefined) this.#blocks[oldest] = { ...old, body: this.prune(old) };
    return block;
  }

  /** Forgets all blocks after the first so many. */
  protected cut(count: number): void {
    for (const { hash } of this.#blocks.splice(count)) this.#numbers.delete(hash);
  }

  /** What stays of the body of a block that leaves the window. */
  protected prune(_block: SimulatedBlock): BlockBody | undefined {
    return undefined;
  }
}
