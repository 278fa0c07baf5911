/**
 * Signature of a GRANDPA vote, as the verifying chains check it: ed25519 by the rules of ZIP 215. Source:
 * paritytech/polkadot-sdk: substrate/primitives/core/src/ed25519.rs (ed25519-zebra).
 */
import { createPublicKey, verify } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { base64urlnopad } from "@scure/base";

/**
 * True for the signature of a key over a payload. The native implementation, fifteen times as fast, follows RFC 8032,
 * which accepts less than ZIP 215 and nothing more: what it accepts is valid, and the library decides about the rest.
 */
export function isVoteSigned(signature: Uint8Array, payload: Uint8Array, key: Uint8Array): boolean {
  return isSignedNatively(signature, payload, key) || isSignedByZip215(signature, payload, key);
}

/** Both implementations throw on malformed keys and signatures. */
function isSignedNatively(signature: Uint8Array, payload: Uint8Array, key: Uint8Array): boolean {
  if (key.length !== 32) return false;
  try {
    // RFC 8037, section 2.
    const jwk = { kty: "OKP", crv: "Ed25519", x: base64urlnopad.encode(key) };
    return verify(null, payload, createPublicKey({ key: jwk, format: "jwk" }), signature);
  } catch {
    return false;
  }
}

function isSignedByZip215(signature: Uint8Array, payload: Uint8Array, key: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, payload, key);
  } catch {
    return false;
  }
}
