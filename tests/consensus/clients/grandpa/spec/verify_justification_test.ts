/** Votes of sets that no chain has: weights, voters and blocks as finality-grandpa counts them. */
import assert from "node:assert/strict";
import { ed25519 } from "@noble/curves/ed25519.js";
import { concatBytes, fromHex, type Hash256, toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import {
  type GrandpaAuthority,
  GrandpaError,
} from "../../../../../src/consensus/clients/grandpa/spec/message.ts";
import {
  isVoteSigned,
  precommitPayload,
  verifyGrandpaJustification,
} from "../../../../../src/consensus/clients/grandpa/spec/verify_justification.ts";
import { hashSubstrateHeader, type SubstrateHeader } from "../../../../../src/core/substrate/header.ts";
import { runAtOnce } from "../../../../../devnet/relay/run_at_once.ts";
import { verdictOf } from "../../../../support/verdict.ts";

const round = 3n;
const setId = 7n;
const zero = toHash256(new Uint8Array(32));

const keys = Array.from({ length: 5 }, (_, at) => new Uint8Array(32).fill(at + 1));
const ids = keys.map((key) => toHash256(ed25519.getPublicKey(key)));

function headerAt(number: number, parentHash: Hash256): SubstrateHeader {
  return { parentHash, number, stateRoot: zero, extrinsicsRoot: zero, digest: [] };
}

const parent = headerAt(99, zero);
const target = headerAt(100, hashSubstrateHeader(parent));
const child = headerAt(101, hashSubstrateHeader(target));

/** A vote; `number` differs from the block's only where a voter lies. */
interface Vote {
  readonly voter: number;
  readonly block?: SubstrateHeader;
  readonly number?: number;
}

interface Commit {
  readonly votes: readonly Vote[];
  readonly weights: readonly (readonly [voter: number, weight: bigint])[];
  readonly block?: SubstrateHeader;
  readonly number?: number;
  readonly headers?: readonly SubstrateHeader[];
}

function verify({ votes, weights, block = target, number = block.number, headers = [] }: Commit): string {
  const precommits = votes.map(({ voter, block: voted = target, number: signed = voted.number }) => {
    const vote = { targetHash: hashSubstrateHeader(voted), targetNumber: signed };
    const key = keys[voter] ?? new Uint8Array(32);
    const signature = ed25519.sign(precommitPayload(vote, round, setId), key);
    return { ...vote, signature, id: ids[voter] ?? zero };
  });
  const authorities: readonly GrandpaAuthority[] = weights.map(([voter, weight]) => ({
    id: ids[voter] ?? zero,
    weight,
  }));
  const commit = { targetHash: hashSubstrateHeader(block), targetNumber: number, precommits };
  const justification = { round, commit, votesAncestries: headers };
  const verified = () => runAtOnce(verifyGrandpaJustification(justification, authorities, setId));
  return verdictOf(GrandpaError, verified);
}

const equal = [[0, 1n], [1, 1n], [2, 1n], [3, 1n]] as const;
const three = [{ voter: 0 }, { voter: 1 }, { voter: 2 }];

Deno.test("GRANDPA votes: more than two thirds of the weight make the block final, and nothing less", () => {
  assert.equal(verify({ votes: three, weights: equal }), "accepted");
  assert.equal(verify({ votes: three.slice(1), weights: equal }), "too_few_votes");
  assert.equal(verify({ votes: [{ voter: 3 }], weights: [[0, 1n], [3, 4n]] }), "accepted");
});

Deno.test("GRANDPA votes: an authority without weight is no voter", () => {
  const weights = [...equal, [4, 0n]] as const;
  assert.equal(verify({ votes: three, weights }), "accepted");
  assert.equal(verify({ votes: [...three, { voter: 4 }], weights }), "unknown_voter");
});

Deno.test("GRANDPA votes: an authority that is listed twice has both weights", () => {
  const weights = [[0, 3n], [0, 2n], [1, 1n], [2, 1n]] as const;
  assert.equal(verify({ votes: [{ voter: 0 }], weights }), "accepted");
  assert.equal(verify({ votes: [{ voter: 1 }, { voter: 2 }], weights }), "too_few_votes");
});

Deno.test("GRANDPA votes: a set without weight, or with more than 64 bits hold, accepts nothing", () => {
  const most = 2n ** 64n - 1n;
  assert.equal(verify({ votes: three, weights: [] }), "invalid_authorities");
  assert.equal(verify({ votes: [{ voter: 0 }], weights: [[0, 0n]] }), "invalid_authorities");
  assert.equal(verify({ votes: [{ voter: 0 }], weights: [[0, most], [1, 1n]] }), "invalid_authorities");
  assert.equal(verify({ votes: [{ voter: 0 }], weights: [[0, most]] }), "accepted");
});

Deno.test("GRANDPA votes: a voter who votes twice spoils all, for the same block or for another", () => {
  assert.equal(verify({ votes: [...three, { voter: 0 }], weights: equal }), "duplicate_vote");
  const votes = [...three, { voter: 0, block: child }];
  assert.equal(verify({ votes, weights: equal, headers: [child] }), "duplicate_vote");
});

Deno.test("GRANDPA votes: the block that they make final is the target, in hash and number", () => {
  assert.equal(verify({ votes: three, weights: equal, number: 101 }), "target_not_final");
  assert.equal(verify({ votes: three, weights: equal, number: 0 }), "target_not_final");
  // The final block is counted at the lowest number that somebody signed.
  const lied = [...three.slice(1), { voter: 0, number: 98 }];
  assert.equal(verify({ votes: lied, weights: equal }), "target_not_final");
  assert.equal(verify({ votes: lied, weights: equal, number: 98 }), "accepted");
  const above = three.map((vote) => ({ ...vote, block: child }));
  const headers = [child, target];
  assert.equal(verify({ votes: above, weights: equal, headers }), "target_not_final");
});

Deno.test("GRANDPA votes: those for different blocks are refused, with whatever headers", () => {
  const votes = [...three.slice(1), { voter: 0, block: child }];
  assert.equal(verify({ votes, weights: equal, headers: [child] }), "votes_differ");
  assert.equal(verify({ votes, weights: equal, headers: [child, target] }), "votes_differ");
  assert.equal(verify({ votes, weights: equal }), "vote_ancestry");
  assert.equal(verify({ votes: three, weights: equal, headers: [child] }), "unused_headers");
  const lower = [...three.slice(1), { voter: 0, block: parent }];
  assert.equal(verify({ votes: lower, weights: equal, headers: [target] }), "too_few_votes");
});

const secret = new Uint8Array(32).fill(7);
const key = ed25519.getPublicKey(secret);
const payload = new TextEncoder().encode("a vote of a round");
const signature = ed25519.sign(payload, secret);

Deno.test("GRANDPA signatures: that of the key over the payload counts, and no other", () => {
  assert.ok(isVoteSigned(signature, payload, key));
  assert.ok(!isVoteSigned(signature, payload.with(0, 1), key));
  assert.ok(!isVoteSigned(signature, payload, ed25519.getPublicKey(new Uint8Array(32).fill(8))));
  for (let at = 0; at < signature.length; at += 9) {
    assert.ok(!isVoteSigned(signature.with(at, (signature[at] ?? 0) ^ 1), payload, key), `byte ${at}`);
  }
});

Deno.test("GRANDPA signatures: malformed keys and signatures are refused, not thrown", () => {
  for (const length of [0, 31, 33]) assert.ok(!isVoteSigned(signature, payload, new Uint8Array(length)));
  for (const length of [0, 63, 65]) assert.ok(!isVoteSigned(new Uint8Array(length), payload, key));
  assert.ok(!isVoteSigned(signature, payload, new Uint8Array(32).fill(0xff)));
});

Deno.test("GRANDPA signatures: a scalar of the group's order and more is refused", () => {
  const { ORDER } = ed25519.Point.Fn;
  const scalar = BigInt(
    `0x${[...signature.slice(32)].reverse().map((byte) => byte.toString(16).padStart(2, "0")).join("")}`,
  );
  const larger = (scalar + ORDER).toString(16).padStart(64, "0");
  const bytes = fromHex(larger).reverse();
  assert.ok(!isVoteSigned(concatBytes(signature.slice(0, 32), bytes), payload, key));
});

Deno.test("GRANDPA signatures: where RFC 8032 and ZIP 215 differ, that of the verifying chains counts", () => {
  // A key of order 8 and a neutral nonce: valid with the cofactor, and without it for one payload in eight at most.
  const small = fromHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a");
  const neutral = concatBytes(Uint8Array.of(1), new Uint8Array(63));
  for (let round = 0; round < 16; round++) {
    assert.ok(isVoteSigned(neutral, payload.with(0, round), small), `payload ${round}`);
  }
});
