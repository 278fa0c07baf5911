/**
 * Headers of Substrate chains with their digest: SCALE form, hash, and the times and announcements in them.
 * Source: paritytech/polkadot-sdk: substrate/primitives/runtime/src/generic/{header,digest}.rs.
 */
import { compact, createCodec, createDecoder, enhanceCodec } from "scale-ts";
import { concatBytes, fromByteText, type Hash256, toByteText, toHash256 } from "../encoding/bytes.ts";
import { blake2b256 } from "../encoding/hash.ts";
import {
  bytes,
  type Codec,
  decodePrefix,
  decodeStrict,
  fixedBytes,
  hash256,
  openList,
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
  /** Items from the first of an unknown kind on, which have no known lengths, with their SCALE. */
  | { readonly kind: "unknown"; readonly items: number; readonly data: Uint8Array };

/** A block header. */
export interface SubstrateHeader {
  readonly parentHash: Hash256;
  readonly number: number;
  readonly stateRoot: Hash256;
  readonly extrinsicsRoot: Hash256;
  readonly digest: readonly DigestItem[];
}

const engineIndexes = { consensus: 4, seal: 5, preRuntime: 6 } as const;
const OTHER = 0;
const RUNTIME_UPDATED = 8;

const KNOWN_KINDS: ReadonlySet<number> = new Set([OTHER, RUNTIME_UPDATED, ...Object.values(engineIndexes)]);

const engineCodec = fixedBytes(4);

type KnownItem = Exclude<DigestItem, { readonly kind: "unknown" }>;

function encodeItem(item: KnownItem): Uint8Array {
  if (item.kind === "other") return concatBytes(Uint8Array.of(OTHER), bytes.enc(item.data));
  if (item.kind === "runtimeUpdated") return Uint8Array.of(RUNTIME_UPDATED);
  const engine = engineCodec.enc(fromByteText(item.engine));
  return concatBytes(Uint8Array.of(engineIndexes[item.kind]), engine, bytes.enc(item.data));
}

const u8Decoder = fixedBytes(1);

const digestItemCodec: Codec<KnownItem> = createCodec(
  encodeItem,
  createDecoder((stream) => {
    const index = u8Decoder.dec(stream)[0];
    if (index === OTHER) return { kind: "other" as const, data: bytes.dec(stream) };
    if (index === RUNTIME_UPDATED) return { kind: "runtimeUpdated" as const };
    const kind = index === engineIndexes.consensus
      ? "consensus" as const
      : index === engineIndexes.seal
      ? "seal" as const
      : index === engineIndexes.preRuntime
      ? "preRuntime" as const
      : undefined;
    if (kind === undefined) throw new ScaleError("invalid", "DigestItem");
    const engine = toByteText(engineCodec.dec(stream));
    return { kind, engine, data: bytes.dec(stream) };
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
export const substrateHeaderCodec: Codec<SubstrateHeader> = Struct({
  parentHash: hash256,
  number: compactNumber,
  stateRoot: hash256,
  extrinsicsRoot: hash256,
  digest: enhanceCodec(
    openList(digestItemCodec),
    (digest: readonly DigestItem[]) => {
      const known = digest.filter((item) => item.kind !== "unknown");
      const last = digest.at(-1);
      return last?.kind === "unknown"
        ? { known, unread: last.items, rest: last.data }
        : { known, unread: 0, rest: new Uint8Array() };
    },
    ({ known, unread, rest }): readonly DigestItem[] =>
      unread === 0 ? known : [...known, { kind: "unknown", items: unread, data: rest }],
  ),
});

/** Reads a digest item; one of a kind that is not known is kept as it is. @throws {ScaleError} */
export function decodeDigestItem(encoded: Uint8Array): DigestItem {
  return KNOWN_KINDS.has(encoded[0] ?? OTHER)
    ? decodeStrict(digestItemCodec, encoded, "DigestItem")
    : { kind: "unknown", items: 1, data: encoded };
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

/**
 * Beginning of all variants of BABE's pre-digest; randomness may follow. Source: paritytech/polkadot-sdk:
 * substrate/primitives/consensus/babe/src/digests.rs (PreDigest).
 */
const babePreDigest = Struct({ variant: u8, authorityIndex: u32, slot: u64 });

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
    if (item.engine === "BABE") slot = decodePrefix(babePreDigest, item.data, "BABE slot").slot;
  }
  return slot;
}
