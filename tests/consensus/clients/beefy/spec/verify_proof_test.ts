import assert from "node:assert/strict";
import type { Hash256 } from "../../../../../src/core/encoding/bytes.ts";
import { concatBytes, fromHex, keccak256, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  authorityAddress,
  authorityLeaf,
  decodeAuthorities,
  headLeaf,
  hubCommitment,
  recoverAuthority,
  type VerifiedBeefyProof,
  verifyNaiveProof,
} from "../../../../../src/consensus/clients/beefy/spec/verify_proof.ts";
import {
  authoritySetCodec,
  BeefyError,
  beefyMmrLeafHash,
  commitmentHash,
  decodeBeefyJustification,
  encodeBeefyJustification,
  encodeCommitment,
  mmrLeafCodec,
} from "../../../../../src/core/beefy/commitment.ts";
import {
  buildNaiveProof,
  type NaiveProofInput,
} from "../../../../../src/consensus/clients/beefy/spec/build_proof.ts";
import {
  calculateMerkleRoot,
  merkleMultiProof,
  merkleRoot,
} from "../../../../../src/consensus/clients/beefy/spec/merkle_tree.ts";
import {
  decodeNaiveProof,
  decodeSp1Proof,
  encodeNaiveProof,
  proofKind,
  readProofSubject,
} from "../../../../../src/core/beefy/naive_proof.ts";
import {
  decodeSubstrateHeader,
  type DigestItem,
  substrateHeaderCodec,
} from "../../../../../src/core/substrate/header.ts";
import {
  type BeefyClientState,
  decodeBeefyClientState,
  encodeBeefyClientState,
} from "../../../../../src/core/evm/beefy_client_state.ts";
import { decodeStrict, u64 } from "../../../../../src/core/encoding/scale.ts";
import { bagPeaks, toSubtrees } from "../../../../../src/core/merkle/mmr.ts";
import { readVector, type VectorNode } from "../../../vector_node.ts";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import fc from "fast-check";
import { MountainRange, topPosition } from "../../../../../devnet/trie/mmr_range.ts";
import { authoritiesRoot } from "../../../../../devnet/relay/validators.ts";
import { runAtOnce } from "../../../../../devnet/relay/run_at_once.ts";
import { verdictOf } from "../../../../support/verdict.ts";

const accepted: readonly VectorNode[] = readVector("beefy-ecdsa-accepted").list("cases");
const rejected: readonly VectorNode[] = readVector("beefy-ecdsa-rejected").list("cases");
const sp1 = readVector("beefy-sp1");

function stateOf(vector: VectorNode, path: string): BeefyClientState {
  const state = decodeBeefyClientState(vector.bytes(path));
  assert.ok(state);
  return state;
}

function verify(state: BeefyClientState, proof: Uint8Array): VerifiedBeefyProof {
  return runAtOnce(verifyNaiveProof(state, decodeNaiveProof(proof)));
}

const codeOf = (run: () => unknown): string => verdictOf(BeefyError, run);

/** What a node would serve for the proof of a vector. */
function factsOf(vector: VectorNode): NaiveProofInput {
  const peaks = vector.hashes("relay.mmr.peaks");
  const lastMountain = new MountainRange(vector.hashes("relay.mmr.last_mountain_leaf_hashes"));
  return {
    justification: decodeBeefyJustification(vector.bytes("relay.justification")),
    authorities: vector.list("relay.signing_set.public_keys").map((key) => fromHex(String(key.json))),
    leaf: decodeStrict(mmrLeafCodec, vector.bytes("relay.mmr.leaf_scale"), "MmrLeaf"),
    mmrItems: [...peaks.slice(0, -1), ...lastMountain.prove([lastMountain.leafCount - 1n]).items],
    heads: vector.list("relay.para_heads").map((head) => ({
      paraId: Number(head.integer("id")),
      head: head.bytes("head"),
    })),
    paraIds: vector.list("relay.para_ids").map((id) => Number(id.json)),
  };
}

for (const vector of accepted) {
  const name = vector.text("name");
  Deno.test(`BEEFY vector ${name}: accepted with the state and heights of the contract, and written as it is`, () => {
    const { state, intermediates } = verify(stateOf(vector, "trusted_state.abi"), vector.bytes("proof"));
    assert.equal(toHex(encodeBeefyClientState(state)), vector.text("expected.new_state_abi"));
    assert.equal(state.next.id, vector.integer("expected.returned_authority_set_id"));
    const bytes = vector.bytes("proof");
    assert.equal(toHex(encodeNaiveProof(decodeNaiveProof(bytes))), toHex(bytes));
    const expected = vector.list("expected.intermediates").map((each) => ({
      paraId: Number(each.integer("stateMachineId")),
      height: each.integer("height"),
      commitment: {
        timestampSec: each.integer("commitment.timestamp"),
        overlayRoot: each.hash("commitment.overlayRoot"),
        stateRoot: each.hash("commitment.stateRoot"),
      },
    }));
    assert.deepEqual(intermediates, expected);
  });

  if (!Reflect.has(Object(vector.json), "relay")) continue;
  Deno.test(`BEEFY vector ${name}: the proof is built from what a relay node serves`, () => {
    const facts = factsOf(vector);
    const built = runAtOnce(buildNaiveProof(stateOf(vector, "trusted_state.abi"), facts));
    const wanted = decodeNaiveProof(vector.bytes("proof"));
    assert.deepEqual(built.relay.leaf, wanted.relay.leaf);
    assert.deepEqual(built.relay.mmrProof, wanted.relay.mmrProof);
    assert.deepEqual(built.parachain.heads, wanted.parachain.heads);
    assert.deepEqual(built.parachain.proof, wanted.parachain.proof);
    // Some vectors carry more votes than are needed.
    if (built.relay.votes.length === wanted.relay.votes.length) {
      assert.deepEqual(built.relay, wanted.relay);
    } else {
      assert.deepEqual(built.relay.votes, wanted.relay.votes.slice(0, built.relay.votes.length));
    }
    const verified = verify(stateOf(vector, "trusted_state.abi"), encodeNaiveProof(built));
    assert.equal(toHex(encodeBeefyClientState(verified.state)), vector.text("expected.new_state_abi"));
  });

  Deno.test(`BEEFY vector ${name}: justification, commitment and roots`, () => {
    const justification = vector.text("relay.justification");
    const decoded = decodeBeefyJustification(fromHex(justification));
    assert.equal(toHex(encodeBeefyJustification(decoded)), justification);
    assert.equal(toHex(encodeCommitment(decoded.commitment)), vector.text("relay.commitment_scale"));
    assert.equal(commitmentHash(decoded.commitment), vector.text("relay.commitment_hash"));
    const { authorities, heads, leaf } = factsOf(vector);
    assert.deepEqual(
      authorities.map((key) => toHex(authorityAddress(key))),
      vector.list("relay.signing_set.addresses").map((each) => each.json),
    );
    assert.equal(authoritiesRoot(authorities), vector.text("relay.signing_set.root"));
    assert.equal(beefyMmrLeafHash(leaf), vector.text("relay.mmr.leaf_hash"));
    assert.deepEqual(
      toSubtrees(vector.integer("relay.mmr.leaf_count")).map((subtree) => Number(topPosition(subtree))),
      vector.list("relay.mmr.peak_positions").map((each) => each.json),
    );
    assert.equal(
      toHex(bagPeaks(vector.hashes("relay.mmr.peaks").map(fromHex))),
      vector.text("relay.mmr.root"),
    );
    assert.equal(
      merkleRoot(heads.map(({ paraId, head }) => headLeaf(paraId, head))),
      vector.text("relay.para_heads_root"),
    );
  });
}

/** Name of the contract's error for a code; reverts without data are ABI errors. */
const reverts: Readonly<Record<string, string>> = {
  super_majority_required: "SuperMajorityRequired()",
  unknown_authority_set: "UnknownAuthoritySet()",
  unsorted_leaves: "UnsortedLeaves()",
  invalid_signature: "ECDSAInvalidSignature()",
  invalid_authorities_proof: "InvalidAuthoritiesProof()",
  mmr_root_hash_missing: "MmrRootHashMissing()",
  invalid_mmr_proof: "InvalidMmrProof()",
  unconsumed_proof: "UnconsumedProof()",
  out_of_bounds_leaves: "OutOfBoundsLeaves()",
  timestamp_not_found: "TimestampNotFound()",
  illegal_genesis_block: "IllegalGenesisBlock()",
  undecodable_proof: "(no revert data: ABI decoding failed or out of gas)",
  invalid_proof_type: "InvalidProofType(2)",
  empty_proof: "EmptyProof()",
};

for (const vector of rejected) {
  Deno.test(`BEEFY vector ${vector.text("name")}: refused as ${vector.text("revert_name")}`, () => {
    const code = codeOf(() => verify(stateOf(vector, "trusted_state_abi"), vector.bytes("proof")));
    assert.equal(reverts[code], vector.text("revert_name"), code);
  });
}

Deno.test("a proof is not built from keys of another set, too few votes, a wrong range or without the wanted head", () => {
  const [vector] = accepted;
  assert.ok(vector);
  const facts = factsOf(vector);
  const trusted = stateOf(vector, "trusted_state.abi");
  const build = (change: Partial<NaiveProofInput>): string =>
    codeOf(() => runAtOnce(buildNaiveProof(trusted, { ...facts, ...change })));
  assert.equal(build({}), "accepted");
  assert.equal(build({ authorities: facts.authorities.toReversed() }), "invalid_authorities_proof");
  const { justification } = facts;
  const few = { ...justification, signatures: justification.signatures.slice(1) };
  assert.equal(build({ justification: few }), "super_majority_required");
  assert.equal(build({ mmrItems: facts.mmrItems.slice(1) }), "invalid_mmr_proof");
  assert.equal(build({ paraIds: [3367, 77] }), "head_missing");
  const stranger = { ...justification, commitment: { ...justification.commitment, validatorSetId: 9n } };
  assert.equal(build({ justification: stranger }), "unknown_authority_set");
});

Deno.test("votes that a relay chain takes and a contract does not, for the larger s, are proved by the smaller one", () => {
  const [vector] = accepted;
  assert.ok(vector);
  const facts = factsOf(vector);
  const trusted = stateOf(vector, "trusted_state.abi");
  const { ORDER } = secp256k1.Point.Fn;
  const enlarged = facts.justification.signatures.map(({ index, signature }) => {
    const s = ORDER - BigInt(toHex(signature.subarray(32, 64)));
    const larger = fromHex(`0x${s.toString(16).padStart(64, "0")}`);
    const recovery = Uint8Array.of((signature[64] ?? 0) ^ 1);
    return { index, signature: concatBytes(signature.subarray(0, 32), larger, recovery) };
  });
  const justification = { ...facts.justification, signatures: enlarged };
  const proof = runAtOnce(buildNaiveProof(trusted, { ...facts, justification }));
  assert.deepEqual(proof, runAtOnce(buildNaiveProof(trusted, facts)));
  runAtOnce(verifyNaiveProof(trusted, proof));
});

Deno.test("entries of a payload keep their bytes, whatever names they have", () => {
  const [vector] = accepted;
  assert.ok(vector);
  const { commitment, ...rest } = factsOf(vector).justification;
  const payload = [...commitment.payload, { id: "\u00ff\u0080", data: Uint8Array.of(1) }];
  const encoded = encodeBeefyJustification({ ...rest, commitment: { ...commitment, payload } });
  const decoded = decodeBeefyJustification(encoded);
  assert.deepEqual(decoded.commitment.payload, payload);
  assert.equal(toHex(encodeBeefyJustification(decoded)), toHex(encoded));
  const proof = decodeNaiveProof(vector.bytes("proof"));
  const named = { ...proof, relay: { ...proof.relay, commitment: decoded.commitment } };
  assert.deepEqual(decodeNaiveProof(encodeNaiveProof(named)).relay.commitment, decoded.commitment);
});

Deno.test("the root of the authorities that a relay chain's genesis holds", () => {
  const keyset = readVector("beefy-keyset");
  const keys = decodeAuthorities(keyset.bytes("beefy_authorities"));
  assert.deepEqual(keys.map((key) => authorityLeaf(authorityAddress(key))), keyset.hashes("leaf_hashes"));
  assert.equal(authoritiesRoot(keys), keyset.text("root"));
  const stored = decodeStrict(authoritySetCodec, keyset.bytes("beefy_authority_set"), "AuthoritySet");
  assert.equal(stored.root, keyset.text("root"));
  assert.equal(stored.length, keys.length);
});

Deno.test("a key that is no point of the curve stands for 20 zero bytes", () => {
  const leaf = authorityLeaf(authorityAddress(new Uint8Array(33).fill(5)));
  assert.equal(leaf, authorityLeaf(new Uint8Array(20)));
});

Deno.test("SCALE of a parachain header, a commitment and a leaf", () => {
  const codec = readVector("beefy-codec");
  const header = decodeSubstrateHeader(codec.bytes("header.scale"));
  assert.equal(header.number, Number(codec.integer("header.number")));
  assert.equal(header.stateRoot, codec.text("header.state_root"));
  assert.equal(toHex(substrateHeaderCodec.enc(header)), codec.text("header.scale"));
  assert.equal(
    header.digest.flatMap((item) =>
      item.kind === "preRuntime" && item.engine === "aura" ? [toHex(item.data)] : []
    )[0],
    codec.text("header.digest.0.data"),
  );
  const leaf = decodeStrict(mmrLeafCodec, codec.bytes("mmr_leaf.scale"), "MmrLeaf");
  assert.equal(beefyMmrLeafHash(leaf), codec.text("mmr_leaf.keccak256"));
  assert.equal(leaf.nextAuthoritySet.root, codec.text("mmr_leaf.next_set.root"));
});

Deno.test("of announcements that stand twice in a head the last counts, as on the host", () => {
  const announce = (engine: string, data: Uint8Array): DigestItem => ({ kind: "consensus", engine, data });
  const timestampItem = (timestampSec: bigint): DigestItem => announce("ISTM", u64.enc(timestampSec));
  const roots = (fill: number): DigestItem => announce("ISMP", new Uint8Array(64).fill(fill));
  const root = (fill: number): string => toHex(new Uint8Array(32).fill(fill));
  const header = {
    parentHash: toHash256(new Uint8Array(32)),
    number: 7,
    stateRoot: toHash256(new Uint8Array(32)),
    extrinsicsRoot: toHash256(new Uint8Array(32)),
    // The hub's later runtimes announce more, which nothing here depends on.
    digest: [timestampItem(5n), roots(1), announce("APKC", Uint8Array.of(1)), timestampItem(6n), roots(2)],
  };
  assert.deepEqual(hubCommitment(header), { timestampSec: 6n, overlayRoot: root(2), stateRoot: root(2) });
  const withoutTime = { ...header, digest: [timestampItem(5n), timestampItem(0n)] };
  assert.equal(codeOf(() => hubCommitment(withoutTime)), "timestamp_not_found");
  const unreadable = {
    ...header,
    digest: [announce("ISMP", new Uint8Array(63)), timestampItem(5n), roots(1)],
  };
  assert.equal(codeOf(() => hubCommitment(unreadable)), "undecodable_header");
});

Deno.test("what a proof of either kind is about is read from it, and one of zero knowledge is none by signatures", () => {
  const proof = sp1.bytes("proof");
  const subject = readProofSubject(proof);
  assert.equal(subject.blockNumber, sp1.integer("decoded.commitment.blockNumber"));
  assert.equal(subject.validatorSetId, sp1.integer("decoded.commitment.validatorSetId"));
  const heads = decodeSp1Proof(proof).heads.map(({ paraId, header }) => [paraId, toHex(header)]);
  assert.deepEqual(heads[0], [3367, sp1.text("decoded.headers.0.header")]);
  assert.equal(codeOf(() => decodeNaiveProof(proof)), "invalid_proof_type");
  assert.equal(codeOf(() => proofKind(new Uint8Array(0))), "empty_proof");
  const signed = readProofSubject(accepted[0]?.bytes("proof") ?? proof);
  assert.deepEqual([signed.blockNumber, signed.validatorSetId], [13n, 0n]);
});

Deno.test("proofs of any leaves of any tree lead to its root", () => {
  fc.assert(fc.property(
    fc.integer({ min: 1, max: 70 }).chain((count) =>
      fc.tuple(fc.constant(count), fc.uniqueArray(fc.nat({ max: count - 1 }), { minLength: 1 }))
    ),
    ([count, chosen]) => {
      const leaves = Array.from({ length: count }, (_, at) => toHash256(new Uint8Array(32).fill(at + 1)));
      const indexes = chosen.toSorted((a, b) => a - b);
      const proof = merkleMultiProof(leaves, indexes);
      const proven = indexes.map((index) => ({
        index,
        hash: leaves[index] ?? toHash256(new Uint8Array(32)),
      }));
      assert.equal(calculateMerkleRoot(proof, proven, count), merkleRoot(leaves));
    },
  ));
});

Deno.test("the real justification of 400 validators: bit field, commitment and signers", () => {
  const real = readVector("beefy-justification");
  const bytes = real.bytes("justification");
  const decoded = decodeBeefyJustification(bytes);
  assert.equal(toHex(encodeBeefyJustification(decoded)), toHex(bytes));
  assert.equal(decoded.setLength, 400);
  assert.equal(commitmentHash(decoded.commitment), real.text("commitment_hash"));
  const signers = real.list("signers");
  assert.equal(decoded.signatures.length, signers.length);
  const [first, second] = decoded.signatures.map(({ index, signature }) => [
    index,
    toHex(
      recoverAuthority(real.hash("commitment_hash"), signature.with(64, (signature[64] ?? 0) + 27)) ??
        new Uint8Array(0),
    ),
  ]);
  assert.deepEqual([first, second], signers.slice(0, 2).map((each) => each.json));
});

Deno.test("calls of Polkadot's light client in production: commitment, signers, and the paths of authorities and leaf", () => {
  const files = ["beefy-polkadot-mainnet", "real/beefy-polkadot"].map(readVector);
  for (const call of files.flatMap((file) => file.list("cases"))) {
    const commitment = {
      payload: [{ id: "mh", data: call.bytes("mmr_root") }],
      blockNumber: Number(call.integer("block_number")),
      validatorSetId: call.integer("validator_set_id"),
    };
    const hash = call.hash("commitment_hash");
    assert.equal(toHex(encodeCommitment(commitment)), call.text("commitment_scale"));
    assert.equal(commitmentHash(commitment), hash);
    const other = commitmentHash({ ...commitment, validatorSetId: commitment.validatorSetId + 1n });
    const length = Number(call.integer("authority_set.len"));
    for (const vote of call.list("votes")) {
      const address = recoverAuthority(hash, vote.bytes("signature")) ?? new Uint8Array(0);
      assert.equal(toHex(address), vote.text("account"));
      assert.notDeepEqual(recoverAuthority(other, vote.bytes("signature")), address);
      const voter = { index: Number(vote.integer("index")), hash: authorityLeaf(address) };
      const path = vote.hashes("path");
      const rootOf = (nodes: readonly Hash256[]): Hash256 => calculateMerkleRoot(nodes, [voter], length);
      assert.equal(rootOf(path), call.text("authority_set.root"));
      assert.notEqual(rootOf(path.toReversed()), call.text("authority_set.root"));
    }
    const leaf = decodeStrict(mmrLeafCodec, call.bytes("leaf_scale"), "MmrLeaf");
    assert.equal(beefyMmrLeafHash(leaf), call.text("leaf_hash"));
    const isLeft = call.list("leaf_path_sibling_is_left").map(({ json }) => json === true);
    const root = call.hashes("leaf_path").reduce((node, sibling, at) => {
      const pair = isLeft[at] === true ? [sibling, node] : [node, sibling];
      return toHash256(keccak256(concatBytes(...pair.map(fromHex))));
    }, beefyMmrLeafHash(leaf));
    assert.equal(root, call.text("mmr_root"));
  }
});
