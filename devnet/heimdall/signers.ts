/** Validators of the Heimdall simulator: keys that follow from their number, and votes. */
import { concatBytes } from "../../src/core/encoding/bytes.ts";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesField, numberField, sha256Parts, simpleTree } from "./wire.ts";

/** A validator of a block. */
export interface HeimdallSigner {
  /** Which of the known keys it has. */
  readonly key: number;
  readonly power: bigint;
}

/** Keys of a signer. */
export interface SignerKeys {
  readonly secret: Uint8Array;
  /** 65 bytes. */
  readonly publicKey: Uint8Array;
  /** 20 bytes. */
  readonly address: Uint8Array;
}

const known = new Map<number, SignerKeys>();

/** Keys with that number. */
export function signerKeys(key: number): SignerKeys {
  const found = known.get(key);
  if (found !== undefined) return found;
  const secret = sha256Parts(new TextEncoder().encode(`heimdall validator ${key}`));
  const publicKey = secp256k1.getPublicKey(secret, false);
  const keys = { secret, publicKey, address: keccak_256(publicKey.slice(1)).slice(12) };
  known.set(key, keys);
  return keys;
}

/** Signs with the key: r, s and the recovery id, as Heimdall's validators do. */
export function signVote(key: number, message: Uint8Array): Uint8Array {
  const { secret } = signerKeys(key);
  const recovered = secp256k1.sign(keccak_256(message), secret, { prehash: false, format: "recovered" });
  return concatBytes(recovered.slice(1), recovered.slice(0, 1));
}

/** The order of a set: the strongest first, and by address. */
export function inOrder(signers: readonly HeimdallSigner[]): readonly HeimdallSigner[] {
  const address = ({ key }: HeimdallSigner): string => signerKeys(key).address.toHex();
  return [...signers].sort((a, b) => Number(b.power - a.power) || (address(a) < address(b) ? -1 : 1));
}

/** Hash of a set. */
export function setHash(signers: readonly HeimdallSigner[]): Uint8Array {
  const leaves = inOrder(signers).map(({ key, power }) =>
    concatBytes(bytesField(1, bytesField(3, signerKeys(key).publicKey)), numberField(2, power))
  );
  return simpleTree(leaves).root;
}
