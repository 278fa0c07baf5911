/**
 * `author_*` and `offchain_*` methods.
 */
import { toHex } from "../../../src/core/encoding/bytes.ts";
import { bytes, decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";
import type { HubNode } from "../node.ts";
import { isLastStatus, type StatusListener, type TransactionStatus } from "../pool.ts";
import { RpcError } from "./json_rpc.ts";
import { type RpcMethods, RpcSubscription } from "./method.ts";
import { hexParam } from "./params.ts";

/** The methods. */
export function authorMethods(node: HubNode): RpcMethods {
  return {
    author_submitExtrinsic: ([extrinsic]) => node.pool.submit(extrinsicParam(extrinsic)),
    author_submitAndWatchExtrinsic: ([extrinsic]) => submitAndWatch(node, extrinsicParam(extrinsic)),
    author_pendingExtrinsics: () => node.pool.pending().map(toHex),
    offchain_localStorageGet: ([kind, key]) => {
      if (kind !== "PERSISTENT" && kind !== "LOCAL") throw new RpcError(-32602, "Invalid params", "kind");
      const value = kind === "PERSISTENT" ? node.chain.offchain.get(hexParam(key, "key")) : undefined;
      return value === undefined ? null : toHex(value);
    },
  };
}

/** Bytes with a right length prefix; what is inside is the runtime's business. */
function extrinsicParam(value: unknown): Uint8Array {
  const extrinsic = hexParam(value, "extrinsic");
  try {
    decodeStrict(bytes, extrinsic, "Extrinsic");
  } catch (error) {
    if (!(error instanceof ScaleError)) throw error;
    throw new RpcError(1001, `Extrinsic has invalid format: ${error.message}`);
  }
  return extrinsic;
}

function submitAndWatch(node: HubNode, extrinsic: Uint8Array): RpcSubscription {
  const waiting: TransactionStatus[] = [];
  let deliver: StatusListener = (status) => waiting.push(status);
  const listener: StatusListener = (status) => deliver(status);
  const hash = node.pool.submit(extrinsic, listener);
  return new RpcSubscription("author_extrinsicUpdate", (send, end) => {
    deliver = (status): void => {
      send(status);
      if (isLastStatus(status)) end();
    };
    for (const status of waiting) deliver(status);
    return () => node.pool.unwatch(hash, listener);
  });
}
