/**
 * `chain_*` methods.
 */
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { SimulatedBlock } from "../block_history.ts";
import { headerToJson } from "../digest.ts";
import type { BlockNews, HubNode, ServedNode } from "../node.ts";
import {
  blockParam,
  clientErrors,
  hexParam,
  invalidParams,
  optionalHash,
  RpcError,
  type RpcMethod,
  type RpcMethods,
  RpcSubscription,
} from "./json_rpc.ts";
import { bytes, decodeStrict, ScaleError } from "../../../src/core/encoding/scale.ts";
import { isLastStatus, type StatusListener, type TransactionStatus } from "../pool.ts";
/** The methods. */
export function chainMethods(node: ServedNode): RpcMethods {
  const { chain } = node;
  const find = (value: unknown): SimulatedBlock | undefined => {
    const hash = optionalHash(value, "hash");
    return hash === undefined ? chain.best : chain.find(hash);
  };
  const newHeads = heads(node, "chain_newHead", () => chain.best, ({ best }) => [best]);
  // Of blocks that became final together only the last one is announced (paritytech/substrate: pull request 10639).
  const finalHeads = heads(
    node,
    "chain_finalizedHead",
    () => chain.finalized,
    ({ finalized }) => finalized.slice(-1),
  );
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
    chain_subscribeNewHeads: newHeads,
    chain_subscribeNewHead: newHeads,
    chain_subscribeAllHeads: heads(node, "chain_allHead", () => chain.best, ({ best }) => [best]),
    chain_subscribeFinalizedHeads: finalHeads,
    chain_subscribeFinalisedHeads: finalHeads,
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

function heads(
  node: ServedNode,
  notification: string,
  current: () => SimulatedBlock,
  select: (news: BlockNews) => readonly SimulatedBlock[],
): RpcMethod {
  return () =>
    new RpcSubscription(notification, (send) => {
      send(headerToJson(current().header));
      return node.follow((news) => {
        for (const block of select(news)) send(headerToJson(block.header));
      });
    });
}

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
