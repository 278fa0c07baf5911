/**
 * `system_*` methods.
 */
import { toHex } from "../../../src/core/encoding/bytes.ts";
import { ScaleError } from "../../../src/core/encoding/scale.ts";
import type { HubNode } from "../node.ts";
import { RpcError } from "./json_rpc.ts";
import { blockParam, clientErrors, type RpcMethods } from "./method.ts";
import { hexParam } from "./params.ts";

/** The methods. */
export function systemMethods(node: HubNode): RpcMethods {
  return {
    system_chain: () => node.identity.chainName,
    system_chainType: () => "Development",
    system_name: () => "Hub simulator",
    system_version: () => "1.0.0",
    system_properties: () => ({
      ss58Format: 0,
      tokenDecimals: 12,
      tokenSymbol: node.identity.tokenSymbol,
    }),
    system_health: () => ({ peers: 0, isSyncing: false, shouldHavePeers: false }),
    system_syncState: () => {
      const { number } = node.chain.best.header;
      return { startingBlock: 0, currentBlock: number, highestBlock: number };
    },
    system_accountNextIndex: () => 0,
    system_dryRun: ([extrinsic, at]) => dryRun(node, hexParam(extrinsic, "extrinsic"), at),
  };
}

function dryRun(node: HubNode, extrinsic: Uint8Array, at: unknown): string {
  const block = blockParam(node, at);
  const { runtime } = node;
  const execution = clientErrors(() => runtime.execute(node.chain.stateOf(block)));
  execution.extrinsicIndex = 0;
  try {
    const result = runtime.apply(execution, extrinsic);
    if (result.kind !== "success") {
      node.onRejection({ stage: "dryRun", extrinsic, error: result.error });
    }
    return toHex(runtime.encodeApplyResult(result));
  } catch (error) {
    if (!(error instanceof ScaleError)) throw error;
    throw new RpcError(2, "Unable to dry run extrinsic", error.message);
  }
}
