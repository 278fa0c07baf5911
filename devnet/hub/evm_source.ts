/**
 * The state of an EVM chain's ISMP host, made by hand: an Ethereum trie of storage slots, with proofs in the form
 * the hub takes. For tests that need no EVM node.
 */
import { createMerkleProof, createMPT, type MerklePatriciaTrie } from "@ethereumjs/mpt";
import { RLP } from "@ethereumjs/rlp";
import type { Hash256, Hex } from "../../src/core/encoding/bytes.ts";
import { fromHex, keccak256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { requestFeeSlot, requestSenderSlot } from "../../src/core/evm/host_storage.ts";
import { commitmentOfPost, type PostRequest } from "../../src/core/ismp/message.ts";
import { evmStateProofCodec } from "../../src/core/ismp/proof.ts";

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
