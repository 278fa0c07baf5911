/** What headers tell of a chain's epochs, each asked for once: how long they take, and how many blocks a turn has. */
import { type BscNetwork, epochBlock } from "./spec/bsc_network.ts";
import { ExtraDataError, parseExtraData } from "./spec/extra_data.ts";
import type { EvmBlockHeader } from "../../../core/evm/block_header.ts";
import type { BscHeaders } from "./find_update.ts";

/** Milliseconds between blocks where nothing is known: BSC since Fermi. */
const USUAL_BLOCK_MS = 450;

/** Facts of one chain. Methods may throw an `RpcFault`. */
export class EpochReader {
  readonly #headers: Pick<BscHeaders, "fetchRange">;
  readonly #network: BscNetwork;
  #turnLength: { readonly epoch: bigint; readonly blocks: number | undefined } | undefined;
  #epochMs: number | undefined;

  constructor(headers: Pick<BscHeaders, "fetchRange">, network: BscNetwork) {
    this.#headers = headers;
    this.#network = network;
  }

  /** Time that an epoch takes, milliseconds; `undefined` before {@link measure}. */
  get epochMs(): number | undefined {
    return this.#epochMs;
  }

  /** The header of one block. */
  async fetchHeader(block: bigint, signal: AbortSignal): Promise<EvmBlockHeader> {
    const [header] = await this.#headers.fetchRange({ from: block, to: block }, signal);
    if (header === undefined) throw new RangeError(`No header of block ${block}`);
    return header;
  }

  /** Blocks in a row of one validator in the epoch in force; `undefined` where its first header does not tell. */
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

  /** Finds out how long an epoch takes, by the newest one. */
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
