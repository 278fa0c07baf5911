/**
 * Validators of Heimdall: Ethereum's keys and addresses, the order and the hash of a set, and signatures. Source:
 * 0xPolygon/cometbft: crypto/secp256k1/secp256k1.go, proto/tendermint/crypto/keys.proto; cometbft/cometbft-rs:
 * cometbft/src/validator.rs; polytope-labs/hyperbridge: modules/consensus/tendermint/primitives/src/address.rs,
 * modules/consensus/tendermint/verifier/src/{hashing,sp_io_verifier}.rs.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { concatBytes, type Hash256, keccak256 } from "../../../../core/encoding/bytes.ts";
import { bytes, type Codec, Enum, Option, Struct, u64, utf8Text } from "../../../../core/encoding/scale.ts";
import { type Address, toAddress } from "../../../../core/evm/address.ts";
import { cometMerkleRoot, sizedAddress } from "./comet_header.ts";
import { PolygonError } from "./polygon_error.ts";
import { dataField, integerField, messageField } from "./protobuf.ts";

/** Key of a validator. Heimdall has keys of secp256k1 alone: 65 bytes, uncompressed. */
export type HeimdallKey =
  | { readonly tag: "ed25519"; readonly value: Uint8Array }
  | { readonly tag: "secp256k1"; readonly value: Uint8Array };

/** A validator. */
export interface HeimdallValidator {
  readonly address: Address;
  readonly publicKey: HeimdallKey;
  readonly power: bigint;
  readonly name: string | undefined;
}

/** SCALE of {@link HeimdallValidator}: 97 bytes without a name. */
export const heimdallValidatorCodec: Codec<HeimdallValidator> = Struct({
  address: sizedAddress,
  publicKey: Enum({ ed25519: bytes, secp256k1: bytes }),
  power: u64,
  name: Option(utf8Text),
});

/** Address of an uncompressed key, as accounts of Ethereum have it. */
function heimdallAddress(key: Uint8Array): Address {
  return toAddress(keccak256(key.subarray(1)).subarray(12));
}

/**
 * Uncompressed key of a validator, which must have its address. @throws {PolygonError} `public_key`,
 * `validator_address`
 */
export function requireOwnKey({ publicKey, address }: HeimdallValidator): Uint8Array {
  const { tag, value } = publicKey;
  const isPoint = tag === "secp256k1" && value.length === 65 &&
    secp256k1.utils.isValidPublicKey(value, false);
  if (!isPoint) throw new PolygonError("public_key");
  if (heimdallAddress(value) !== address) throw new PolygonError("validator_address");
  return value;
}

/** Sorts a set: by descending power, then by address. */
export function sortValidators(validators: readonly HeimdallValidator[]): readonly HeimdallValidator[] {
  return validators.toSorted((a, b) => {
    if (a.power !== b.power) return a.power > b.power ? -1 : 1;
    return a.address < b.address ? -1 : Number(a.address > b.address);
  });
}

/** Protobuf of `SimpleValidator`. Field 3 of a key, for uncompressed ones, is Heimdall's own. */
function encodeSimple({ publicKey, power }: HeimdallValidator): Uint8Array {
  const key = dataField(3, publicKey.value);
  return concatBytes(messageField(1, key), integerField(2, power));
}

/** Hash of a set, in any order. */
export function hashValidators(validators: readonly HeimdallValidator[]): Hash256 {
  return cometMerkleRoot(sortValidators(validators).map(encodeSimple));
}

/** True when the holder of the key signed the Keccak-256 hash of `message`. @param signature 64 bytes. */
export function isSignedBy(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  // The hub recovers the key from the signature, which leaves s unrestricted.
  return secp256k1.verify(signature, keccak256(message), key, { prehash: false, lowS: false });
}
