/**
 * Blocks and state of Heimdall's own libraries, judged by the relayer's verifier and by the simulated hub's, beside what the
 * libraries say.
 */
import assert from "node:assert/strict";
import { fromHex, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  joinCommitmentProofs,
  requireProven,
} from "../../../../../src/consensus/clients/polygon/spec/commitment_proof.ts";
import { voteSignBytes } from "../../../../../src/consensus/clients/polygon/spec/comet_commit.ts";
import { hashCometHeader } from "../../../../../src/consensus/clients/polygon/spec/comet_header.ts";
import type { PolygonConsensusState } from "../../../../../src/consensus/clients/polygon/spec/consensus_state.ts";
import {
  parseSignedHeader,
  parseValidatorsPage,
} from "../../../../../src/consensus/clients/polygon/spec/heimdall_json.ts";
import { hashValidators } from "../../../../../src/consensus/clients/polygon/spec/heimdall_validators.ts";
import {
  decodeMilestone,
  MILESTONE_STORE,
  milestoneKey,
} from "../../../../../src/consensus/clients/polygon/spec/milestone.ts";
import type { PolygonUpdate } from "../../../../../src/consensus/clients/polygon/spec/update.ts";
import { requireEntry } from "../../../../../devnet/hub/verifiers/polygon/milestone_proof.ts";
import { readVectors, type VectorNode } from "../../../vector_node.ts";
import { isAccepted, isTaken, trustedBelow } from "./known_updates.ts";

const blocks = (await readVectors("heimdall-blocks.json")).list("blocks");
const milestones = (await readVectors("heimdall-milestones.json")).list("proofs");

/** The update with a block, and a state that trusts the block before it. */
function stepTo(
  block: VectorNode,
): { readonly trusted: PolygonConsensusState; readonly update: PolygonUpdate } {
  const update = {
    signedHeader: parseSignedHeader(block.at("commit").json),
    nextValidators: parseValidatorsPage(block.at("validators").json).validators,
    milestone: undefined,
  };
  return { update, trusted: trustedBelow(update, 1n, { chainId: 80002, finalizedBlock: 0n }) };
}

for (const block of blocks) {
  const name = block.text("name");
  const { trusted, update } = stepTo(block);
  const { signedHeader: { header, commit }, nextValidators = [] } = update;

  Deno.test(`a block of Heimdall's library, ${name}: hashes and signed bytes are its own`, () => {
    assert.equal(hashCometHeader(header), `0x${block.text("header_hash")}`);
    assert.equal(hashValidators(nextValidators), `0x${block.text("validators_hash")}`);
    const signed = block.list("sign_bytes").map(({ json }) => json);
    assert.deepEqual(
      commit.signatures.map((entry) =>
        entry.tag === "commit"
          ? toHex(voteSignBytes(header.chainId, commit, entry.value.timestamp)).slice(2)
          : ""
      ),
      signed,
    );
  });

  Deno.test(`a block of Heimdall's library, ${name}: the verdict is its own`, () => {
    assert.equal(
      isAccepted(trusted, update, trusted.heimdall.timestampSec + 10n),
      block.at("accepted").json,
    );
  });
}

Deno.test("milestones in the state store of Heimdall's framework are proved, and no others by the same proofs", () => {
  for (const proven of milestones) {
    const number = proven.integer("number");
    const key = fromHex(`0x${proven.text("key")}`);
    const value = fromHex(`0x${proven.text("value")}`);
    const root = fromHex(`0x${proven.text("root")}`);
    assert.deepEqual(milestoneKey(number), key);
    assert.equal(decodeMilestone(value).milestoneId, `milestone ${number}`);
    const proof = joinCommitmentProofs(
      proven.list("proofs").map(({ json }) => fromHex(`0x${json}`)),
    );
    const entry = { store: MILESTONE_STORE, key, value };
    const takers = [
      (of: typeof entry) => requireProven(proof, toHash256(root), of),
      (of: typeof entry) => requireEntry(proof, root, of),
    ];
    for (const take of takers) {
      take(entry);
      assert.ok(!isTaken(() => take({ ...entry, key: milestoneKey(number + 1n) })));
      assert.ok(!isTaken(() => take({ ...entry, value: value.with(0, 11) })));
      assert.ok(!isTaken(() => take({ ...entry, store: "bank" })));
    }
  }
});
