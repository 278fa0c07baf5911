/** Updates of Polygon that are wrong in one point each, with the refusal of the relayer's verifier. */
import { toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../../../src/core/evm/address.ts";
import {
  type CometCommit,
  type CometHeader,
  type CometVote,
  hashCometHeader,
  type HeimdallValidator,
} from "../../../../../src/consensus/clients/polygon/spec/comet_header.ts";
import type {
  PolygonUpdate,
  ProvenMilestone,
  TrustedHeimdall,
} from "../../../../../src/consensus/clients/polygon/spec/update.ts";
import type { PolygonErrorCode } from "../../../../../src/consensus/clients/polygon/spec/polygon_error.ts";
import { heimdallAnswers } from "../../../../../src/consensus/clients/polygon/spec/heimdall_json.ts";
import { usualSigners } from "../../../../../devnet/heimdall/heimdall_chain.ts";
import type { HeimdallSigner } from "../../../../../devnet/heimdall/signers.ts";
import { borHeader, followedPolygon } from "../polygon_chain.ts";
import { milestoneStep, type PolygonStep, ROTATION, rotationStep } from "./known_updates.ts";

const step = await milestoneStep();
const rotation = await rotationStep();

/** The step with another trusted header. */
function trusting(change: Partial<TrustedHeimdall>, of = step): PolygonStep {
  return { ...of, trusted: { ...of.trusted, heimdall: { ...of.trusted.heimdall, ...change } } };
}

/** The step with another commit. */
function committing(change: Partial<CometCommit>): PolygonStep {
  const { signedHeader } = step.update;
  return updating({ signedHeader: { ...signedHeader, commit: { ...signedHeader.commit, ...change } } });
}

/** The step with another header, whose hash the commit names. */
function heading(change: Partial<CometHeader>): PolygonStep {
  const { commit } = step.update.signedHeader;
  const header = { ...step.update.signedHeader.header, ...change };
  const blockId = { ...commit.blockId, hash: hashCometHeader(header) };
  return updating({ signedHeader: { header, commit: { ...commit, height: header.height, blockId } } });
}

function updating(change: Partial<PolygonUpdate>): PolygonStep {
  return { ...step, update: { ...step.update, ...change } };
}

/** The step with another milestone. */
function proving(change: Partial<ProvenMilestone>): PolygonStep {
  return updating({ milestone: { ...milestone, ...change } });
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("Something is missing");
  return value;
}

const milestone = required(step.update.milestone);
const { header, commit } = step.update.signedHeader;
const { heimdall } = step.trusted;
const [first] = heimdall.nextValidators.map(required);
const validator = required(first);
const votes = commit.signatures;
const one = required(votes.find(({ tag }) => tag === "commit"));
const vote: CometVote = required(one.value);
const nextValidators = required(step.update.nextValidators);
const other = toHash256(new Uint8Array(32).fill(9));

/** The entries of the commit with another vote in the place of the first. */
function voting(change: Partial<CometVote>): CometCommit["signatures"] {
  return votes.map((entry) => entry === one ? { tag: "commit", value: { ...vote, ...change } } : entry);
}

function withFirst(change: Partial<HeimdallValidator>): readonly HeimdallValidator[] {
  return nextValidators.map((each) => each === nextValidators[0] ? { ...each, ...change } : each);
}

/** The step to a set that has a validator twice. */
async function doubleStep(): Promise<PolygonStep> {
  const twice = [...usualSigners, ...usualSigners.slice(0, 1)];
  const signersOf = (height: bigint): readonly HeimdallSigner[] => height < ROTATION ? usualSigners : twice;
  const { chain, hub } = await followedPolygon({ signersOf });
  chain.heimdall.growTo(ROTATION);
  const { validators, commit } = heimdallAnswers;
  const nextPage = validators.parse(chain.heimdall.answer("validators", [`${ROTATION}`, "1", "100"]));
  const signedHeader = commit.parse(chain.heimdall.answer("commit", [`${ROTATION - 1n}`]));
  const update = { signedHeader, nextValidators: nextPage.validators, milestone: undefined };
  const view = { ...step.view, nowSec: chain.heimdall.timeOf(ROTATION) };
  return { trusted: hub.state, update, view };
}

/** What is wrong, the code of the refusal, and the change. */
type Wrong<T> = readonly [string, PolygonErrorCode, T];

function stepsOf<T>(
  make: (change: T) => PolygonStep,
  wrong: readonly Wrong<T>[],
): readonly Wrong<PolygonStep>[] {
  return wrong.map(([what, code, change]) => [what, code, make(change)]);
}

const absent: CometCommit["signatures"][number] = { tag: "absent", value: undefined };
const insteadOfOne = (entry: CometCommit["signatures"][number]): CometCommit["signatures"] =>
  votes.map((each) => each === one ? entry : each);
const anotherZone = "2026-06-01T00:00:00+02:00";
const rotated = required(rotation.update.nextValidators);
const secp256k1 = (value: Uint8Array): HeimdallValidator["publicKey"] => ({ tag: "secp256k1", value });
const nobody = toAddress(new Uint8Array(20));
const noPoint = { ...validator, publicKey: secp256k1(new Uint8Array(33).fill(2)) };

/** What is wrong, the code of the refusal, and the step. */
export const wrongSteps: readonly Wrong<PolygonStep>[] = [
  ...stepsOf(committing, [
    ["a time in another zone", "time", { signatures: voting({ timestamp: anotherZone }) }],
    ["a date that is none", "time", { signatures: voting({ timestamp: "2026-02-30T00:00:00Z" }) }],
    ["a round of 32 bits", "number_range", { round: 2 ** 31 }],
    ["a signature with the recovery id", "signature_length", {
      signatures: voting({ signature: new Uint8Array(65) }),
    }],
    ["a commit for another height", "commit_height", { height: header.height - 1n }],
    ["a commit for another block", "commit_block", { blockId: { ...commit.blockId, hash: other } }],
    ["a commit without votes", "commit_empty", { signatures: votes.map(() => absent) }],
    ["a commit with an entry too many", "commit_length", { signatures: [...votes, absent] }],
    ["a vote of a stranger", "unknown_signer", { signatures: voting({ validatorAddress: nobody }) }],
    ["a vote without a signature", "signature_missing", { signatures: voting({ signature: undefined }) }],
    ["a vote that is counted twice", "duplicate_signer", {
      signatures: votes.map((entry) => entry.tag === "absent" ? one : entry),
    }],
    ["a signature of another vote", "signature", {
      signatures: voting({ timestamp: "2026-06-01T00:00:00Z" }),
    }],
    ["a vote for no block", "too_little_trust", { signatures: insteadOfOne({ tag: "nil", value: vote }) }],
  ]),
  ...stepsOf(heading, [
    ["a chain without a name", "chain_name", { chainId: "" }],
    ["a height of 64 bits", "number_range", { height: 2n ** 63n }],
    ["height zero", "empty_header", { height: 0n }],
    ["the first second of 1970", "empty_header", { time: "1970-01-01T00:00:00.5Z" }],
    ["validators of another set", "unknown_validators", { validatorsHash: other }],
    ["a header of the trusted second", "stale_time", { time: "2026-05-28T20:26:59Z" }],
  ]),
  ...stepsOf((change: Partial<TrustedHeimdall>) => trusting(change), [
    ["a trusted chain with a long name", "chain_name", { chainId: "a".repeat(51) }],
    ["a trusted height of 64 bits", "number_range", { height: 2n ** 63n }],
    ["a set with a power of 61 bits", "number_range", {
      validators: heimdall.validators.map((each) => ({ ...each, power: 2n ** 59n })),
    }],
    ["a trusted key that is no point", "public_key", { validators: [noPoint] }],
    ["validators that the client has missed", "unknown_validators", {
      validators: rotated,
      nextValidators: rotated,
    }],
    ...([[1n, 4n], [4n, 3n], [0n, 0n]] as const).map(([trustNumerator, trustDenominator]) =>
      [`a threshold of ${trustNumerator}/${trustDenominator}`, "trust_threshold", {
        options: { ...heimdall.options, trustNumerator, trustDenominator },
      }] as const
    ),
    ["a header of another chain", "other_chain", { chainId: "heimdallv2-137" }],
    ["a next header with other validators", "adjacent_validators", {
      height: header.height - 1n,
      nextValidatorsHash: other,
    }],
    ["the trusted header again", "stale_height", { height: header.height }],
    ["a header that too few of the trusted set signed", "too_little_trust", {
      options: { ...heimdall.options, trustNumerator: 3n, trustDenominator: 4n },
    }],
  ]),
  ...stepsOf((change: Partial<HeimdallValidator>) => updating({ nextValidators: withFirst(change) }), [
    ["a power of 64 bits", "number_range", { power: 2n ** 63n }],
    ["a key of another kind", "public_key", { publicKey: { tag: "ed25519", value: new Uint8Array(32) } }],
    ["a key that is no point", "public_key", { publicKey: secp256k1(new Uint8Array(65).fill(4)) }],
    ["an address of another key", "validator_address", { address: nobody }],
    ["next validators with another power", "next_validators", { power: 99n }],
  ]),
  ...stepsOf(updating, [
    ["no next validators", "next_validators_missing", { nextValidators: undefined }],
    ["an empty set of next validators", "next_validators_missing", { nextValidators: [] }],
    ["next validators that the header does not name", "next_validators", {
      nextValidators: nextValidators.slice(1),
    }],
  ]),
  ...stepsOf(proving, [
    ["another Bor block", "bor_hash", { borHeader: borHeader(151n) }],
    ["another end of the milestone", "milestone_end", {
      milestone: { ...milestone.milestone, endBlock: 151n },
    }],
    ["a proof that is not Protobuf", "undecodable_proof", { proof: Uint8Array.of(10, 200) }],
    ["the proof of another milestone", "milestone_proof", { number: milestone.number + 1n }],
    ["a milestone with another proposer", "milestone_proof", {
      milestone: { ...milestone.milestone, proposer: "0x00" },
    }],
    ["no proof", "milestone_proof", { proof: new Uint8Array(0) }],
  ]),
  ...stepsOf((nowSec: bigint) => ({ ...step, view: { ...step.view, nowSec } }), [
    [
      "a trusted header as old as the trusting period",
      "trust_expired",
      heimdall.timestampSec +
      heimdall.trustingPeriodSec,
    ],
    ["a header from the future", "future_header", 1_780_000_044n - 180n],
  ]),
  ["a header that two thirds signed", "too_few_signers", {
    ...trusting({ options: { ...heimdall.options, trustNumerator: 1n } }),
    update: committing({ signatures: insteadOfOne(absent) }).update,
  }],
  ["a Bor block below the known one", "stale_bor_header", {
    ...step,
    trusted: { ...step.trusted, finalizedBlock: 151n },
  }],
  ["a next set that has a validator twice", "duplicate_validator", await doubleStep()],
];
