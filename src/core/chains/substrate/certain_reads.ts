/** Reads that may settle a message: there is one node, so what it says must be final and still hold. */
import { equalBytes, type Hash256 } from "../../encoding/bytes.ts";
import type { Message } from "../../ismp/message.ts";
import { type Certain, type CertainReads, type ChainReads, type ReadSince, UNSURE } from "../reads.ts";
import { fetchReceiptsAt, fetchRequestMetadata } from "./fees.ts";
import type { SubstrateNode } from "./node.ts";
import { fetchFinal } from "./reads.ts";

/** Values at a block, the best one without its hash. */
type ReadAt<T> = (block: Hash256 | undefined) => Promise<readonly T[]>;

/**
 * Reads at the node's final block; a value that is another one at the best block is not certain, and none is while the
 * final block is not far enough. Three round trips, five for a time.
 */
export class SubstrateCertainReads implements CertainReads {
  constructor(readonly node: SubstrateNode, readonly reads: Pick<ChainReads, "fetchBlockTime">) {}

  fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    const read: ReadAt<Uint8Array | undefined> = (block) =>
      fetchReceiptsAt(this.node, { messages, block }, signal);
    const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
      a === undefined || b === undefined ? a === b : equalBytes(a, b);
    return this.#compare({ read, isSame }, since, signal);
  }

  fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    const read: ReadAt<bigint | undefined> = async (block) =>
      (await fetchRequestMetadata(this.node, { commitments, block }, signal))
        .map((metadata) => metadata?.fee.fee);
    return this.#compare({ read, isSame: (a, b) => a === b }, since, signal);
  }

  async #compare<T>(
    { read, isSame }: { readonly read: ReadAt<T>; readonly isSame: (a: T, b: T) => boolean },
    { height = 0n, timeSec }: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<T>[]> {
    const { hash, header } = await fetchFinal(this.node, signal);
    const [final, best] = await Promise.all([read(hash), read(undefined)]);
    const isFarEnough = header.height >= height &&
      (timeSec === undefined || await this.reads.fetchBlockTime(header.height, signal) >= timeSec);
    return final.map((value, index) => {
      const isCertain = isFarEnough && isSame(value, best[index] as T);
      return isCertain ? { kind: "certain", value } : UNSURE;
    });
  }
}
