/**
 * Headers of a BSC-type chain, read over RPC; each is checked against the hash of its fields and the requested number.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { BlockRange } from "./spec/plan_update.ts";
import type { EvmBlockHeader } from "../../../core/evm/block_header.ts";
import type { EvmReader } from "../../evm_reader.ts";
import type { BscHeaders } from "./find_update.ts";

/** Headers per request: an ancestry may need a thousand. */
const PER_REQUEST = 64n;

/** Creates the header source of a reader. */
export function bscHeadersOf(
  reader: Pick<EvmReader, "hosts" | "fetchHeaders" | "fetchChainIds">,
): BscHeaders {
  return {
    hosts: reader.hosts,
    fetchHead: (signal) => fetchOne(reader, "latest", signal),
    fetchByHash: (hash, signal) => fetchOne(reader, hash, signal),
    fetchRange: (range, signal) => fetchRange(reader, range, signal),
    fetchChainIds: (signal) => reader.fetchChainIds(signal),
  };
}

async function fetchOne(
  reader: Pick<EvmReader, "fetchHeaders">,
  which: "latest" | Hash256,
  signal: AbortSignal,
): Promise<EvmBlockHeader> {
  const [found] = await reader.fetchHeaders([which], signal);
  if (found === undefined) throw new Error("A block was asked for and not answered");
  return found.header;
}

async function fetchRange(
  reader: Pick<EvmReader, "fetchHeaders">,
  { from, to }: BlockRange,
  signal: AbortSignal,
): Promise<readonly EvmBlockHeader[]> {
  const headers: EvmBlockHeader[] = [];
  for (let first = from; first <= to; first += PER_REQUEST) {
    const count = to - first + 1n < PER_REQUEST ? to - first + 1n : PER_REQUEST;
    const wanted = Array.from({ length: Number(count) }, (_, at) => first + BigInt(at));
    headers.push(...(await reader.fetchHeaders(wanted, signal)).map(({ header }) => header));
  }
  return headers;
}
