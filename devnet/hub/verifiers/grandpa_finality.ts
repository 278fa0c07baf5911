/**
 * Finality of GRANDPA as the hub verifies it. Written for the hub alone, with another library's signatures: a mistake of the
 * relayer's verifier is none of the hub's.
 * Rules: docs/protocol/hub-consensus.md section 4.9; paritytech/finality-grandpa: src/lib.rs (validate_commit).
 */
import { ClientRefusal, converted, require } from "./refusals.ts";
import { ed25519Verify } from "@polkadot/util-crypto";
import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes, fromHex, type Hash256, toHash256 } from "../../../src/core/encoding/bytes.ts";
import {
  grandpaAuthoritiesCodec,
  type GrandpaConsensusState,
  type GrandpaFinalityProof,
  type GrandpaJustification,
  grandpaJustificationCodec,
} from "../../../src/consensus/clients/grandpa/spec/message.ts";
import type { VerifiedFinality } from "../../../src/consensus/clients/grandpa/spec/verify_message.ts";
import { type SubstrateHeader, substrateHeaderCodec } from "../../../src/core/substrate/header.ts";
import { decodeStrict, ScaleError, Tuple, u32, u64 } from "../../../src/core/encoding/scale.ts";

type Headers = ReadonlyMap<Hash256, SubstrateHeader>;

function byHash(headers: readonly SubstrateHeader[]): Headers {
  return new Map(headers.map((header) => [
    toHash256(blake2b(substrateHeaderCodec.enc(header), { dkLen: 32 })),
    header,
  ]));
}

/** Hashes from one block down to an ancestor, both included. */
function pathDown(headers: Headers, from: Hash256, to: Hash256): readonly Hash256[] | undefined {
  const path = [from];
  let hash = from;
  while (hash !== to) {
    const header = headers.get(hash);
    if (header === undefined) return undefined;
    hash = header.parentHash;
    path.push(hash);
  }
  return path;
}

/** What the hub makes of a finality proof. @throws {ClientRefusal} */
export function checkFinality(trusted: GrandpaConsensusState, proof: GrandpaFinalityProof): VerifiedFinality {
  const headers = byHash(proof.unknownHeaders);
  const numbers = proof.unknownHeaders.map(({ number }) => number);
  const target = proof.unknownHeaders.findLast(({ number }) => number === Math.max(...numbers));
  const base = proof.unknownHeaders.find(({ number }) => number === Math.min(...numbers));
  require(target !== undefined && base !== undefined, "UnknownHeadersEmpty");
  const [targetHash] = byHash([target]).keys();
  const [baseHash] = byHash([base]).keys();
  require(targetHash === proof.block && baseHash !== undefined, "LatestBlockMismatch");
  const justification = readJustification(proof.justification);
  require(justification.commit.targetHash === proof.block, "JustificationTargetMismatch");
  if (base.number < trusted.latestHeight) {
    require(pathDown(headers, trusted.latestHash, baseHash) !== undefined, "InvalidAncestry");
  }
  const route = pathDown(headers, proof.block, trusted.latestHash);
  require(route !== undefined, "InvalidAncestry");
  verifyVotes(justification, trusted);
  const next = nextAuthorities(target);
  const consensusState = {
    ...trusted,
    latestHash: proof.block,
    latestHeight: target.number,
    ...next && { currentAuthorities: next, currentSetId: trusted.currentSetId + 1n },
  };
  return { consensusState, target, route: new Set(route) };
}

function readJustification(encoded: Uint8Array): GrandpaJustification {
  return converted(
    ScaleError,
    (cause) => new ClientRefusal("DecodeJustification", { cause }),
    () => decodeStrict(grandpaJustificationCodec, encoded, "GrandpaJustification"),
  );
}

/** Makes sure that a justification is the set's. @throws {ClientRefusal} */
export function verifyVotes(
  { round, commit, votesAncestries }: GrandpaJustification,
  { currentAuthorities, currentSetId }: Pick<GrandpaConsensusState, "currentAuthorities" | "currentSetId">,
): void {
  const weights = new Map<Hash256, bigint>();
  for (const { id, weight } of currentAuthorities) {
    if (weight !== 0n) weights.set(id, (weights.get(id) ?? 0n) + weight);
  }
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0n);
  require(total > 0n && total < 2n ** 64n, "Invalid Authorities Set");
  const { precommits } = commit;
  require(precommits.every(({ id }) => weights.has(id)), "invalid voter");
  require(new Set(precommits.map(({ id }) => id)).size === precommits.length, "duplicate or equivocation");
  const [base] = precommits.toSorted((a, b) => a.targetNumber - b.targetNumber);
  require(base !== undefined, "threshold");
  const ancestry = byHash(votesAncestries);
  const votes = precommits.map(({ id, targetHash }) => {
    const path = pathDown(ancestry, targetHash, base.targetHash);
    require(path !== undefined, "InvalidAncestry");
    return { path, weight: weights.get(id) ?? 0n };
  });
  // Every block between the votes with what is voted for it or for its descendants, and how far it is above the base.
  const blocks = new Map<Hash256, { weight: bigint; number: number }>();
  for (const { path, weight } of votes) {
    path.toReversed().forEach((hash, above) => {
      const known = blocks.get(hash) ?? { weight: 0n, number: base.targetNumber + above };
      blocks.set(hash, { ...known, weight: known.weight + weight });
    });
  }
  const needed = total - (total - 1n) / 3n;
  const [ghost] = [...blocks].filter(([, { weight }]) => weight >= needed)
    .toSorted(([, a], [, b]) => b.number - a.number);
  require(ghost !== undefined, "threshold");
  const [hash, { number }] = ghost;
  require(hash === commit.targetHash && number === commit.targetNumber, "target is not the GHOST");
  for (const vote of precommits) {
    const signed = concatBytes(
      Uint8Array.of(1),
      fromHex(vote.targetHash),
      u32.enc(vote.targetNumber),
      u64.enc(round),
      u64.enc(currentSetId),
    );
    require(ed25519Verify(signed, vote.signature, fromHex(vote.id)), "signature");
  }
  // The base counts among the visited ones as soon as somebody voted for another block.
  const visited = new Set(votes.flatMap(({ path }) => path.length === 1 ? [] : path));
  const isExact = visited.size === ancestry.size && [...visited].every((each) => ancestry.has(each));
  require(isExact, "unused headers");
}

/** Engine of GRANDPA; the first byte of a scheduled change. */
const ENGINE = "FRNK";
const SCHEDULED_CHANGE = 1;

/** The set in the first scheduled change that can be read: a list of 40 bytes each behind a compact length, then a delay. */
function nextAuthorities(
  { digest }: SubstrateHeader,
): GrandpaConsensusState["currentAuthorities"] | undefined {
  for (const item of digest) {
    if (item.kind !== "consensus" || item.engine !== ENGINE || item.data[0] !== SCHEDULED_CHANGE) continue;
    try {
      const [authorities] = Tuple(grandpaAuthoritiesCodec, u32).dec(item.data.slice(1));
      return authorities;
    } catch {
      // Not what GRANDPA writes: clients pass it over.
    }
  }
  return undefined;
}
