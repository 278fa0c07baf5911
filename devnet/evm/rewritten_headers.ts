/**
 * The headers of a chain, made again on top of those of a node: same states and transactions, other extra data, and so
 * other hashes. Hashes are linked from the first block on. Pure: what a node says comes in, what is to be said goes out.
 */
import { type Hash256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { type EvmBlockHeader, hashBlockHeader, parseBlockHeader } from "../../src/core/evm/block_header.ts";

/** A header that was made again. */
export interface RewrittenHeader {
  readonly header: EvmBlockHeader;
  readonly hash: Hash256;
  /** Hash that the node knows it by. */
  readonly nodeHash: Hash256;
}

/**
 * What a header becomes. The parent's hash is put in afterwards.
 * @param earlier the headers made so far, by number; the parent is the last one.
 */
export type HeaderRule = (header: EvmBlockHeader, earlier: readonly RewrittenHeader[]) => EvmBlockHeader;

/** The chain made so far. Block 0 is the first. */
export class RewrittenHeaders {
  readonly #rule: HeaderRule;
  readonly #headers: RewrittenHeader[] = [];
  readonly #byHash = new Map<string, RewrittenHeader>();
  readonly #byNodeHash = new Map<string, RewrittenHeader>();

  constructor(rule: HeaderRule) {
    this.#rule = rule;
  }

  /** Number of blocks; the next one has this number. */
  get length(): number {
    return this.#headers.length;
  }

  at(number: number): RewrittenHeader | undefined {
    return this.#headers[number];
  }

  /** Hash by which the node knows a block of ours. */
  nodeHashOf(hash: string): Hash256 | undefined {
    return this.#byHash.get(hash)?.nodeHash;
  }

  /** Our hash of a block of the node. */
  hashOf(nodeHash: string): Hash256 | undefined {
    return this.#byNodeHash.get(nodeHash)?.hash;
  }

  /** Forgets the blocks from `number` on: the node has others now. */
  cut(number: number): void {
    for (const { hash, nodeHash } of this.#headers.splice(number)) {
      this.#byHash.delete(hash);
      this.#byNodeHash.delete(nodeHash);
    }
  }

  /**
   * Adds the node's next block.
   * @returns false when it does not follow the last one: the node's chain was reorganised.
   */
  append(block: unknown, nodeHash: string): boolean {
    const header = parseBlockHeader(block);
    if (header.number !== BigInt(this.length)) throw new RangeError(`Expected block ${this.length}`);
    const parent = this.#headers.at(-1);
    if (parent !== undefined && parent.nodeHash !== header.parentHash) return false;
    const changed = this.#rule(header, this.#headers);
    const linked = { ...changed, parentHash: parent?.hash ?? changed.parentHash };
    const rewritten = { header: linked, hash: hashBlockHeader(linked), nodeHash: toHash256(nodeHash) };
    this.#headers.push(rewritten);
    this.#byHash.set(rewritten.hash, rewritten);
    this.#byNodeHash.set(rewritten.nodeHash, rewritten);
    return true;
  }
}

const quantity = (value: bigint): string => `0x${value.toString(16)}`;

/** Fields of a block's JSON that are those of its header. Absent ones are to be left out. */
export function headerJson({ header, hash }: RewrittenHeader): Readonly<Record<string, string | undefined>> {
  const optional = <T>(value: T | undefined, text: (value: T) => string): string | undefined =>
    value === undefined ? undefined : text(value);
  return {
    hash,
    parentHash: header.parentHash,
    sha3Uncles: header.unclesHash,
    miner: header.coinbase,
    stateRoot: header.stateRoot,
    transactionsRoot: header.transactionsRoot,
    receiptsRoot: header.receiptsRoot,
    logsBloom: toHex(header.logsBloom),
    difficulty: quantity(header.difficulty),
    number: quantity(header.number),
    gasLimit: quantity(header.gasLimit),
    gasUsed: quantity(header.gasUsed),
    timestamp: quantity(header.timestampSec),
    extraData: toHex(header.extraData),
    mixHash: header.mixHash,
    nonce: toHex(header.nonce),
    baseFeePerGas: optional(header.baseFeePerGas, quantity),
    withdrawalsRoot: header.withdrawalsRoot,
    blobGasUsed: optional(header.blobGasUsed, quantity),
    excessBlobGas: optional(header.excessBlobGas, quantity),
    parentBeaconBlockRoot: header.parentBeaconBlockRoot,
    requestsHash: header.requestsHash,
    blockAccessListHash: header.blockAccessListHash,
    slotNumber: optional(header.slotNumber, quantity),
  };
}
