/**
 * `chain_*` methods.
 */
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { SimulatedBlock } from "../block_history.ts";
import { headerToJson } from "../digest.ts";
import type { BlockNews, ServedNode } from "../node.ts";
import { invalidParams } from "./json_rpc.ts";
import { type RpcMethod, type RpcMethods, RpcSubscription } from "./method.ts";
import { optionalHash } from "./params.ts";

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
