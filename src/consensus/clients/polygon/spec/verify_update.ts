/**
 * Verification of an update against the hub's state, rule by rule in the hub's order. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/polygon/src/lib.rs (verify_consensus),
 * modules/consensus/tendermint/verifier/src/verifier.rs (verify_header_update).
 */
import { decodeClientData } from "../../../spec/client_error.ts";
import { hashBlockHeader } from "../../../../core/evm/block_header.ts";
import type { ConsensusStateId, IntermediateState } from "../../../../core/ismp/state_machine.ts";
import { evmStateMachine } from "../../../../core/ismp/state_machine.ts";
import { hashCometHeader, parseCometTime } from "./comet_header.ts";
import { requireProven } from "./commitment_proof.ts";
import {
  type PolygonConsensusState,
  polygonConsensusStateCodec,
  type TrustedHeimdall,
} from "./consensus_state.ts";
import { encodeMilestone, MILESTONE_STORE, milestoneKey } from "./milestone.ts";
import { PolygonError, type PolygonErrorCode } from "./polygon_error.ts";
import {
  type PolygonUpdate,
  polygonUpdateCodec,
  type ProvenMilestone,
  type SignedHeimdallHeader,
} from "./update.ts";
import { verifyHeimdallHeader } from "./verify_heimdall.ts";
import { type HeimdallValidator, requireOwnKey } from "./heimdall_validators.ts";

/** State of the hub besides the trusted state that an update is verified against. */
export interface PolygonHubView {
  /** Clock of the hub, Unix seconds. */
  readonly nowSec: bigint;
  /** Id under which the client and its commitments are stored, e.g. `POLY`. */
  readonly consensusStateId: ConsensusStateId;
}

/** Result of an accepted update. */
export interface VerifiedPolygonUpdate {
  readonly consensusState: PolygonConsensusState;
  /** State of the newest Bor block; `undefined`: the update brings none. */
  readonly commitment: IntermediateState | undefined;
}

/** Decodes a consensus state as the hub stores it. @throws {PolygonError} `undecodable_state` */
export function decodePolygonState(bytes: Uint8Array): PolygonConsensusState {
  return decodeClientData(
    polygonConsensusStateCodec,
    bytes,
    (options) => new PolygonError("undecodable_state", options),
  );
}

/**
 * Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {PolygonError}
 * `undecodable_update`
 */
export function decodePolygonUpdate(bytes: Uint8Array): PolygonUpdate {
  return decodeClientData(
    polygonUpdateCodec,
    bytes,
    (options) => new PolygonError("undecodable_update", options),
  );
}

/** Verifies an update as the hub does. @throws {PolygonError} */
export function verifyPolygonUpdate(
  trusted: PolygonConsensusState,
  update: PolygonUpdate,
  { nowSec, consensusStateId }: PolygonHubView,
): VerifiedPolygonUpdate {
  requireValues(trusted.heimdall, update);
  const rotation = verifyHeimdallHeader(trusted.heimdall, update, nowSec);
  const { header } = update.signedHeader;
  const heimdall = {
    ...trusted.heimdall,
    ...rotation,
    chainId: header.chainId,
    height: header.height,
    timestampSec: parseCometTime(header.time).seconds,
    finalizedHeaderHash: hashCometHeader(header),
  };
  if (update.milestone === undefined) {
    return { consensusState: { ...trusted, heimdall }, commitment: undefined };
  }
  const { borHeader, milestone } = update.milestone;
  verifyMilestone(trusted, update, update.milestone);
  const finalizedBlock = BigInt.asUintN(64, borHeader.number);
  return {
    consensusState: { ...trusted, heimdall, finalizedBlock, finalizedHash: milestone.hash },
    commitment: {
      height: {
        id: { stateMachine: evmStateMachine(trusted.chainId), consensusStateId },
        height: finalizedBlock,
      },
      commitment: {
        timestampSec: borHeader.timestampSec,
        overlayRoot: undefined,
        stateRoot: borHeader.stateRoot,
      },
    },
  };
}

function verifyMilestone(
  { finalizedBlock }: PolygonConsensusState,
  { signedHeader: { header } }: PolygonUpdate,
  { borHeader, number, proof, milestone }: ProvenMilestone,
): void {
  // The hub reads the lower 64 bits.
  const height = BigInt.asUintN(64, borHeader.number);
  if (hashBlockHeader(borHeader) !== milestone.hash) throw new PolygonError("bor_hash");
  if (milestone.endBlock !== height) throw new PolygonError("milestone_end");
  if (height < finalizedBlock) throw new PolygonError("stale_bor_header");
  const entry = { store: MILESTONE_STORE, key: milestoneKey(number), value: encodeMilestone(milestone) };
  requireProven(proof, header.appHash, entry);
}

/** Heights and powers are signed numbers of 64 bits. */
const MAX_SIGNED = 2n ** 63n - 1n;

/** Largest power of all validators of a set. */
const MAX_SET_POWER = MAX_SIGNED / 8n;

const CHAIN_NAME = /^[a-zA-Z0-9._-]{1,50}$/;

/** Bytes of r and s. */
const SIGNATURE_LENGTH = 64;

function require(isMet: boolean, code: PolygonErrorCode): asserts isMet {
  if (!isMet) throw new PolygonError(code);
}

/**
 * Requires that the update and the trusted state have values that the hub can read. @throws {PolygonError} `time`,
 * `chain_name`, `number_range`, `signature_length`, `commit_height`, `public_key`, `validator_address`,
 * `next_validators_missing`, `empty_header`. Source: polytope-labs/hyperbridge:
 * modules/consensus/tendermint/primitives/src/verifier.rs (to_consensus_proof, to_validator, validate);
 * cometbft/cometbft-rs: cometbft/src/{chain/id,signature,time,validator}.rs,
 * cometbft/src/block/{height,signed_header}.rs.
 */
function requireValues(trusted: TrustedHeimdall, update: PolygonUpdate): void {
  const { signedHeader, nextValidators } = update;
  requireSignedHeader(signedHeader);
  const sets = [
    ...nextValidators === undefined ? [] : [nextValidators],
    trusted.validators,
    trusted.nextValidators,
  ];
  sets.flat().forEach(requireValidator);
  require(nextValidators !== undefined && nextValidators.length > 0, "next_validators_missing");
  const { header } = signedHeader;
  require(header.height > 0n && parseCometTime(header.time).seconds > 0n, "empty_header");
  requireChainName(trusted.chainId);
  require(trusted.height <= MAX_SIGNED && trusted.timestampSec <= MAX_SIGNED, "number_range");
  require(sets.every((set) => powerOf(set) <= MAX_SET_POWER), "number_range");
}

function powerOf(set: readonly HeimdallValidator[]): bigint {
  return set.reduce((sum, { power }) => sum + power, 0n);
}

function requireSignedHeader({ header, commit }: SignedHeimdallHeader): void {
  requireChainName(header.chainId);
  require(header.height <= MAX_SIGNED && commit.height <= MAX_SIGNED, "number_range");
  parseCometTime(header.time);
  require(commit.round < 2 ** 31, "number_range");
  for (const entry of commit.signatures) {
    if (entry.tag === "absent") continue;
    parseCometTime(entry.value.timestamp);
    const { signature } = entry.value;
    require(signature === undefined || signature.length === SIGNATURE_LENGTH, "signature_length");
  }
  require(header.height === commit.height, "commit_height");
}

function requireChainName(name: string): void {
  require(CHAIN_NAME.test(name), "chain_name");
}

function requireValidator(validator: HeimdallValidator): void {
  requireOwnKey(validator);
  require(validator.power <= MAX_SIGNED, "number_range");
}
