/**
 * Points of secp256k1 as BEEFY needs them: those of compressed keys and of signatures. libsecp256k1, compiled to
 * WebAssembly, takes a third of the time of the library in JavaScript, which stands in until it is loaded.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { RecoveryId, Secp256k1 } from "@bitauth/libauth";

let compiled: Secp256k1 | undefined;
let loading: Promise<void> | undefined;

/** Loads the fast implementation, once: votes of hundreds of validators are about to be checked. */
export function loadCurve(): Promise<void> {
  loading ??= import("@bitauth/libauth/build/lib/crypto/secp256k1.js").then(async (library) => {
    compiled = await library.instantiateSecp256k1();
  });
  return loading;
}

/** Uncompressed point of a compressed key: 65 bytes; `undefined` when it is no point of the curve. */
export function decompressKey(key: Uint8Array): Uint8Array | undefined {
  if (key.length !== 33) return undefined;
  if (compiled !== undefined) return pointOf(compiled.uncompressPublicKey(key));
  try {
    return secp256k1.Point.fromBytes(key).toBytes(false);
  } catch {
    return undefined;
  }
}

/**
 * Uncompressed point of the key that signed a hash: 65 bytes; `undefined` when none follows. @param signature r and s,
 * 64 bytes
 */
export function recoverKey(
  hash: Uint8Array,
  signature: Uint8Array,
  recovery: 0 | 1,
): Uint8Array | undefined {
  if (hash.length !== 32 || signature.length !== 64) return undefined;
  if (compiled !== undefined) {
    const id: RecoveryId = recovery;
    return pointOf(compiled.recoverPublicKeyUncompressed(signature, id, hash));
  }
  try {
    const parsed = secp256k1.Signature.fromBytes(signature).addRecoveryBit(recovery);
    return parsed.recoverPublicKey(hash).toBytes(false);
  } catch {
    return undefined;
  }
}

/** Errors of the library are texts. */
function pointOf(result: Uint8Array | string): Uint8Array | undefined {
  return typeof result === "string" ? undefined : result;
}
