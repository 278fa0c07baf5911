/** Whether the Substrate node and the Ethereum endpoints of a chain are of the same chain. */
import { u64 } from "../../encoding/scale.ts";
import { otherKeys } from "../../ismp/storage_keys.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { CheckFinding } from "../check_finding.ts";
import type { EvmContext } from "../evm/evm_context.ts";
import { blockAt } from "../evm/queries.ts";
import { callOne } from "../evm/rpc_batch.ts";
import type { SubstrateNode } from "../substrate/node.ts";
import { decodeValue } from "../substrate/storage_values.ts";

/**
 * Compares the time of a block on both sides: blocks have the same numbers, and Ethereum's headers the seconds of
 * `Timestamp.Now` (paritytech/polkadot-sdk: substrate/frame/revive/src/evm/block_hash/block_builder.rs). A block that one
 * side does not have yet tells nothing.
 */
export async function checkSameChain(
  { at: { endpoints } }: EvmContext,
  node: SubstrateNode,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const { client, id: { stateMachine } } = node;
  const hash = await client.call(calls.finalizedHash(), signal);
  const [header, stored] = await client.callAll([
    calls.header(hash),
    calls.storage(otherKeys.timestampNow(), hash),
  ], signal);
  const timeMs = decodeValue(node, stored, u64, "Timestamp.Now");
  if (header === undefined || timeMs === undefined) return [];
  const shown = await callOne(endpoints, blockAt(header.height), { signal });
  if (shown === undefined || shown.timestamp === timeMs / 1000n) return [];
  return [{
    severity: "fatal",
    event: "endpoint_wrong_chain",
    text:
      `${stateMachine} via ${client.host}: the node at ws_url and the endpoints of rpc_urls are of different chains: ` +
      `block ${header.height} is of Unix time ${
        timeMs / 1000n
      } and of ${shown.timestamp}; correct either of them`,
  }];
}
