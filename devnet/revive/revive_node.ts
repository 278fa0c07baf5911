/**
 * The Substrate node of an EVM chain with pallet-revive: it follows an anvil, and proves what contracts store there over the
 * JSON-RPC of a Substrate node. Start reading at {@link startReviveNode}.
 */
import { fromHex, type Hash256, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import type { SimulatedHeader } from "../hub/digest.ts";
import { chainMethods } from "../hub/rpc/chain_methods.ts";
import { type AnswerHook, RpcDispatcher } from "../hub/rpc/dispatcher.ts";
import type { FaultHook } from "../hub/rpc/faults.ts";
import { blockParam, type RpcMethods } from "../hub/rpc/method.ts";
import { hexParam, listParam } from "../hub/rpc/params.ts";
import { RpcServer } from "../hub/rpc/server.ts";
import { storageMethods } from "../hub/rpc/storage_methods.ts";
import type { ServedNode } from "../hub/node.ts";
import { MirroredBlocks, REVIVE_SLOT_MS } from "./mirrored_blocks.ts";
import { reviveMetadata } from "./revive_metadata.ts";

/** Milliseconds between two looks at the anvil while nobody asks. */
const FOLLOW_EVERY_MS = 100;

/** Longest message, bytes. */
const MAX_MESSAGE_BYTES = 150_000_000;

const version = {
  specName: "asset-hub-paseo",
  implName: "revive-simulator",
  authoringVersion: 1,
  specVersion: 2_000_006,
  implVersion: 0,
  apis: [],
  transactionVersion: 15,
  systemVersion: 1,
  stateVersion: 1,
};

/** A running node. */
export class ReviveNode implements AsyncDisposable {
  /** Makes calls fail. */
  fault: FaultHook | undefined;
  /** Changes answers, as a node that lies does. */
  alter: AnswerHook | undefined;
  readonly slotMs = REVIVE_SLOT_MS;
  readonly #blocks: MirroredBlocks;
  readonly #server: RpcServer;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;

  /** Not for callers: use {@link startReviveNode}. */
  constructor(blocks: MirroredBlocks) {
    this.#blocks = blocks;
    const node: ServedNode = { chain: blocks, follow: () => () => {} };
    const dispatcher = new CatchingUp(blocks, {
      methods: reviveMethods(node, blocks),
      maxRequestBytes: MAX_MESSAGE_BYTES,
      maxResponseBytes: MAX_MESSAGE_BYTES,
      fault: (call) => this.fault?.(call),
      alter: (call, result) => this.alter === undefined ? result : this.alter(call, result),
      onCall: () => {},
    });
    this.#server = new RpcServer(dispatcher);
  }

  /** Not for callers, either. */
  async start(): Promise<void> {
    await this.#server.start();
    this.#follow();
  }

  get wsUrl(): string {
    return `ws://127.0.0.1:${this.#server.port}`;
  }

  /** Newest final header: the one that the relay chain has. */
  get head(): SimulatedHeader {
    return this.#blocks.finalized.header;
  }

  /** Header of a block that the relay chain has or had; `undefined`: it never saw that one. */
  header(number: number): SimulatedHeader | undefined {
    return number <= this.#blocks.finalNumber ? this.#blocks.blockAt(number).header : undefined;
  }

  /** Root of the state after a block of the anvil. */
  async stateRoot(number: bigint): Promise<Hash256> {
    await this.#blocks.catchUp();
    return this.#blocks.tries(Number(number)).root;
  }

  /** What a contract has in a slot after a block of the anvil. */
  async slot(number: bigint, contract: Hex, slot: Hash256): Promise<bigint> {
    await this.#blocks.catchUp();
    return this.#blocks.tries(Number(number)).slot(contract, slot);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#server[Symbol.asyncDispose]();
  }

  /** Keeps up with the anvil, for those who read without asking. */
  #follow(): void {
    if (this.#isStopped) return;
    // An anvil that is frozen or gone is asked again.
    void this.#blocks.catchUp().catch(() => undefined).finally(() => {
      if (!this.#isStopped) this.#timer = setTimeout(() => this.#follow(), FOLLOW_EVERY_MS);
    });
  }
}

/** Starts a node for an anvil; what is there already is read before it returns. */
export async function startReviveNode({ rpcUrl }: { readonly rpcUrl: string }): Promise<ReviveNode> {
  const blocks = new MirroredBlocks(rpcUrl);
  await blocks.catchUp();
  const node = new ReviveNode(blocks);
  await node.start();
  return node;
}

/** Answers with what the anvil has by now. */
class CatchingUp extends RpcDispatcher {
  readonly #blocks: MirroredBlocks;

  constructor(blocks: MirroredBlocks, options: ConstructorParameters<typeof RpcDispatcher>[0]) {
    super(options);
    this.#blocks = blocks;
  }

  override async answer(...asked: Parameters<RpcDispatcher["answer"]>): Promise<string | undefined> {
    // Without the anvil the node stands still.
    await this.#blocks.catchUp().catch(() => undefined);
    return await super.answer(...asked);
  }
}

function reviveMethods(node: ServedNode, blocks: MirroredBlocks): RpcMethods {
  let metadata: string | undefined;
  return {
    ...chainMethods(node),
    ...storageMethods(node),
    state_getChildReadProof: ([trie, keys, at]) => {
      const { header, hash } = blockParam(node, at);
      const wanted = listParam(keys, "keys", hexParam);
      const proof = blocks.tries(header.number).proveChild(hexParam(trie, "childStorageKey"), wanted);
      return { at: hash, proof: proof.map(toHex) };
    },
    childstate_getStorage: ([trie, key, at]) => {
      const { header } = blockParam(node, at);
      const child = blocks.tries(header.number).children.get(toHex(hexParam(trie, "childStorageKey")));
      const found = child?.get(fromHex(toHex(hexParam(key, "key"))));
      return found === undefined ? null : toHex(found);
    },
    state_getMetadata: () => metadata ??= toHex(reviveMetadata()),
    state_getRuntimeVersion: () => version,
    chain_getRuntimeVersion: () => version,
    system_chain: () => "Paseo Asset Hub devnet",
    system_name: () => "Revive simulator",
    system_version: () => "1.0.0",
    system_health: () => ({ peers: 3, isSyncing: false, shouldHavePeers: true }),
  };
}
