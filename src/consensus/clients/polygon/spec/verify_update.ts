/**
 * Verification of an update against the hub's state, rule by rule in the hub's order. Source:
 * polytope-labs/hyperbridge: modules/ismp/clients/polygon/src/lib.rs (verify_consensus),
 * modules/consensus/tendermint/verifier/src/verifier.rs (verify_header_update).
 */
import { evmCommitment, type VerifiedUpdate } from "../../../spec/header_commitment.ts";
import {
  type CometCommit,
  type CometVote,
  compareCometTimes,
  hashCometHeader,
  hashValidators,
  type HeimdallValidator,
  isSignedBy,
  parseCometTime,
  requireOwnKey,
  sortValidators,
  voteSignBytes,
} from "./comet_header.ts";
import { requireProven } from "./commitment_proof.ts";
import { encodeMilestone, MILESTONE_STORE, milestoneKey } from "./milestone.ts";
import { PolygonError, type PolygonErrorCode } from "./polygon_error.ts";
import {
  type PolygonConsensusState,
  polygonConsensusStateCodec,
  type PolygonUpdate,
  polygonUpdateCodec,
  type ProvenMilestone,
  type SignedHeimdallHeader,
  type TrustedHeimdall,
} from "./update.ts";
import { clientDecoder } from "../../../spec/client_error.ts";
import type { Address } from "../../../../core/evm/address.ts";
import { hashBlockHeader } from "../../../../core/evm/block_header.ts";
import { type ConsensusStateId, evmStateMachine } from "../../../../core/ismp/state_machine.ts";

/** State of the hub besides the trusted state that an update is verified against. */
export interface PolygonHubView {
  /** Clock of the hub, Unix seconds. */
  readonly nowSec: bigint;
  /** Id under which the client and its commitments are stored, e.g. `POLY`. */
  readonly consensusStateId: ConsensusStateId;
}

/** Decodes a consensus state as the hub stores it. @throws {PolygonError} `undecodable_state` */
export const decodePolygonState = clientDecoder(
  polygonConsensusStateCodec,
  PolygonError,
  "undecodable_state",
);

/**
 * Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {PolygonError}
 * `undecodable_update`
 */
export const decodePolygonUpdate = clientDecoder(polygonUpdateCodec, PolygonError, "undecodable_update");

/** Verifies an update as the hub does. @throws {PolygonError} */
export function verifyPolygonUpdate(
  trusted: PolygonConsensusState,
  update: PolygonUpdate,
  { nowSec, consensusStateId }: PolygonHubView,
): VerifiedUpdate<PolygonConsensusState, undefined> {
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
  const commitment = evmCommitment(
    { stateMachine: evmStateMachine(trusted.chainId), consensusStateId },
    borHeader,
  );
  const finalizedBlock = commitment.height.height;
  return {
    consensusState: { ...trusted, heimdall, finalizedBlock, finalizedHash: milestone.hash },
    commitment,
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

/** The sets that a client trusts. */
type TrustedSets = Pick<TrustedHeimdall, "validators" | "nextValidators" | "nextValidatorsHash">;

/** Part of a set's power that must be exceeded. */
interface Threshold {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

const TWO_THIRDS: Threshold = { numerator: 2n, denominator: 3n };

/**
 * Verifies the header of an update, whose values are checked. @param nowSec clock of the hub, Unix seconds. @returns
 * the sets that the client trusts afterwards. @throws {PolygonError}
 */
function verifyHeimdallHeader(
  trusted: TrustedHeimdall,
  { signedHeader, nextValidators = [] }: Pick<PolygonUpdate, "signedHeader" | "nextValidators">,
  nowSec: bigint,
): TrustedSets {
  const { header } = signedHeader;
  const validators = findSigners(trusted, signedHeader);
  require(hashValidators(nextValidators) === header.nextValidatorsHash, "next_validators");
  requireThreshold(trusted.options);
  requireCommit(signedHeader, validators);
  requireProgress(trusted, signedHeader, nowSec);
  requirePower(trusted, signedHeader, validators);
  return nextSets(trusted, header.nextValidatorsHash, nextValidators);
}

/** The trusted set that has the header's hash. */
function findSigners(
  { validators, nextValidators }: TrustedHeimdall,
  { header }: SignedHeimdallHeader,
): readonly HeimdallValidator[] {
  for (const set of [validators, nextValidators]) {
    if (hashValidators(set) === header.validatorsHash) return sortValidators(set);
  }
  throw new PolygonError("unknown_validators");
}

function requireThreshold({ trustNumerator, trustDenominator }: TrustedHeimdall["options"]): void {
  const isPart = trustDenominator > 0n && trustNumerator <= trustDenominator;
  require(isPart && 3n * trustNumerator >= trustDenominator, "trust_threshold");
}

function requireCommit(
  { header, commit }: SignedHeimdallHeader,
  validators: readonly HeimdallValidator[],
): void {
  require(hashCometHeader(header) === commit.blockId.hash, "commit_block");
  const present = commit.signatures.flatMap((entry) => entry.tag === "absent" ? [] : [entry.value]);
  require(present.length > 0, "commit_empty");
  require(commit.signatures.length === validators.length, "commit_length");
  const known = new Set(validators.map(({ address }) => address));
  require(present.every(({ validatorAddress }) => known.has(validatorAddress)), "unknown_signer");
}

function requireProgress(
  trusted: TrustedHeimdall,
  { header }: SignedHeimdallHeader,
  nowSec: bigint,
): void {
  const { height, timestampSec, trustingPeriodSec, options } = trusted;
  require(timestampSec + trustingPeriodSec > nowSec, "trust_expired");
  const time = parseCometTime(header.time);
  require(compareCometTimes(time, { seconds: timestampSec, nanos: 0 }) > 0, "stale_time");
  require(header.chainId === trusted.chainId, "other_chain");
  if (header.height === height + 1n) {
    require(header.validatorsHash === trusted.nextValidatorsHash, "adjacent_validators");
  } else {
    require(header.height > height, "stale_height");
  }
  const latest = { seconds: nowSec + options.clockDriftSec, nanos: 0 };
  require(compareCometTimes(time, latest) < 0, "future_header");
}

/** Requires that enough of the header's own set signed, and, unless it is the next header, of the trusted one. */
function requirePower(
  { height, nextValidators, options }: TrustedHeimdall,
  { header, commit }: SignedHeimdallHeader,
  validators: readonly HeimdallValidator[],
): void {
  const votes = new Votes(header.chainId, commit);
  if (header.height !== height + 1n) {
    const threshold = { numerator: options.trustNumerator, denominator: options.trustDenominator };
    require(votes.exceed(threshold, sortValidators(nextValidators)), "too_little_trust");
  }
  require(votes.exceed(TWO_THIRDS, validators), "too_few_signers");
}

/** Votes of a commit for its block, each verified once. */
class Votes {
  readonly #chainId: string;
  readonly #commit: CometCommit;
  readonly #votes = new Map<Address, CometVote>();
  readonly #verified = new Set<Address>();

  /** @throws {PolygonError} `signature_missing`, `duplicate_signer` */
  constructor(chainId: string, commit: CometCommit) {
    this.#chainId = chainId;
    this.#commit = commit;
    const votes = commit.signatures.flatMap((entry) => entry.tag === "commit" ? [entry.value] : []);
    require(votes.every(({ signature }) => signature !== undefined), "signature_missing");
    for (const vote of votes) {
      require(!this.#votes.has(vote.validatorAddress), "duplicate_signer");
      this.#votes.set(vote.validatorAddress, vote);
    }
  }

  /**
   * True when validators with more than this part of the set's power voted. Votes beyond that are not verified, as on
   * the hub. @throws {PolygonError} `signature`
   */
  exceed({ numerator, denominator }: Threshold, set: readonly HeimdallValidator[]): boolean {
    const total = set.reduce((sum, { power }) => sum + power, 0n);
    let signed = 0n;
    return set.some((validator) => {
      if (!this.#hasVoted(validator)) return false;
      signed += validator.power;
      return signed * denominator > total * numerator;
    });
  }

  #hasVoted({ address, publicKey }: HeimdallValidator): boolean {
    const vote = this.#votes.get(address);
    if (vote?.signature === undefined) return false;
    if (!this.#verified.has(address)) {
      const message = voteSignBytes(this.#chainId, this.#commit, vote.timestamp);
      require(isSignedBy(publicKey.value, message, vote.signature), "signature");
      this.#verified.add(address);
    }
    return true;
  }
}

/** The next set takes over, and another next set replaces it only where the header names one. */
function nextSets(
  trusted: TrustedHeimdall,
  hash: TrustedHeimdall["nextValidatorsHash"],
  provided: readonly HeimdallValidator[],
): TrustedSets {
  const { nextValidators } = trusted;
  if (hash === trusted.nextValidatorsHash) {
    return { validators: nextValidators, nextValidators, nextValidatorsHash: hash };
  }
  const addresses = new Set(provided.map(({ address }) => address));
  require(addresses.size === provided.length, "duplicate_validator");
  return { validators: nextValidators, nextValidators: provided, nextValidatorsHash: hash };
}
