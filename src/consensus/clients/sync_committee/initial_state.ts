/**
 * Initial state of the hub's client of a beacon chain, from the beacon nodes' current view. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/sync-committee/src (initial consensus state); light client strategy:
 * docs/protocol/evm-consensus.md section 5.10.
 */
import * as z from "zod";
import { toHash256 } from "../../../core/encoding/bytes.ts";
import { epochOfSlot, periodOfSlot } from "./spec/beacon_network.ts";
import { type BeaconConsensusState, beaconConsensusStateCodec } from "./spec/consensus_state.ts";
import { BEACON_CHALLENGE_SEC, BEACON_UNBONDING_SEC, initialBeaconState } from "./spec/initial_state.ts";
import type { StateCommitmentHeight } from "../../../core/ismp/state_commitment.ts";
import { evmStateMachine } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { RpcEndpointSet } from "../../../core/rpc/endpoint_set.ts";
import type { InitialConsensusState } from "../../prover.ts";
import { type BeaconNode, beaconRoutes, believed } from "./beacon_node.ts";
import { isAbsence } from "./beacon_endpoint_set.ts";
import type { BeaconContext } from "./update_attempt.ts";
import { fetchWholeState } from "./state_bytes.ts";

const quantity = z.string().regex(/^0x[0-9a-fA-F]{1,16}$/).transform(BigInt);
const blockShape = z.object({
  number: quantity,
  timestamp: quantity,
  stateRoot: z.string().regex(/^0x[0-9a-fA-F]{64}$/).transform((text) => toHash256(text)),
});

/** Fetches everything that governance needs to create the client. @throws {RpcFault} */
export async function fetchInitialBeaconState(
  context: BeaconContext,
  execution: RpcEndpointSet,
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
    return await endpoints.ask({ route }, (node) => fromLightClient(context, node), signal);
  } catch (fault) {
    if (!(fault instanceof RpcFault) || !isAbsence(fault)) throw fault;
  }
  return await endpoints.ask({ route: beaconRoutes.state }, (node) => fromState(context, node), signal);
}

async function fromLightClient(
  { network }: BeaconContext,
  node: BeaconNode,
): Promise<BeaconConsensusState> {
  const finalized = await node.fetchHeader("finalized");
  const bootstrap = await node.fetchBootstrap(finalized.root);
  const update = await node.fetchPeriodUpdate(periodOfSlot(network, finalized.header.slot));
  return believed(
    node.endpoint,
    beaconRoutes.bootstrap,
    () => initialBeaconState(network, bootstrap, update),
  );
}

async function fromState(
  { network }: BeaconContext,
  node: BeaconNode,
): Promise<BeaconConsensusState> {
  const { header } = await node.fetchHeader("finalized");
  const expected = { root: header.stateRoot, slotsPerEpoch: network.slotsPerEpoch };
  const parts = await fetchWholeState(node, String(header.slot), expected);
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
async function fetchNewest(execution: RpcEndpointSet, signal: AbortSignal): Promise<StateCommitmentHeight> {
  const call = { method: "eth_getBlockByNumber", params: ["latest", false] };
  const block = blockShape.parse(
    await execution.request(call, {
      signal,
      accept: ([answer], place) => {
        const isBlock = answer?.kind !== "result" || blockShape.safeParse(answer.result).success;
        return isBlock ? undefined : new RpcFault("malformed", "retry", place, { detail: "no block" });
      },
    }),
  );
  const { number: height, timestamp: timestampSec, stateRoot } = block;
  return { height, commitment: { timestampSec, overlayRoot: undefined, stateRoot } };
}
