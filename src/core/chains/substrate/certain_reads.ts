/**
 * Reads that may settle a message. A Substrate chain has one node, so its progress is checked: its head and clock are
 * read first, over the same connection, and everything after them is of that block or a later one.
 */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { Message } from "../../ismp/message.ts";
import { otherKeys } from "../../ismp/storage_keys.ts";
import { u64 } from "../../encoding/scale.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import { type Certain, type CertainReads, type ChainReads, type ReadSince, UNSURE } from "../reads.ts";
import type { SubstrateNode } from "./node.ts";
import { decodeValue } from "./storage_values.ts";
import type { ChainFees } from "../fees.ts";

/** Reads that count once the node is far enough. */
export class SubstrateCertainReads implements CertainReads {
  readonly #node: SubstrateNode;
  readonly #reads: Pick<ChainReads, "fetchReceipts">;
  readonly #fees: Pick<ChainFees, "fetchFees">;

  constructor(
    node: SubstrateNode,
    parts: { readonly reads: Pick<ChainReads, "fetchReceipts">; readonly fees: Pick<ChainFees, "fetchFees"> },
  ) {
    this.#node = node;
    this.#reads = parts.reads;
    this.#fees = parts.fees;
  }

  /** Relayers of messages; all unsure while the node is not far enough. */
  async fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    if (!await this.#isFarEnough(since, signal)) return messages.map(() => UNSURE);
    return (await this.#reads.fetchReceipts(messages, signal)).map((value) => ({ kind: "certain", value }));
  }

  /** Fees of requests; all unsure while the node is not far enough. */
  async fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    if (!await this.#isFarEnough(since, signal)) return commitments.map(() => UNSURE);
    return (await this.#fees.fetchFees(commitments, signal)).map((value) => ({ kind: "certain", value }));
  }

  async #isFarEnough(
    { height = 0n, timeSec = 0n }: ReadSince,
    signal: AbortSignal,
  ): Promise<boolean> {
    const [header, stored] = await this.#node.client.callAll(
      [calls.header(), calls.storage(otherKeys.timestampNow())],
      signal,
    );
    const nowSec = (decodeValue(this.#node, stored, u64, "Timestamp.Now") ?? 0n) / 1000n;
    return header !== undefined && header.height >= height && nowSec >= timeSec;
  }
}
