/** What updates need of execution blocks: their headers, and their withdrawals. */
import * as z from "zod";
import { type BlockReference, headerAt } from "../../../core/chains/evm/queries.ts";
import { callOne, faultAt } from "../../../core/chains/evm/rpc_batch.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import type { EvmBlockHeader } from "../../../core/evm/block_header.ts";
import type { RpcEndpointSet } from "../../../core/rpc/endpoint_set.ts";

/** Maximum number of blocks to search back for withdrawals. Almost all blocks of a network have some. */
const MAX_BLOCKS = 4n;

const quantity = z.string().regex(/^0x[0-9a-fA-F]{1,16}$/).transform(BigInt);
const blockShape = z.object({
  hash: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
  parentHash: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
  withdrawals: z.array(z.object({ index: quantity })).optional(),
});

/** Fetches the header of a block, whose hash is verified. @throws {RpcFault} `not_found` when no node has it. */
export async function fetchExecutionHeader(
  execution: RpcEndpointSet,
  which: BlockReference,
  signal: AbortSignal,
): Promise<EvmBlockHeader> {
  const query = headerAt(which);
  const found = await callOne(execution, query, { signal });
  if (found !== undefined) return found.header;
  const place = {
    chain: execution.chain,
    endpointHost: execution.hosts.join(", "),
    method: query.call.method,
  };
  throw faultAt("not_found", place, `no block ${which}`);
}

/**
 * Returns the index of the next withdrawal after a block, which the beacon state holds next to the payload header. @returns `undefined` when the searched blocks have no
 * withdrawals, or the node is on another chain. @throws {RpcFault}
 */
export async function fetchNextWithdrawalIndex(
  execution: RpcEndpointSet,
  block: { readonly number: bigint; readonly hash: Hash256 },
  signal: AbortSignal,
): Promise<bigint | undefined> {
  let expected: string = block.hash;
  for (let back = 0n; back < MAX_BLOCKS && back <= block.number; back++) {
    const params = [`0x${(block.number - back).toString(16)}`, false];
    const parsed = blockShape.safeParse(
      await execution.request({ method: "eth_getBlockByNumber", params }, { signal }),
    );
    if (!parsed.success || parsed.data.hash.toLowerCase() !== expected) return undefined;
    const last = parsed.data.withdrawals?.at(-1);
    if (last !== undefined) return last.index + 1n;
    expected = parsed.data.parentHash.toLowerCase();
  }
  return undefined;
}
