/**
 * Initial state of the hub's client of a beacon chain, from the beacon nodes' current view. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/sync-committee/src (initial consensus state); light client strategy:
 * docs/protocol/evm-consensus.md section 5.10.
 */
import { usualPeriods } from "../../prover.ts";
import { evmCommitment } from "../../spec/header_commitment.ts";
import { isAbsence } from "./beacon_endpoint_set.ts";
import { type BeaconNode, beaconRoutes, believed } from "./beacon_node.ts";
import { type BeaconNetwork, epochOfSlot, periodOfSlot, stateIndicesAt } from "./spec/beacon_network.ts";
import { type BeaconConsensusState, beaconConsensusStateCodec } from "./spec/update.ts";
import type { LightClientBootstrap, LightClientUpdate } from "./spec/light_client_data.ts";
import { branchRoot, committeeRoot, depthOf, withoutPadding } from "./spec/ssz_roots.ts";
import { DerivationError } from "./spec/sync_committee_error.ts";
import { checkSignature } from "./spec/verify_update.ts";
import { fetchWholeState } from "./state_bytes.ts";
import type { BeaconContext } from "./update_attempt.ts";
import { type EvmReader, fetchEvmHeader } from "../../evm_reader.ts";
import type { InitialConsensusState } from "../../prover.ts";
import { evmStateMachine } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/call.ts";

/** Fetches everything that governance needs to create the client. @throws {RpcFault} */
export async function fetchInitialBeaconState(
  context: BeaconContext,
  execution: EvmReader,
  signal: AbortSignal,
): Promise<InitialConsensusState> {
  const { network, consensusStateId } = context;
  const state = await fetchState(context, signal);
  const stateMachine = evmStateMachine(network.chainId);
  return {
    clientId: network.clientId,
    state: beaconConsensusStateCodec.enc(state),
    ...usualPeriods(stateMachine),
    // The newest block, as the reference does: updates below it add no commitment until finality has passed it.
    commitments: [
      evmCommitment({ stateMachine, consensusStateId }, await fetchEvmHeader(execution, "latest", signal)),
    ],
  };
}

/** Reads light client objects where a node serves them, otherwise the whole finalized state. */
async function fetchState(context: BeaconContext, signal: AbortSignal): Promise<BeaconConsensusState> {
  const { endpoints } = context;
  const route = beaconRoutes.bootstrap;
  try {
    return await endpoints.ask({ route }, fromLightClient, signal);
  } catch (fault) {
    if (!(fault instanceof RpcFault) || !isAbsence(fault)) throw fault;
  }
  return await endpoints.ask({ route: beaconRoutes.state }, fromState, signal);
}

async function fromLightClient(node: BeaconNode): Promise<BeaconConsensusState> {
  const { network } = node;
  const finalized = await node.fetchHeader("finalized");
  const bootstrap = await node.fetchBootstrap(finalized.root);
  const update = await node.fetchPeriodUpdate(periodOfSlot(network, finalized.header.slot));
  return believed(
    node.endpoint,
    beaconRoutes.bootstrap,
    () => initialBeaconState(network, bootstrap, update),
  );
}

async function fromState(node: BeaconNode): Promise<BeaconConsensusState> {
  const { network } = node;
  const { header } = await node.fetchHeader("finalized");
  const parts = await fetchWholeState(node, { network, header });
  return {
    frozenHeight: undefined,
    lightClientState: {
      finalizedHeader: header,
      latestFinalizedEpoch: epochOfSlot(network, header.slot),
      currentSyncCommittee: parts.currentSyncCommittee,
      nextSyncCommittee: parts.nextSyncCommittee,
      statePeriod: periodOfSlot(network, header.slot),
    },
    l2Consensus: new Map(),
    chainId: network.chainId,
  };
}

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
