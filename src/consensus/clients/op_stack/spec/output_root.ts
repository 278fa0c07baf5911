/**
 * Output roots, and their storage slots in the L1 contracts of an OP stack chain. Source: ethereum-optimism/optimism:
 * packages/contracts-bedrock/src/{libraries/Hashing.sol, dispute/DisputeGameFactory.sol, dispute/lib/LibGameId.sol,
 * L1/L2OutputOracle.sol}; slots as in polytope-labs/hyperbridge: modules/ismp/clients/optimism/src/lib.rs.
 */
import type { DisputeGameKind } from "./update.ts";
import {
  concatBytes,
  fromHex,
  type Hash256,
  keccak256,
  toHash256,
  toHex,
} from "../../../../core/encoding/bytes.ts";
import type { Address } from "../../../../core/evm/address.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../../core/evm/block_header.ts";
import { mapSlot, offset, word } from "../../../../core/evm/host_storage.ts";
import { evmChainId, isEvm, type StateMachine } from "../../../../core/ismp/state_machine.ts";
import { encodeAbiParameters } from "viem";

/** Slots of the contracts' variables. */
const opStackSlots = {
  /** `DisputeGameFactory.gameImpls`, by game type. */
  gameImplementations: 101n,
  /** `DisputeGameFactory._disputeGames`, by uuid. */
  disputeGames: 103n,
  /** `L2OutputOracle.l2Outputs`, an array of two words an item. */
  l2Outputs: 3n,
  /** Length of `FaultDisputeGame.claimData`. */
  claimData: 2n,
  /** `AggregateVerifier.counteredByIntermediateRootIndexPlusOne`. */
  counteredBy: 5n,
  /** Length of `SuperFaultDisputeGame.claimData`. */
  superClaimData: 1n,
  /** `AnchorStateRegistry.disputeGameBlacklist`, by game. */
  registryBlacklist: 5n,
} as const;

/** Version of output roots, the only one. */
export const OUTPUT_ROOT_VERSION: Hash256 = word(0n);

/** Fields that an output root commits to. */
export interface OutputRootParts {
  readonly version: Hash256;
  readonly stateRoot: Hash256;
  readonly withdrawalStorageRoot: Hash256;
  readonly blockHash: Hash256;
}

/** The claim about a block: Keccak-256 of the four words. */
export function outputRoot(parts: OutputRootParts): Hash256 {
  const words = [parts.version, parts.stateRoot, parts.withdrawalStorageRoot, parts.blockHash];
  return toHash256(keccak256(concatBytes(...words.map(fromHex))));
}

/** The claim about a block with its header. */
export function blockOutputRoot(
  { header, ...parts }: Omit<OutputRootParts, "stateRoot" | "blockHash"> & {
    readonly header: EvmBlockHeader;
  },
): Hash256 {
  return outputRoot({ ...parts, stateRoot: header.stateRoot, blockHash: hashBlockHeader(header) });
}

const uuidParameters = [{ type: "uint32" }, { type: "bytes32" }, { type: "bytes" }] as const;

/** Name of a game in the factory: Keccak-256 of `abi.encode(type, claim, extra data)`. */
export function gameUuid(gameType: number, rootClaim: Hash256, extraData: Uint8Array): Hash256 {
  const encoded = encodeAbiParameters(uuidParameters, [gameType, rootClaim, toHex(extraData)]);
  return toHash256(keccak256(fromHex(encoded)));
}

/** Properties of a game that the factory stores. */
interface GameId {
  readonly gameType: number;
  /** L1 time of the creation in Unix seconds. */
  readonly timestampSec: bigint;
  readonly proxy: Address;
}

/** Word in which the factory stores a game: type (4 bytes), time (8), address (20). */
export function gameIdWord(id: GameId): Hash256 {
  return word((BigInt(id.gameType) << 224n) | (id.timestampSec << 160n) | BigInt(id.proxy));
}

/** Slot of a game in the factory. */
export function disputeGameSlot(uuid: Hash256): Hash256 {
  return mapSlot(uuid, word(opStackSlots.disputeGames));
}

/** Slot of the contract that the factory clones for a type of games. */
export function gameImplementationSlot(gameType: number): Hash256 {
  return mapSlot(word(BigInt(gameType)), word(opStackSlots.gameImplementations));
}

/** Slots of an output in the oracle: root, then block number (high half) and time (low half). */
export function outputSlots(index: bigint): { readonly root: Hash256; readonly block: Hash256 } {
  const items = toHash256(keccak256(fromHex(word(opStackSlots.l2Outputs))));
  const root = offset(items, 2n * index);
  return { root, block: offset(root, 1n) };
}

/** The word on the L1 that decides whether a game counts. */
export interface ChallengeWord {
  /** Contract in whose storage it is: the game, or the registry of the hub's rules. */
  readonly account: Address;
  readonly slot: Hash256;
  /** Its value while nobody contests the game: 1 for the number of claims, the first being the game's own; else 0. */
  readonly sound: 0n | 1n;
}

/** Where a game of a kind shows that it is contested; `undefined` for kinds without challenges. */
export function challengeWord(kind: DisputeGameKind, proxy: Address): ChallengeWord | undefined {
  switch (kind.tag) {
    case "OPSuccinct":
      return undefined;
    case "FaultDisputeGame":
      return { account: proxy, slot: word(opStackSlots.claimData), sound: 1n };
    case "AggregateVerifier":
      return { account: proxy, slot: word(opStackSlots.counteredBy), sound: 0n };
    case "SuperFaultDisputeGame":
      return { account: proxy, slot: word(opStackSlots.superClaimData), sound: 1n };
    case "SuperPermissionedDisputeGame": {
      const slot = mapSlot(word(BigInt(proxy)), word(opStackSlots.registryBlacklist));
      return { account: kind.value.anchorStateRegistry, slot, sound: 0n };
    }
  }
}

/** Meaning of the value of a {@link ChallengeWord}; `missing`: a game without even its own claim. */
export type ChallengeStatus = "unchallenged" | "challenged" | "missing";

/** Interprets the value of a challenge word. @param value undefined or zero for an empty slot. */
export function challengeStatus({ sound }: ChallengeWord, value: Hash256 | undefined): ChallengeStatus {
  const count = BigInt(value ?? 0n);
  if (count === sound) return "unchallenged";
  return count === 0n ? "missing" : "challenged";
}

/** Version byte and timestamp. */
const HEAD_BYTES = 9;
/** Chain id and output root. */
const ENTRY_BYTES = 64;
const VERSION = 1;

/** Rule that the extra data of a game break, in the order in which the hub checks them. */
export type SuperRootFault =
  | "super_root_too_short"
  | "super_root_version"
  | "super_root_malformed"
  | "super_root_not_ascending"
  /** The super root is about other chains. */
  | "super_root_without_chain";

/** Claim about one chain in a super root. */
export interface SuperRootClaim {
  /** L2 time in Unix seconds: the claim is about the chain's newest block at or before it. */
  readonly timestampSec: bigint;
  readonly outputRoot: Hash256;
}

/** True for kinds of games whose root claim is a super root. The number of the game type does not tell. */
export function claimsSuperRoot({ tag }: DisputeGameKind): boolean {
  return tag === "SuperFaultDisputeGame" || tag === "SuperPermissionedDisputeGame";
}

/** The super root of a game: what its root claim must be. */
export function superRoot(extraData: Uint8Array): Hash256 {
  return toHash256(keccak256(extraData));
}

/** Reads the claim about a chain from the extra data of a game, or names the rule that they break. */
export function readSuperRoot(extraData: Uint8Array, chain: StateMachine): SuperRootClaim | SuperRootFault {
  if (extraData.length <= HEAD_BYTES) return "super_root_too_short";
  if (extraData[0] !== VERSION) return "super_root_version";
  if ((extraData.length - HEAD_BYTES) % ENTRY_BYTES !== 0) return "super_root_malformed";
  let previous = -1n;
  let outputRoot: Hash256 | undefined;
  for (let at = HEAD_BYTES; at < extraData.length; at += ENTRY_BYTES) {
    const chainId = BigInt(toHex(extraData.subarray(at, at + 32)));
    if (chainId <= previous) return "super_root_not_ascending";
    previous = chainId;
    if (isEvm(chain) && chainId === BigInt(evmChainId(chain))) {
      outputRoot = toHash256(extraData.subarray(at + 32, at + ENTRY_BYTES));
    }
  }
  if (outputRoot === undefined) return "super_root_without_chain";
  return { timestampSec: BigInt(toHex(extraData.subarray(1, HEAD_BYTES))), outputRoot };
}
