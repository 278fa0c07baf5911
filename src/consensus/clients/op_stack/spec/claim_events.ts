/**
 * Claims about an OP stack chain on the L1: logs of its contracts and calls of games. Source:
 * ethereum-optimism/optimism: packages/contracts-bedrock/interfaces/{dispute/IDisputeGameFactory.sol,
 * dispute/IDisputeGame.sol, L1/IL2OutputOracle.sol}.
 */
import { parseAbiParameters, toFunctionSelector } from "viem";
import { fromHex, type Hash256, type Hex, toHash256 } from "../../../../core/encoding/bytes.ts";
import { type Address, toAddress } from "../../../../core/evm/address.ts";
import type { RawLog } from "../../../../core/evm/host_events.ts";
import { decodeAbiStrict, readEvent } from "../../../rollup/spec/rollup_client.ts";

/** topic0 of `DisputeGameCreated(address,uint32,bytes32)` of a factory. */
export const DISPUTE_GAME_CREATED: Hex = "0x5b565efe82411da98814f356d0e7bcb8f0219b8d970307c5afb4a6903a8b2e35";

/** topic0 of `OutputProposed(bytes32,uint256,uint256,uint256)` of an oracle. */
export const OUTPUT_PROPOSED: Hex = "0xa7aaf2512769da4e444e3de247be2564225c2e7a8f74cfe528e46e17d24868e2";

/** A created game; anyone can create one, with any claim. */
export interface DisputeGameCreated {
  readonly proxy: Address;
  readonly gameType: number;
  /** Output root or super root that the game claims. */
  readonly rootClaim: Hash256;
}

/** An output root that the proposer of a chain wrote to its oracle. */
export interface OutputProposed {
  readonly outputRoot: Hash256;
  readonly index: bigint;
  readonly l2Height: bigint;
  /** Unix time in seconds on the L1. */
  readonly l1TimestampSec: bigint;
}

const disputeGameCreated = {
  topic0: DISPUTE_GAME_CREATED,
  parameters: parseAbiParameters("address proxy, uint32 gameType, bytes32 rootClaim"),
  indexedCount: 3,
} as const;

const outputProposed = {
  topic0: OUTPUT_PROPOSED,
  parameters: parseAbiParameters(
    "bytes32 outputRoot, uint256 index, uint256 l2Height, uint256 l1TimestampSec",
  ),
  indexedCount: 3,
} as const;

/**
 * Decodes a log of a dispute game factory; undefined for other logs. @throws {RollupDataError} `malformed_event`
 */
export function decodeDisputeGameCreated(log: RawLog, factory: Address): DisputeGameCreated | undefined {
  const values = readEvent(log, factory, disputeGameCreated);
  if (values === undefined) return undefined;
  const [proxy, gameType, rootClaim] = values;
  return { proxy: toAddress(proxy), gameType, rootClaim: toHash256(rootClaim) };
}

/**
 * Decodes a log of an output oracle; undefined for other logs. @throws {RollupDataError} `malformed_event`
 */
export function decodeOutputProposed(log: RawLog, oracle: Address): OutputProposed | undefined {
  const values = readEvent(log, oracle, outputProposed);
  if (values === undefined) return undefined;
  const [outputRoot, index, l2Height, l1TimestampSec] = values;
  return { outputRoot: toHash256(outputRoot), index, l2Height, l1TimestampSec };
}

/** Call data of the two getters that every kind of game has. (Names of others differ between kinds.) */
export const disputeGameCalls = {
  extraData: toFunctionSelector("extraData()"),
  createdAt: toFunctionSelector("createdAt()"),
} as const;

/** Properties that a game reports. */
export interface Details {
  readonly extraData: Uint8Array;
  /** L1 time in Unix seconds. */
  readonly createdAtSec: bigint;
}

/** Decodes the results of {@link disputeGameCalls}; `undefined` for results that no game has. */
export function decodeDetails(extraData: Hex, createdAt: Hex): Details | undefined {
  const [bytes] = decodeAbiStrict([{ type: "bytes" }], extraData) ?? [];
  const [createdAtSec] = decodeAbiStrict([{ type: "uint64" }], createdAt) ?? [];
  return bytes === undefined || createdAtSec === undefined
    ? undefined
    : { extraData: fromHex(bytes), createdAtSec };
}
