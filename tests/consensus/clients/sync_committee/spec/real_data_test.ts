/** A finality update of Gnosis mainnet in Fulu, with what its signature needs of the committee. */
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import {
  checkExecutionHeader,
  deriveExecutionPayloadProof,
  deriveFinalityProof,
} from "../../../../../src/consensus/clients/sync_committee/spec/build_update.ts";
import {
  chiado,
  gnosisMainnet,
} from "../../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import {
  type FinalityUpdate,
  parseFinalityUpdate,
} from "../../../../../src/consensus/clients/sync_committee/spec/light_client_data.ts";
import {
  branchRoot,
  checkpointRoot,
  headerRoot,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import { SyncCommitteeError } from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import {
  isSigner,
  type SyncCommittee,
} from "../../../../../src/consensus/clients/sync_committee/spec/update.ts";
import { checkSignature } from "../../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import { flipByte, parsePayloadHeader, payloadOf } from "./vectors.ts";
import { readVectors } from "../../../vector_node.ts";

const recorded = await readVectors("real/gnosis-fulu.json");
const update = parseFinalityUpdate(recorded.at("update").json);
const aggregatePublicKey = recorded.bytes("aggregate_pubkey");
const absent = new Set(Object.keys(Object(recorded.at("absent").json)));
const committee: SyncCommittee = {
  aggregatePublicKey,
  // The aggregate less those who are absent is what the others sign with, so their own keys are not needed.
  publicKeys: Array.from(
    { length: 512 },
    (_, at) => absent.has(String(at)) ? recorded.bytes(`absent.${at}`) : aggregatePublicKey,
  ),
};

Deno.test("Gnosis in Fulu: the signature is that of the committee less those whose bits are unset", () => {
  const { bits } = update.syncAggregate;
  const unset = Array.from({ length: 512 }, (_, at) => String(at)).filter((at) =>
    !isSigner(bits, Number(at))
  );
  equal(unset, [...absent]);
  equal(update.signatureSlot, 30_365_893n);
  const check = (change: Partial<FinalityUpdate>, network = gnosisMainnet): void =>
    checkSignature(network, committee, { ...update, ...change });
  check({});
  const { attestedHeader } = update;
  const refused: readonly Partial<FinalityUpdate>[] = [
    { attestedHeader: { ...attestedHeader, proposerIndex: attestedHeader.proposerIndex + 1n } },
    { syncAggregate: { ...update.syncAggregate, bits: flipByte(bits, 63) } },
  ];
  for (const change of refused) throws(() => check(change), SyncCommitteeError);
  throws(() => check({}, chiado), SyncCommitteeError);
});

Deno.test("Gnosis in Fulu: finality and execution header are proved, and not those of another", () => {
  const { finalizedHeader, finalityBranch } = update;
  const finalized = headerRoot(finalizedHeader.beacon);
  const { stateRoot } = update.attestedHeader;
  const proof = deriveFinalityProof(gnosisMainnet, update);
  equal(proof.epoch, finalizedHeader.beacon.slot / 16n);
  equal(branchRoot(finalized, finalityBranch, 169), stateRoot);
  equal(branchRoot(checkpointRoot(proof.epoch, finalized), proof.finalityBranch, 84), stateRoot);
  const other = checkpointRoot(proof.epoch + 1n, finalized);
  equal(branchRoot(other, proof.finalityBranch, 84) === stateRoot, false);
  checkExecutionHeader(gnosisMainnet, finalizedHeader);
  const execution = payloadOf(finalizedHeader);
  const json = Object(recorded.at("update.finalized_header.execution").json);
  const changed = parsePayloadHeader({ ...json, gas_used: "0" });
  throws(() => checkExecutionHeader(gnosisMainnet, { ...finalizedHeader, execution: changed }));
  equal(deriveExecutionPayloadProof(execution, []).blockNumber, 48_526_349n);
});
