/**
 * Signatures of relayers as the hub checks them, and those of EVM keys as wallets make them. Source:
 * polytope-labs/hyperbridge: modules/utils/crypto/src/verification.rs.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import * as sr25519 from "@scure/sr25519";
import { concatBytes, equalBytes, fromHex, type Hash256 } from "../../src/core/encoding/bytes.ts";
import type { Signature } from "../../src/core/ismp/fees.ts";
import { recoverEvmAddress, SignatureError, toEvmAddress } from "../../src/core/ismp/signed_messages.ts";

/**
 * Signs a 32-byte hash as it is, without an EIP-191 prefix.
 * @returns 65 bytes: r, s, v with v 27 or 28. Deterministic (RFC 6979).
 * @throws {SignatureError} `bad_key`.
 */
export function signEvmDigest(digest: Hash256, secretKey: Uint8Array): Uint8Array {
  if (!secp256k1.utils.isValidSecretKey(secretKey)) throw new SignatureError("bad_key");
  const signature = secp256k1.sign(fromHex(digest), secretKey, { prehash: false, format: "recovered" });
  // noble puts the recovery bit first, Ethereum's v comes last.
  return concatBytes(signature.subarray(1), Uint8Array.of(27 + (signature[0] ?? 0)));
}

/** `Signature::Evm` of a digest. */
export function evmSignature(digest: Hash256, secretKey: Uint8Array): Extract<Signature, { tag: "Evm" }> {
  return {
    tag: "Evm",
    value: { address: toEvmAddress(secretKey), signature: signEvmDigest(digest, secretKey) },
  };
}

/**
 * True when the signature over the digest is that of the address or key it names: sr25519 with context `substrate`, ed25519
 * by the rules of ZIP-215, as in the hub (sp-core verifies with ed25519-zebra). Never throws.
 */
export function verifySignature(digest: Hash256, { tag, value }: Signature): boolean {
  try {
    switch (tag) {
      case "Evm":
        return equalBytes(recoverEvmAddress(digest, value.signature), value.address);
      case "Sr25519":
        return sr25519.verify(fromHex(digest), value.signature, value.publicKey);
      case "Ed25519":
        return ed25519.verify(value.signature, fromHex(digest), value.publicKey);
    }
  } catch {
    // The libraries throw on lengths and on points that are not on the curve.
    return false;
  }
}
