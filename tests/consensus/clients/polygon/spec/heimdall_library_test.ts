/**
 * Blocks and state of Heimdall's own libraries, judged by the relayer's verifier and by the simulated hub's, beside what the
 * libraries say; and a block and a milestone of Polygon mainnet of October 2026.
 */
import assert from "node:assert/strict";
import { fromHex, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  joinCommitmentProofs,
  requireProven,
} from "../../../../../src/consensus/clients/polygon/spec/commitment_proof.ts";
import {
  hashCometHeader,
  hashValidators,
  parseCometTime,
  voteSignBytes,
} from "../../../../../src/consensus/clients/polygon/spec/comet_header.ts";
import type {
  PolygonConsensusState,
  PolygonUpdate,
} from "../../../../../src/consensus/clients/polygon/spec/update.ts";
import { heimdallAnswers } from "../../../../../src/consensus/clients/polygon/spec/heimdall_json.ts";
import {
  decodeMilestone,
  MILESTONE_STORE,
  milestoneKey,
  readMilestoneCount,
} from "../../../../../src/consensus/clients/polygon/spec/milestone.ts";
import { requireEntry } from "../../../../../devnet/hub/verifiers/polygon/milestone_proof.ts";
import { readVector, type VectorNode } from "../../../vector_node.ts";
import { isAccepted, isTaken, trustedBelow } from "./known_updates.ts";
import { base64 } from "@scure/base";
import { verifyPolygonUpdate } from "../../../../../src/consensus/clients/polygon/spec/verify_update.ts";
import { parseHashedBlock } from "../../../../../src/core/evm/block_header.ts";
import { POLY } from "../polygon_chain.ts";

const blocks = readVector("heimdall-blocks").list("blocks");
const milestones = readVector("heimdall-milestones").list("proofs");

/** The update with a block, and a state that trusts the block before it. */
function stepTo(
  block: VectorNode,
): { readonly trusted: PolygonConsensusState; readonly update: PolygonUpdate } {
  const update = {
    signedHeader: heimdallAnswers.commit.parse(block.at("commit").json),
    nextValidators: heimdallAnswers.validators.parse(block.at("validators").json).validators,
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

const recorded = readVector("real/polygon-mainnet");
const signedHeader = heimdallAnswers.commit.parse(recorded.at("commit").json);
const { header } = signedHeader;
const { validators } = heimdallAnswers.validators.parse(recorded.at("validators").json);
const number = readMilestoneCount(base64.decode(recorded.text("milestone_count")));
const entry = heimdallAnswers.abci_query.parse(recorded.at("milestone").json);
const bor = parseHashedBlock(recorded.at("bor_block").json);
const milestone = {
  number,
  milestone: decodeMilestone(entry.value),
  proof: joinCommitmentProofs(entry.proofs),
  borHeader: bor.header,
};
const update: PolygonUpdate = { signedHeader, nextValidators: validators, milestone };
const nowSec = parseCometTime(header.time).seconds + 9n;
const isTakenAt = (gap: bigint, changed = update): boolean => isAccepted(trustedAt(gap), changed, nowSec);

function trustedAt(gap: bigint): PolygonConsensusState {
  return trustedBelow(update, gap, { chainId: 137, finalizedBlock: bor.header.number - 1n });
}

Deno.test("Polygon mainnet, 2026: hashes of block and validators, milestone and its Bor block are the chain's", () => {
  assert.equal(hashCometHeader(header), signedHeader.commit.blockId.hash);
  const voted = signedHeader.commit.signatures.filter(({ tag }) => tag === "commit");
  assert.deepEqual([validators.length, voted.length], [104, 13]);
  assert.equal(hashValidators(validators), header.validatorsHash);
  assert.equal(number, 14_893_911n);
  assert.deepEqual(
    [milestone.milestone.endBlock, milestone.milestone.hash],
    [94_750_873n, bor.hash],
  );
});

Deno.test("Polygon mainnet, 2026: the update is accepted after the trusted block and at a distance", () => {
  for (const gap of [1n, 500n]) {
    assert.ok(isTakenAt(gap), String(gap));
    const view = { nowSec, consensusStateId: POLY };
    const { commitment, consensusState } = verifyPolygonUpdate(trustedAt(gap), update, view);
    assert.deepEqual(commitment, {
      height: { id: { stateMachine: "EVM-137", consensusStateId: "POLY" }, height: bor.header.number },
      commitment: {
        timestampSec: bor.header.timestampSec,
        overlayRoot: undefined,
        stateRoot: bor.header.stateRoot,
      },
    });
    assert.equal(consensusState.heimdall.finalizedHeaderHash, hashCometHeader(header));
  }
});
