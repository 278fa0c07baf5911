/**
 * Values of Heimdall's blocks as the hub's library reads, hashes and signs them. Source: cometbft/cometbft-rs:
 * cometbft/src/{time,hash,validator,vote,merkle}.rs, cometbft/src/block/{header,height,round}.rs,
 * cometbft/src/chain/id.rs; polytope-labs/hyperbridge: modules/consensus/tendermint/verifier/src/hashing.rs,
 * modules/consensus/tendermint/verifier/src/sp_io_verifier.rs, modules/consensus/tendermint/primitives/src/address.rs.
 */
import { require } from "../refusals.ts";
import { keccakAsU8a, secp256k1Compress, secp256k1Expand, secp256k1Recover } from "@polkadot/util-crypto";
import { concatBytes, equalBytes } from "../../../../src/core/encoding/bytes.ts";
import { type ScaleBlockId, type ScaleCommit, type ScaleHeader, type ScaleValidator } from "./layouts.ts";
import {
  bytesField,
  fixedField,
  numberField,
  octets,
  sha256Parts,
  sized,
  textField,
} from "../../../heimdall/wire.ts";

/** Whether the library calculates without its WASM, which is there only after a while. */
const JS = true;

/** 2^63, which nothing that is signed reaches. */
const LIMIT = 2n ** 63n;
const NANOS = 1_000_000_000n;
const NONE = new Uint8Array(0);

/** Root over leaves: the left part is the largest whole tree that leaves something. */
function treeOver(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256Parts();
  let level = leaves.map((leaf) => sha256Parts(Uint8Array.of(0), leaf));
  // Pairs from the left, level by level; what is left over goes up as it is: the same tree.
  while (level.length > 1) {
    const above: Uint8Array[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const [left = NONE, right] = level.slice(at, at + 2);
      above.push(right === undefined ? left : sha256Parts(Uint8Array.of(1), left, right));
    }
    level = above;
  }
  return level[0] ?? NONE;
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Unix time in nanoseconds; `undefined`: it is no time. */
export function nanosOf(time: string): bigint | undefined {
  const found = RFC_3339.exec(time);
  if (found === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  const [fraction = "", sign, hours = "0", minutes = "0"] = found.slice(7);
  const isTime = hour < 24 && minute < 60 && second < 60 && Number(hours) < 24 && Number(minutes) < 60;
  if (!isDay || !isTime) return undefined;
  const east = (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -1 : 1);
  const ofDay = (hour * 60 + minute - east) * 60 + second;
  return (BigInt(date.getTime()) / 1000n + BigInt(ofDay)) * NANOS +
    BigInt(fraction.slice(0, 9).padEnd(9, "0"));
}

/** Whole seconds of a time, also before 1970. */
export function secondsOf(nanos: bigint): bigint {
  const rest = (nanos % NANOS + NANOS) % NANOS;
  return (nanos - rest) / NANOS;
}

function timestamp(time: string): Uint8Array {
  const nanos = nanosOf(time) ?? 0n;
  const seconds = secondsOf(nanos);
  return concatBytes(numberField(1, seconds), numberField(2, nanos - seconds * NANOS));
}

function isHash(value: Uint8Array | undefined): boolean {
  return value === undefined || value.length === 0 || value.length === 32;
}

function isBlockId({ hash, parts }: ScaleBlockId): boolean {
  return isHash(hash) && isHash(parts.hash);
}

/** Whether it can be the name of a chain. */
export function isChainId(name: string): boolean {
  return name.length > 0 && name.length <= 50 && !/[^a-zA-Z0-9\-_.]/.test(name);
}

/** Whether it can be a height. */
export function isHeight(height: bigint): boolean {
  return height < LIMIT;
}

/** Requires that all parts of a header and its commit can be read. @throws {ClientRefusal} ConvertTendermintProof */
export function requireReadable(header: ScaleHeader, commit: ScaleCommit): void {
  const isHeader = isChainId(header.chainId) && isHeight(header.height) &&
    nanosOf(header.time) !== undefined &&
    (header.lastBlockId === undefined || isBlockId(header.lastBlockId)) &&
    [
      header.lastCommitHash,
      header.dataHash,
      header.validatorsHash,
      header.nextValidatorsHash,
      header.consensusHash,
      header.lastResultsHash,
      header.evidenceHash,
    ].every(isHash) && header.proposerAddress.length === 20;
  const isCommit = isHeight(commit.height) && commit.round < 2 ** 31 && isBlockId(commit.blockId) &&
    commit.signatures.every(({ tag, value }) =>
      tag === "absent" || value.address.length === 20 && nanosOf(value.timestamp) !== undefined &&
        (value.signature === undefined || value.signature.length === 64)
    );
  require(isHeader && isCommit && header.height === commit.height, "ConvertTendermintProof");
}

function blockIdBytes({ hash, parts }: ScaleBlockId): Uint8Array {
  return concatBytes(
    octets(1, hash),
    bytesField(2, numberField(1, BigInt(parts.total)), octets(2, parts.hash)),
  );
}

/** Name of the block before the first one. */
const NO_BLOCK: ScaleBlockId = { hash: NONE, parts: { total: 0, hash: NONE } };

/** Hash of a header. */
export function hashOfHeader(header: ScaleHeader): Uint8Array {
  const hash = (value: Uint8Array | undefined): Uint8Array => octets(1, value ?? NONE);
  return treeOver([
    concatBytes(numberField(1, header.version.block), numberField(2, header.version.app)),
    textField(1, header.chainId),
    numberField(1, header.height),
    timestamp(header.time),
    blockIdBytes(header.lastBlockId ?? NO_BLOCK),
    hash(header.lastCommitHash),
    hash(header.dataHash),
    hash(header.validatorsHash),
    hash(header.nextValidatorsHash),
    hash(header.consensusHash),
    hash(header.appHash),
    hash(header.lastResultsHash),
    hash(header.evidenceHash),
    hash(header.proposerAddress),
  ]);
}

/** What a validator signs who votes for the block of a commit. */
export function signedBytes(chainId: string, commit: ScaleCommit, time: string): Uint8Array {
  return sized(concatBytes(
    numberField(1, 2n),
    fixedField(2, commit.height),
    fixedField(3, BigInt(commit.round)),
    bytesField(4, blockIdBytes(commit.blockId)),
    bytesField(5, timestamp(time)),
    textField(6, chainId),
  ));
}

/** A validator whose key and address belong together. */
export interface Validator {
  readonly address: Uint8Array;
  /** 65 bytes. */
  readonly key: Uint8Array;
  readonly power: bigint;
  readonly name: string | undefined;
}

/** Reads a validator; the devnet has no keys but Heimdall's. @throws {ClientRefusal} with `code` */
export function readValidator(
  { address, key, power, name }: ScaleValidator,
  code: string,
): Validator {
  require(key.tag === "secp256k1" && power < LIMIT, code);
  const coordinates = expanded(key.value);
  require(coordinates !== undefined, code);
  require(equalBytes(keccakAsU8a(coordinates).slice(12), address), code);
  return { address, key: concatBytes(Uint8Array.of(4), coordinates), power, name };
}

/** Both coordinates of a key; `undefined`: it is no point. */
function expanded(key: Uint8Array): Uint8Array | undefined {
  const isForm = key.length === 65 && key[0] === 4 || key.length === 33 && (key[0] === 2 || key[0] === 3);
  if (!isForm) return undefined;
  try {
    return secp256k1Expand(secp256k1Compress(key, JS), JS);
  } catch {
    return undefined;
  }
}

/** SCALE form of a validator. */
export function toScale({ address, key, power, name }: Validator): ScaleValidator {
  return { address, key: { tag: "secp256k1", value: key }, power, name };
}

/** Largest power of a set. */
const MAX_POWER = (LIMIT - 1n) / 8n;

/** Validators in their order, with what they have together. */
export class HeimdallSet {
  readonly members: readonly Validator[];
  readonly power: bigint;

  /** @throws {ClientRefusal} TotalVotingPowerOverflow */
  constructor(members: readonly Validator[]) {
    this.members = [...members].sort((a, b) =>
      a.power === b.power ? compare(a.address, b.address) : a.power > b.power ? -1 : 1
    );
    this.power = members.reduce((sum, { power }) => sum + power, 0n);
    require(this.power <= MAX_POWER, "TotalVotingPowerOverflow");
  }

  /** Whether it has that hash: with compressed keys in the field of CometBFT, or as Heimdall has it. */
  hasHash(hash: Uint8Array): boolean {
    const over = (keyOf: (validator: Validator) => Uint8Array): Uint8Array =>
      treeOver(this.members.map((one) => concatBytes(bytesField(1, keyOf(one)), numberField(2, one.power))));
    return equalBytes(over(({ key }) => bytesField(2, secp256k1Compress(key, JS))), hash) ||
      equalBytes(over(({ key }) => bytesField(3, key)), hash);
  }

  /** The validator with that address. */
  find(address: Uint8Array): Validator | undefined {
    return this.members.find((one) => equalBytes(one.address, address));
  }
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const at = a.findIndex((byte, index) => byte !== b[index]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** Whether a signature of 64 bytes is the key's: recovered with either parity. */
export function isSignature({ key }: Validator, bytes: Uint8Array, signature: Uint8Array): boolean {
  const hash = keccakAsU8a(bytes);
  return [0, 1].some((parity) => {
    try {
      return equalBytes(secp256k1Recover(hash, signature, parity, "keccak", JS), key.slice(1));
    } catch {
      return false;
    }
  });
}
