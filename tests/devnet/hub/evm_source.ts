/**
 * The state of an EVM chain's ISMP host, made by hand: an Ethereum trie that holds request commitments, with
 * proofs in the form the hub takes. For tests that need no EVM node.
 */
import { createMerkleProof, createMPT, type MerklePatriciaTrie } from "@ethereumjs/mpt";
import { RLP } from "@ethereumjs/rlp";
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../../../src/core/protocol/bytes.ts";
import { requestFeeSlot, requestSenderSlot } from "../../../src/core/protocol/evm/host_storage.ts";
import { keccak256 } from "../../../src/core/protocol/hash.ts";
import { commitmentOfPost } from "../../../src/core/protocol/ismp/commitment.ts";
import { evmStateProofCodec } from "../../../src/core/protocol/ismp/proof.ts";
import type { PostRequest } from "../../../src/core/protocol/ismp/message.ts";

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
  static async holding(host: Uint8Array, requests: readonly PostRequest[]): Promise<EvmSource> {
    const storage = await createMPT();
    for (const request of requests) {
      const commitment = commitmentOfPost(request);
      await storage.put(triePath(requestFeeSlot(commitment)), RLP.encode(1));
      await storage.put(triePath(requestSenderSlot(commitment)), RLP.encode(new Uint8Array(20).fill(7)));
    }
    const accounts = await createMPT();
    const account = [1, 0, storage.root(), new Uint8Array(32).fill(3)];
    await accounts.put(keccak256(host), RLP.encode(account));
    await accounts.put(keccak256(new Uint8Array(20).fill(9)), RLP.encode(account));
    return new EvmSource(host, toHash256(accounts.root()), storage, accounts);
  }

  /** SCALE `EvmStateProof` of requests, for `Proof.proof`. */
  async prove(requests: readonly PostRequest[]): Promise<Uint8Array> {
    const nodes = new Set<Hex>();
    for (const request of requests) {
      const path = triePath(requestSenderSlot(commitmentOfPost(request)));
      for (const node of await createMerkleProof(this.storage, path)) nodes.add(toHex(node));
    }
    return evmStateProofCodec.enc({
      contractProof: await createMerkleProof(this.accounts, keccak256(this.host)),
      storageProof: new Map([[toHex(this.host), [...nodes].sort().map(fromHex)]]),
    });
  }
}

function triePath(slot: Hash256): Uint8Array {
  return keccak256(fromHex(slot));
}
