/**
 * Names of chains and of the light clients that follow them: text, SCALE and Solidity forms.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/host.rs (StateMachine, its text form and parsing).
 */
import { numberToBytesBE } from "@noble/curves/utils.js";
import { type CodecType, createCodec } from "scale-ts";
import { concatBytes, fromHex, toHex } from "../encoding/bytes.ts";
import { mapError } from "../encoding/coded_error.ts";
import {
  type Codec,
  compareBytes,
  enhanceCodec,
  Enum,
  fixedBytes,
  hash256,
  layoutOf,
  Option,
  orderedMap,
  Struct,
  u32,
  u64,
  withLayout,
} from "../encoding/scale.ts";

/**
 * Canonical text of a state machine, e.g. `EVM-1`, `POLKADOT-3367`, `SUBSTRATE-cere`. Made only by
 * {@link parseStateMachine} (or a decoder), so two equal chains are equal strings.
 */
export type StateMachine = string & { readonly __brand: "StateMachine" };

/** Four bytes that name one instance of a consensus client on a host, as text, e.g. `ETH0`. */
export type ConsensusStateId = string & { readonly __brand: "ConsensusStateId" };

/** Four bytes that name an implementation of a consensus client, as text, e.g. `BEAC`, or hex where they are none. */
export type ConsensusClientId = string & { readonly __brand: "ConsensusClientId" };

/** Reason why a name is not accepted. */
export type IdentifierErrorCode =
  /** The text names no known kind of state machine (the prefix is case sensitive). */
  | "unknown_prefix"
  /** The number is missing, not decimal or above 2^32 - 1. */
  | "bad_number"
  /** The id is not exactly four bytes. */
  | "bad_length"
  /** The four bytes have no text form: such a request cannot be delivered. */
  | "not_utf8"
  /** A consensus state or client id has bytes outside of ASCII. */
  | "not_ascii"
  /** The state machine has no numeric para id. */
  | "no_para_id";

/** A name of a chain or of a consensus client that the protocol does not have. */
export class IdentifierError extends Error {
  override readonly name = "IdentifierError";
  constructor(
    readonly code: IdentifierErrorCode,
    /** Rejected input, shortened to 64 characters; bytes as hex. */
    readonly found: string,
    options?: ErrorOptions,
  ) {
    super(`Identifier ${JSON.stringify(found.slice(0, 64))}: ${code}`, options);
  }
}

/** Parts of a state machine. The variants and their order are those of the SCALE enum. */
export type StateMachineParts =
  | { readonly tag: "Evm"; readonly value: number }
  | { readonly tag: "Polkadot"; readonly value: number }
  | { readonly tag: "Kusama"; readonly value: number }
  | { readonly tag: "Substrate"; readonly value: string }
  | { readonly tag: "Tendermint"; readonly value: string }
  | { readonly tag: "Relay"; readonly value: { readonly relay: string; readonly paraId: number } };

const encoder = new TextEncoder();
// The byte order mark must stay: it is part of the four bytes.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const prefixes = {
  Evm: "EVM-",
  Polkadot: "POLKADOT-",
  Kusama: "KUSAMA-",
  Substrate: "SUBSTRATE-",
  Tendermint: "TNDRMINT-",
  Relay: "RELAY-",
} as const;

const variantOrder = ["Evm", "Polkadot", "Kusama", "Substrate", "Tendermint", "Relay"] as const;

/**
 * Reads the text form as the hub does: by prefix; the number or the four-byte id is what follows the LAST `-`
 * (a relay's name is the second element); numbers may have a leading `+` or zeros, as Rust's `u32::from_str` allows.
 * @throws {IdentifierError}
 */
export function parseStateMachine(text: string): StateMachine {
  const found = known.get(text);
  if (found !== undefined) return found;
  const parsed = parseNew(text);
  // Names come from outside, too: those that were read first are forgotten when there are many.
  const [oldest] = known.keys();
  if (known.size >= MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  known.set(text, parsed);
  return parsed;
}

/** Names as they were read before: a chain's name is read several times for each message. */
const known = new Map<string, StateMachine>();
const MAX_KNOWN = 256;

function parseNew(text: string): StateMachine {
  const [, relay = ""] = text.split("-");
  return formatStateMachine(readParts(text, text.slice(text.lastIndexOf("-") + 1), relay));
}

/** Parts of a name. @param last its number or four-byte id @throws {IdentifierError} */
function readParts(text: string, last: string, relay: string): StateMachineParts {
  const tag = variantOrder.find((name) => text.startsWith(prefixes[name]));
  switch (tag) {
    case undefined:
      throw new IdentifierError("unknown_prefix", text);
    case "Evm":
    case "Polkadot":
    case "Kusama":
      return { tag, value: parseU32(last, text) };
    case "Substrate":
    case "Tendermint":
      return { tag, value: checkedId(last) };
    case "Relay": {
      const paraId = parseU32(last, text);
      return { tag, value: { relay: checkedId(relay), paraId } };
    }
  }
}

function parseU32(digits: string, whole: string): number {
  if (!/^\+?[0-9]+$/.test(digits)) throw new IdentifierError("bad_number", whole);
  const value = BigInt(digits.replace("+", ""));
  if (value > 0xffffffffn) throw new IdentifierError("bad_number", whole);
  return Number(value);
}

/**
 * Canonical text of the parts.
 * @throws {IdentifierError} `bad_number` or `bad_length`.
 */
export function formatStateMachine(parts: StateMachineParts): StateMachine {
  return `${prefixes[parts.tag]}${formatPayload(parts)}` as StateMachine;
}

function formatPayload({ value }: StateMachineParts): string {
  if (typeof value === "number") return checkedU32(value);
  if (typeof value === "string") return checkedId(value);
  return `${checkedId(value.relay)}-${checkedU32(value.paraId)}`;
}

function checkedU32(value: number): string {
  if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
    throw new IdentifierError("bad_number", String(value));
  }
  return String(value);
}

function checkedId(id: string): string {
  if (encoder.encode(id).length !== 4) throw new IdentifierError("bad_length", id);
  return id;
}

/** The parts of a canonical name: the inverse of {@link formatStateMachine}, also for ids that contain `-`. */
export function stateMachineParts(stateMachine: StateMachine): StateMachineParts {
  const [first, last] = [stateMachine.indexOf("-"), stateMachine.lastIndexOf("-")];
  const before = stateMachine.startsWith(prefixes.Relay) ? last : first;
  return readParts(stateMachine, stateMachine.slice(before + 1), stateMachine.slice(first + 1, last));
}

/** The state machine of an EVM chain by its chain id. */
export function evmStateMachine(chainId: number): StateMachine {
  return formatStateMachine({ tag: "Evm", value: chainId });
}

/** True for chains whose state is proved by Ethereum tries (this includes EVM on pallet-revive). */
export function isEvm(stateMachine: StateMachine): boolean {
  return stateMachine.startsWith(prefixes.Evm);
}

/** Chain id of an EVM state machine. @throws {IdentifierError} `bad_number` for other chains. */
export function evmChainId(stateMachine: StateMachine): number {
  const parts = stateMachineParts(stateMachine);
  if (parts.tag !== "Evm") throw new IdentifierError("bad_number", stateMachine);
  return parts.value;
}

/**
 * The bare para id by which EVM hosts address a hub (`uint256 stateMachineId`).
 * @throws {IdentifierError} `no_para_id` unless the chain is a parachain of Polkadot or Kusama.
 */
export function toParaId(stateMachine: StateMachine): number {
  const parts = stateMachineParts(stateMachine);
  if (parts.tag !== "Polkadot" && parts.tag !== "Kusama") {
    throw new IdentifierError("no_para_id", stateMachine);
  }
  return parts.value;
}

/** The ASCII/UTF-8 bytes of the text, which Solidity uses for `source`, `dest`, `host()` and `hyperbridge()`. */
export function stateMachineToBytes(stateMachine: StateMachine): Uint8Array {
  return encoder.encode(stateMachine);
}

/**
 * Reads the byte form of Solidity.
 * @throws {IdentifierError} `not_utf8`, or as {@link parseStateMachine}.
 */
export function stateMachineFromBytes(bytes: Uint8Array): StateMachine {
  return parseStateMachine(decodeUtf8(bytes));
}

function decodeUtf8(bytes: Uint8Array): string {
  return mapError(
    TypeError,
    () => decoder.decode(bytes),
    (cause) => new IdentifierError("not_utf8", toHex(bytes), { cause }),
  );
}

/** Rust's order of state machines: variant, then payload (maps and sets on chain use it). */
export function compareStateMachines(a: StateMachine, b: StateMachine): number {
  const [left, right] = [stateMachineParts(a), stateMachineParts(b)];
  const byVariant = variantOrder.indexOf(left.tag) - variantOrder.indexOf(right.tag);
  if (byVariant !== 0) return byVariant;
  return compareBytes(orderKey(left), orderKey(right));
}

function orderKey({ value }: StateMachineParts): Uint8Array {
  if (typeof value === "number") return numberToBytesBE(value, 4);
  if (typeof value === "string") return encoder.encode(value);
  return concatBytes(encoder.encode(value.relay), numberToBytesBE(value.paraId, 4));
}

/** Four raw bytes as text. Decoding throws {@link IdentifierError} `not_utf8`. */
const utf8Id: Codec<string> = enhanceCodec(fixedBytes(4), (text) => encoder.encode(text), decodeUtf8);

const parts = {
  Evm: u32,
  Polkadot: u32,
  Kusama: u32,
  Substrate: utf8Id,
  Tendermint: utf8Id,
  Relay: Struct({ relay: utf8Id, paraId: u32 }),
};
const partsCodec = Enum(parts);

const { Relay: _, ...sentParts } = parts;

/**
 * SCALE of a state machine: variant index and payload. Decoding ids without text form throws {@link IdentifierError}.
 * Its layout is without `Relay`, which July 2025 releases lack and no relayer sends.
 */
export const stateMachineCodec: Codec<StateMachine> = withLayout(
  createCodec(
    (value) => partsCodec.enc(stateMachineParts(value)),
    (input) => formatStateMachine(partsCodec.dec(input)),
  ),
  () => layoutOf(Enum(sentParts)),
);

/** Checked constructor: exactly four ASCII characters. @throws {IdentifierError} */
export function toConsensusStateId(text: string): ConsensusStateId {
  return checkedAsciiId(text) as ConsensusStateId;
}

/** Checked constructor: exactly four ASCII characters. @throws {IdentifierError} */
export function toConsensusClientId(text: string): ConsensusClientId {
  return checkedAsciiId(text) as ConsensusClientId;
}

function checkedAsciiId(text: string): string {
  if (encoder.encode(text).length !== 4) throw new IdentifierError("bad_length", text);
  if (text.length !== 4) throw new IdentifierError("not_ascii", text);
  return text;
}

/** SCALE `[u8; 4]` of a consensus state id. */
export const consensusStateIdCodec: Codec<ConsensusStateId> = enhanceCodec(
  utf8Id,
  String,
  toConsensusStateId,
);

/** SCALE `[u8; 4]` of a consensus client id. A runtime may have other clients; ids that are no ASCII are hex. */
export const consensusClientIdCodec: Codec<ConsensusClientId> = enhanceCodec(
  fixedBytes(4),
  (id) => id.length === 4 ? encoder.encode(id) : fromHex(id),
  (id) => (id.every((byte) => byte < 0x80) ? decoder.decode(id) : toHex(id)) as ConsensusClientId,
);

/** SCALE of {@link StateMachineId}. */
export const stateMachineIdCodec = Struct({
  stateMachine: stateMachineCodec,
  consensusStateId: consensusStateIdCodec,
});

/** A state machine as one light client knows it. */
export type StateMachineId = Readonly<CodecType<typeof stateMachineIdCodec>>;

/** SCALE of {@link StateMachineHeight}. */
export const stateMachineHeightCodec = Struct({
  id: stateMachineIdCodec,
  height: u64,
});

/** A height of a state machine as one light client knows it. */
export type StateMachineHeight = Readonly<CodecType<typeof stateMachineHeightCodec>>;

/** SCALE `BTreeMap<StateMachine, V>`. */
export function stateMachineMap<V>(value: Codec<V>): Codec<ReadonlyMap<StateMachine, V>> {
  return orderedMap(stateMachineCodec, value, compareStateMachines);
}

/** Text that identifies a {@link StateMachineId} as a key of maps and in logs, e.g. `EVM-1/ETH0`. */
export function stateMachineIdKey(id: StateMachineId): string {
  return `${id.stateMachine}/${id.consensusStateId}`;
}

/** A commitment with the full name of its height, as a consensus client produces it. */
export interface IntermediateState {
  readonly height: StateMachineHeight;
  readonly commitment: StateCommitment;
}

/** SCALE of {@link StateCommitment}. */
export const stateCommitmentCodec = Struct({
  /** Unix time of the block in seconds. */
  timestampSec: u64,
  overlayRoot: Option(hash256),
  stateRoot: hash256,
});

/**
 * Roots of one height. For EVM chains `overlayRoot` is undefined; for the hub as others see it `overlayRoot` is the
 * MMR root and `stateRoot` the ISMP child trie root; for other Substrate chains they are child trie and header root.
 */
export type StateCommitment = Readonly<CodecType<typeof stateCommitmentCodec>>;
