/**
 * Update of the hub's OP stack client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/ismp-optimism/src/lib.rs (OptimismUpdate), modules/ismp/clients/optimism/src/lib.rs
 * (OptimismDisputeGameProof, OptimismPayloadProof).
 */
import { proofNodesCodec } from "../../../rollup/spec/l1_storage.ts";
import { consensusTypeCodec, rollupKey, rollupStateFields } from "../../../rollup/spec/rollup_client.ts";
import { concatBytes } from "../../../../core/encoding/bytes.ts";
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
  Struct,
  Tuple,
  u32,
  u64,
  u8,
} from "../../../../core/encoding/scale.ts";
import { type Address, addressCodec } from "../../../../core/evm/address.ts";
import { evmBlockHeaderCodec } from "../../../../core/evm/block_header.ts";
import type { StateMachineId } from "../../../../core/ismp/state_machine.ts";
import { blake2Concat } from "../../../../core/ismp/storage_keys.ts";
import { type CodecType, compact } from "scale-ts";

/** SCALE of a claim made by a dispute game, with its proof in the L1 state. */
const disputeGameProofCodec = Struct({
  /** The block that the claim is about. */
  header: evmBlockHeaderCodec,
  /** Storage root of the chain's message passer at that block. */
  withdrawalStorageRoot: hash256,
  /** Of output roots; zero. */
  version: hash256,
  /** Account of the factory in the L1 state. */
  disputeFactoryProof: proofNodesCodec,
  /** Slot of the game in the factory. */
  disputeGameProof: proofNodesCodec,
  /** Slot of the implementation in the factory. */
  gameImplProof: proofNodesCodec,
  /** Account of the challenge word in the L1 state: the game, or the registry that blacklists games. */
  proxyAccountProof: proofNodesCodec,
  /** Slot of the challenge word; like its account empty for kinds without challenges. */
  challengeProof: proofNodesCodec,
  /** The game. */
  proxy: addressCodec,
  /** Extra data of the game: the block number as one word and more, or a super root. */
  extraData: bytes,
  gameType: u32,
  /** L1 time of the creation in Unix seconds. */
  timestampSec: u64,
});

/** SCALE of an output root in the `L2OutputOracle` of chains without dispute games, with its proof in the L1 state. */
const outputOracleProofCodec = Struct({
  stateRoot: hash256,
  withdrawalStorageRoot: hash256,
  l2BlockHash: hash256,
  /** Of output roots; zero. */
  version: hash256,
  /** Account of the oracle in the L1 state. */
  l2OracleProof: proofNodesCodec,
  /** Slot of the output root. */
  outputRootProof: proofNodesCodec,
  /** Slot of time and block number. */
  multiProof: proofNodesCodec,
  outputRootIndex: u64,
  blockNumber: u64,
  /** Unix time in seconds of the output on the L1: the hub uses it as that of the block. */
  timestampSec: u64,
});

/** SCALE of an update (`OptimismUpdate`): the consensus proof of a message, without an envelope. */
export const opStackUpdateCodec = Struct({
  /** Height of the L1 in whose state the claim is proved. */
  l1Height: u64,
  proof: Enum({ OpL2Oracle: outputOracleProofCodec, OpFaultProofGames: disputeGameProofCodec }),
});

/** A claim made by a dispute game, with its proof in the L1 state. */
export type DisputeGameProof = Readonly<CodecType<typeof disputeGameProofCodec>>;

/** An output root of the `L2OutputOracle`, with its proof in the L1 state. */
export type OutputOracleProof = Readonly<CodecType<typeof outputOracleProofCodec>>;

/** One step of the client: a claim, and the L1 height in whose state it is proved. */
export type OpStackUpdate = Readonly<CodecType<typeof opStackUpdateCodec>>;

/** Either kind of claim. */
export type OpStackProof = OpStackUpdate["proof"];

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

const kindCodec: Codec<DisputeGameKind> = Enum({
  OPSuccinct: nothing,
  FaultDisputeGame: nothing,
  AggregateVerifier: nothing,
  SuperFaultDisputeGame: nothing,
  SuperPermissionedDisputeGame: Struct({ anchorStateRegistry: addressCodec }),
}) as Codec<DisputeGameKind>;

/** SCALE of {@link GameTypeConfig}: 25 bytes, 45 with a registry. */
const gameTypeConfigCodec = Struct({
  gameType: u32,
  /** Contract that the factory must clone for games of this type. */
  expectedImplementation: addressCodec,
  kind: kindCodec,
});

/** The hub's rules for a type of games. */
export type GameTypeConfig = Readonly<CodecType<typeof gameTypeConfigCodec>>;

const leadingFields = {
  ...rollupStateFields,
  /** Way in which outputs are proposed on the L1. The hub accepts either kind of proof regardless. */
  consensusType: Option(consensusTypeCodec(["OpL2Oracle", "OpFaultProofGames"])),
};

/** SCALE of {@link OpStackConsensusState}, as the hub writes it. */
export const opStackConsensusStateCodec = Struct({
  ...leadingFields,
  /** For information; the rules that count are in the pallet's own storage. */
  gameTypeConfigs: Option(list(gameTypeConfigCodec)),
});

/** Consensus state of an OP stack client. */
export type OpStackConsensusState = Readonly<CodecType<typeof opStackConsensusStateCodec>>;

/** Fields that every generation of the state has. Does not read beyond them. */
export const opStackStatePrefixCodec = Struct(leadingFields);

/** The contract in which games are created, and the types of games that count. */
export interface DisputeGameRules {
  readonly factory: Address;
  /** The types of known kinds. */
  readonly gameTypes: readonly GameTypeConfig[];
}

/** Rules as the hub stores them, and where they go beyond this program. */
export interface StoredGameRules extends DisputeGameRules {
  /** First listed type whose kind is newer than this program, which ends what can be read; `kind` is its index. */
  readonly unknown?: Omit<GameTypeConfig, "kind"> & { readonly kind: number };
  /** Number of types behind it. */
  readonly unread: number;
}

const rulesCodec = pair(addressCodec, list(gameTypeConfigCodec));

/** Encodes rules as the hub stores them, for tests. The inverse of {@link decodeGameRules} where all kinds are known. */
export function encodeGameRules({ factory, gameTypes }: DisputeGameRules): Uint8Array {
  return rulesCodec.enc([factory, gameTypes]);
}

const listHeadCodec: Codec<readonly [Address, number | bigint]> = pair(addressCodec, compact);
const itemHeadCodec: Codec<[number, Address, number]> = Tuple(u32, addressCodec, u8);
const KNOWN_KINDS = 5;

/**
 * Decodes the rules of a chain up to the first type of an unknown kind, whose length is unknown, too. Bytes after the
 * list are ignored. @throws {ScaleError}
 */
export function decodeGameRules(stored: Uint8Array): StoredGameRules {
  const [factory, count] = decodeLoose(listHeadCodec, stored, "dispute game factory");
  const gameTypes: GameTypeConfig[] = [];
  let rest = stored.slice(listHeadCodec.enc([factory, count]).length);
  while (gameTypes.length < Number(count)) {
    const [gameType, expectedImplementation, kind] = decodeLoose(itemHeadCodec, rest, "game type");
    if (kind >= KNOWN_KINDS) {
      const unread = Number(count) - gameTypes.length - 1;
      return { factory, gameTypes, unknown: { gameType, expectedImplementation, kind }, unread };
    }
    const config = decodeLoose(gameTypeConfigCodec, rest, "game type");
    gameTypes.push(config);
    rest = rest.slice(gameTypeConfigCodec.enc(config).length);
  }
  return { factory, gameTypes, unread: 0 };
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
