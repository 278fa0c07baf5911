/**
 * A simulated relay chain: blocks with real GRANDPA and BEEFY votes, sessions, parachain heads and a mountain range, over
 * the JSON-RPC of a Substrate node. Start at {@link startRelayChain}. What it leaves out: forks, extrinsics, other pallets.
 */
import { type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import { grandpaAuthoritiesCodec } from "../../src/consensus/clients/grandpa/spec/message.ts";
import { bytes, hash256, list, Struct, u64 } from "../../src/core/encoding/scale.ts";
import type { SimulatedBlock } from "../hub/block_history.ts";
import type { ServedNode } from "../hub/blocks.ts";
import { chainMethods } from "../hub/rpc/chain_methods.ts";
import { blockParam, RpcError, type RpcMethods, u32Param, u32sParam } from "../hub/rpc/json_rpc.ts";
import { executionFailed, storageMethods } from "../hub/rpc/state_methods.ts";
import { Finality } from "./finality.ts";
import { grandpaMethods } from "./grandpa_votes.ts";
import { RelayBlocks } from "./relay_blocks.ts";
import type { BeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import type { BlockName } from "../hub/hub_options.ts";
import { nameOf, SimulatedNode } from "../hub/simulated_node.ts";
import {
  type RelayChainSettings,
  type RelaySession,
  relaySettings,
  type RelaySimulatorOptions,
} from "./relay_options.ts";

/**
 * RPC methods of a relay chain's node beside those of every Substrate chain: finality gadgets, mountain range.
 * Source: paritytech/polkadot-sdk: substrate/client/consensus/beefy/rpc/src, substrate/client/merkle-mountain-range/rpc/src.
 */

/** What the methods read. */
interface RelayNode extends ServedNode {
  readonly chain: RelayBlocks;
  readonly finality: Finality;
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
function relayMethods(node: RelayNode): RpcMethods {
  return {
    ...chainMethods(node),
    ...storageMethods(node),
    ...grandpaMethods(node.finality.votes),
    ...beefyMethods(node),
    mmr_generateProof: ([blocks, best, at]) => generateProof(node, blocks, best, at),
    state_call: ([method, , at]) => toHex(callRuntime(node, method, blockParam(node, at))),
    state_getRuntimeVersion: () => version,
    system_chain: () => "Paseo devnet",
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
  };
}

/** `LeafProof` of the runtime: laid out here, so that a reader with another layout is found out. */
const leafProofCodec = Struct({ leafIndices: list(u64), leafCount: u64, items: list(hash256) });

function generateProof(node: RelayNode, blocks: unknown, best: unknown, at: unknown): unknown {
  const { chain } = node;
  const block = blockParam(node, at);
  const known = best === undefined || best === null ? block.header.number : u32Param(best, "best");
  const numbers = u32sParam(blocks, "block_numbers");
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

function callRuntime({ chain }: RelayNode, method: unknown, block: SimulatedBlock): Uint8Array {
  if (method !== "GrandpaApi_grandpa_authorities") {
    throw executionFailed(`Exported method ${method} is not found`);
  }
  return grandpaAuthoritiesCodec.enc(chain.setOf(block.header.number).grandpaAuthorities);
}

export type { ParachainHeads, RelaySession, RelaySimulatorOptions } from "./relay_options.ts";

/** Starts a relay chain. The first final block with a leaf in the mountain range exists when it returns. */
export async function startRelayChain(options: RelaySimulatorOptions = {}): Promise<RelayChainNode> {
  const node = new RelayChainNode(options);
  await node.start();
  return node;
}

/** A running relay chain. */
export class RelayChainNode extends SimulatedNode {
  /** Whether `beefy_getFinalizedHead` knows a block. */
  beefyReady: boolean;
  readonly #settings: RelayChainSettings;
  protected override readonly chain: RelayBlocks;
  readonly #finality: Finality;
  #lastMs = 0n;

  constructor(options: RelaySimulatorOptions) {
    const settings = relaySettings(options);
    super(settings.blockTimeMs);
    this.#settings = settings;
    this.beefyReady = settings.beefyReady;
    this.missingMethods = new Set(settings.missingMethods);
    this.chain = new RelayBlocks(settings, this.#nextMs());
    this.#finality = new Finality(this.chain, settings);
    this.#serveNode();
    this.produceBlocks(settings.beefyActivationBlock + 1 + settings.finalityLag);
  }

  #serveNode(): void {
    this.serve({
      methods: relayMethods({
        chain: this.chain,
        finality: this.#finality,
        isBeefyReady: () => this.beefyReady,
        justificationsOf: ({ header }) => this.#finality.justificationsOf(header.number),
      }),
    });
  }

  /** Newest block with a BEEFY justification. */
  get beefyFinalized(): BlockName {
    const found = this.#finality.beefyFinalized;
    if (found === undefined) throw new Error("BEEFY has justified nothing yet");
    return nameOf(found);
  }

  /** Session of the newest block. */
  get session(): RelaySession {
    return this.sessionOf(this.chain.best.header.number);
  }

  hash(block: number): Hash256 {
    return this.chain.blockAt(block).hash;
  }

  /** Session of a block, in whose first block the set has changed already. */
  sessionOf(block: number): RelaySession {
    return this.chain.sessionOf(block);
  }

  /** What a BEEFY client that starts at that block trusts; default the newest with a justification. */
  beefyState(block: number = this.beefyFinalized.number): BeefyClientState {
    const { index } = this.chain.sessionOf(block);
    return {
      latestHeight: BigInt(block),
      beefyActivationBlock: BigInt(block) - this.chain.leafCount(block),
      current: this.chain.validators.set(index).beefySet,
      next: this.chain.validators.set(index + 1).beefySet,
    };
  }

  /** SCALE of the justification that the node has for a block, whether or not it keeps it. */
  grandpaJustification(block: number): Uint8Array {
    return this.#finality.votes.justification(block);
  }

  beefyJustification(block: number): Uint8Array {
    return this.#finality.beefy(block);
  }

  override produceBlock(): BlockName {
    const every = this.#settings.sessionBlocks;
    const next = this.chain.best.header.number + 1;
    return this.#produce(every > 0 && next % every === 0);
  }

  /** Makes blocks now. @returns the last one. */
  produceBlocks(count = 1): BlockName {
    for (let made = 0; made < count; made++) this.produceBlock();
    return this.best;
  }

  /** Lets the next block begin a session, and makes it. @returns it. */
  rotate(): BlockName {
    return this.#produce(true);
  }

  #produce(beginsSession: boolean): BlockName {
    this.chain.build(this.#nextMs(), beginsSession);
    this.chain.advanceFinality();
    return this.best;
  }

  /** The clock, or a millisecond after the last block where that is later. */
  #nextMs(): bigint {
    const now = BigInt(Math.floor(this.#settings.now()));
    this.#lastMs = now > this.#lastMs ? now : this.#lastMs + 1n;
    return this.#lastMs;
  }
}
