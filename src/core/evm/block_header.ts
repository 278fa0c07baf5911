/**
 * Headers of EVM blocks as rollup and BSC updates carry them: reading from RPC, SCALE form, hash.
 * Source: polytope-labs/hyperbridge: modules/consensus/geth-primitives/src/lib.rs (CodecHeader, Header).
 */
import { RLP } from "@ethereumjs/rlp";
import { type CodecType, enhanceCodec } from "scale-ts";
import * as z from "zod";
import { fromHex, type Hash256, type Hex, keccak256, toHash256, toHex } from "../encoding/bytes.ts";
import { bytes, type Codec, fixedBytes, hash256, Option, Struct, u256, u64 } from "../encoding/scale.ts";
import { readOrUndefined } from "../encoding/coded_error.ts";
import { addressCodec, toAddress } from "./address.ts";

/** Reason why a block header is not usable. */
export type BlockHeaderErrorCode =
  /** Not the JSON of a block. */
  | "malformed_json"
  /** The fields do not match the hash that the node claims: it returned false data. */
  | "hash_mismatch"
  /** As before, but the block has further fields: it is of a fork that this version does not know. */
  | "unknown_fork"
  /** Headers of the hub (`CodecHeader`, 21 fields) have no place for a field of this header. */
  | "not_carried";

const headerErrorTexts: Readonly<Record<BlockHeaderErrorCode, string>> = {
  malformed_json: "not the JSON of a block",
  hash_mismatch: "not the hash of the fields",
  unknown_fork:
    "a field of a fork that this version does not know; the node is not at fault, upgrade this program",
  not_carried:
    "a field of a fork that the hub does not know: nothing can be proved until the hub's runtime is upgraded",
};

/** A block header that cannot be part of an update. */
export class BlockHeaderError extends Error {
  override readonly name = "BlockHeaderError";

  constructor(
    readonly code: BlockHeaderErrorCode,
    /** First field that does not fit, e.g. `stateRoot`; empty for the whole. */
    readonly field: string,
  ) {
    super(`Block header${field === "" ? "" : `, ${field}`}: ${headerErrorTexts[code]}`);
  }
}

/** Fields that the hub knows, in the order of SCALE and of RLP. */
const carriedFields = {
  parentHash: hash256,
  unclesHash: hash256,
  coinbase: addressCodec,
  stateRoot: hash256,
  transactionsRoot: hash256,
  receiptsRoot: hash256,
  logsBloom: fixedBytes(256),
  difficulty: u256,
  number: u256,
  gasLimit: u64,
  gasUsed: u64,
  timestampSec: u64,
  extraData: bytes,
  mixHash: hash256,
  nonce: fixedBytes(8),
  /** In wei. EIP-1559. */
  baseFeePerGas: Option(u256),
  /** EIP-4895; on OP stack chains since Isthmus the storage root of the message passer. */
  withdrawalsRoot: Option(hash256),
  /** EIP-4844. */
  blobGasUsed: Option(u64),
  excessBlobGas: Option(u64),
  /** EIP-4788. */
  parentBeaconBlockRoot: Option(hash256),
  /** EIP-7685. */
  requestsHash: Option(hash256),
} as const;

const carriedCodec = Struct(carriedFields);

/** A header with the fields of its fork; those that a chain does not have yet are undefined. */
export interface EvmBlockHeader extends Readonly<CodecType<typeof carriedCodec>> {
  /** EIP-7928. */
  readonly blockAccessListHash?: Hash256 | undefined;
  /** EIP-7843. */
  readonly slotNumber?: bigint | undefined;
}

/** Fields since Amsterdam, which follow. */
const NOT_CARRIED = ["blockAccessListHash", "slotNumber"] as const;

/**
 * SCALE of {@link EvmBlockHeader} (`CodecHeader`): 714 bytes, and the extra data with its length, when nothing is
 * absent. The encoder throws a {@link BlockHeaderError} `not_carried` for a header with fields since Amsterdam: the hub
 * would compute another hash.
 */
export const evmBlockHeaderCodec: Codec<EvmBlockHeader> = enhanceCodec(
  carriedCodec,
  (header: EvmBlockHeader) => {
    const surplus = NOT_CARRIED.find((name) => header[name] !== undefined);
    if (surplus !== undefined) throw new BlockHeaderError("not_carried", surplus);
    return header;
  },
  (header): EvmBlockHeader => header,
);

/**
 * RLP list of the fields. Absent fields at the end are omitted, an absent one before a present one is the empty string.
 */
export function encodeBlockHeader(header: EvmBlockHeader): Uint8Array {
  const fields = new Map<string, Hex | Uint8Array | bigint | undefined>(Object.entries(header));
  const values = [...Object.keys(carriedFields), ...NOT_CARRIED].map((name) => fields.get(name));
  const count = values.findLastIndex((value) => value !== undefined) + 1;
  return RLP.encode(
    values.slice(0, count).map((value) =>
      typeof value === "bigint" || value instanceof Uint8Array ? value : fromHex(value ?? "0x")
    ),
  );
}

/** Hash of the block: Keccak-256 of {@link encodeBlockHeader}. */
export function hashBlockHeader(header: EvmBlockHeader): Hash256 {
  return toHash256(keccak256(encodeBlockHeader(header)));
}

/** Commitment to the state of a block, as the RLP of its header holds it. */
export interface HeaderCommitment {
  readonly stateRoot: Hash256;
  readonly blockNumber: bigint;
  /** Unix time in seconds. */
  readonly timestampSec: bigint;
}

/** Reads {@link HeaderCommitment} from the RLP of a header of any fork; `undefined`: the bytes are none. */
export function readHeaderCommitment(rlp: Uint8Array): HeaderCommitment | undefined {
  const decoded: unknown = readOrUndefined(() => RLP.decode(rlp));
  const items: readonly unknown[] = Array.isArray(decoded) ? decoded : [];
  const [stateRoot, number, timestamp] = [items[3], items[8], items[11]];
  const isHeader = items.length >= 15 && stateRoot instanceof Uint8Array && stateRoot.length === 32 &&
    number instanceof Uint8Array && number.length <= 8 &&
    timestamp instanceof Uint8Array && timestamp.length <= 8;
  if (!isHeader) return undefined;
  return {
    stateRoot: toHash256(stateRoot),
    blockNumber: BigInt(`0x0${toHex(number).slice(2)}`),
    timestampSec: BigInt(`0x0${toHex(timestamp).slice(2)}`),
  };
}

/** Maximum size of extra data; the longest known are BSC's epoch headers with under 4 KiB. */
const MAX_EXTRA_DATA = 65_536;

function quantity(bits: bigint): z.ZodType<bigint> {
  return z.string().regex(/^0x[0-9a-fA-F]{1,64}$/).transform(BigInt).refine((value) => value >> bits === 0n);
}

function sized(minLength: number, maxLength = minLength): z.ZodType<Uint8Array> {
  return z.string().regex(/^0x([0-9a-fA-F]{2})*$/).max(2 + 2 * maxLength).transform(fromHex)
    .refine((value) => value.length >= minLength);
}

const hash = sized(32).transform((value) => toHash256(value));
const later = <T>(field: z.ZodType<T>): z.ZodType<T | undefined> =>
  field.nullish().transform((value) => value ?? undefined);

const headerFields = z.object({
  parentHash: hash,
  sha3Uncles: hash,
  miner: sized(20).transform((value) => toAddress(value)),
  stateRoot: hash,
  transactionsRoot: hash,
  receiptsRoot: hash,
  logsBloom: sized(256),
  difficulty: quantity(256n),
  number: quantity(256n),
  gasLimit: quantity(64n),
  gasUsed: quantity(64n),
  timestamp: quantity(64n),
  extraData: sized(0, MAX_EXTRA_DATA),
  mixHash: hash,
  nonce: sized(8),
  baseFeePerGas: later(quantity(256n)),
  withdrawalsRoot: later(hash),
  blobGasUsed: later(quantity(64n)),
  excessBlobGas: later(quantity(64n)),
  parentBeaconBlockRoot: later(hash),
  requestsHash: later(hash),
  blockAccessListHash: later(hash),
  slotNumber: later(quantity(64n)),
});

const headerJson: z.ZodType<EvmBlockHeader> = headerFields.transform((
  { sha3Uncles, miner, timestamp, blockAccessListHash, slotNumber, ...same },
): EvmBlockHeader => ({
  ...same,
  unclesHash: sha3Uncles,
  coinbase: miner,
  timestampSec: timestamp,
  // The parser omits keys that the JSON does not have.
  baseFeePerGas: same.baseFeePerGas,
  withdrawalsRoot: same.withdrawalsRoot,
  blobGasUsed: same.blobGasUsed,
  excessBlobGas: same.excessBlobGas,
  parentBeaconBlockRoot: same.parentBeaconBlockRoot,
  requestsHash: same.requestsHash,
  ...(blockAccessListHash === undefined ? {} : { blockAccessListHash }),
  ...(slotNumber === undefined ? {} : { slotNumber }),
}));

/**
 * Fields of blocks beside those of their headers: of every node, then of Arbitrum (nitro: internal/ethapi) and BSC. Any
 * other one may be a header's, of a later fork.
 */
const bodyFields: ReadonlySet<string> = new Set(
  ("hash size totalDifficulty transactions uncles withdrawals " +
    "l1BlockNumber sendCount sendRoot milliTimestamp").split(" "),
);

/**
 * Reads the header out of a block of `eth_getBlockBy…`.
 * @throws {BlockHeaderError} `malformed_json`
 */
export function parseBlockHeader(json: unknown): EvmBlockHeader {
  const parsed = headerJson.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new BlockHeaderError("malformed_json", parsed.error.issues[0]?.path.join(".") ?? "");
}

const blockJson = z.looseObject({ hash });

/**
 * Reads the header of a block of `eth_getBlockBy…` and checks that it has the hash that the block names.
 * @throws {BlockHeaderError}
 */
export function parseHashedBlock(json: unknown): { readonly header: EvmBlockHeader; readonly hash: Hash256 } {
  const header = parseBlockHeader(json);
  const block = blockJson.safeParse(json);
  if (!block.success) throw new BlockHeaderError("malformed_json", "hash");
  const computed = hashBlockHeader(header);
  if (computed === block.data.hash) return { header, hash: computed };
  const unknown = Object.keys(block.data).find((name) =>
    !bodyFields.has(name) && !(name in headerFields.shape)
  );
  if (unknown === undefined) throw new BlockHeaderError("hash_mismatch", "hash");
  throw new BlockHeaderError("unknown_fork", unknown.slice(0, 64));
}
