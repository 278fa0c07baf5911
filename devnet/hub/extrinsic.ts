/** Reading unsigned extrinsics, as the hub's runtime and its pool see them. */
import { type Hash256, keccak256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { bytes, decodeStrict, ScaleError } from "../../src/core/encoding/scale.ts";

/** First byte of an unsigned extrinsic of format 4. */
const bareVersion = 0x04;

/**
 * The encoded call inside an unsigned extrinsic.
 * @throws {ScaleError} `invalid` when the extrinsic is signed or of another format.
 */
export function decodeBareExtrinsic(extrinsic: Uint8Array): Uint8Array {
  const body = decodeStrict(bytes, extrinsic, "Extrinsic");
  if (body[0] !== bareVersion) throw new ScaleError("invalid", "Extrinsic");
  return body.slice(1);
}

/** Extrinsic hash on the hub: keccak256 of all its bytes, length included. */
export function hubExtrinsicHash(extrinsic: Uint8Array): Hash256 {
  return toHash256(keccak256(extrinsic));
}
