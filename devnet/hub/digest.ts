/**
 * Headers of the hub: SCALE and JSON form, digest items, hash.
 * Source: paritytech/polkadot-sdk: substrate/primitives/runtime/src/generic/{header,digest}.rs.
 */
import { compact } from "scale-ts";
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import { concatBytes, fromHex, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { HashAlgorithm } from "../../src/core/ismp/proof.ts";
import { hashFunction } from "../../src/core/merkle/substrate_proof.ts";
import { bytes, type Codec, decodeStrict } from "../../src/core/encoding/scale.ts";

/** A block header; `digest` holds SCALE digest items. */
export interface SimulatedHeader {
  readonly parentHash: Hash256;
  readonly number: number;
  readonly stateRoot: Hash256;
  readonly extrinsicsRoot: Hash256;
  readonly digest: readonly Uint8Array[];
}

const digestIndexes = { consensus: 4, seal: 5, preRuntime: 6 } as const;

/** SCALE digest item: kind, four-byte engine id, data. */
export function digestItem(
  kind: keyof typeof digestIndexes,
  engine: string,
  data: Uint8Array,
): Uint8Array {
  return concatBytes(Uint8Array.of(digestIndexes[kind]), new TextEncoder().encode(engine), bytes.enc(data));
}

/** The data of the first consensus item of an engine, undefined when there is none. @throws {ScaleError} */
export function findDigest<T>(
  digest: readonly Uint8Array[],
  engine: string,
  codec: Codec<T>,
): T | undefined {
  const head = [digestIndexes.consensus, ...new TextEncoder().encode(engine)];
  const item = digest.find((each) => head.every((byte, at) => each[at] === byte));
  if (item === undefined) return undefined;
  return decodeStrict(codec, decodeStrict(bytes, item.slice(head.length), "DigestItem"), engine);
}

/** SCALE `Digest`: a vector of items. */
export function encodeDigest(items: readonly Uint8Array[]): Uint8Array {
  return concatBytes(compact.enc(items.length), ...items);
}

/** SCALE of a header. */
export function encodeHeader(header: SimulatedHeader): Uint8Array {
  return concatBytes(
    fromHex(header.parentHash),
    compact.enc(header.number),
    fromHex(header.stateRoot),
    fromHex(header.extrinsicsRoot),
    encodeDigest(header.digest),
  );
}

/** Block hash: the chain's hash of the SCALE header. */
export function hashHeader(header: SimulatedHeader, hasher: HashAlgorithm): Hash256 {
  return toHash256(hashFunction(hasher)(encodeHeader(header)));
}

/** The JSON form of `chain_getHeader`. */
export function headerToJson(header: SimulatedHeader): unknown {
  return {
    parentHash: header.parentHash,
    number: `0x${header.number.toString(16)}`,
    stateRoot: header.stateRoot,
    extrinsicsRoot: header.extrinsicsRoot,
    digest: { logs: header.digest.map(toHex) },
  };
}
