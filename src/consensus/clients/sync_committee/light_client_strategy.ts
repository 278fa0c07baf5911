/**
 * Strategy of few bytes: light client objects of the beacon nodes, and the proof of the execution block, which none of
 * them contains. Source: docs/protocol/evm-consensus.md sections 5.7 and 5.11; ethereum/consensus-specs:
 * specs/altair/light-client/full-node.md (what nodes serve).
 */
import { buildSignedUpdate, offerOf, planUpdate, type UpdatePlan } from "./spec/build_update.ts";
import {
  type BeaconNetwork,
  epochOfSlot,
  firstSlotOfPeriod,
  isStartOfGloas,
  periodOfSlot,
  stateIndicesAt,
} from "./spec/beacon_network.ts";
import type { FinalityUpdate, LightClientUpdate } from "./spec/light_client_data.ts";
import { withoutPadding, ZERO_NODE } from "./spec/ssz_roots.ts";
import type { SignedUpdate } from "./spec/update.ts";
import { authenticateUpdate } from "./spec/verify_update.ts";
import { onFault, RpcFault } from "../../../core/rpc/call.ts";
import type { ProverFinding } from "../../prover.ts";
import { type BeaconNode, beaconRoutes, believed } from "./beacon_node.ts";
import { isAbsence } from "./beacon_endpoint_set.ts";
import {
  type BeaconContext,
  finishUpdate,
  type TrustedBeaconState,
  waitingFinding,
} from "./finish_update.ts";

/** A finality update of which something can be made, with its plan. */
interface Offer {
  /** Of the node that served it. */
  readonly network: BeaconNetwork;
  readonly update: FinalityUpdate;
  readonly plan: Exclude<UpdatePlan, { action: "wait" }>;
  /** The best update of the first missed period; absent where none was missed or the hub would not accept it. */
  readonly missed?: LightClientUpdate | undefined;
}

/** Epochs after which the best update of a period finalizes a block of that period, unless finality has stalled. */
const MAX_EPOCHS_TO_FINALITY = 4n;

/**
 * Attempts an update from light client objects; `undefined`: the nodes do not serve what it needs. @throws {RpcFault} of
 * beacon nodes; `malformed` where data was refused and no other node succeeded.
 */
export async function attemptByLightClient(
  context: BeaconContext,
  trusted: TrustedBeaconState,
  signal: AbortSignal,
): Promise<ProverFinding | undefined> {
  const offer = await fetchOffer(context, trusted, signal);
  if (offer === undefined || "kind" in offer) return offer;
  const { network, update, plan, missed } = offer;
  if (plan.action === "catch_up") {
    return missed === undefined
      ? undefined
      : await finishPeriod(context, trusted, { network, update: missed, hasMore: true, isOld: true }, signal);
  }
  if (plan.committee === "with_committee") return await rotate(context, trusted, offer, signal);
  const { execution } = update.finalizedHeader;
  const isKnown = typeof execution === "object" && trusted.height !== undefined &&
    execution.blockNumber <= trusted.height;
  if (isKnown) return { kind: "nothing", reason: `the hub knows height ${trusted.height} already` };
  const signed = buildSignedUpdate(network, update, undefined);
  return await finishUpdate(context, trusted, { network, signed, execution }, signal);
}

/**
 * Fetches a finality update that advances the hub. Nodes with nothing new are skipped: one that is stuck or
 * dishonest must not hold the hub back.
 */
async function fetchOffer(
  { endpoints, noteHead }: BeaconContext,
  trusted: TrustedBeaconState,
  signal: AbortSignal,
): Promise<Offer | ProverFinding | undefined> {
  const route = beaconRoutes.finalityUpdate;
  const faults: RpcFault[] = [];
  const waits: ProverFinding[] = [];
  const read = async (node: BeaconNode): Promise<Offer> => {
    const { network } = node;
    const update = await node.fetchFinalityUpdate();
    const plan = believed(node.endpoint, route, () => planOffer(network, trusted, update));
    noteHead(network, update.attestedHeader.slot);
    if (plan.action === "build") return { network, update, plan };
    if (plan.action === "wait") {
      waits.push(waitingFinding(network, plan.reason));
      throw node.endpoint.fault("lagging", route, { detail: "it offers nothing new" });
    }
    // A node that claims missed periods has to prove the first of them.
    const first = await node.fetchPeriodUpdate(plan.period);
    return { network, update, plan, missed: readPeriodUpdate(node, trusted, first) };
  };
  const call = { route, onFault: (fault: RpcFault) => void faults.push(fault) };
  return await endpoints.ask(call, read, signal).catch(onFault((fault) => {
    const [wait] = waits;
    // Of a node that is ahead by a period and denies the update of it, the blocks may serve.
    const isAhead = faults.some((each) => each.where.method === beaconRoutes.updates && isMissing(each));
    if (wait !== undefined && !isAhead) return wait;
    if (faults.length > 0 && faults.every(({ code }) => code === "lagging")) {
      return { kind: "nothing", reason: "the beacon nodes are syncing" };
    }
    if (fault.code !== "malformed" && faults.some(isMissing)) return undefined;
    throw fault;
  }));
}

/** Plans by a finality update. Data for an update must be authentic; a wait is not worth a signature check. */
function planOffer(network: BeaconNetwork, trusted: TrustedBeaconState, update: FinalityUpdate): UpdatePlan {
  const state = trusted.state.lightClientState;
  const plan = planUpdate(network, state, offerOf(network, update));
  if (plan.action === "build") {
    authenticateUpdate(network, state, buildSignedUpdate(network, update, undefined));
  }
  return plan;
}

/**
 * Enters the next period by the best update of it. Nodes make one after a moment, and a final one after some epochs:
 * until then it is awaited, then the block state strategy makes the update.
 */
async function rotate(
  context: BeaconContext,
  trusted: TrustedBeaconState,
  { network, update: { attestedHeader: { slot } } }: Offer,
  signal: AbortSignal,
): Promise<ProverFinding | undefined> {
  const { endpoints } = context;
  const period = periodOfSlot(network, slot);
  const route = beaconRoutes.updates;
  if (!endpoints.mayServe(route)) return undefined;
  const isEarly = epochOfSlot(network, slot - firstSlotOfPeriod(network, period)) < MAX_EPOCHS_TO_FINALITY;
  let reason = "the best update of the new period is not final yet";
  const best = await endpoints.ask(
    { route },
    async (node) => readPeriodUpdate(node, trusted, await node.fetchPeriodUpdate(period)),
    signal,
  ).catch(onFault((fault) => {
    if (fault.code === "malformed" || isEarly && !isAbsence(fault)) throw fault;
    reason = "the committee of the next period is not served yet";
    return undefined;
  }));
  if (best !== undefined) {
    return await finishPeriod(context, trusted, { network, update: best, isOld: !isEarly }, signal);
  }
  return isEarly ? { kind: "nothing", reason, againInMs: 2 * network.slotSec * 1000 } : undefined;
}

/**
 * Makes the update into a period from its best one. Where that is old and no node has the state that it finalizes any
 * more, the block state strategy tries other blocks of the period.
 */
async function finishPeriod(
  context: BeaconContext,
  trusted: TrustedBeaconState,
  { network, update, hasMore = false, isOld }: {
    readonly network: BeaconNetwork;
    readonly update: LightClientUpdate;
    readonly hasMore?: boolean;
    readonly isOld: boolean;
  },
  signal: AbortSignal,
): Promise<ProverFinding | undefined> {
  const { execution } = update.finalizedHeader;
  try {
    const signed = signedWithCommittee(network, update);
    return await finishUpdate(context, trusted, { network, signed, execution, hasMore }, signal);
  } catch (fault) {
    if (isOld && fault instanceof RpcFault && isStateGone(fault)) return undefined;
    throw fault;
  }
}

/** @returns `undefined` for an authentic update that the hub does not accept, e.g. one without finality. */
function readPeriodUpdate(
  node: BeaconNode,
  trusted: TrustedBeaconState,
  update: LightClientUpdate,
): LightClientUpdate | undefined {
  const { network } = node;
  return believed(node.endpoint, beaconRoutes.updates, () => {
    if (update.finalityBranch.every((hash) => hash === ZERO_NODE)) return undefined;
    if (isStartOfGloas(network, update.finalizedHeader.beacon.slot)) return undefined;
    const state = trusted.state.lightClientState;
    const plan = planUpdate(network, state, offerOf(network, update));
    if (plan.action !== "build" || plan.committee !== "with_committee") return undefined;
    authenticateUpdate(network, state, signedWithCommittee(network, update));
    return update;
  });
}

/** True for the faults of nodes without light client data, also of gateways that fail on updates of periods only. */
function isMissing(fault: RpcFault): boolean {
  return isAbsence(fault) || (fault.code === "server_error" && fault.where.method === beaconRoutes.updates);
}

/** True for the faults of nodes without a state any more; some just fail. */
function isStateGone(fault: RpcFault): boolean {
  return isAbsence(fault) || fault.code === "pruned" || fault.code === "server_error";
}

function signedWithCommittee(network: BeaconNetwork, update: LightClientUpdate): SignedUpdate {
  const { nextSyncCommittee: index } = stateIndicesAt(network, update.attestedHeader.slot);
  return buildSignedUpdate(network, update, {
    nextSyncCommittee: update.nextSyncCommittee,
    nextSyncCommitteeBranch: withoutPadding(update.nextSyncCommitteeBranch, index),
  });
}
