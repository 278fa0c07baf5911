import { deepStrictEqual as equal, throws } from "node:assert/strict";
import * as z from "zod";
import { toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import { type DerivationErrorCode } from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import { initialBeaconState } from "../../../../../src/consensus/clients/sync_committee/initial_state.ts";
import { sepolia } from "../../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import {
  bootstrapJson,
  type LightClientBootstrap,
  type LightClientUpdate,
  lightClientUpdateJson,
} from "../../../../../src/consensus/clients/sync_committee/spec/light_client_data.ts";
import {
  committeeRoot,
  sha256Pair,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import { flipByte, flipHash, readSyncCommittee, readVector } from "./vectors.ts";

const vector = readVector("sepolia-electra-lightclient");
const committee875 = readSyncCommittee(vector.at("next_sync_committee_period_875"));
const update: LightClientUpdate = lightClientUpdateJson.parse(
  vector.at("period_changing_update.update").json,
);

/**
 * The attested header of the real update as the header to start from: its branch of the next committee with that
 * committee's root in the place of the current one's is the branch of the current committee.
 */
const bootstrap: LightClientBootstrap = {
  header: { ...update.finalizedHeader, beacon: update.attestedHeader },
  currentSyncCommittee: committee875,
  currentSyncCommitteeBranch: update.nextSyncCommitteeBranch.with(0, committeeRoot(update.nextSyncCommittee)),
};

function refuses(
  changed: Partial<LightClientBootstrap>,
  other: LightClientUpdate,
  code: DerivationErrorCode,
): void {
  throws(
    () => initialBeaconState(sepolia, { ...bootstrap, ...changed }, other),
    { name: "DerivationError", code },
  );
}

Deno.test("initial state: the header of the bootstrap with both committees of its period", () => {
  equal(initialBeaconState(sepolia, bootstrap, update), {
    frozenHeight: undefined,
    lightClientState: {
      finalizedHeader: update.attestedHeader,
      latestFinalizedEpoch: 224002n,
      currentSyncCommittee: committee875,
      nextSyncCommittee: update.nextSyncCommittee,
      statePeriod: 875n,
    },
    l2Consensus: new Map(),
    chainId: 11155111,
  });
});

Deno.test("initial state: committees that are not in their states are refused", () => {
  refuses({ currentSyncCommittee: update.nextSyncCommittee }, update, "committee_pair");
  refuses({}, { ...update, nextSyncCommittee: committee875 }, "committee_pair");
  bootstrap.currentSyncCommitteeBranch.forEach((hash, at) => {
    const currentSyncCommitteeBranch = bootstrap.currentSyncCommitteeBranch.with(at, flipHash(hash));
    refuses({ currentSyncCommitteeBranch }, update, "committee_pair");
  });
  refuses({ currentSyncCommitteeBranch: [] }, update, "branch_length");
  refuses({}, { ...update, nextSyncCommitteeBranch: [] }, "branch_length");
});

Deno.test("initial state: an update of another period, or one that the committee did not sign, is refused", () => {
  const earlier = { ...update.attestedHeader, slot: update.attestedHeader.slot - 8192n };
  refuses({}, { ...update, attestedHeader: earlier }, "committee_pair");
  const { syncAggregate } = update;
  const unsigned = { ...update, syncAggregate: { ...syncAggregate, bits: flipByte(syncAggregate.bits, 0) } };
  throws(
    () => initialBeaconState(sepolia, bootstrap, unsigned),
    { name: "SyncCommitteeError", code: "signature" },
  );
});

Deno.test("initial state: a bootstrap is read from the JSON of a node", () => {
  const json = {
    header: vector.at("period_changing_update.update.attested_header").json,
    current_sync_committee: vector.at("next_sync_committee_period_875").json,
    current_sync_committee_branch: bootstrap.currentSyncCommitteeBranch,
  };
  const parsed = bootstrapJson.parse(json);
  equal(parsed.header.beacon, update.attestedHeader);
  equal(initialBeaconState(sepolia, parsed, update), initialBeaconState(sepolia, bootstrap, update));
  throws(
    () => bootstrapJson.parse({ ...json, current_sync_committee: { pubkeys: [], aggregate_pubkey: "0x" } }),
    (error) =>
      error instanceof z.ZodError && error.issues[0]?.path.join(".") === "current_sync_committee.pubkeys",
  );
});

Deno.test("initial state: two nodes of the branch are the committees' roots", () => {
  const both = sha256Pair(committeeRoot(committee875), committeeRoot(update.nextSyncCommittee));
  equal(both, toHash256(update.finalityBranch[2] ?? ""));
});
