/**
 * The hash functions of the protocol, each behind one function so that an implementation can be swapped.
 *
 * WebAssembly is 3 to 15 times as fast as JavaScript, whatever the size of the input (20 bytes: 1 instead of 4 µs, 600:
 * 3 instead of 16 µs), but its functions come a moment after they are asked for. So the first hash asks for them, and
 * those before they are there are made by JavaScript. A program that hashes nothing (`--version`) loads nothing.
 */
import { blake2b } from "@noble/hashes/blake2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Hashes } from "./wasm_hashes.ts";

const inJavaScript: Hashes = {
  keccak256: (data) => keccak_256(data),
  blake2b256: (data) => blake2b(data, { dkLen: 32 }),
  blake2b128: (data) => blake2b(data, { dkLen: 16 }),
};

let current = inJavaScript;
let isAsked = false;

/** Keccak-256 (32 bytes): commitments on every chain, tries of EVM chains and of the hub. */
export function keccak256(data: Uint8Array): Uint8Array {
  return hashes().keccak256(data);
}

/** BLAKE2b with a 32-byte digest: tries and headers of most Substrate chains. */
export function blake2b256(data: Uint8Array): Uint8Array {
  return hashes().blake2b256(data);
}

/** BLAKE2b with a 16-byte digest: storage map keys (`Blake2_128Concat`). */
export function blake2b128(data: Uint8Array): Uint8Array {
  return hashes().blake2b128(data);
}

function hashes(): Hashes {
  if (!isAsked) {
    isAsked = true;
    void loadFast();
  }
  return current;
}

async function loadFast(): Promise<void> {
  try {
    const { openWasmHashes } = await import("./wasm_hashes.ts");
    current = await openWasmHashes();
  } catch {
    // Without WebAssembly the functions in JavaScript stay: slower, with the same results.
  }
}
