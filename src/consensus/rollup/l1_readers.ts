/**
 * Readers of the L1s, one for all rollups that name the same chain by the same endpoints: what one of them has learned of
 * an endpoint counts for all. Rollups with other endpoints have readers of their own.
 */
import type { EvmEndpointSetDeps } from "../../core/chains/evm/evm_endpoint_set.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { type EvmReader, type EvmReaderOptions, openEvmReader } from "../evm_reader.ts";

/** See the head of the file. */
export class L1Readers {
  readonly #known = new Map<string, EvmReader>();

  /** Returns the reader of these endpoints, opened for the first rollup. Sends no request. */
  open(deps: EvmEndpointSetDeps & { readonly log: Log }, options: EvmReaderOptions): EvmReader {
    const { stateMachine, urls, blocksPerLogQuery, maxConcurrent } = options;
    const key = JSON.stringify([
      stateMachine,
      urls.map((url) => url.reveal()),
      blocksPerLogQuery?.toString() ?? null,
      maxConcurrent ?? null,
    ]);
    const reader = this.#known.get(key) ?? openEvmReader(deps, options);
    this.#known.set(key, reader);
    return reader;
  }
}
