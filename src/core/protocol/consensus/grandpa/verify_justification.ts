/**
 * Votes of GRANDPA, as the verifier of the hub's counterparties counts them: stricter than GRANDPA itself.
 * Source: polytope-labs/hyperbridge: modules/consensus/grandpa/primitives/src/justification.rs;
 * paritytech/finality-grandpa: src/lib.rs (validate_commit).
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { concatBytes, fromHex, type Hash256 } from "../../bytes.ts";
import { decodeStrict, ScaleError, u32, u64 } from "../../scale.ts";
import { hashSubstrateHeader, type SubstrateHeader } from "../substrate_header.ts";
import { GrandpaError, type GrandpaErrorCode } from "./grandpa_error.ts";
import {
  type GrandpaAuthority,
  type GrandpaJustification,
  grandpaJustificationCodec,
  type SignedPrecommit,
} from "./message.ts";

function require(isMet: boolean, code: GrandpaErrorCode): asserts isMet {
  if (!isMet) throw new GrandpaError(code);
}

/** Reads a justification; nothing may follow it. @throws {GrandpaError} `undecodable_justification` */
export function decodeGrandpaJustification(encoded: Uint8Array): GrandpaJustification {
  try {
    return decodeStrict(grandpaJustificationCodec, encoded, "GrandpaJustification");
  } catch (cause) {
    if (cause instanceof ScaleError) throw new GrandpaError("undecodable_justification", { cause });
    throw cause;
  }
}

/** Weight that makes a block final: more than two thirds. */
export function grandpaThreshold(authorities: readonly GrandpaAuthority[]): bigint {
  const total = authorities.reduce((sum, { weight }) => sum + weight, 0n);
  return total - (total - 1n) / 3n;
}

/** First byte of what a precommit's signature covers. */
const PRECOMMIT = 1;

/** What a voter signs. */
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
 * Makes sure that the set has finalized the target of the justification.
 * @throws {GrandpaError} `unknown_voter`, `duplicate_vote`, `vote_ancestry`, `too_few_votes`, `signature`, `unused_headers`
 */
export function verifyGrandpaJustification(
  { round, commit, votesAncestries }: GrandpaJustification,
  authorities: readonly GrandpaAuthority[],
  setId: bigint,
): void {
  const ancestors = new Map(votesAncestries.map((header) => [hashSubstrateHeader(header), header]));
  const weight = countVotes(commit.precommits, commit.targetHash, ancestors, authorities);
  require(weight >= grandpaThreshold(authorities), "too_few_votes");
  for (const vote of commit.precommits) {
    const payload = precommitPayload(vote, round, setId);
    require(isSigned(vote, payload), "signature");
  }
  checkRoutes(commit.precommits, ancestors);
}

/** The library throws on malformed keys and signatures. */
function isSigned({ signature, id }: SignedPrecommit, payload: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, payload, fromHex(id));
  } catch {
    return false;
  }
}

type Ancestors = ReadonlyMap<Hash256, SubstrateHeader>;

function countVotes(
  precommits: readonly SignedPrecommit[],
  target: Hash256,
  ancestors: Ancestors,
  authorities: readonly GrandpaAuthority[],
): bigint {
  const weights = new Map(authorities.map(({ id, weight }) => [id, weight]));
  const lowest = lowestOf(precommits);
  const voted = new Set<Hash256>();
  let total = 0n;
  for (const { id, targetHash } of precommits) {
    const weight = weights.get(id);
    require(weight !== undefined, "unknown_voter");
    require(!voted.has(id), "duplicate_vote");
    voted.add(id);
    require(routeTo(lowest.targetHash, targetHash, ancestors) !== undefined, "vote_ancestry");
    if (routeTo(target, targetHash, ancestors) !== undefined) total += weight;
  }
  return total;
}

function lowestOf(precommits: readonly SignedPrecommit[]): SignedPrecommit {
  const [first, ...others] = precommits;
  require(first !== undefined, "too_few_votes");
  return others.reduce((lowest, vote) => vote.targetNumber < lowest.targetNumber ? vote : lowest, first);
}

/** Hashes from a block down to an ancestor, both included; undefined when it does not descend from it. */
function routeTo(ancestor: Hash256, from: Hash256, ancestors: Ancestors): readonly Hash256[] | undefined {
  const route: Hash256[] = [from];
  for (let hash = from; hash !== ancestor;) {
    const header = ancestors.get(hash);
    if (header === undefined || route.length > ancestors.size) return undefined;
    hash = header.parentHash;
    route.push(hash);
  }
  return route;
}

/**
 * The verifier counts the lowest block among the visited ones when votes differ, and wants exactly the visited headers:
 * so it takes such justifications only with a header that real ones do not have.
 */
function checkRoutes(precommits: readonly SignedPrecommit[], ancestors: Ancestors): void {
  const lowest = lowestOf(precommits).targetHash;
  const visited = new Set(
    precommits.filter(({ targetHash }) => targetHash !== lowest)
      .flatMap(({ targetHash }) => routeTo(lowest, targetHash, ancestors) ?? []),
  );
  const isExact = visited.size === ancestors.size && [...visited].every((hash) => ancestors.has(hash));
  require(isExact, "unused_headers");
}
