/**
 * Readers of the L1s, one for all rollups that name the same chain by the same endpoints: what their provers ask at the
 * same time, when the hub has learned of a new block of the L1, is sent together. Rollups with other endpoints have
 * readers of their own.
 */
import type { EvmEndpointSetDeps } from "../../core/chains/evm/evm_endpoint_set.ts";
import type { RpcCall } from "../../core/rpc/call.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { type EvmReader, type EvmReaderOptions, openEvmReader } from "../evm_reader.ts";

/** Time for which a read waits for those of other rollups, milliseconds: an L1 takes a quarter of an hour to finalize. */
const WINDOW_MS = 50;

/** See the head of the file. */
export class L1Readers {
  readonly #known = new Map<string, { readonly reader: EvmReader; users: number }>();

  /** Returns the reader of these endpoints, opened for the first rollup. Sends no request. */
  open(deps: EvmEndpointSetDeps & { readonly log: Log }, options: EvmReaderOptions): EvmReader {
    const { stateMachine, urls, blocksPerLogQuery, maxConcurrent } = options;
    const key = JSON.stringify([
      stateMachine,
      urls.map((url) => url.reveal()),
      blocksPerLogQuery?.toString() ?? null,
      maxConcurrent ?? null,
    ]);
    const known = this.#known.get(key);
    if (known !== undefined) {
      known.users++;
      return known.reader;
    }
    const merging = { windowMs: WINDOW_MS, isShared: () => opened.users > 1, mayMerge: isRead, isTimeless };
    const opened = { reader: openEvmReader(deps, { ...options, merging }), users: 1 };
    this.#known.set(key, opened);
    return opened.reader;
  }
}

/** Headers of numbered blocks: those that are asked for are final, or a node does not have them yet. */
function isTimeless({ method, params: [number] }: RpcCall): boolean {
  return method === "eth_getBlockByNumber" && typeof number === "string" && number.startsWith("0x");
}

/** Rollup provers send nothing but reads. */
function isRead({ method }: RpcCall): boolean {
  return method.startsWith("eth_");
}
