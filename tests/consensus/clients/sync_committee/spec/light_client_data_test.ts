import { deepStrictEqual as equal, ok, throws } from "node:assert/strict";
import * as z from "zod";
import { type Hash256, toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import {
  type BeaconNetwork,
  chiado,
  electraStateIndices,
  gloasStateIndices,
  gnosisMainnet,
  sepolia,
  stateIndicesAt,
} from "../../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import {
  buildSignedUpdate,
  checkExecutionHeader,
  deriveExecutionPayloadProof,
  deriveFinalityProof,
} from "../../../../../src/consensus/clients/sync_committee/spec/build_update.ts";
import type {
  SyncCommittee,
  VerifierState,
} from "../../../../../src/consensus/clients/sync_committee/spec/update.ts";
import { type DerivationErrorCode } from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import {
  type FinalityUpdate,
  finalityUpdateJson,
  lightClientUpdateJson,
} from "../../../../../src/consensus/clients/sync_committee/spec/light_client_data.ts";
import {
  branchRoot,
  checkpointRoot,
  headerRoot,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import {
  SyncCommitteeError,
} from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import {
  checkSignature,
  updateSigningRoot,
  verifyUpdate,
} from "../../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import { falseValue } from "../../../../../devnet/beacon/lies.ts";
import {
  flipByte,
  flipHash,
  parsePayloadHeader,
  payloadOf,
  readSyncCommittee,
  readVector,
} from "./vectors.ts";
import { readVector as readAnyVector, type VectorNode } from "../../../vector_node.ts";

const electra = readVector("sepolia-electra-lightclient");

const committee874 = readSyncCommittee(electra.at("current_sync_committee_period_874"));
const committee875 = readSyncCommittee(electra.at("next_sync_committee_period_875"));
const finalityUpdates = electra.list("finality_updates").map((node) => ({
  node,
  update: finalityUpdateJson.parse(node.at("update").json),
}));
const crossing = lightClientUpdateJson.parse(electra.at("period_changing_update.update").json);

/** A real update with its committee. `expected`: what other code computed of it. */
interface RealUpdate {
  readonly network: BeaconNetwork;
  readonly update: FinalityUpdate;
  readonly committee: SyncCommittee;
  readonly expected?: VectorNode;
}

/** A finality update of Gnosis mainnet in Fulu, with what its signature needs of the committee. */
function gnosisUpdate(): RealUpdate {
  const recorded = readAnyVector("real/gnosis-fulu");
  const aggregatePublicKey = recorded.bytes("aggregate_pubkey");
  const absent = Object.keys(Object(recorded.at("absent").json));
  // The aggregate less those who are absent is what the others sign with, so their own keys are not needed.
  const publicKeys = Array.from(
    { length: 512 },
    (_, at) => absent.includes(String(at)) ? recorded.bytes(`absent.${at}`) : aggregatePublicKey,
  );
  const update = finalityUpdateJson.parse(recorded.at("update").json);
  return { network: gnosisMainnet, update, committee: { aggregatePublicKey, publicKeys } };
}

const realUpdates: readonly RealUpdate[] = [
  ...finalityUpdates.map(({ node, update }) => {
    return { network: sepolia, update, committee: committee874, expected: node.at("expected") };
  }),
  {
    network: sepolia,
    update: crossing,
    committee: committee875,
    expected: electra.at("period_changing_update.expected"),
  },
  gnosisUpdate(),
];

function refuses(run: () => unknown, code: DerivationErrorCode): void {
  throws(run, { name: "DerivationError", code });
}

Deno.test("light client: real updates are signed by the committees of their periods, and by no others", () => {
  for (const { network, update, committee, expected } of realUpdates) {
    if (expected) equal(updateSigningRoot(network, update), expected.hash("signing_root"));
    checkSignature(network, committee, update);
    const { attestedHeader, syncAggregate } = update;
    const proposerIndex = attestedHeader.proposerIndex + 1n;
    const bits = flipByte(syncAggregate.bits, 63);
    for (
      const changed of [
        { ...update, attestedHeader: { ...attestedHeader, proposerIndex } },
        { ...update, syncAggregate: { ...syncAggregate, bits } },
      ]
    ) throws(() => checkSignature(network, committee, changed), SyncCommitteeError);
    throws(() => checkSignature(chiado, committee, update), SyncCommitteeError);
  }
  throws(() => checkSignature(sepolia, committee874, crossing), SyncCommitteeError);
});

Deno.test("light client: the hub's finality branch is that of the node less the epoch", () => {
  for (const { network, update, expected } of realUpdates) {
    const { slot } = update.finalizedHeader.beacon;
    const proof = deriveFinalityProof(network, update);
    equal(proof.epoch, expected?.integer("finalized_epoch") ?? slot / network.slotsPerEpoch);
    const finalized = headerRoot(update.finalizedHeader.beacon);
    const { stateRoot } = update.attestedHeader;
    equal(branchRoot(finalized, update.finalityBranch, 169), stateRoot);
    equal(branchRoot(checkpointRoot(proof.epoch, finalized), proof.finalityBranch, 84), stateRoot);
  }
});

Deno.test("light client: a branch that does not begin with an epoch is refused", () => {
  const [sample] = finalityUpdates;
  ok(sample);
  const { attestedHeader, finalityBranch: branch } = sample.update;
  const derive = (finalityBranch: readonly Hash256[]): unknown =>
    deriveFinalityProof(sepolia, { attestedHeader, finalityBranch });
  refuses(() => derive(branch.slice(1)), "branch_length");
  refuses(() => derive([toHash256("0x".padEnd(66, "1")), ...branch]), "branch_length");
  refuses(() => derive(branch.toReversed()), "not_an_epoch");
  equal(derive([`0x${"00".repeat(32)}`, `0x${"00".repeat(32)}`, ...branch]), derive(branch));
});

Deno.test("light client: the execution header is that of the block, and its multi proof is the expected one", () => {
  for (const { network, update, expected } of realUpdates) {
    const header = update.finalizedHeader;
    checkExecutionHeader(network, header);
    const execution = payloadOf(header);
    const { multiProof, ...proof } = deriveExecutionPayloadProof(execution, []);
    if (expected) equal(execution.root, expected.hash("execution_payload_header_root"));
    if (expected) equal(multiProof, expected.hashes("multi_proof"));
    const { stateRoot, blockNumber, timestampSec } = execution;
    equal(proof, { stateRoot, blockNumber, timestampSec, executionPayloadBranch: [] });
  }
});

Deno.test("light client: an execution header changed in any field is not that of the block", () => {
  const header = crossing.finalizedHeader;
  const json = Object(electra.at("period_changing_update.update.finalized_header.execution").json);
  let changed = 0;
  for (const [name, value] of Object.entries(json)) {
    const execution = parsePayloadHeader({ ...json, [name]: falseValue(String(value).toLowerCase()) });
    refuses(() => checkExecutionHeader(sepolia, { ...header, execution }), "execution_header");
    changed++;
  }
  equal(changed, 17);
  header.executionBranch.forEach((node, at) => {
    const executionBranch = header.executionBranch.with(at, flipHash(node));
    refuses(() => checkExecutionHeader(sepolia, { ...header, executionBranch }), "execution_header");
  });
  refuses(
    () => checkExecutionHeader(sepolia, { ...header, executionBranch: header.executionBranch.slice(1) }),
    "branch_length",
  );
});

Deno.test("light client: an update built of a real one lacks nothing but the payload header's branch", () => {
  const trusted: VerifierState = {
    finalizedHeader: { ...crossing.finalizedHeader.beacon, slot: crossing.finalizedHeader.beacon.slot - 64n },
    latestFinalizedEpoch: 223998n,
    currentSyncCommittee: committee874,
    nextSyncCommittee: committee875,
    statePeriod: 874n,
  };
  const { nextSyncCommittee, nextSyncCommitteeBranch } = crossing;
  const branch = Array<Hash256>(6).fill(crossing.finalizedHeader.beacon.stateRoot);
  const update = {
    ...buildSignedUpdate(sepolia, crossing, { nextSyncCommittee, nextSyncCommitteeBranch }),
    executionPayload: deriveExecutionPayloadProof(payloadOf(crossing.finalizedHeader), branch),
  };
  equal(update.finalityProof.epoch, 224000n);
  equal(update.signatureSlot, 7168065n);
  throws(
    () => verifyUpdate(sepolia, trusted, update),
    { name: "SyncCommitteeError", code: "execution_branch" },
  );
});

Deno.test("light client: JSON of another shape names the first field that does not fit", () => {
  const json = electra.at("finality_updates.0.update").json;
  ok(typeof json === "object");
  const malformed = (value: unknown, field: string): void =>
    throws(
      () => finalityUpdateJson.parse(value),
      (error) => error instanceof z.ZodError && error.issues[0]?.path.join(".") === field,
    );
  malformed(undefined, "");
  malformed({ ...json, signature_slot: "-1" }, "signature_slot");
  malformed({ ...json, signature_slot: 7167074 }, "signature_slot");
  malformed({ ...json, signature_slot: "18446744073709551616" }, "signature_slot");
  malformed({ ...json, finality_branch: ["0x00"] }, "finality_branch.0");
  malformed(
    { ...json, sync_aggregate: { sync_committee_bits: "0x", sync_committee_signature: "0x" } },
    "sync_aggregate.sync_committee_bits",
  );
  throws(() => lightClientUpdateJson.parse(json), z.ZodError);
});

Deno.test("light client: the state tree is another one from Gloas on", () => {
  equal(stateIndicesAt(sepolia, 222464n * 32n), electraStateIndices);
  equal(stateIndicesAt(sepolia, 353024n * 32n), gloasStateIndices);
  equal(stateIndicesAt(sepolia, 353024n * 32n - 1n), electraStateIndices);
});
