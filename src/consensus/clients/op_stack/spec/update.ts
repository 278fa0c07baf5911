/**
 * Update of the hub's OP stack client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-optimism/src/lib.rs (OptimismUpdate), modules/ismp/clients/optimism/src/lib.rs
 * (OptimismDisputeGameProof, OptimismPayloadProof).
 */
import { type ProofNodes, proofNodesCodec } from "../../../rollup/spec/l1_storage.ts";
import { consensusTypeCodec, type RollupClientState, rollupKey } from "../../../rollup/spec/rollup_client.ts";
import { concatBytes, type Hash256 } from "../../../../core/encoding/bytes.ts";
import {
  bytes,
  type Codec,
  decodeLoose,
  Enum,
  hash256,
  list,
  nothing,
  Option,
  pair,
  ScaleError,
  Struct,
  Tuple,
  u32,
  u64,
  u8,
} from "../../../../core/encoding/scale.ts";
import { type Address, addressCodec } from "../../../../core/evm/address.ts";
import { type EvmBlockHeader, evmBlockHeaderCodec } from "../../../../core/evm/block_header.ts";
import { type StateMachineId, stateMachineIdCodec } from "../../../../core/ismp/state_machine.ts";
import { blake2Concat } from "../../../../core/ismp/storage_keys.ts";
import { compact, enhanceCodec } from "scale-ts";

/** A claim made by a dispute game, with its proof in the L1 state. */
export interface DisputeGameProof {
  /** The block that the claim is about. */
  readonly header: EvmBlockHeader;
  /** Storage root of the chain's message passer at that block. */
  readonly withdrawalStorageRoot: Hash256;
  /** Of output roots; zero. */
  readonly version: Hash256;
  /** Account of the factory in the L1 state. */
  readonly disputeFactoryProof: ProofNodes;
  /** Slot of the game in the factory. */
  readonly disputeGameProof: ProofNodes;
  /** Slot of the implementation in the factory. */
  readonly gameImplProof: ProofNodes;
  /** Account of the challenge word in the L1 state: the game, or the registry that blacklists games. */
  readonly proxyAccountProof: ProofNodes;
  /** Slot of the challenge word; like its account empty for kinds without challenges. */
  readonly challengeProof: ProofNodes;
  /** The game. */
  readonly proxy: Address;
  /** Extra data of the game: the block number as one word and more, or a super root. */
  readonly extraData: Uint8Array;
  readonly gameType: number;
  /** L1 time of the creation in Unix seconds. */
  readonly timestampSec: bigint;
}

/** An output root of the `L2OutputOracle` of chains without dispute games, with its proof in the L1 state. */
export interface OutputOracleProof {
  readonly stateRoot: Hash256;
  readonly withdrawalStorageRoot: Hash256;
  readonly l2BlockHash: Hash256;
  /** Of output roots; zero. */
  readonly version: Hash256;
  /** Account of the oracle in the L1 state. */
  readonly l2OracleProof: ProofNodes;
  /** Slot of the output root. */
  readonly outputRootProof: ProofNodes;
  /** Slot of time and block number. */
  readonly multiProof: ProofNodes;
  readonly outputRootIndex: bigint;
  readonly blockNumber: bigint;
  /** Unix time in seconds of the output on the L1: the hub uses it as that of the block. */
  readonly timestampSec: bigint;
}

/** Either kind of claim. */
export type OpStackProof =
  | { readonly tag: "OpL2Oracle"; readonly value: OutputOracleProof }
  | { readonly tag: "OpFaultProofGames"; readonly value: DisputeGameProof };

/** One step of the client: a claim, and the L1 height in whose state it is proved. */
export interface OpStackUpdate {
  readonly l1Height: bigint;
  readonly proof: OpStackProof;
}

const outputOracleProofCodec: Codec<OutputOracleProof> = Struct({
  stateRoot: hash256,
  withdrawalStorageRoot: hash256,
  l2BlockHash: hash256,
  version: hash256,
  l2OracleProof: proofNodesCodec,
  outputRootProof: proofNodesCodec,
  multiProof: proofNodesCodec,
  outputRootIndex: u64,
  blockNumber: u64,
  timestampSec: u64,
});

const disputeGameProofCodec: Codec<DisputeGameProof> = Struct({
  header: evmBlockHeaderCodec,
  withdrawalStorageRoot: hash256,
  version: hash256,
  disputeFactoryProof: proofNodesCodec,
  disputeGameProof: proofNodesCodec,
  gameImplProof: proofNodesCodec,
  proxyAccountProof: proofNodesCodec,
  challengeProof: proofNodesCodec,
  proxy: addressCodec,
  extraData: bytes,
  gameType: u32,
  timestampSec: u64,
});

/** SCALE of {@link OpStackUpdate} (`OptimismUpdate`): the consensus proof of a message, without an envelope. */
export const opStackUpdateCodec: Codec<OpStackUpdate> = Struct({
  l1Height: u64,
  proof: Enum({ OpL2Oracle: outputOracleProofCodec, OpFaultProofGames: disputeGameProofCodec }),
});

/** Contract of a game, which decides what it claims and where a challenge appears. */
export type DisputeGameKind =
  | {
    readonly tag: "OPSuccinct" | "FaultDisputeGame" | "AggregateVerifier" | "SuperFaultDisputeGame";
    readonly value?: undefined;
  }
  | {
    readonly tag: "SuperPermissionedDisputeGame";
    /** Contract of the L1 that blacklists games. */
    readonly value: { readonly anchorStateRegistry: Address };
  };

/** The hub's rules for a type of games. */
export interface GameTypeConfig {
  readonly gameType: number;
  /** Contract that the factory must clone for games of this type. */
  readonly expectedImplementation: Address;
  readonly kind: DisputeGameKind;
}

/** Consensus state of an OP stack client. */
export interface OpStackConsensusState extends RollupClientState {
  /** Way in which outputs are proposed on the L1. The hub accepts either kind of proof regardless. */
  readonly consensusType: "OpL2Oracle" | "OpFaultProofGames" | "unknown" | undefined;
  /** For information; the rules that count are in the pallet's own storage. */
  readonly gameTypeConfigs: readonly GameTypeConfig[] | undefined;
}

const kindCodec: Codec<DisputeGameKind> = Enum({
  OPSuccinct: nothing,
  FaultDisputeGame: nothing,
  AggregateVerifier: nothing,
  SuperFaultDisputeGame: nothing,
  SuperPermissionedDisputeGame: Struct({ anchorStateRegistry: addressCodec }),
}) as Codec<DisputeGameKind>;

/** SCALE of {@link GameTypeConfig}: 25 bytes, 45 with a registry. */
const gameTypeConfigCodec: Codec<GameTypeConfig> = Struct({
  gameType: u32,
  expectedImplementation: addressCodec,
  kind: kindCodec,
});

const leadingFields = {
  finalizedHeight: u64,
  stateMachineId: stateMachineIdCodec,
  l1StateMachineId: stateMachineIdCodec,
  consensusType: Option(consensusTypeCodec(["OpL2Oracle", "OpFaultProofGames"])),
};

/** SCALE of {@link OpStackConsensusState}, as the hub writes it. */
export const opStackConsensusStateCodec: Codec<OpStackConsensusState> = Struct({
  ...leadingFields,
  gameTypeConfigs: Option(list(gameTypeConfigCodec)),
});

/** Fields that every generation of the state has. Does not read beyond them. */
export const opStackStatePrefixCodec: Codec<Omit<OpStackConsensusState, "gameTypeConfigs">> = Struct(
  leadingFields,
);

/** The contract in which games are created, and the types of games that count. */
export interface DisputeGameRules {
  readonly factory: Address;
  /** The types of known kinds. */
  readonly gameTypes: readonly GameTypeConfig[];
}

/** A type of games whose kind is newer than this program. */
interface UnknownGameType extends Omit<GameTypeConfig, "kind"> {
  /** Index of the kind in the hub's enum. */
  readonly kind: number;
}

/** Rules as the hub stores them, with everything in them that this program does not know. */
export interface StoredGameRules extends DisputeGameRules {
  readonly unknown: readonly UnknownGameType[];
  /** Number of listed types after the first unknown one that cannot be read. */
  readonly unread: number;
}

/** SCALE of {@link DisputeGameRules}, value of {@link disputeGameRulesKey}, where all kinds are known. */
export const disputeGameRulesCodec: Codec<DisputeGameRules> = enhanceCodec(
  pair(addressCodec, list(gameTypeConfigCodec)),
  ({ factory, gameTypes }) => [factory, gameTypes] as const,
  ([factory, gameTypes]) => ({ factory, gameTypes }),
);

const headCodec: Codec<[number, Address, number]> = Tuple(u32, addressCodec, u8);
const HEAD_BYTES = 25;
const MAX_ITEM_BYTES = 45;
const KNOWN_KINDS = 5;
/** Lengths that the payload of an unknown kind may have: nothing, a number, an address, a word. */
const PAYLOAD_BYTES = [0, 4, 8, 20, 32];

/**
 * Decodes the rules of a chain and keeps everything that is known. The payload of an unknown kind has an unknown length:
 * the length with which all items fit and most of them are known is taken, and where several are as good the types after
 * it are lost. Bytes after the list are ignored. @throws {ScaleError} when not even the list's beginning is readable.
 */
export function decodeGameRules(stored: Uint8Array): StoredGameRules {
  try {
    return { ...decodeLoose(disputeGameRulesCodec, stored, "game rules"), unknown: [], unread: 0 };
  } catch (error) {
    if (!(error instanceof ScaleError) || error.code !== "invalid") throw error;
  }
  const factory = decodeLoose(addressCodec, stored, "dispute game factory");
  const rest = stored.slice(addressCodec.enc(factory).length);
  const count = Number(decodeLoose(compact, rest, "game types"));
  const items = rest.slice(compact.enc(count).length);
  const fitting = PAYLOAD_BYTES.flatMap((bytes) => {
    try {
      const read = readGameTypes(items, count, bytes);
      return read.end === items.length ? [read] : [];
    } catch {
      return []; // of another length
    }
  });
  const [best, second] = fitting.toSorted((a, b) => b.gameTypes.length - a.gameTypes.length);
  const isClear = best !== undefined && best.gameTypes.length !== second?.gameTypes.length;
  const { gameTypes, unknown, unread } = isClear ? best : readGameTypes(items, count, undefined);
  return { factory, gameTypes, unknown, unread };
}

/** @param payloadBytes of unknown kinds; `undefined`: the first of them ends the list. @throws {ScaleError} */
function readGameTypes(
  items: Uint8Array,
  count: number,
  payloadBytes: number | undefined,
): Omit<StoredGameRules, "factory"> & { readonly end: number } {
  const gameTypes: GameTypeConfig[] = [];
  const unknown: UnknownGameType[] = [];
  let end = 0;
  for (let at = 0; at < count; at++) {
    const item = items.slice(end, end + MAX_ITEM_BYTES);
    const [gameType, expectedImplementation, kind] = decodeLoose(headCodec, item, "game type");
    if (kind < KNOWN_KINDS) {
      const config = decodeLoose(gameTypeConfigCodec, item, "game type");
      gameTypes.push(config);
      end += gameTypeConfigCodec.enc(config).length;
      continue;
    }
    unknown.push({ gameType, expectedImplementation, kind });
    if (payloadBytes === undefined) return { gameTypes, unknown, unread: count - at - 1, end };
    end += HEAD_BYTES + payloadBytes;
  }
  return { gameTypes, unknown, unread: 0, end };
}

/**
 * Key of the rules of a chain. Absent: the hub accepts every dispute game and ignores it.
 * @param id under the chain's own client, as throughout this file.
 */
export function disputeGameRulesKey(id: StateMachineId): Uint8Array {
  return rollupKey("IsmpOptimism", "StateMachinesDisputeGameFactoriesTypes", id);
}

/** Key of the oracle's address (SCALE `H160`). Absent: the hub accepts every output and ignores it. */
export function outputOracleKey(id: StateMachineId): Uint8Array {
  return rollupKey("IsmpOptimism", "StateMachinesOracleAddresses", id);
}

/** Key that exists when fishermen blacklisted a game. */
export function blacklistedGameKey(id: StateMachineId, proxy: Address): Uint8Array {
  return concatBytes(
    rollupKey("Fishermen", "BlacklistedDisputeGames", id),
    blake2Concat(addressCodec.enc(proxy)),
  );
}
