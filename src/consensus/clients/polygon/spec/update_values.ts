/**
 * Values that the hub requires of the parts of an update before it verifies them. Source: polytope-labs/hyperbridge:
 * modules/consensus/tendermint/primitives/src/verifier.rs (to_consensus_proof, to_validator, validate);
 * cometbft/cometbft-rs: cometbft/src/{chain/id,signature,time,validator}.rs,
 * cometbft/src/block/{height,signed_header}.rs.
 */
import { parseCometTime } from "./comet_time.ts";
import type { TrustedHeimdall } from "./consensus_state.ts";
import { type HeimdallValidator, requireOwnKey } from "./heimdall_validators.ts";
import { PolygonError, type PolygonErrorCode } from "./polygon_error.ts";
import type { PolygonUpdate, SignedHeimdallHeader } from "./update.ts";

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
 * `next_validators_missing`, `empty_header`
 */
export function requireValues(trusted: TrustedHeimdall, update: PolygonUpdate): void {
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
