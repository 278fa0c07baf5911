/**
 * Initial consensus state of the hub's client of a beacon chain. Source: polytope-labs/hyperbridge:
 * tesseract/consensus/sync-committee/src/lib.rs (initial consensus state).
 */
import { type BeaconNetwork, epochOfSlot, periodOfSlot, stateIndicesAt } from "./beacon_network.ts";
import type { BeaconConsensusState } from "./consensus_state.ts";
import { DerivationError } from "./sync_committee_error.ts";
import type { LightClientBootstrap, LightClientUpdate } from "./light_client_data.ts";
import { branchRoot, depthOf, withoutPadding } from "./merkle.ts";
import { committeeRoot } from "./ssz_roots.ts";
import { checkSignature } from "./verify_update.ts";

/** Seconds for which a client of a beacon chain may go without an update (67.5 days; the source has 60 * 60 * 60 * 27). */
export const BEACON_UNBONDING_SEC = 5_832_000n;

/** Seconds for which commitments may be challenged. */
export const BEACON_CHALLENGE_SEC = 300n;

/**
 * State that trusts the header of `bootstrap`, both committees being proved by beacon states.
 *
 * The operator trusts the root of the bootstrap: nothing here proves that the chain finalized it. @param update best
 * update of the header's period, signed by its committee: proves the next committee. @throws {DerivationError}
 * `committee_pair` when a committee is not in its state or the update is of another period, `branch_length` also for
 * states of before Capella. @throws {SyncCommitteeError} `too_few_participants`, `public_key`, `signature`
 */
export function initialBeaconState(
  network: BeaconNetwork,
  bootstrap: LightClientBootstrap,
  update: LightClientUpdate,
): BeaconConsensusState {
  const header = bootstrap.header.beacon;
  const statePeriod = periodOfSlot(network, header.slot);
  if (periodOfSlot(network, update.attestedHeader.slot) !== statePeriod) {
    throw new DerivationError("committee_pair");
  }
  checkCommittee(
    network,
    header,
    {
      field: "currentSyncCommittee",
      committee: bootstrap.currentSyncCommittee,
      branch: bootstrap.currentSyncCommitteeBranch,
    },
  );
  checkCommittee(
    network,
    update.attestedHeader,
    {
      field: "nextSyncCommittee",
      committee: update.nextSyncCommittee,
      branch: update.nextSyncCommitteeBranch,
    },
  );
  checkSignature(network, bootstrap.currentSyncCommittee, update);
  return {
    frozenHeight: undefined,
    lightClientState: {
      finalizedHeader: header,
      latestFinalizedEpoch: epochOfSlot(network, header.slot),
      currentSyncCommittee: bootstrap.currentSyncCommittee,
      nextSyncCommittee: update.nextSyncCommittee,
      statePeriod,
    },
    l2Consensus: new Map(),
    chainId: network.chainId,
  };
}

/** A committee with its branch in a state. */
interface ProvedCommittee {
  readonly field: "currentSyncCommittee" | "nextSyncCommittee";
  readonly committee: LightClientBootstrap["currentSyncCommittee"];
  readonly branch: LightClientBootstrap["currentSyncCommitteeBranch"];
}

function checkCommittee(
  network: BeaconNetwork,
  header: LightClientBootstrap["header"]["beacon"],
  { field, committee, branch }: ProvedCommittee,
): void {
  const index = stateIndicesAt(network, header.slot)?.[field];
  if (index === undefined) throw new DerivationError("branch_length");
  const nodes = withoutPadding(branch, index);
  if (nodes.length !== depthOf(index)) throw new DerivationError("branch_length");
  if (branchRoot(committeeRoot(committee), nodes, index) !== header.stateRoot) {
    throw new DerivationError("committee_pair");
  }
}
