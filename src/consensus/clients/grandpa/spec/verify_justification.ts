/**
 * Verification of GRANDPA votes, as the hub's counterparties do it: stricter than GRANDPA itself. Source:
 * polytope-labs/hyperbridge: modules/consensus/grandpa/primitives/src/justification.rs; paritytech/finality-grandpa:
 * src/{lib,voter_set,vote_graph}.rs (validate_commit, VoterSet::new, find_ghost).
 */
import { readOrUndefined } from "../../../../core/encoding/coded_error.ts";
import {
  type GrandpaAuthority,
  GrandpaError,
  type GrandpaErrorCode,
  type GrandpaJustification,
  grandpaJustificationCodec,
  type SignedPrecommit,
} from "./message.ts";
import { clientDecoder } from "../../../spec/client_error.ts";
import { concatBytes, fromHex, type Hash256 } from "../../../../core/encoding/bytes.ts";
import { u32, u64 } from "../../../../core/encoding/scale.ts";
import { hashSubstrateHeader, type SubstrateHeader } from "../../../../core/substrate/header.ts";
import { ed25519 } from "@noble/curves/ed25519.js";
import { base64urlnopad } from "@scure/base";
import { createPublicKey, verify } from "node:crypto";

/** Requires that a rule is met. @throws {GrandpaError} */
export function requireRule(isMet: boolean, code: GrandpaErrorCode): asserts isMet {
  if (!isMet) throw new GrandpaError(code);
}

/** Maximum size of a justification, bytes: the votes of a thousand voters take 132 KB. */
const MAX_JUSTIFICATION_BYTES = 512 * 1024;

const decodeJustification = clientDecoder(
  grandpaJustificationCodec,
  GrandpaError,
  "undecodable_justification",
);

/** Decodes a justification; no bytes may follow it. @throws {GrandpaError} `undecodable_justification` */
export function decodeGrandpaJustification(encoded: Uint8Array): GrandpaJustification {
  requireRule(encoded.length <= MAX_JUSTIFICATION_BYTES, "undecodable_justification");
  return decodeJustification(encoded);
}

/** Weight that finalizes a block: more than two thirds. */
export function grandpaThreshold(authorities: readonly GrandpaAuthority[]): bigint {
  const total = totalWeight(authorities);
  return total - (total - 1n) / 3n;
}

function totalWeight(authorities: readonly GrandpaAuthority[]): bigint {
  return authorities.reduce((sum, { weight }) => sum + weight, 0n);
}

/** First byte of the payload that a precommit's signature covers. */
const PRECOMMIT = 1;

/** Payload that a voter signs. */
export function precommitPayload(
  vote: Pick<SignedPrecommit, "targetHash" | "targetNumber">,
  round: bigint,
  setId: bigint,
): Uint8Array {
  const { targetHash, targetNumber } = vote;
  return concatBytes(
    Uint8Array.of(PRECOMMIT),
    fromHex(targetHash),
    u32.enc(targetNumber),
    u64.enc(round),
    u64.enc(setId),
  );
}

/**
 * Verifies that the set has finalized the target of the justification, in hash and number: the number is signed only as
 * part of the votes, so a node could change that of the target.
 *
 * Votes for different blocks are refused. The verifiers require exactly the headers between the votes, including the
 * lowest block, so they accept such a justification only with a header that real ones do not have. May be interrupted
 * between two signatures. @throws {GrandpaError} `invalid_authorities`, `unknown_voter`, `duplicate_vote`, `vote_ancestry`, `too_few_votes`,
 * `target_not_final`, `signature`, `votes_differ`, `unused_headers`
 */
export function* verifyGrandpaJustification(
  { round, commit, votesAncestries }: GrandpaJustification,
  authorities: readonly GrandpaAuthority[],
  setId: bigint,
): Generator<undefined, void, undefined> {
  const { precommits, targetHash, targetNumber } = commit;
  const voters = readVoters(authorities);
  const lowest = lowestOf(precommits);
  const ancestors = new Map(votesAncestries.map((header) => [hashSubstrateHeader(header), header]));
  const weight = yield* countVotes(precommits, {
    target: targetHash,
    lowest: lowest.targetHash,
    ancestors,
    voters,
  });
  requireRule(weight >= grandpaThreshold(authorities), "too_few_votes");
  const isUnanimous = precommits.every((vote) => vote.targetHash === lowest.targetHash);
  const isTarget = lowest.targetHash === targetHash && lowest.targetNumber === targetNumber;
  requireRule(!isUnanimous || isTarget, "target_not_final");
  for (const vote of precommits) {
    yield;
    const payload = precommitPayload(vote, round, setId);
    requireRule(isVoteSigned(vote.signature, payload, fromHex(vote.id)), "signature");
  }
  requireRule(isUnanimous, "votes_differ");
  requireRule(ancestors.size === 0, "unused_headers");
}

type Voters = ReadonlyMap<Hash256, bigint>;

/** Maximum total weight of all voters. */
const MAX_TOTAL_WEIGHT = (1n << 64n) - 1n;

/** Weight of each voter: the sum where one is listed twice; those without weight are no voters. */
function readVoters(authorities: readonly GrandpaAuthority[]): Voters {
  const voters = new Map<Hash256, bigint>();
  for (const { id, weight } of authorities) {
    if (weight > 0n) voters.set(id, (voters.get(id) ?? 0n) + weight);
  }
  requireRule(voters.size > 0 && totalWeight(authorities) <= MAX_TOTAL_WEIGHT, "invalid_authorities");
  return voters;
}

type Ancestors = ReadonlyMap<Hash256, SubstrateHeader>;

/** Weight of the votes for a target and its descendants. */
function* countVotes(
  precommits: readonly SignedPrecommit[],
  { target, lowest, ancestors, voters }: {
    readonly target: Hash256;
    readonly lowest: Hash256;
    readonly ancestors: Ancestors;
    readonly voters: Voters;
  },
): Generator<undefined, bigint, undefined> {
  const voted = new Set<Hash256>();
  let total = 0n;
  for (const { id, targetHash } of precommits) {
    yield;
    const weight = voters.get(id);
    requireRule(weight !== undefined, "unknown_voter");
    requireRule(!voted.has(id), "duplicate_vote");
    voted.add(id);
    requireRule(descends(targetHash, lowest, ancestors), "vote_ancestry");
    if (descends(targetHash, target, ancestors)) total += weight;
  }
  return total;
}

function lowestOf(precommits: readonly SignedPrecommit[]): SignedPrecommit {
  const [first, ...others] = precommits;
  requireRule(first !== undefined, "too_few_votes");
  return others.reduce((lowest, vote) => vote.targetNumber < lowest.targetNumber ? vote : lowest, first);
}

/** True also for the ancestor itself. */
function descends(from: Hash256, ancestor: Hash256, ancestors: Ancestors): boolean {
  let hash = from;
  for (let steps = 0; hash !== ancestor; steps++) {
    const header = ancestors.get(hash);
    if (header === undefined || steps > ancestors.size) return false;
    hash = header.parentHash;
  }
  return true;
}

/**
 * True for the signature of a key over a payload. The native implementation, fifteen times as fast, follows RFC 8032,
 * which accepts less than ZIP 215 and nothing more: what it accepts is valid, and the library decides about the rest.
 */
export function isVoteSigned(signature: Uint8Array, payload: Uint8Array, key: Uint8Array): boolean {
  return isSignedNatively(signature, payload, key) || isSignedByZip215(signature, payload, key);
}

/** Both implementations throw on malformed keys and signatures. */
function isSignedNatively(signature: Uint8Array, payload: Uint8Array, key: Uint8Array): boolean {
  if (key.length !== 32) return false;
  // RFC 8037, section 2.
  const jwk = { kty: "OKP", crv: "Ed25519", x: base64urlnopad.encode(key) };
  return readOrUndefined(() =>
    verify(null, payload, createPublicKey({ key: jwk, format: "jwk" }), signature)
  ) ?? false;
}

function isSignedByZip215(signature: Uint8Array, payload: Uint8Array, key: Uint8Array): boolean {
  return readOrUndefined(() => ed25519.verify(signature, payload, key)) ?? false;
}
