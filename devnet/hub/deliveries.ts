/**
 * Building blocks of the hub's own tests: a hub that knows two EVM chains, posts, proofs and extrinsics.
 */
import { createMerkleProof, createMPT, type MerklePatriciaTrie } from "@ethereumjs/mpt";
import { RLP } from "@ethereumjs/rlp";
import {
  concatBytes,
  fromHex,
  type Hash256,
  type Hex,
  keccak256,
  toHash256,
  toHex,
} from "../../src/core/encoding/bytes.ts";
import { requestFeeSlot, requestSenderSlot } from "../../src/core/evm/host_storage.ts";
import { commitmentOfPost, type PostRequest } from "../../src/core/ismp/message.ts";
import { evmStateProofCodec } from "../../src/core/ismp/proof.ts";
import { zstdCompressSync } from "node:zlib";
import {
  encodeBareExtrinsic,
  type IsmpMessage,
  ismpMessagesCodec,
} from "../../src/core/ismp/ismp_message.ts";
import {
  parseStateMachine,
  type StateMachineId,
  toConsensusClientId,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import { bytes, u32 } from "../../src/core/encoding/scale.ts";
import { type Hub, type HubOptions, startHub } from "./hub.ts";
import { callHttp, type JsonRpcAnswer, resultHttp } from "./json_rpc_client.ts";
import { RuntimeMetadata } from "./runtime_metadata.ts";

/** A slot of the host with what it holds: a number, or bytes of an address. */
export type SlotValue = readonly [slot: Hash256, value: bigint | Uint8Array];

/** One block of an EVM chain. */
export class EvmSource {
  private constructor(
    /** Address of the ISMP host. */
    readonly host: Uint8Array,
    readonly stateRoot: Hash256,
    readonly storage: MerklePatriciaTrie,
    readonly accounts: MerklePatriciaTrie,
  ) {}

  /** A block at which the host holds these requests, with a fee of 1 each. */
  static holding(host: Uint8Array, requests: readonly PostRequest[]): Promise<EvmSource> {
    return EvmSource.storing(host, requests.flatMap((request) => paidRequest(commitmentOfPost(request), 1n)));
  }

  /** A block at which slots of the host have these values; zeros are not stored, as in Solidity. */
  static async storing(host: Uint8Array, slots: readonly SlotValue[]): Promise<EvmSource> {
    const storage = await createMPT();
    for (const [slot, value] of slots) {
      if (value !== 0n) await storage.put(triePath(slot), RLP.encode(value));
    }
    const accounts = await createMPT();
    const account = [1, 0, storage.root(), new Uint8Array(32).fill(3)];
    await accounts.put(keccak256(host), RLP.encode(account));
    await accounts.put(keccak256(new Uint8Array(20).fill(9)), RLP.encode(account));
    return new EvmSource(host, toHash256(accounts.root()), storage, accounts);
  }

  /** SCALE `EvmStateProof` of requests, for `Proof.proof`. */
  prove(requests: readonly PostRequest[]): Promise<Uint8Array> {
    return this.proveSlots(requests.map((request) => requestSenderSlot(commitmentOfPost(request))));
  }

  /** The unsigned extrinsic that delivers requests with their proof. */
  async deliver(requests: readonly PostRequest[], change: MessageChange = {}): Promise<Uint8Array> {
    return extrinsicOf(requestMessage(requests, await this.prove(requests), change));
  }

  /** SCALE `EvmStateProof` of slots of the host. */
  async proveSlots(slots: readonly Hash256[]): Promise<Uint8Array> {
    const nodes = new Set<Hex>();
    for (const slot of slots) {
      for (const node of await createMerkleProof(this.storage, triePath(slot))) nodes.add(toHex(node));
    }
    return evmStateProofCodec.enc({
      contractProof: await createMerkleProof(this.accounts, keccak256(this.host)),
      storageProof: new Map([[toHex(this.host), [...nodes].sort().map(fromHex)]]),
    });
  }
}

/** What a host stores of a request that was sent with a fee. */
export function paidRequest(commitment: Hash256, fee: bigint): SlotValue[] {
  return [[requestFeeSlot(commitment), fee], [requestSenderSlot(commitment), new Uint8Array(20).fill(7)]];
}

function triePath(slot: Hash256): Uint8Array {
  return keccak256(fromHex(slot));
}

/** The chain that sends. */
export const sender: StateMachineId = {
  stateMachine: parseStateMachine("EVM-1"),
  consensusStateId: toConsensusStateId("ETH0"),
};

/** The chain that receives. */
export const receiver: StateMachineId = {
  stateMachine: parseStateMachine("EVM-56"),
  consensusStateId: toConsensusStateId("BSC0"),
};

/** Address of the sender's ISMP host. */
export const senderHost: Uint8Array = new Uint8Array(20).fill(0xaa);

const gargantua = RuntimeMetadata.load("gargantua");

/** A hub in manual mode that knows both chains without challenge period. */
export function startTestHub(options: HubOptions = {}): Promise<Hub> {
  return startHub({
    blockTimeMs: "manual",
    clients: [[sender, "BEAC"] as const, [receiver, "BSCP"] as const].map(([id, client]) => ({
      stateId: id.consensusStateId,
      clientId: toConsensusClientId(client),
      unbondingPeriodSec: 100_000n,
      challengePeriodsSec: new Map([[id.stateMachine, 0n]]),
    })),
    hosts: new Map([[sender.stateMachine, senderHost]]),
    ...options,
  });
}

/** A post from the sender to the receiver. */
export function post(nonce: bigint, change: Partial<PostRequest> = {}): PostRequest {
  return {
    source: sender.stateMachine,
    dest: receiver.stateMachine,
    nonce,
    from: new Uint8Array(20).fill(1),
    to: new Uint8Array(20).fill(2),
    timeoutTimestampSec: 0n,
    body: new TextEncoder().encode(`message ${nonce}`),
    ...change,
  };
}

/** Makes the hub know a block of the sender that holds these requests. */
export async function commitSender(
  hub: Hub,
  height: bigint,
  requests: readonly PostRequest[],
): Promise<EvmSource> {
  return await commitSource(hub, sender, height, await EvmSource.holding(senderHost, requests));
}

/** Makes the hub store the state of a source at a height, in a block of its own; returns the source. */
export async function commitSource(
  hub: Hub,
  id: StateMachineId,
  height: bigint,
  source: EvmSource,
): Promise<EvmSource> {
  const stored = hub.plantCommitment(id, height, {
    timestampSec: BigInt(Math.floor(hub.nowMs / 1000)),
    overlayRoot: undefined,
    stateRoot: source.stateRoot,
  });
  hub.produceBlock();
  await stored;
  return source;
}

/** What differs about a message: default height 10, of the sender. */
interface MessageChange {
  readonly height?: bigint;
  readonly signer?: Uint8Array;
  readonly id?: StateMachineId;
}

/** A `Message::Request` of the sender's requests. */
export function requestMessage(
  requests: readonly PostRequest[],
  proof: Uint8Array,
  change: MessageChange = {},
): IsmpMessage {
  return {
    tag: "Request",
    value: {
      requests,
      proof: { height: { id: change.id ?? sender, height: change.height ?? 10n }, proof },
      signer: change.signer ?? new Uint8Array(20).fill(5),
    },
  };
}

/** `Ismp.handle_unsigned` of gargantua. */
export function handleUnsigned(messages: readonly IsmpMessage[]): Uint8Array {
  return concatBytes(gargantua.callIndex("Ismp", "handle_unsigned"), ismpMessagesCodec.enc(messages));
}

/** The unsigned extrinsic of messages. */
export function extrinsicOf(...messages: readonly IsmpMessage[]): Uint8Array {
  return encodeBareExtrinsic(handleUnsigned(messages));
}

/** The unsigned extrinsic of a compressed call. @param size overrides the size that it claims. */
export function compressedExtrinsic(call: Uint8Array, size = call.length): Uint8Array {
  return encodeBareExtrinsic(concatBytes(
    gargantua.callIndex("CallDecompressor", "decompress_call"),
    bytes.enc(new Uint8Array(zstdCompressSync(call))),
    u32.enc(size),
  ));
}

/** Hands an extrinsic to the pool. */
export function submit(hub: Hub, extrinsic: Uint8Array): Promise<JsonRpcAnswer> {
  return callHttp(hub.httpUrl, "author_submitExtrinsic", [toHex(extrinsic)]);
}

/** ISMP events of a block, the newest unless named, as the hub's RPC has them. */
export async function eventsOf(hub: Hub, number = hub.best.number): Promise<unknown[]> {
  return Object.values(Object(await resultHttp(hub.httpUrl, "ismp_queryEvents", [number, number]))).flat();
}
