/** A block and a milestone of Polygon mainnet of October 2026, judged by the relayer's verifier and the simulated hub's. */
import assert from "node:assert/strict";
import { base64 } from "@scure/base";
import { hashCometHeader } from "../../../../../src/consensus/clients/polygon/spec/comet_header.ts";
import { parseCometTime } from "../../../../../src/consensus/clients/polygon/spec/comet_time.ts";
import { joinCommitmentProofs } from "../../../../../src/consensus/clients/polygon/spec/commitment_proof.ts";
import type { PolygonConsensusState } from "../../../../../src/consensus/clients/polygon/spec/consensus_state.ts";
import {
  parseSignedHeader,
  parseStoreEntry,
  parseValidatorsPage,
} from "../../../../../src/consensus/clients/polygon/spec/heimdall_json.ts";
import { hashValidators } from "../../../../../src/consensus/clients/polygon/spec/heimdall_validators.ts";
import {
  decodeMilestone,
  milestoneKey,
  readMilestoneCount,
} from "../../../../../src/consensus/clients/polygon/spec/milestone.ts";
import type { PolygonUpdate } from "../../../../../src/consensus/clients/polygon/spec/update.ts";
import { verifyPolygonUpdate } from "../../../../../src/consensus/clients/polygon/spec/verify_update.ts";
import { parseHashedBlock } from "../../../../../src/core/evm/block_header.ts";
import { readVectors } from "../../../vector_node.ts";
import { POLY } from "../polygon_chain.ts";
import { isAccepted, trustedBelow } from "./known_updates.ts";

const recorded = await readVectors("real/polygon-mainnet.json");
const rows = recorded.list("validators");
const hasVoted = (row: typeof recorded): boolean => Reflect.has(Object(row.json), "signature");

const signedHeader = parseSignedHeader({
  signed_header: {
    header: recorded.at("header").json,
    commit: {
      height: recorded.text("header.height"),
      round: 0,
      block_id: recorded.at("blockId").json,
      signatures: rows.map((row) =>
        hasVoted(row)
          ? {
            block_id_flag: 2,
            validator_address: row.text("address"),
            timestamp: row.text("votedAt"),
            signature: row.text("signature"),
          }
          : {
            block_id_flag: 1,
            validator_address: "",
            timestamp: "0001-01-01T00:00:00Z",
            signature: null,
          }
      ),
    },
  },
});
const { header } = signedHeader;
const { validators } = parseValidatorsPage({
  block_height: recorded.text("header.height"),
  validators: rows.map((row) => ({
    address: row.text("address"),
    pub_key: { type: "cometbft/PubKeySecp256k1eth", value: row.text("key") },
    voting_power: row.text("power"),
    proposer_priority: "0",
  })),
  count: "100",
  total: String(rows.length),
});
const number = readMilestoneCount(base64.decode(recorded.text("milestone.countValue")));
const key = base64.encode(milestoneKey(number));
const entry = parseStoreEntry({
  response: {
    code: 0,
    log: "",
    info: "",
    index: "0",
    key,
    value: recorded.text("milestone.value"),
    proofOps: {
      ops: [
        { type: "ics23:iavl", key, data: recorded.text("milestone.iavl") },
        {
          type: "ics23:simple",
          key: base64.encode(new TextEncoder().encode("milestone")),
          data: recorded.text("milestone.simple"),
        },
      ],
    },
    height: String(header.height - 1n),
    codespace: "",
  },
});
const bor = parseHashedBlock(recorded.at("milestone.borBlock").json);
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
  assert.equal(hashCometHeader(header), `0x${recorded.text("blockId.hash").toLowerCase()}`);
  assert.deepEqual([rows.length, rows.filter(hasVoted).length], [104, 13]);
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

Deno.test("Polygon mainnet, 2026: a vote less, or another milestone, Bor block or header is refused", () => {
  const { commit } = signedHeader;
  const withCommit = (signatures: typeof commit.signatures): PolygonUpdate => ({
    ...update,
    signedHeader: { header, commit: { ...commit, signatures } },
  });
  const voted = commit.signatures.findIndex(({ tag }) => tag === "commit");
  const absent = commit.signatures.find(({ tag }) => tag === "absent");
  assert.ok(absent);
  const wrong: readonly PolygonUpdate[] = [
    withCommit(commit.signatures.with(voted, absent)),
    withCommit(commit.signatures.with(voted, commit.signatures[voted + 1] ?? absent)),
    { ...update, milestone: { ...milestone, number: number - 1n } },
    {
      ...update,
      milestone: {
        ...milestone,
        milestone: { ...milestone.milestone, startBlock: milestone.milestone.startBlock + 1n },
      },
    },
    { ...update, milestone: { ...milestone, borHeader: { ...bor.header, gasUsed: 0n } } },
    { ...update, signedHeader: { ...signedHeader, header: { ...header, appHash: bor.hash } } },
    { ...update, nextValidators: validators.slice(1) },
  ];
  for (const [at, changed] of wrong.entries()) {
    assert.equal(isTakenAt(500n, changed), false, `change ${at}`);
  }
});
