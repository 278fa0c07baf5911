/**
 * Initial state of the hub's client of a beacon chain, from the beacon nodes' current view. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/sync-committee/src (initial consensus state); light client strategy:
 * docs/protocol/evm-consensus.md section 5.10.
 */
import { epochOfSlot, periodOfSlot } from "./spec/beacon_network.ts";
import { type BeaconConsensusState, beaconConsensusStateCodec } from "./spec/consensus_state.ts";
import { BEACON_CHALLENGE_SEC, BEACON_UNBONDING_SEC, initialBeaconState } from "./spec/initial_state.ts";
import { evmStateMachine, type StateCommitmentHeight } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { type EvmReader, fetchEvmHeader } from "../../evm_reader.ts";
import type { InitialConsensusState } from "../../prover.ts";
import { type BeaconNode, beaconRoutes, believed } from "./beacon_node.ts";
import { isAbsence } from "./beacon_endpoint_set.ts";
import type { BeaconContext } from "./update_attempt.ts";
import { fetchWholeState } from "./state_bytes.ts";

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
    unbondingSec: BEACON_UNBONDING_SEC,
    challengePeriods: new Map([[stateMachine, BEACON_CHALLENGE_SEC]]),
    commitments: [{ id: { stateMachine, consensusStateId }, at: await fetchNewest(execution, signal) }],
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
 * Fetches the newest block of the execution chain, as the reference does. Updates below that height add no commitment
 * on the hub until finality has passed it.
 */
async function fetchNewest(execution: EvmReader, signal: AbortSignal): Promise<StateCommitmentHeight> {
  const { number: height, timestampSec, stateRoot } = await fetchEvmHeader(execution, "latest", signal);
  return { height, commitment: { timestampSec, overlayRoot: undefined, stateRoot } };
}
