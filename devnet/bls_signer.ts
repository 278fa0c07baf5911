/**
 * BLS keys and signatures of validators, as Ethereum and BSC use them, by another library than the programs verify them
 * with; the hub's client of beacon chains uses this one as well, since it is five times as fast, and vectors of real
 * committees check it. Secret keys are small numbers, so the sum of secrets makes the aggregated signature of all of them.
 */
import bls from "bls-eth-wasm";

await bls.init(bls.BLS12_381);

function keyOf(secret: number): InstanceType<typeof bls.SecretKey> {
  const key = new bls.SecretKey();
  key.setInt(secret);
  return key;
}

/** Public key of a secret key: 48 bytes, compressed. @param secret from 1 to 2^31 - 1. */
export function blsPublicKey(secret: number): Uint8Array {
  return keyOf(secret).getPublicKey().serialize();
}

/** Signature over a message: 96 bytes, compressed. @param secret from 1 to 2^31 - 1. */
export function blsSignature(secret: number, message: Uint8Array): Uint8Array {
  return keyOf(secret).sign(message).serialize();
}
