/**
 * `chain_*` methods.
 */
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { SimulatedBlock } from "../block_history.ts";
import { headerToJson } from "../digest.ts";
import type { ServedNode } from "../blocks.ts";
import type { HubNode } from "../node.ts";
import {
  blockParam,
  clientErrors,
  hexParam,
  invalidParams,
  optionalHash,
  RpcError,
  type RpcMethods,
} from "./json_rpc.ts";
import { converted } from "../verifiers/refusals.ts";
import { bytes, decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";

/** The methods. */
export function chainMethods(node: ServedNode): RpcMethods {
  const { chain } = node;
  const find = (value: unknown): SimulatedBlock | undefined => {
    const hash = optionalHash(value, "hash");
    return hash === undefined ? chain.best : chain.find(hash);
  };
  return {
    chain_getHeader: ([hash]) => {
      const block = find(hash);
      return block === undefined ? null : headerToJson(block.header);
    },
    chain_getBlock: ([hash]) => {
      const block = find(hash);
      if (block?.body === undefined) return null;
      const extrinsics = block.body.extrinsics.map(toHex);
      const justifications = node.justificationsOf?.(block) ?? null;
      return { block: { header: headerToJson(block.header), extrinsics }, justifications };
    },
    chain_getBlockHash: ([which]) => Array.isArray(which) ? which.map(hashOf) : hashOf(which),
    chain_getFinalizedHead: () => chain.finalized.hash,
  };

  function hashOf(which: unknown): string | null {
    if (which === undefined || which === null) return chain.best.hash;
    const number = typeof which === "string" && /^0x[0-9a-fA-F]+$/.test(which) ? Number(which) : which;
    if (typeof number !== "number" || !Number.isInteger(number)) {
      throw invalidParams("expected a block number");
    }
    return chain.findNumber(number)?.hash ?? null;
  }
}

/** The methods. */
export function authorMethods(node: HubNode): RpcMethods {
  return {
    author_submitExtrinsic: ([extrinsic]) => node.pool.submit(extrinsicParam(extrinsic)),
    author_pendingExtrinsics: () => node.pool.pending().map(toHex),
    offchain_localStorageGet: ([kind, key]) => {
      if (kind !== "PERSISTENT" && kind !== "LOCAL") throw new RpcError(-32602, "Invalid params", "kind");
      const value = kind === "PERSISTENT" ? node.chain.offchain.get(toHex(hexParam(key, "key"))) : undefined;
      return value === undefined ? null : toHex(value);
    },
  };
}

/** Bytes with a right length prefix; what is inside is the runtime's business. */
function extrinsicParam(value: unknown): Uint8Array {
  const extrinsic = hexParam(value, "extrinsic");
  const failure = ({ message }: ScaleError): Error =>
    new RpcError(1001, `Extrinsic has invalid format: ${message}`);
  converted(ScaleError, failure, () => decodeStrict(bytes, extrinsic, "Extrinsic"));
  return extrinsic;
}

/** The methods. */
export function systemMethods(node: HubNode): RpcMethods {
  return {
    system_chain: () => node.identity.chainName,
    system_properties: () => ({}),
    system_dryRun: ([extrinsic, at]) => dryRun(node, hexParam(extrinsic, "extrinsic"), at),
  };
}

function dryRun(node: HubNode, extrinsic: Uint8Array, at: unknown): string {
  const block = blockParam(node, at);
  const { runtime } = node;
  const execution = clientErrors(() => runtime.execute(node.chain.stateOf(block)));
  execution.extrinsicIndex = 0;
  const failure = ({ message }: ScaleError): Error => new RpcError(2, "Unable to dry run extrinsic", message);
  const result = converted(ScaleError, failure, () => runtime.apply(execution, extrinsic));
  if (result.kind !== "success") node.onRejection({ stage: "dryRun", extrinsic, error: result.error });
  return toHex(runtime.encodeApplyResult(result));
}
