/**
 * Builds updates from the answers of L1 and L2 nodes. Checks only what the hub has no error for: verify the result
 * before sending it. Source: polytope-labs/hyperbridge: tesseract/consensus/op-host/src/lib.rs
 * (fetch_dispute_game_payload, fetch_op_payload).
 */
import { type Hash256, toHex } from "../../../../core/encoding/bytes.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../../core/evm/block_header.ts";
import type { StateMachine } from "../../../../core/ismp/state_machine.ts";
import type { AccountProofAnswer } from "../../../../core/merkle/evm_proof.ts";
import { EMPTY_ROOT } from "../../../../core/merkle/patricia.ts";
import { accountNodesOf, slotNodesOf } from "../../../rollup/spec/l1_storage.ts";
import { RollupDataError } from "../../../rollup/spec/rollup_client.ts";
import type { DisputeGameCreated, OutputProposed } from "./claim_events.ts";
import {
  blockOutputRoot,
  claimsSuperRoot,
  disputeGameSlot,
  gameImplementationSlot,
  gameUuid,
  OUTPUT_ROOT_VERSION,
  outputSlots,
  readSuperRoot,
  superRoot,
  type SuperRootClaim,
} from "./output_root.ts";
import type { DisputeGameKind, DisputeGameProof, OutputOracleProof } from "./update.ts";

/** Slots of `eth_getProof` for the factory, in the order that {@link buildDisputeGameProof} expects. */
export function factoryProofSlots(game: DisputeGameCreated, extraData: Uint8Array): readonly Hash256[] {
  const uuid = gameUuid(game.gameType, game.rootClaim, extraData);
  return [disputeGameSlot(uuid), gameImplementationSlot(game.gameType)];
}

/** Slots of `eth_getProof` for the oracle, in the order that {@link buildOutputOracleProof} expects. */
export function oracleProofSlots(output: OutputProposed): readonly Hash256[] {
  const slots = outputSlots(output.index);
  return [slots.root, slots.block];
}

/**
 * Storage root of the message passer that makes the claim true, if the header itself contains it (since Isthmus its
 * withdrawals root is that root). Undefined: a proof of the message passer on the L2 is needed, or the claim is false.
 */
export function withdrawalRootOf(header: EvmBlockHeader, rootClaim: Hash256): Hash256 | undefined {
  const { withdrawalsRoot } = header;
  if (withdrawalsRoot === undefined || withdrawalsRoot === toHex(EMPTY_ROOT)) return undefined;
  const output = blockOutputRoot({
    version: OUTPUT_ROOT_VERSION,
    header,
    withdrawalStorageRoot: withdrawalsRoot,
  });
  return output === rootClaim ? withdrawalsRoot : undefined;
}

/** Claim about a block of the rollup. */
export interface ClaimedOutput {
  readonly l2Height: bigint;
  readonly outputRoot: Hash256;
}

/**
 * Reads what a game claims about a rollup: the output root of a block, or of the newest block at a second. Otherwise the
 * reason to skip it.
 */
export function readClaim(
  { rootClaim }: DisputeGameCreated,
  { extraData, kind }: { readonly extraData: Uint8Array; readonly kind: DisputeGameKind },
  chain: StateMachine,
): ClaimedOutput | SuperRootClaim | string {
  if (claimsSuperRoot(kind)) {
    return superRoot(extraData) === rootClaim
      ? readSuperRoot(extraData, chain)
      : "with other extra data than claimed";
  }
  // The first word, whatever follows.
  if (extraData.length < 32) return "without a block number";
  return { l2Height: BigInt(toHex(extraData.subarray(0, 32))), outputRoot: rootClaim };
}

/** L2 part of a claim. */
export interface ClaimedL2Block {
  readonly header: EvmBlockHeader;
  readonly withdrawalStorageRoot: Hash256;
}

function checkClaim(block: ClaimedL2Block, { l2Height, outputRoot }: ClaimedOutput): void {
  if (block.header.number !== l2Height) throw new RollupDataError("wrong_block");
  if (blockOutputRoot({ version: OUTPUT_ROOT_VERSION, ...block }) !== outputRoot) {
    throw new RollupDataError("false_claim");
  }
}

/**
 * Builds the proof of a dispute game; `factory` and `challenge` are answers of `eth_getProof` at the L1 height of the
 * update. @throws {RollupDataError} `wrong_block`, `false_claim` @throws {EvmProofError}
 * malformed_answer
 */
export function buildDisputeGameProof(
  parts: ClaimedL2Block & {
    readonly game: DisputeGameCreated;
    /** The game's claim about the rollup: of a super root its entry for the chain. */
    readonly claimed: ClaimedOutput;
    readonly extraData: Uint8Array;
    readonly createdAtSec: bigint;
    readonly factory: AccountProofAnswer;
    /** About the account of the challenge word, with its slot; absent: the kind has none. */
    readonly challenge: AccountProofAnswer | undefined;
  },
): DisputeGameProof {
  const { game, factory, challenge, extraData } = parts;
  checkClaim(parts, parts.claimed);
  return {
    header: parts.header,
    withdrawalStorageRoot: parts.withdrawalStorageRoot,
    version: OUTPUT_ROOT_VERSION,
    disputeFactoryProof: accountNodesOf(factory),
    disputeGameProof: slotNodesOf(factory, 0),
    gameImplProof: slotNodesOf(factory, 1),
    proxyAccountProof: challenge === undefined ? [] : accountNodesOf(challenge),
    challengeProof: challenge === undefined ? [] : slotNodesOf(challenge, 0),
    proxy: game.proxy,
    extraData,
    gameType: game.gameType,
    timestampSec: parts.createdAtSec,
  };
}

/**
 * Builds the proof of an output in an oracle; `oracle` is the answer of `eth_getProof` at the L1 height of the update.
 * @throws {RollupDataError} `wrong_block`, `false_claim` @throws {EvmProofError} malformed_answer
 */
export function buildOutputOracleProof(
  parts: ClaimedL2Block & { readonly output: OutputProposed; readonly oracle: AccountProofAnswer },
): OutputOracleProof {
  const { output, oracle, header } = parts;
  checkClaim(parts, output);
  return {
    stateRoot: header.stateRoot,
    withdrawalStorageRoot: parts.withdrawalStorageRoot,
    l2BlockHash: hashBlockHeader(header),
    version: OUTPUT_ROOT_VERSION,
    l2OracleProof: accountNodesOf(oracle),
    outputRootProof: slotNodesOf(oracle, 0),
    multiProof: slotNodesOf(oracle, 1),
    outputRootIndex: output.index,
    blockNumber: output.l2Height,
    timestampSec: output.l1TimestampSec,
  };
}
