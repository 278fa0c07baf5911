/**
 * An L1 state of a few contracts with chosen storage, and its `eth_getProof` answers.
 */
import { createMerkleProof, createMPT, type MerklePatriciaTrie } from "@ethereumjs/mpt";
import { RLP } from "@ethereumjs/rlp";
import { fromHex, type Hash256, keccak256, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import type { Address } from "../../../../src/core/evm/address.ts";
import type { AccountProofAnswer } from "../../../../src/core/merkle/evm_proof.ts";

/** Contracts by address, their words by slot. Zero words are absent, as on chain. */
export type L1Contracts = ReadonlyMap<Address, ReadonlyMap<Hash256, bigint>>;

/** An L1 block. */
export interface L1Fixture {
  readonly stateRoot: Hash256;
  prove(contract: Address, slots: readonly Hash256[]): Promise<AccountProofAnswer>;
}

/** Makes the tries; a few other slots and accounts are added so that proofs have branches. */
export async function buildL1(contracts: L1Contracts): Promise<L1Fixture> {
  const state = await createMPT();
  const storage = new Map<Address, MerklePatriciaTrie>();
  for (const [address, slots] of contracts) {
    const trie = await createMPT();
    for (let filler = 0n; filler < 20n; filler++) await put(trie, filler + (1n << 200n), 1n);
    for (const [slot, value] of slots) await put(trie, BigInt(slot), value);
    storage.set(address, trie);
    const account = RLP.encode([1n, 0n, trie.root(), keccak256(new Uint8Array(0))]);
    await state.put(keccak256(fromHex(address)), account);
  }
  for (let filler = 0; filler < 20; filler++) {
    await state.put(
      keccak256(Uint8Array.of(filler)),
      RLP.encode([1n, 2n, new Uint8Array(32), new Uint8Array(32)]),
    );
  }
  return {
    stateRoot: toHash256(state.root()),
    prove: async (contract, slots) => {
      const trie = storage.get(contract) ?? await createMPT();
      return {
        address: contract,
        accountProof: await proof(state, keccak256(fromHex(contract))),
        storageHash: toHash256(trie.root()),
        storageProof: await Promise.all(
          slots.map(async (slot) => ({ proof: await proof(trie, keccak256(fromHex(slot))) })),
        ),
      };
    },
  };
}

async function put(trie: MerklePatriciaTrie, slot: bigint, value: bigint): Promise<void> {
  if (value === 0n) return;
  await trie.put(keccak256(fromHex(slot.toString(16).padStart(64, "0"))), RLP.encode(value));
}

async function proof(trie: MerklePatriciaTrie, key: Uint8Array): Promise<string[]> {
  return (await createMerkleProof(trie, key)).map(toHex);
}
