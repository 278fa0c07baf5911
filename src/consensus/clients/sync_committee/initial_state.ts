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
import {
  type BeaconBlockHeader,
  type BeaconConsensusState,
  beaconConsensusStateCodec,
  type VerifierState,
} from "./spec/update.ts";
import type { LightClientBootstrap, LightClientUpdate } from "./spec/light_client_data.ts";
import { committeeRoot } from "./spec/ssz_roots.ts";
import { paddedRoot } from "./spec/build_update.ts";
import { DerivationError } from "./spec/sync_committee_error.ts";
import { checkSignature } from "./spec/verify_update.ts";
import { fetchWholeState } from "./state_bytes.ts";
import type { BeaconContext } from "./finish_update.ts";
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
  return trustedState(network, header, await fetchWholeState(node, { network, header }));
}

function trustedState(
  network: BeaconNetwork,
  header: BeaconBlockHeader,
  committees: Pick<VerifierState, "currentSyncCommittee" | "nextSyncCommittee">,
): BeaconConsensusState {
  const { currentSyncCommittee, nextSyncCommittee } = committees;
  return {
    frozenHeight: undefined,
    lightClientState: {
      finalizedHeader: header,
      latestFinalizedEpoch: epochOfSlot(network, header.slot),
      currentSyncCommittee,
      nextSyncCommittee,
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
 * `committee_pair` when a committee is not in its state or the update is of another period, `branch_length`
 * @throws {SyncCommitteeError} `too_few_participants`, `public_key`, `signature`
 */
export function initialBeaconState(
  network: BeaconNetwork,
  bootstrap: LightClientBootstrap,
  update: LightClientUpdate,
): BeaconConsensusState {
  const header = bootstrap.header.beacon;
  const { currentSyncCommittee, currentSyncCommitteeBranch } = bootstrap;
  const { attestedHeader, nextSyncCommittee, nextSyncCommitteeBranch } = update;
  if (periodOfSlot(network, attestedHeader.slot) !== periodOfSlot(network, header.slot)) {
    throw new DerivationError("committee_pair");
  }
  const isProved = paddedRoot(
        committeeRoot(currentSyncCommittee),
        currentSyncCommitteeBranch,
        stateIndicesAt(network, header.slot).currentSyncCommittee,
      ) === header.stateRoot &&
    paddedRoot(
        committeeRoot(nextSyncCommittee),
        nextSyncCommitteeBranch,
        stateIndicesAt(network, attestedHeader.slot).nextSyncCommittee,
      ) === attestedHeader.stateRoot;
  if (!isProved) throw new DerivationError("committee_pair");
  checkSignature(network, currentSyncCommittee, update);
  return trustedState(network, header, { currentSyncCommittee, nextSyncCommittee });
}
