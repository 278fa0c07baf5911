/** Votes, commitments and leaves of Polkadot. */
import assert from "node:assert/strict";
import {
  authorityLeaf,
  recoverAuthority,
} from "../../../../../src/consensus/clients/beefy/spec/authorities.ts";
import { calculateMerkleRoot } from "../../../../../src/consensus/clients/beefy/spec/merkle_tree.ts";
import {
  beefyMmrLeafHash,
  commitmentHash,
  decodeBeefyJustification,
  encodeBeefyJustification,
  encodeCommitment,
  mmrLeafCodec,
} from "../../../../../src/core/beefy/commitment.ts";
import {
  concatBytes,
  fromHex,
  type Hash256,
  toHash256,
  toHex,
} from "../../../../../src/core/encoding/bytes.ts";
import { keccak256 } from "../../../../../src/core/encoding/hash.ts";
import { decodeStrict } from "../../../../../src/core/encoding/scale.ts";
import { readVectors } from "../../../vector_node.ts";

Deno.test("the real justification of 400 validators: bit field, commitment and signers", async () => {
  const real = await readVectors("beefy-justification.json");
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

Deno.test("calls of Polkadot's light client in production: commitment, signers, and the paths of authorities and leaf", async () => {
  const files = await Promise.all(
    ["beefy-polkadot-mainnet.json", "real/beefy-polkadot.json"].map(readVectors),
  );
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
