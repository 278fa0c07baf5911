/**
 * Verification of a Heimdall header against a trusted one, by the rules of CometBFT's light clients. Source:
 * polytope-labs/hyperbridge: modules/consensus/tendermint/verifier/src/verifier.rs (extract_validators,
 * create_updated_trusted_state); cometbft/cometbft-rs: light-client-verifier/src/{verifier,predicates}.rs,
 * light-client-verifier/src/operations/{commit_validator,voting_power}.rs, cometbft/src/trust_threshold.rs.
 */
import type { Address } from "../../../../core/evm/address.ts";
import { type CometCommit, type CometVote, voteSignBytes } from "./comet_commit.ts";
import { compareCometTimes, hashCometHeader, parseCometTime } from "./comet_header.ts";
import type { TrustedHeimdall } from "./consensus_state.ts";
import { hashValidators, type HeimdallValidator, isSignedBy, sortValidators } from "./heimdall_validators.ts";
import { PolygonError, type PolygonErrorCode } from "./polygon_error.ts";
import type { PolygonUpdate, SignedHeimdallHeader } from "./update.ts";

/** The sets that a client trusts. */
export type TrustedSets = Pick<TrustedHeimdall, "validators" | "nextValidators" | "nextValidatorsHash">;

/** Part of a set's power that must be exceeded. */
interface Threshold {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

const TWO_THIRDS: Threshold = { numerator: 2n, denominator: 3n };

function require(isMet: boolean, code: PolygonErrorCode): asserts isMet {
  if (!isMet) throw new PolygonError(code);
}

/**
 * Verifies the header of an update, whose values are checked. @param nowSec clock of the hub, Unix seconds. @returns
 * the sets that the client trusts afterwards. @throws {PolygonError}
 */
export function verifyHeimdallHeader(
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
