/** Properties of a chain's epochs, each read from headers once: their duration, and the number of blocks in a turn. */
import { type BscNetwork, epochBlock } from "./spec/bsc_network.ts";
import { ExtraDataError, parseExtraData } from "./spec/extra_data.ts";
import type { EvmBlockHeader } from "../../../core/evm/block_header.ts";
import type { BscHeaders } from "./find_update.ts";

/** Default block time, milliseconds: BSC since Fermi. */
const USUAL_BLOCK_MS = 450;

/** Reader of one chain. Methods may throw an `RpcFault`. */
export class EpochReader {
  readonly #headers: Pick<BscHeaders, "fetchRange">;
  readonly #network: BscNetwork;
  #turnLength: { readonly epoch: bigint; readonly blocks: number | undefined } | undefined;
  #epochMs: number | undefined;

  constructor(headers: Pick<BscHeaders, "fetchRange">, network: BscNetwork) {
    this.#headers = headers;
    this.#network = network;
  }

  /** Duration of an epoch, milliseconds; `undefined` before {@link measure}. */
  get epochMs(): number | undefined {
    return this.#epochMs;
  }

  /** Fetches the header of one block. */
  async fetchHeader(block: bigint, signal: AbortSignal): Promise<EvmBlockHeader> {
    const [header] = await this.#headers.fetchRange({ from: block, to: block }, signal);
    if (header === undefined) throw new RangeError(`No header of block ${block}`);
    return header;
  }

  /**
   * Consecutive blocks of one validator in the current epoch; `undefined` where its first header does not contain it.
   */
  async fetchTurnLength(
    epoch: bigint,
    epochLength: bigint,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    if (this.#turnLength?.epoch !== epoch) {
      const header = await this.fetchHeader(epochBlock(epoch, epochLength), signal);
      this.#turnLength = { epoch, blocks: readTurnLength(this.#network, header) };
    }
    return this.#turnLength.blocks;
  }

  /** Measures the duration of the newest epoch. */
  async measure(head: EvmBlockHeader, epochLength: bigint, signal: AbortSignal): Promise<void> {
    if (this.#epochMs !== undefined || head.number < epochLength) {
      this.#epochMs ??= Number(epochLength) * USUAL_BLOCK_MS;
      return;
    }
    const before = await this.fetchHeader(head.number - epochLength, signal);
    this.#epochMs = Math.max(1_000, Number(head.timestampSec - before.timestampSec) * 1_000);
  }
}

function readTurnLength(network: BscNetwork, header: EvmBlockHeader): number | undefined {
  try {
    return parseExtraData(network, header).announcement?.turnLength ?? 1;
  } catch (error) {
    if (error instanceof ExtraDataError) return undefined;
    throw error;
  }
}
