/**
 * Verification of an update against the hub's state, rule by rule in the hub's order. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/bsc/src/lib.rs (verify_consensus),
 * modules/consensus/bsc/verifier/src/lib.rs.
 */
import { evmCommitment, type VerifiedUpdate } from "../../../spec/header_commitment.ts";
import { clientDecoder, mapError } from "../../../spec/client_error.ts";
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../../core/evm/block_header.ts";
import type { ConsensusStateId } from "../../../../core/ismp/state_machine.ts";
import { evmStateMachine } from "../../../../core/ismp/state_machine.ts";
import {
  BscError,
  type BscErrorCode,
  type BscNetwork,
  epochOfBlock,
  ExtraDataError,
  isSignedByVoters,
  parseExtraData,
  rotationBlock,
  voteMessage,
  voteThreshold,
} from "./extra_data.ts";
import {
  announcedVoteKeys,
  type BscConsensusState,
  bscConsensusStateCodec,
  type BscUpdate,
  bscUpdateCodec,
  type StagedValidators,
  type VoteKeys,
} from "./update.ts";

/** State of the hub besides the trusted state that an update is verified against. */
export interface BscHubView {
  readonly network: BscNetwork;
  /** Blocks of an epoch as the hub's pallet stores it; undefined when it stores none. */
  readonly epochLength: bigint | undefined;
  /** Id under which the client and its commitments are stored, e.g. `BSC0`. */
  readonly consensusStateId: ConsensusStateId;
}

function require(isMet: boolean, code: BscErrorCode): asserts isMet {
  if (!isMet) throw new BscError(code);
}

/** Decodes a consensus state as the hub stores it. @throws {BscError} `undecodable_state` */
export const decodeBscState = clientDecoder(bscConsensusStateCodec, BscError, "undecodable_state");

/** Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {BscError} `undecodable_update` */
export const decodeBscUpdate = clientDecoder(bscUpdateCodec, BscError, "undecodable_update");

/** Number of a header: the hub reads the lower 64 bits. */
function numberOf(header: EvmBlockHeader): bigint {
  return BigInt.asUintN(64, header.number);
}

/**
 * Verifies an update as the hub does. @throws {BscError}
 */
export function verifyBscUpdate(
  trusted: BscConsensusState,
  update: BscUpdate,
  hub: BscHubView,
): VerifiedUpdate<BscConsensusState> {
  const source = update.sourceHeader;
  const height = numberOf(source);
  require(height > trusted.finalizedHeight, "stale_source");
  const { epochLength, network } = hub;
  // With a length of zero the hub fails at the first division.
  require(epochLength !== undefined && epochLength > 0n, "epoch_length_missing");
  const inForce = promoteStaged(trusted, update, epochLength);
  const sourceHash = checkVotes(inForce.currentValidators, update, network);
  const staged = announcedSet(inForce.currentValidators, update, { network, epochLength });
  const consensusState: BscConsensusState = {
    ...inForce,
    nextValidators: staged ?? inForce.nextValidators,
    finalizedHeight: height,
    finalizedHash: sourceHash,
  };
  checkEpoch(consensusState, epochLength);
  return {
    consensusState,
    commitment: evmCommitment(
      { stateMachine: evmStateMachine(trusted.chainId), consensusStateId: hub.consensusStateId },
      source,
    ),
  };
}

/** Returns the trusted state with the staged set enacted, when the attested header is where that set takes over. */
function promoteStaged(
  trusted: BscConsensusState,
  update: BscUpdate,
  epochLength: bigint,
): BscConsensusState {
  const staged = trusted.nextValidators;
  if (staged === undefined) return trusted;
  const attested = numberOf(update.attestedHeader);
  const epoch = epochOfBlock(attested, epochLength);
  const isInEpoch = epoch === epochOfBlock(staged.rotationBlock, epochLength);
  if (!isInEpoch || attested < staged.rotationBlock) return trusted;
  require(epochOfBlock(numberOf(update.sourceHeader), epochLength) === epoch, "source_epoch");
  return {
    ...trusted,
    currentValidators: staged.validators,
    nextValidators: undefined,
    currentEpoch: epoch,
  };
}

const zeroHash: Hash256 = `0x${"00".repeat(32)}`;

/** @returns hash of the source header, which the votes finalize. */
function checkVotes(validators: VoteKeys, update: BscUpdate, network: BscNetwork): Hash256 {
  const { attestation } = mapError(
    ExtraDataError,
    () => parseExtraData(network, update.attestedHeader),
    (cause) => new BscError("attested_extra_data", { cause }),
  );
  if (attestation === undefined) throw new BscError("vote_missing");
  const { vote, voters, signature } = attestation;
  require(vote.sourceHash !== zeroHash && vote.targetHash !== zeroHash, "vote_missing");
  require(voters >> BigInt(validators.length) === 0n, "unknown_voter");
  const keys = validators.filter((_, index) => isVoter(voters, index));
  require(keys.length >= voteThreshold(validators.length), "too_few_voters");
  const sourceHash = hashBlockHeader(update.sourceHeader);
  require(sourceHash === vote.sourceHash, "source_hash");
  require(hashBlockHeader(update.targetHeader) === vote.targetHash, "target_hash");
  const isChild = numberOf(update.targetHeader) === numberOf(update.sourceHeader) + 1n &&
    update.targetHeader.parentHash === sourceHash;
  require(isChild, "not_adjacent");
  require(isSignedByVoters(keys, signature, voteMessage(vote)), "signature");
  return sourceHash;
}

/** True when the validator at `index` of the set voted. */
export function isVoter(voters: bigint, index: number): boolean {
  return ((voters >> BigInt(index)) & 1n) === 1n;
}

/** Returns the set that the update proves; undefined when it proves none. */
function announcedSet(
  current: VoteKeys,
  update: BscUpdate,
  { network, epochLength }: { readonly network: BscNetwork; readonly epochLength: bigint },
): StagedValidators | undefined {
  const epochHeader = findEpochHeader(update, epochLength);
  return epochHeader && {
    validators: announcedVoteKeys(network, epochHeader),
    rotationBlock: rotationBlock(numberOf(epochHeader), current.length),
  };
}

function findEpochHeader(update: BscUpdate, epochLength: bigint): EvmBlockHeader | undefined {
  const { sourceHeader, epochHeaderAncestry } = update;
  const distance = numberOf(sourceHeader) % epochLength;
  const [first, ...later] = epochHeaderAncestry;
  if (first === undefined) return distance === 0n ? sourceHeader : undefined;
  require(distance !== 0n && numberOf(first) === numberOf(sourceHeader) - distance, "ancestry");
  let parent = hashBlockHeader(first);
  for (const header of later) {
    require(header.parentHash === parent, "ancestry");
    parent = hashBlockHeader(header);
  }
  require(sourceHeader.parentHash === parent, "ancestry");
  return first;
}

/** A client may be one epoch behind its newest block only while it knows the set that follows. */
function checkEpoch(state: BscConsensusState, epochLength: bigint): void {
  const newest = state.currentEpoch + (state.nextValidators === undefined ? 0n : 1n);
  require(epochOfBlock(state.finalizedHeight, epochLength) <= newest, "epoch_ahead");
}
