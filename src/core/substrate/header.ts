/**
 * Headers of Substrate chains with their digest: SCALE form, hash, and the times and announcements in them.
 * Source: paritytech/polkadot-sdk: substrate/primitives/runtime/src/generic/{header,digest}.rs.
 */
import { type CodecType, compact, createCodec, createDecoder } from "scale-ts";
import type { Hash256 } from "../encoding/bytes.ts";
import { blake2b256, concatBytes, fromByteText, toByteText, toHash256 } from "../encoding/bytes.ts";
import {
  bytes,
  type Codec,
  decodePrefix,
  decodeStrict,
  fixedBytes,
  hash256,
  list,
  ScaleError,
  Struct,
  u32,
  u64,
  u8,
} from "../encoding/scale.ts";

/** One item of a header's digest. Engines are named by four bytes, usually ASCII. */
export type DigestItem =
  | { readonly kind: "other"; readonly data: Uint8Array }
  | {
    readonly kind: "consensus" | "seal" | "preRuntime";
    readonly engine: string;
    readonly data: Uint8Array;
  }
  | { readonly kind: "runtimeUpdated" }
  /** Kind that a later runtime has added: it is hashed as it is, and nothing is read from it. */
  | { readonly kind: "unknown"; readonly encoded: Uint8Array };

/** Kinds that carry an engine; their indexes follow each other. */
const engineKinds = ["consensus", "seal", "preRuntime"] as const;
const FIRST_ENGINE = 4;
const OTHER = 0;
const RUNTIME_UPDATED = 8;

const engineCodec = fixedBytes(4);

function encodeItem(item: DigestItem): Uint8Array {
  if (item.kind === "other") return concatBytes(Uint8Array.of(OTHER), bytes.enc(item.data));
  if (item.kind === "runtimeUpdated") return Uint8Array.of(RUNTIME_UPDATED);
  if (item.kind === "unknown") return item.encoded;
  const engine = engineCodec.enc(fromByteText(item.engine));
  const index = FIRST_ENGINE + engineKinds.indexOf(item.kind);
  return concatBytes(Uint8Array.of(index), engine, bytes.enc(item.data));
}

const digestItemCodec: Codec<DigestItem> = createCodec<DigestItem>(
  encodeItem,
  createDecoder((stream) => {
    const index = u8.dec(stream);
    if (index === OTHER) return { kind: "other", data: bytes.dec(stream) };
    if (index === RUNTIME_UPDATED) return { kind: "runtimeUpdated" };
    const kind = engineKinds[index - FIRST_ENGINE];
    if (kind === undefined) throw new ScaleError("invalid", "DigestItem");
    return { kind, engine: toByteText(engineCodec.dec(stream)), data: bytes.dec(stream) };
  }),
);

const compactNumber: Codec<number> = createCodec(
  (value: number) => compact.enc(value),
  createDecoder((stream) => {
    const value = compact.dec(stream);
    if (value > 0xffff_ffff) throw new ScaleError("invalid", "Compact<u32>");
    return Number(value);
  }),
);

/** SCALE of {@link SubstrateHeader}. */
export const substrateHeaderCodec = Struct({
  parentHash: hash256,
  number: compactNumber,
  stateRoot: hash256,
  extrinsicsRoot: hash256,
  digest: list(digestItemCodec),
});

/** A block header. */
export type SubstrateHeader = Readonly<CodecType<typeof substrateHeaderCodec>>;

/**
 * Reads a digest item that stands alone, so that one of an unknown kind has an end. @throws {ScaleError} when one of a
 * known kind is malformed.
 */
export function decodeDigestItem(encoded: Uint8Array): DigestItem {
  const [index = OTHER] = encoded;
  const isKnown = index === OTHER || index === RUNTIME_UPDATED ||
    engineKinds[index - FIRST_ENGINE] !== undefined;
  return isKnown ? decodeStrict(digestItemCodec, encoded, "DigestItem") : { kind: "unknown", encoded };
}

/** Reads a header. @throws {ScaleError} */
export function decodeSubstrateHeader(encoded: Uint8Array): SubstrateHeader {
  return decodeStrict(substrateHeaderCodec, encoded, "Header");
}

/** Hash of a relay or standalone chain's block: BLAKE2b-256 of the SCALE header. */
export function hashSubstrateHeader(header: SubstrateHeader): Hash256 {
  return toHash256(blake2b256(substrateHeaderCodec.enc(header)));
}

/**
 * Value that an engine announces in a header: its last item, as clients read it; every item must be readable, and
 * trailing bytes are ignored. `undefined`: none. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/beefy/src/consensus.rs, evm/src/consensus/Types.sol (`stateCommitment`),
 * modules/ismp/state-machines/substrate/src/lib.rs (fetch_overlay_root_and_timestamp).
 * @throws {ScaleError}
 */
export function lastAnnounced<T>(
  { digest }: Pick<SubstrateHeader, "digest">,
  engine: string,
  codec: Codec<T>,
): T | undefined {
  let last: T | undefined;
  for (const item of digest) {
    if (item.kind === "consensus" && item.engine === engine) last = decodePrefix(codec, item.data, engine);
  }
  return last;
}

/** Output and proof of a verifiable random function (sr25519). */
const VRF_BYTES = 96;

/** Bytes of a vote for randomness after the slot, by the variant of BABE's pre-digest. */
const babeVrfBytes: readonly (number | undefined)[] = [undefined, VRF_BYTES, 0, VRF_BYTES];

/** Source: paritytech/polkadot-sdk: substrate/primitives/consensus/babe/src/digests.rs (PreDigest). */
function babeSlot(data: Uint8Array): bigint {
  const vrfBytes = babeVrfBytes[data[0] ?? 0];
  if (vrfBytes === undefined) throw new ScaleError("invalid", "BABE slot");
  const codec = Struct({ authorityIndex: u32, slot: u64, vrf: fixedBytes(vrfBytes) });
  return decodePrefix(codec, data.slice(1), "BABE slot").slot;
}

/**
 * Slot in which a header was created: Aura's or BABE's, the last one in its digest; undefined when there is none.
 * Source: polytope-labs/hyperbridge: modules/ismp/state-machines/substrate/src/lib.rs
 * (fetch_overlay_root_and_timestamp).
 * @throws {ScaleError} when one of the items is not what its engine writes.
 */
export function readSlot({ digest }: Pick<SubstrateHeader, "digest">): bigint | undefined {
  let slot: bigint | undefined;
  for (const item of digest) {
    if (item.kind !== "preRuntime") continue;
    if (item.engine === "aura") slot = decodePrefix(u64, item.data, "Aura slot");
    if (item.engine === "BABE") slot = babeSlot(item.data);
  }
  return slot;
}
