/**
 * Messages that relayer keys sign for the hub, and the two signature schemes: secp256k1 over a raw hash, sr25519.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/lib.rs, modules/utils/crypto/src/verification.rs.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { bytesToNumberLE, numberToBytesLE } from "@noble/curves/utils.js";
import * as sr25519 from "@scure/sr25519";
import { concatBytes, fromHex, type Hash256, keccak256, toHash256 } from "../encoding/bytes.ts";
import { CodedError, mapError } from "../encoding/coded_error.ts";
import { bytes, decodeStrict, hash256, list, u64 } from "../encoding/scale.ts";
import { type Signature, signatureCodec } from "./fees.ts";
import { type PostRequest, postRequestCodec } from "./message.ts";
import { type StateMachine, stateMachineCodec } from "./state_machine.ts";

/** Reason why a key or signature is not usable. Neither keys nor signatures appear in the text. */
export type SignatureErrorCode = "bad_key" | "bad_signature";

/** A key or signature of the wrong form. */
export class SignatureError extends CodedError<SignatureErrorCode> {
  override readonly name = "SignatureError";
}

/** Bytes to sign, and their keccak256, which the key signs. */
export interface SignedMessage {
  readonly preimage: Uint8Array;
  readonly digest: Hash256;
}

/** A message of parts that follow each other. */
export function signedMessage(...parts: readonly Uint8Array[]): SignedMessage {
  const preimage = concatBytes(...parts);
  return { preimage, digest: toHash256(keccak256(preimage)) };
}

/**
 * Withdrawal of the fees of `destChain`, or permission to credit those accumulated there to another account. `nonce` is the hub's `Relayer.Nonce[address][destChain]`. A beneficiary is appended only when
 * there is one (no option byte).
 */
export function withdrawMessage(
  { nonce, destChain, beneficiary }: {
    nonce: bigint;
    destChain: StateMachine;
    beneficiary?: Uint8Array | undefined;
  },
): SignedMessage {
  const payee = beneficiary === undefined ? [] : [bytes.enc(beneficiary)];
  return signedMessage(u64.enc(nonce), stateMachineCodec.enc(destChain), ...payee);
}

/** Claim of the reward for delivering the rotation to authority set `setId`. */
export function consensusClaimMessage(
  { setId, destChain, payee }: { setId: bigint; destChain: StateMachine; payee: Hash256 },
): SignedMessage {
  return signedMessage(u64.enc(setId), stateMachineCodec.enc(destChain), hash256.enc(payee));
}

/** Claim of the reward for delivering a request of the hub. */
export function requestClaimMessage(
  { commitment, destChain, payee }: { commitment: Hash256; destChain: StateMachine; payee: Hash256 },
): SignedMessage {
  return signedMessage(hash256.enc(commitment), stateMachineCodec.enc(destChain), hash256.enc(payee));
}

/**
 * Message signed by the signer of a request message (for incentives; a wrong signature does not stop the message).
 */
export function requestSignerMessage(requests: readonly PostRequest[]): SignedMessage {
  return signedMessage(list(postRequestCodec).enc(requests));
}

function addressOfPublicKey(uncompressed: Uint8Array): Uint8Array {
  return keccak256(uncompressed.subarray(1)).slice(12);
}

/** 20-byte address of a secp256k1 secret key. @throws {SignatureError} `bad_key`. */
export function toEvmAddress(secretKey: Uint8Array): Uint8Array {
  try {
    return addressOfPublicKey(secp256k1.getPublicKey(secretKey, false));
  } catch {
    // The library's error may quote the key.
    throw new SignatureError("bad_key");
  }
}

/**
 * Signs a digest as it is: 65 bytes r, s, v with v 27 or 28 and the lower s. The same every time (RFC 6979).
 * @throws {SignatureError} `bad_key`.
 */
export function signDigest(secretKey: Uint8Array, digest: Hash256): Uint8Array {
  try {
    const options = { prehash: false, format: "recovered", extraEntropy: false } as const;
    const recovered = secp256k1.sign(fromHex(digest), secretKey, options);
    return concatBytes(recovered.subarray(1), Uint8Array.of(27 + (recovered[0] ?? 0)));
  } catch {
    throw new SignatureError("bad_key");
  }
}

/**
 * Address whose key made the signature; v may be 0, 1, 27 or 28.
 * @throws {SignatureError} `bad_signature`.
 */
export function recoverEvmAddress(digest: Hash256, signature: Uint8Array): Uint8Array {
  const v = signature[64] ?? 255;
  const bit = v >= 27 ? v - 27 : v;
  if (signature.length !== 65 || bit > 1) throw new SignatureError("bad_signature");
  return mapError(Error, () => {
    const recovered = concatBytes(Uint8Array.of(bit), signature.subarray(0, 64));
    const compressed = secp256k1.recoverPublicKey(recovered, fromHex(digest), { prehash: false });
    return addressOfPublicKey(secp256k1.Point.fromBytes(compressed).toBytes(false));
  }, (cause) => new SignatureError("bad_signature", { cause }));
}

/**
 * 64-byte secret of an sr25519 key as the library has it, `to_ed25519_bytes` of w3f/schnorrkel: src/keys.rs, from a
 * 32-byte mini secret (expanded Ed25519-style), or from the 64 bytes of `to_bytes`, whose scalar is without the cofactor.
 * @throws {SignatureError} `bad_key`.
 */
export function sr25519Secret(key: Uint8Array): Uint8Array {
  if (key.length === 64) return concatBytes(shiftScalar(key, 3n), key.subarray(32));
  if (key.length !== 32) throw new SignatureError("bad_key");
  return sr25519.secretFromSeed(key);
}

/** The 64 bytes of `to_bytes` from those of `to_ed25519_bytes`, as polkadot-js has them. */
export function withoutCofactor(secret: Uint8Array): Uint8Array {
  return concatBytes(shiftScalar(secret, -3n), secret.subarray(32));
}

/** The first 32 bytes as a little-endian number, times two to the power of `bits`. */
function shiftScalar(secret: Uint8Array, bits: bigint): Uint8Array {
  const scalar = bytesToNumberLE(secret.subarray(0, 32));
  return numberToBytesLE((bits > 0n ? scalar << bits : scalar >> -bits) % 2n ** 256n, 32);
}

/** 32-byte public key of a mini secret or of a 64-byte secret. @throws {SignatureError} `bad_key`. */
export function sr25519PublicKey(key: Uint8Array): Uint8Array {
  try {
    return sr25519.getPublicKey(sr25519Secret(key));
  } catch {
    throw new SignatureError("bad_key");
  }
}

/**
 * `Signature::Sr25519` of a digest, whose 32 bytes are the message, with context `substrate`.
 * @param random 32 bytes of fresh randomness; the nonce also depends on key and message.
 */
export function sr25519Signature(
  digest: Hash256,
  key: Uint8Array,
  random: Uint8Array,
): Extract<Signature, { tag: "Sr25519" | "Ed25519" }> {
  const signature = sr25519.sign(sr25519Secret(key), fromHex(digest), random);
  return { tag: "Sr25519", value: { publicKey: sr25519PublicKey(key), signature } };
}

/** The bytes that identify the signer in hub storage: EVM address or public key. */
export function toSignerBytes(signature: Signature): Uint8Array {
  return signature.tag === "Evm" ? signature.value.address : signature.value.publicKey;
}

/**
 * Signer that a host stores for a message's `signer` field: up to 32 bytes unchanged, else the signer of the SCALE
 * {@link Signature} in it. @throws {ScaleError} when longer bytes are no signature.
 */
export function storedSigner(signer: Uint8Array): Uint8Array {
  return signer.length <= 32 ? signer : toSignerBytes(decodeStrict(signatureCodec, signer, "Signature"));
}
