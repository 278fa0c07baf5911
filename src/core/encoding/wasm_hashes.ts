/**
 * The hash functions of the protocol in WebAssembly. Loaded by `bytes.ts` when the first value is hashed; each call
 * writes the input into the memory of its instance, which nothing else uses.
 */
import { createBLAKE2b, createKeccak, type IHasher } from "hash-wasm";

/** A hash function of whole inputs. */
export type HashFunction = (data: Uint8Array) => Uint8Array;

/** Hash functions that give what those of `@noble/hashes` give. */
export interface Hashes {
  readonly keccak256: HashFunction;
  readonly blake2b256: HashFunction;
  readonly blake2b128: HashFunction;
}

/** Compiles and instantiates all of them: a few kilobytes, about 2 ms. */
export async function openWasmHashes(): Promise<Hashes> {
  const [keccak256, blake2b256, blake2b128] = await Promise.all([
    createKeccak(256),
    createBLAKE2b(256),
    createBLAKE2b(128),
  ]);
  return {
    keccak256: wholeInputs(keccak256),
    blake2b256: wholeInputs(blake2b256),
    blake2b128: wholeInputs(blake2b128),
  };
}

function wholeInputs(hasher: IHasher): HashFunction {
  return (data) => hasher.init().update(data).digest("binary");
}
