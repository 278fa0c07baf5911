import { deepStrictEqual as equal, notDeepStrictEqual as differs, throws } from "node:assert/strict";
import { toConsensusStateId } from "../../../../../src/core/ismp/state_machine.ts";
import { type SyncCommitteeErrorCode } from "../../../../../src/consensus/clients/sync_committee/spec/sync_committee_error.ts";
import { verifyBeaconUpdate } from "../../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import {
  type BeaconNetwork,
  type Fork,
  isFirstSlotOfFork,
  sepolia,
} from "../../../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import {
  signingRoot,
  syncCommitteeDomain,
} from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import type { StateUpdate } from "../../../../../src/consensus/clients/sync_committee/spec/update.ts";
import {
  updateSigningRoot,
  verifyUpdate,
} from "../../../../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import { firstBits, readSynthetic, signAs } from "./vectors.ts";

const { node, trusted, first, second } = readSynthetic();

function refuses(run: () => unknown, code: SyncCommitteeErrorCode): void {
  throws(run, { name: "SyncCommitteeError", code });
}

Deno.test("sync committee: what is signed agrees with the synthetic vector", () => {
  equal(updateSigningRoot(sepolia, first), node.hash("intermediate.update_1.signing_root"));
  equal(updateSigningRoot(sepolia, second), node.hash("intermediate.update_2.signing_root"));
});

Deno.test("sync committee: an update within the period moves the finalized header and epoch only", () => {
  equal(verifyUpdate(sepolia, trusted, first), {
    ...trusted,
    finalizedHeader: first.finalizedHeader,
    latestFinalizedEpoch: 281728n,
  });
});

Deno.test("sync committee: an update into the next period shifts the committees", () => {
  const state = verifyUpdate(sepolia, verifyUpdate(sepolia, trusted, first), second);
  equal(state, {
    finalizedHeader: second.finalizedHeader,
    latestFinalizedEpoch: 281855n,
    currentSyncCommittee: trusted.nextSyncCommittee,
    nextSyncCommittee: second.syncCommitteeUpdate?.nextSyncCommittee,
    statePeriod: 1101n,
  });
});

Deno.test("sync committee: a period may be entered without an update of the one before", () => {
  equal(verifyUpdate(sepolia, trusted, second).statePeriod, 1101n);
});

Deno.test("sync committee: applied again, an update is stale", () => {
  const state = verifyUpdate(sepolia, trusted, first);
  refuses(() => verifyUpdate(sepolia, state, first), "stale_epoch");
});

Deno.test("sync committee: a committee within the period is checked, then ignored", () => {
  const state = { ...trusted, currentSyncCommittee: trusted.nextSyncCommittee, statePeriod: 1101n };
  const accepted = verifyUpdate(sepolia, state, second);
  equal([accepted.nextSyncCommittee, accepted.statePeriod], [state.nextSyncCommittee, 1101n]);
  const { syncCommitteeUpdate: carried } = second;
  const syncCommitteeUpdate = carried && { ...carried, nextSyncCommittee: trusted.currentSyncCommittee };
  refuses(() => verifyUpdate(sepolia, state, { ...second, syncCommitteeUpdate }), "committee_branch");
});

Deno.test("sync committee: the hub stores the finalized execution block under the client's own id", () => {
  const consensusState = {
    frozenHeight: 5n,
    lightClientState: trusted,
    l2Consensus: new Map(),
    chainId: 11155111,
  };
  const eth0 = toConsensusStateId("ETH0");
  const verified = verifyBeaconUpdate({ network: sepolia, consensusStateId: eth0 }, consensusState, first);
  equal(verified.consensusState.frozenHeight, undefined);
  equal(verified.consensusState.lightClientState, verifyUpdate(sepolia, trusted, first));
  equal(verified.commitment, {
    height: { id: { stateMachine: "EVM-11155111", consensusStateId: "ETH0" }, height: 9000000n },
    commitment: {
      timestampSec: 1763917152n,
      overlayRoot: undefined,
      stateRoot: first.executionPayload.stateRoot,
    },
  });
});

/** The update signed again by the first members of its committee. */
function signedByFirst(update: StateUpdate, count: number): StateUpdate {
  return { ...update, syncAggregate: signAs(1, firstBits(count), updateSigningRoot(sepolia, update)) };
}

Deno.test("sync committee: 342 signers are enough and 341 are not", () => {
  equal(verifyUpdate(sepolia, trusted, signedByFirst(first, 512)).latestFinalizedEpoch, 281728n);
  equal(verifyUpdate(sepolia, trusted, signedByFirst(first, 342)).latestFinalizedEpoch, 281728n);
  refuses(() => verifyUpdate(sepolia, trusted, signedByFirst(first, 341)), "too_few_participants");
});

Deno.test("sync committee: a finalized header that the signers never had is refused though the rest is signed", () => {
  const attestedHeader = { ...first.attestedHeader, stateRoot: first.finalizedHeader.stateRoot };
  const update = signedByFirst({ ...first, attestedHeader }, 400);
  refuses(() => verifyUpdate(sepolia, trusted, update), "finality_branch");
});

/** Sepolia with a fork whose first slot is `slot`. */
function forkingAt(slot: bigint): BeaconNetwork {
  const fork: Fork = { name: "fulu", epoch: slot / 32n, version: "0x90000076" };
  return { ...sepolia, forks: [...sepolia.forks, fork] };
}

Deno.test("sync committee: what members sign for the first slot of a fork cannot be verified by the hub", () => {
  const slot = (first.attestedHeader.slot / 32n + 1n) * 32n;
  const network = forkingAt(slot);
  const signed = (signatureSlot: bigint, version: Fork["version"]): StateUpdate => {
    const message = signingRoot(
      first.attestedHeader,
      syncCommitteeDomain(version, network.genesisValidatorsRoot),
    );
    return { ...first, signatureSlot, syncAggregate: signAs(1, firstBits(400), message) };
  };
  equal(isFirstSlotOfFork(network, slot), true);
  // By the beacon chain's rule the version is that of the slot before.
  refuses(() => verifyUpdate(network, trusted, signed(slot, "0x90000075")), "signature");
  differs(verifyUpdate(network, trusted, signed(slot, "0x90000076")), trusted);
  equal(isFirstSlotOfFork(network, slot + 1n), false);
  differs(verifyUpdate(network, trusted, signed(slot + 1n, "0x90000076")), trusted);
  equal(isFirstSlotOfFork(network, slot - 1n), false);
  differs(verifyUpdate(network, trusted, signed(slot - 1n, "0x90000075")), trusted);
});
