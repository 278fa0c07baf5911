/**
 * State of Substrate chains and of contracts on them as the hub reads it from proofs. The rules are written for the hub
 * alone: a mistake of the relayer's is none of the hub's. Nodes of tries are read by the relayer's reader, which vectors of
 * a runtime check.
 * Source: polytope-labs/hyperbridge: modules/ismp/state-machines/{substrate/src/lib.rs,evm/src/substrate_evm.rs}.
 */

import { concatBytes, type Hash256, type Hex, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import type { HashAlgorithm, SubstrateEvmProof } from "../../../src/core/ismp/proof.ts";
import { readSubstrateProof } from "../../../src/core/merkle/substrate_proof.ts";
import { ProofRefusal, readTrie } from "./refusals.ts";
import { blake2AsU8a, xxhashAsU8a } from "@polkadot/util-crypto";

/** What a proof shows for keys below a root, by their hex. @throws {ProofRefusal} */
export function readSubstrateState(
  question: {
    readonly root: Hash256;
    readonly hasher: HashAlgorithm;
    readonly nodes: Iterable<Uint8Array>;
    readonly keys: readonly Uint8Array[];
  },
): ReadonlyMap<Hex, Uint8Array | undefined> {
  return readTrie(() => readSubstrateProof(question));
}

/** What is read, and where. */
interface ContractQuestion {
  readonly stateRoot: Hash256;
  /** Address of the ISMP host. */
  readonly host: Uint8Array;
  readonly proof: SubstrateEvmProof;
}

function only(root: Hash256, nodes: readonly Uint8Array[], key: Uint8Array): Uint8Array | undefined {
  return readSubstrateState({ root, hasher: "Blake2", nodes, keys: [key] }).get(toHex(key));
}

/** Content of a byte list at the start of bytes. @throws {ProofRefusal} */
function byteList(bytes: Uint8Array): Uint8Array {
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const [length, skipped] =
    [[a >> 2, 1], [(a | b << 8) >> 2, 2], [(a | b << 8 | c << 16 | d << 24) >>> 2, 4]][a & 3] ??
      [Infinity, 0];
  const taken = bytes.slice(skipped, (skipped ?? 0) + (length ?? 0));
  if (bytes.length === 0 || taken.length !== length) throw new ProofRefusal("malformed_node");
  return taken;
}

/** Root of a contract's storage. @throws {ProofRefusal} */
function storageRootOf({ stateRoot, proof }: ContractQuestion, contract: Uint8Array): Hash256 {
  const prefix = concatBytes(xxhashAsU8a("Revive", 128), xxhashAsU8a("AccountInfoOf", 128));
  const record = only(stateRoot, proof.mainProof, concatBytes(prefix, contract));
  // The only variant that is read is the one of contracts.
  if (record === undefined || record[0] !== 0) throw new ProofRefusal("no_account");
  const trie = byteList(record.slice(1));
  const name = new TextEncoder().encode(":child_storage:default:");
  const root = only(stateRoot, proof.mainProof, concatBytes(name, trie));
  if (root === undefined || root.length < 32) throw new ProofRefusal("no_account");
  return toHash256(root.slice(0, 32));
}

function slotOf(question: ContractQuestion, contract: Uint8Array, slot: Uint8Array): Uint8Array | undefined {
  const root = storageRootOf(question, contract);
  const nodes = question.proof.storageProof.get(toHex(contract));
  if (nodes === undefined) throw new ProofRefusal("wrong_contracts");
  return only(root, nodes, blake2AsU8a(slot, 256));
}

/** What a proof shows for keys, by their hex. @throws {ProofRefusal} */
export function readContractState(
  question: ContractQuestion,
  keys: readonly Uint8Array[],
): ReadonlyMap<Hex, Uint8Array | undefined> {
  const values = new Map(keys.map((key) => {
    if (key.length !== 32 && key.length !== 52) throw new ProofRefusal("wrong_keys");
    const isOfHost = key.length === 32;
    const contract = isOfHost ? question.host : key.slice(0, 20);
    return [toHex(key), slotOf(question, contract, isOfHost ? key : key.slice(20))] as const;
  }));
  if (values.size !== keys.length) throw new ProofRefusal("wrong_keys");
  return values;
}
