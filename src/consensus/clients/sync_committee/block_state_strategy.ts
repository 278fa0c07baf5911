/**
 * Strategy without light client routes: walks back from the head to a block that enough committee members signed, and
 * takes finality and committee from the whole state that they signed. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/sync-committee, modules/consensus/sync-committee/prover/src.
 */
import {
  type BeaconNetwork,
  firstSlotOfPeriod,
  periodOfSlot,
  stateIndicesAt,
} from "./spec/beacon_network.ts";
import { checkSignature } from "./spec/verify_update.ts";
import { planUpdate, type UpdateOffer, type WaitReason } from "./spec/build_update.ts";
import type { SigningBlock } from "./spec/light_client_data.ts";
import { ZERO_NODE } from "./spec/ssz_roots.ts";
import { countSigners } from "./spec/update.ts";
import { onFault, RpcFault } from "../../../core/rpc/call.ts";
import type { ProverFinding } from "../../prover.ts";
import { type BeaconNode, beaconRoutes, believed, type RootedHeader } from "./beacon_node.ts";
import {
  type BeaconContext,
  finishUpdate,
  passing,
  type TrustedBeaconState,
  waitingFinding,
} from "./finish_update.ts";
import { fetchWholeState, WHOLE_STATE } from "./state_bytes.ts";

/** Maximum number of blocks to walk back from the head to one with enough signers. */
const MAX_STEPS = 32;
/** Maximum number of slots to walk back from the end of a missed period to a block. Source: the reference's prover. */
const MAX_EMPTY_SLOTS = 100n;

/** A block that signs a header which the hub can use. */
interface Candidate {
  /** Of the node that served it. */
  readonly network: BeaconNetwork;
  readonly attested: RootedHeader;
  readonly signing: SigningBlock;
  readonly withCommittee: boolean;
}

/** Attempts an update once. @throws {RpcFault} of beacon nodes; `malformed` where data was refused. */
export async function attemptByBlocks(
  context: BeaconContext,
  trusted: TrustedBeaconState,
  signal: AbortSignal,
): Promise<ProverFinding> {
  const { endpoints, network } = context;
  const { statePeriod, latestFinalizedEpoch } = trusted.state.lightClientState;
  const { checkpoint, head } = await endpoints.ask({ route: beaconRoutes.checkpoints }, async (node) => {
    const checkpoint = await node.fetchFinalizedCheckpoint("head");
    const head = await node.fetchHeader("head");
    context.noteHead(node.network, head.header.slot);
    return { checkpoint, head };
  }, signal);
  if (checkpoint.root === ZERO_NODE) {
    return { kind: "nothing", reason: "the chain has finalized nothing yet" };
  }
  if (checkpoint.epoch <= latestFinalizedEpoch) return waitingFinding(network, "epoch_not_newer");
  const isBehind = periodOfSlot(network, head.header.slot) > statePeriod + 1n;
  const selection = await endpoints.ask({ route: beaconRoutes.block }, async (node) => {
    const start = isBehind ? await lastBlockOf(node, statePeriod + 1n) : head;
    return await select(node, trusted, { start, finalizedEpoch: checkpoint.epoch });
  }, signal);
  if (typeof selection === "string") return waitingFinding(network, selection);
  return await finish(context, trusted, { ...selection, hasMore: isBehind }, signal);
}

/** Finds the last block of a period. */
async function lastBlockOf(node: BeaconNode, period: bigint): Promise<RootedHeader> {
  const end = firstSlotOfPeriod(node.network, period + 1n);
  let missing: RpcFault | undefined;
  for (let slot = end - 1n; slot >= end - MAX_EMPTY_SLOTS; slot--) {
    const header = await node.fetchHeader(String(slot)).catch(onFault((fault) => fault, "not_found"));
    if (!(header instanceof RpcFault)) return header;
    missing = header;
  }
  throw missing ?? new Error("A period has slots");
}

/**
 * Finds the newest block, from `start` back, whose signatures the hub can use. @param finalizedEpoch that of the head,
 * which attested states at the start of an epoch do not have yet. @returns the reason when there is none.
 */
async function select(
  node: BeaconNode,
  trusted: TrustedBeaconState,
  { start, finalizedEpoch }: { readonly start: RootedHeader; readonly finalizedEpoch: bigint },
): Promise<Candidate | WaitReason> {
  let root = start.root;
  let reason: WaitReason = "too_few_participants";
  for (let step = 0; step < MAX_STEPS; step++) {
    const signing = await node.fetchBlock(root);
    const attested = await node.fetchHeader(signing.parentRoot);
    const offer = offerFrom({ signing, attested }, finalizedEpoch);
    const plan = planUpdate(node.network, trusted.state.lightClientState, offer);
    if (plan.action === "build") {
      const withCommittee = plan.committee === "with_committee";
      const candidate = { network: node.network, attested, signing, withCommittee };
      believed(node.endpoint, beaconRoutes.block, () => checkSigned(trusted, candidate));
      return candidate;
    }
    if (plan.action === "wait") {
      reason = plan.reason;
      if (!passing.has(reason)) break;
    }
    root = attested.root;
  }
  return reason;
}

/** Properties of a candidate that the decision depends on. */
function offerFrom(
  { signing, attested }: Pick<Candidate, "signing" | "attested">,
  finalizedEpoch: bigint,
): UpdateOffer {
  return {
    attestedSlot: attested.header.slot,
    signatureSlot: signing.slot,
    signerCount: countSigners(signing.syncAggregate.bits),
    finalizedEpoch,
  };
}

/** Verifies the signature, which binds the attested header; later data is verified against its state root. */
function checkSigned(
  { state: { lightClientState: { currentSyncCommittee, nextSyncCommittee } } }: TrustedBeaconState,
  { network, attested: { header: attestedHeader }, signing, withCommittee }: Candidate,
): void {
  const { slot: signatureSlot, syncAggregate } = signing;
  const committee = withCommittee ? nextSyncCommittee : currentSyncCommittee;
  checkSignature(network, committee, { attestedHeader, signatureSlot, syncAggregate });
}

async function finish(
  context: BeaconContext,
  trusted: TrustedBeaconState,
  { hasMore, ...candidate }: Candidate & { readonly hasMore: boolean },
  signal: AbortSignal,
): Promise<ProverFinding> {
  const { endpoints } = context;
  const { network, attested: { header }, signing, withCommittee } = candidate;
  const { tree, finalizedCheckpoint: checkpoint, nextSyncCommittee, host } = await endpoints.ask(
    { route: WHOLE_STATE, subject: String(header.slot) },
    async (node) => ({ ...await fetchWholeState(node, { network, header }), host: node.endpoint.host }),
    signal,
  );
  // The node may have reported another epoch than the state proves.
  const plan = planUpdate(network, trusted.state.lightClientState, offerFrom(candidate, checkpoint.epoch));
  if (plan.action === "wait") return waitingFinding(network, plan.reason);
  const finalized = await endpoints.ask(
    { route: beaconRoutes.header },
    (node) => node.fetchHeader(checkpoint.root),
    signal,
  );
  const indices = stateIndicesAt(network, header.slot);
  const committee = { nextSyncCommittee, nextSyncCommitteeBranch: tree.branch(indices.nextSyncCommittee) };
  const signed = {
    attestedHeader: header,
    syncCommitteeUpdate: withCommittee ? committee : undefined,
    finalizedHeader: finalized.header,
    finalityProof: { epoch: checkpoint.epoch, finalityBranch: tree.branch(indices.finalizedCheckpoint) },
    syncAggregate: signing.syncAggregate,
    signatureSlot: signing.slot,
  };
  return await finishUpdate(context, trusted, {
    network,
    signed,
    sources: [`${WHOLE_STATE} of ${host}`],
    hasMore,
  }, signal);
}
