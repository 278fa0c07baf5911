/**
 * RPC methods of a relay chain's node beside those of every Substrate chain: finality gadgets, mountain range.
 * Source: paritytech/polkadot-sdk: substrate/client/consensus/beefy/rpc/src, substrate/client/merkle-mountain-range/rpc/src.
 */
import { toHex } from "../../src/core/encoding/bytes.ts";
import { grandpaAuthoritiesCodec } from "../../src/consensus/clients/grandpa/spec/message.ts";
import { bytes, fixedBytes, hash256, list, Option, Struct, u64 } from "../../src/core/encoding/scale.ts";
import type { SimulatedBlock } from "../hub/block_history.ts";
import type { ServedNode } from "../hub/node.ts";
import { chainMethods } from "../hub/rpc/chain_methods.ts";
import { invalidParams, RpcError } from "../hub/rpc/json_rpc.ts";
import { blockParam, type RpcMethods } from "../hub/rpc/method.ts";
import { listParam, u32Param } from "../hub/rpc/params.ts";
import { storageMethods } from "../hub/rpc/storage_methods.ts";
import type { Finality } from "./finality.ts";
import { grandpaMethods, justifications } from "./grandpa_methods.ts";
import type { RelayBlocks } from "./relay_blocks.ts";

/** What the methods read. */
export interface RelayNode extends ServedNode {
  readonly chain: RelayBlocks;
  readonly finality: Finality;
  readonly chainName: string;
  readonly isBeefyReady: () => boolean;
}

const version = {
  specName: "paseo",
  implName: "relay-chain-simulator",
  authoringVersion: 0,
  specVersion: 2_003_001,
  implVersion: 0,
  apis: [],
  transactionVersion: 26,
  systemVersion: 1,
  stateVersion: 1,
};

/** All methods of the node. */
export function relayMethods(node: RelayNode): RpcMethods {
  return {
    ...chainMethods(node),
    ...storageMethods(node),
    ...grandpaMethods(node, node.finality.votes),
    ...beefyMethods(node),
    mmr_generateProof: ([blocks, best, at]) => generateProof(node, blocks, best, at),
    mmr_root: ([at]) => {
      const count = node.chain.leafCount(blockParam(node, at).header.number);
      if (count === 0n) throw new RpcError(8000, "Unexpected MMR error", "no leaves");
      return node.chain.range.root(count);
    },
    state_call: ([method, , at]) => toHex(callRuntime(node, method, blockParam(node, at))),
    state_getRuntimeVersion: () => version,
    chain_getRuntimeVersion: () => version,
    system_chain: () => node.chainName,
    system_name: () => "Relay chain simulator",
    system_version: () => "1.0.0",
    system_health: () => ({ peers: 3, isSyncing: false, shouldHavePeers: true }),
  };
}

function beefyMethods(node: RelayNode): RpcMethods {
  const { finality } = node;
  return {
    beefy_getFinalizedHead: () => {
      const found = node.isBeefyReady() ? finality.beefyFinalized : undefined;
      if (found === undefined) throw new RpcError(1, "BEEFY RPC endpoint not ready");
      return found.hash;
    },
    beefy_subscribeJustifications: justifications(
      node,
      "beefy_justifications",
      (number) => finality.hasBeefy(number) ? finality.beefy(number) : undefined,
    ),
  };
}

const leafProofCodec = Struct({ leafIndices: list(u64), leafCount: u64, items: list(hash256) });

function generateProof(node: RelayNode, blocks: unknown, best: unknown, at: unknown): unknown {
  const { chain } = node;
  const block = blockParam(node, at);
  const known = best === undefined || best === null ? block.header.number : u32Param(best, "best");
  const numbers = listParam(blocks, "block_numbers", u32Param);
  const leafCount = chain.leafCount(known);
  const leaves = numbers.map((number) => {
    const leaf = number <= known ? chain.leaf(number) : undefined;
    if (leaf === undefined) throw new RpcError(8001, "Leaf was not found", String(number));
    return leaf;
  });
  if (known > block.header.number) throw new RpcError(8006, "Cannot find block hash", String(known));
  const leafIndices = numbers.map((number) => chain.leafCount(number) - 1n);
  const { items } = chain.range.prove(leafIndices, leafCount);
  return {
    blockHash: block.hash,
    leaves: toHex(list(bytes).enc(leaves)),
    proof: toHex(leafProofCodec.enc({ leafIndices, leafCount, items })),
  };
}

const beefySetCodec = Option(Struct({ validators: list(fixedBytes(33)), id: u64 }));

function callRuntime({ chain }: RelayNode, method: unknown, block: SimulatedBlock): Uint8Array {
  const set = chain.setOf(block.header.number);
  switch (method) {
    case "GrandpaApi_grandpa_authorities":
      return grandpaAuthoritiesCodec.enc(set.grandpaAuthorities);
    case "GrandpaApi_current_set_id":
      return u64.enc(set.grandpaSetId);
    case "BeefyApi_validator_set":
      return beefySetCodec.enc({ validators: set.beefyKeys, id: set.beefySetId });
  }
  if (typeof method !== "string") throw invalidParams("expected a method name");
  throw new RpcError(4003, `Client error: Execution failed: Exported method ${method} is not found`);
}
