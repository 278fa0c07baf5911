/**
 * The hub's client of Polygon. Written for the hub alone, with other libraries and without the relayer's code: a mistake of
 * the relayer's verifier is none of the hub's. Rules: docs/protocol/polygon.md section 3; polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs (verify_consensus).
 */
import { ClientRefusal, converted, require } from "../refusals.ts";
import { equalBytes, fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import {
  hashOfHeader,
  HeimdallSet,
  isChainId,
  isHeight,
  isSignature,
  nanosOf,
  readValidator,
  requireReadable,
  secondsOf,
  signedBytes,
  toScale,
  type Validator,
} from "./heimdall_values.ts";
import {
  type ScaleCommit,
  type ScaleTendermint,
  type ScaleUpdate,
  type ScaleVote,
  stateLayout,
  updateLayout,
} from "./layouts.ts";
import { type Codec, decodePrefix, ScaleError } from "../../../../src/core/encoding/scale.ts";
import { hashBlockHeader } from "../../../../src/core/evm/block_header.ts";
import {
  type ConsensusStateId,
  evmStateMachine,
  type IntermediateState,
} from "../../../../src/core/ismp/state_machine.ts";
import { requireEntry, storedMilestone } from "./milestone_proof.ts";

/**
 * Whether a Heimdall header is final, by what the hub trusts. Source: polytope-labs/hyperbridge:
 * modules/consensus/tendermint/verifier/src/verifier.rs; cometbft/cometbft-rs:
 * light-client-verifier/src/{verifier,predicates}.rs, light-client-verifier/src/operations/commit_validator.rs,
 * light-client-verifier/src/operations/voting_power.rs, cometbft/src/trust_threshold.rs.
 */

const NANOS = 1_000_000_000n;

type SignedHeader = Pick<ScaleUpdate, "header" | "commit">;

/** Sets that the hub trusts, and the set that an update brings. */
interface Sets {
  readonly current: HeimdallSet;
  readonly next: HeimdallSet;
  readonly provided: HeimdallSet;
}

/** What the hub trusts after a header. @throws {ClientRefusal} */
function followHeader(
  trusted: ScaleTendermint,
  update: ScaleUpdate,
  nowSec: bigint,
): ScaleTendermint {
  const { header } = update;
  requireReadable(header, update.commit);
  const provided = update.nextValidators?.map((one) => readValidator(one, "ConvertTendermintProof"));
  const current = trusted.validators.map((one) => readValidator(one, "ConvertTrustedState"));
  const next = trusted.nextValidators.map((one) => readValidator(one, "ConvertTrustedState"));
  const nanos = nanosOf(header.time) ?? 0n;
  // No header goes without a hash of the next set here: one that has none cannot match any set.
  require(provided !== undefined && provided.length > 0, "Incomplete");
  require(header.height !== 0n && secondsOf(nanos) !== 0n, "Incomplete");
  const isState = isChainId(trusted.chainId) && isHeight(trusted.height) && isHeight(trusted.timestamp);
  require(isState, "ConvertTrustedState");
  const sets = {
    current: new HeimdallSet(current),
    next: new HeimdallSet(next),
    provided: new HeimdallSet(provided),
  };
  const signers = [sets.current, sets.next].find((set) => set.hasHash(header.validatorsHash));
  require(signers !== undefined, "UnknownValidatorSet");
  require(sets.provided.hasHash(header.nextValidatorsHash), "InvalidNextValidatorSet");
  const { numerator, denominator } = trusted.options;
  const isFraction = numerator <= denominator && denominator > 0n && numerator * 3n >= denominator;
  require(isFraction, "InvalidTrustThreshold");
  requireCommit(update, signers);
  requireAfter(trusted, update, nowSec);
  requireVotes(trusted, update, { signers, next: sets.next });
  const isNew = !equalBytes(header.nextValidatorsHash, trusted.nextValidatorsHash);
  if (isNew) requireUnique(provided);
  return {
    ...trusted,
    chainId: header.chainId,
    height: header.height,
    timestamp: secondsOf(nanos),
    finalizedHeaderHash: hashOfHeader(header),
    validators: next.map(toScale),
    nextValidators: (isNew ? provided : next).map(toScale),
    nextValidatorsHash: header.nextValidatorsHash,
  };
}

function requireCommit({ header, commit }: SignedHeader, signers: HeimdallSet): void {
  require(equalBytes(hashOfHeader(header), commit.blockId.hash), "InvalidCommitValue");
  const present = commit.signatures.flatMap((each) => each.tag === "absent" ? [] : [each.value.address]);
  require(present.length > 0, "NoSignatureForCommit");
  require(commit.signatures.length === signers.members.length, "MismatchPreCommitLength");
  require(present.every((address) => signers.find(address) !== undefined), "FaultySigner");
}

function requireAfter(trusted: ScaleTendermint, { header }: SignedHeader, nowSec: bigint): void {
  const nanos = nanosOf(header.time) ?? 0n;
  require(trusted.timestamp + trusted.trustingPeriod > nowSec, "NotWithinTrustPeriod");
  require(nanos > trusted.timestamp * NANOS, "NonMonotonicBftTime");
  require(header.chainId === trusted.chainId, "ChainIdMismatch");
  const isNext = header.height === trusted.height + 1n;
  if (isNext) {
    require(equalBytes(header.validatorsHash, trusted.nextValidatorsHash), "InvalidNextValidatorSet");
  } else require(header.height > trusted.height, "NonIncreasingHeight");
  require(nanos < (nowSec + trusted.options.clockDrift) * NANOS, "HeaderFromTheFuture");
}

function requireVotes(
  trusted: ScaleTendermint,
  { header, commit }: SignedHeader,
  { signers, next }: { readonly signers: HeimdallSet; readonly next: HeimdallSet },
): void {
  const votes = votesOf(commit);
  const hasMore = (set: HeimdallSet, numerator: bigint, denominator: bigint): boolean => {
    let power = 0n;
    for (const validator of set.members) {
      const vote = votes.get(toHex(validator.address));
      if (vote === undefined) continue;
      requireSignature(validator, vote, { header, commit });
      power += validator.power;
      if (power * denominator > set.power * numerator) return true;
    }
    return false;
  };
  const { numerator, denominator } = trusted.options;
  // Signatures of the second set are looked at before either set is found too weak.
  const isTrusted = header.height === trusted.height + 1n || hasMore(next, numerator, denominator);
  const isSigned = hasMore(signers, 2n, 3n);
  require(isTrusted, "NotEnoughTrust");
  require(isSigned, "InsufficientSignersOverlap");
}

function requireSignature(validator: Validator, vote: ScaleVote, { header, commit }: SignedHeader): void {
  const bytes = signedBytes(header.chainId, commit, vote.timestamp);
  const { signature } = vote;
  require(signature !== undefined && isSignature(validator, bytes, signature), "InvalidSignature");
}

/** Votes for the block, by address. */
function votesOf({ signatures }: ScaleCommit): ReadonlyMap<string, ScaleVote> {
  const votes = signatures.flatMap((each) => each.tag === "forBlock" ? [each.value] : []);
  require(votes.every(({ signature }) => signature !== undefined), "MissingSignature");
  const byAddress = new Map(votes.map((vote) => [toHex(vote.address), vote]));
  require(byAddress.size === votes.length, "DuplicateValidator");
  return byAddress;
}

function requireUnique(validators: readonly Validator[]): void {
  const addresses = new Set(validators.map(({ address }) => toHex(address)));
  require(addresses.size === validators.length, "DuplicateAddress");
}

/** An update, and by what it is judged. */
export interface PolygonQuestion {
  /** SCALE of the client's state, and of the update. */
  readonly trusted: Uint8Array;
  readonly proof: Uint8Array;
  readonly stateId: ConsensusStateId;
  readonly nowSec: bigint;
}

/** What the client stores. */
interface PolygonAnswer {
  readonly state: Uint8Array;
  readonly commitment: IntermediateState | undefined;
}

/** What the hub makes of an update. @throws {ClientRefusal} */
export function checkPolygonUpdate({ trusted, proof, stateId, nowSec }: PolygonQuestion): PolygonAnswer {
  // What follows an update is not looked at.
  const update = read(updateLayout, proof, "DecodeConsensusUpdate");
  const state = read(stateLayout, trusted, "DecodeConsensusState");
  const tendermint = followHeader(state.tendermint, update, nowSec);
  if (update.milestone === undefined) {
    return { state: stateLayout.enc({ ...state, tendermint }), commitment: undefined };
  }
  const { evmHeader, milestone, number, proof: stateProof } = update.milestone;
  const height = evmHeader.number % 2n ** 64n;
  const hash = fromHex(hashBlockHeader(evmHeader));
  require(equalBytes(hash, milestone.hash), "EvmHeaderHashMismatch");
  require(height === milestone.endBlock, "MilestoneEndBlockMismatch");
  require(height >= state.lastFinalizedBlock, "EvmHeaderBehindFinalized");
  requireEntry(stateProof, update.header.appHash, storedMilestone(number, milestone));
  return {
    state: stateLayout.enc({
      tendermint,
      lastFinalizedBlock: height,
      lastFinalizedHash: hash,
      chainId: state.chainId,
    }),
    commitment: {
      height: { id: { stateMachine: evmStateMachine(state.chainId), consensusStateId: stateId }, height },
      commitment: {
        timestampSec: evmHeader.timestampSec,
        overlayRoot: undefined,
        stateRoot: evmHeader.stateRoot,
      },
    },
  };
}

function read<T>(codec: Codec<T>, bytes: Uint8Array, code: string): T {
  const refusal = (cause: ScaleError): Error => new ClientRefusal(code, { cause });
  return converted(ScaleError, refusal, () => decodePrefix(codec, bytes, code));
}
