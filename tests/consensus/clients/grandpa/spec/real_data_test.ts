/** A change of voters that a live chain made: their last justification, and the set that the header announces. */
import assert from "node:assert/strict";
import { fromHex, type Hash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import { decodeStrict } from "../../../../../src/core/encoding/scale.ts";
import { parseStateMachine } from "../../../../../src/core/ismp/state_machine.ts";
import {
  decodeDigestItem,
  hashSubstrateHeader,
  type SubstrateHeader,
} from "../../../../../src/core/substrate/header.ts";
import { GrandpaError } from "../../../../../src/consensus/clients/grandpa/spec/grandpa_error.ts";
import {
  grandpaAuthoritiesCodec,
  type GrandpaConsensusState,
  type GrandpaFinalityProof,
  grandpaJustificationCodec,
} from "../../../../../src/consensus/clients/grandpa/spec/message.ts";
import { decodeGrandpaJustification } from "../../../../../src/consensus/clients/grandpa/spec/verify_justification.ts";
import { verifyFinality } from "../../../../../src/consensus/clients/grandpa/spec/verify_message.ts";
import { readVectors } from "../../../vector_node.ts";
import { runAtOnce } from "../../../../../devnet/relay/run_at_once.ts";

const recorded = await readVectors("real/grandpa-bittensor.json");
const header: SubstrateHeader = {
  parentHash: recorded.hash("header.parentHash"),
  number: Number(recorded.integer("header.number")),
  stateRoot: recorded.hash("header.stateRoot"),
  extrinsicsRoot: recorded.hash("header.extrinsicsRoot"),
  digest: recorded.list("header.digest.logs").map(({ json }) => decodeDigestItem(fromHex(String(json)))),
};
const proof: GrandpaFinalityProof = {
  block: recorded.hash("hash"),
  justification: recorded.bytes("justification"),
  unknownHeaders: [header],
};
const trusted: GrandpaConsensusState = {
  currentAuthorities: decodeStrict(grandpaAuthoritiesCodec, recorded.bytes("authorities"), "authorities"),
  currentSetId: recorded.integer("set_id"),
  latestHeight: header.number - 1,
  latestHash: header.parentHash,
  slotDurationMs: 12_000n,
  stateMachine: parseStateMachine("SUBSTRATE-bitt"),
};

function codeOf(state: Partial<GrandpaConsensusState>, change: Partial<GrandpaFinalityProof> = {}): string {
  try {
    runAtOnce(verifyFinality({ ...trusted, ...state }, { ...proof, ...change }));
  } catch (error) {
    assert.ok(error instanceof GrandpaError, String(error));
    return error.code;
  }
  return "accepted";
}

Deno.test("Bittensor, 2026: fourteen of twenty voters finalize the block that hands over to the next set", () => {
  assert.equal(hashSubstrateHeader(header), recorded.text("hash"));
  const { commit, votesAncestries } = decodeGrandpaJustification(proof.justification);
  assert.deepEqual([trusted.currentAuthorities.length, commit.precommits.length], [20, 14]);
  assert.deepEqual(votesAncestries, []);
  const { consensusState } = runAtOnce(verifyFinality(trusted, proof));
  const ids = (state: GrandpaConsensusState): Set<Hash256> =>
    new Set(state.currentAuthorities.map(({ id }) => id));
  assert.equal(consensusState.currentSetId, 6n);
  assert.equal(ids(consensusState).size, 20);
  assert.equal(ids(trusted).intersection(ids(consensusState)).size, 10);
  assert.deepEqual([consensusState.latestHeight, consensusState.latestHash], [header.number, proof.block]);
});

Deno.test("Bittensor, 2026: with another set, a vote less, a changed vote or header nothing is final", () => {
  assert.equal(codeOf({}), "accepted");
  assert.equal(codeOf({ currentSetId: 6n }), "signature");
  const next = runAtOnce(verifyFinality(trusted, proof)).consensusState;
  assert.equal(codeOf({ currentAuthorities: next.currentAuthorities }), "unknown_voter");
  const justification = decodeGrandpaJustification(proof.justification);
  const withVotes = (precommits: typeof justification.commit.precommits): Uint8Array =>
    grandpaJustificationCodec.enc({ ...justification, commit: { ...justification.commit, precommits } });
  const { precommits } = justification.commit;
  assert.equal(toHex(withVotes(precommits)), toHex(proof.justification));
  assert.equal(codeOf({}, { justification: withVotes(precommits.slice(1)) }), "too_few_votes");
  for (const [at, vote] of precommits.entries()) {
    const signature = vote.signature.map((byte, index) => index === at ? byte ^ 1 : byte);
    assert.equal(
      codeOf({}, { justification: withVotes(precommits.with(at, { ...vote, signature })) }),
      "signature",
    );
  }
  const digest = header.digest.slice(1);
  assert.equal(codeOf({}, { unknownHeaders: [{ ...header, digest }] }), "target_mismatch");
  assert.equal(codeOf({ latestHash: header.stateRoot }), "ancestry");
});
