/**
 * Strategy without light client routes: walks back from the head to a block that enough committee members signed, and
 * takes the proofs from the states, by the proof route where there is one, otherwise from whole states. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/sync-committee, modules/consensus/sync-committee/prover/src.
 */
import { type BeaconNetwork, firstSlotOfPeriod, periodOfSlot } from "./spec/beacon_network.ts";
import { checkSignature } from "./spec/verify_update.ts";
import { planUpdate, type UpdatePlan, type WaitReason } from "./spec/build_update.ts";
import type { SigningBlock } from "./spec/light_client_data.ts";
import { ZERO_NODE } from "./spec/ssz_roots.ts";
import { countSigners } from "./spec/update.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { type BeaconNode, beaconRoutes, believed, type RootedHeader } from "./beacon_node.ts";
import {
  type BeaconContext,
  finishUpdate,
  type TrustedBeaconState,
  type UpdateAttempt,
  waitingAttempt,
} from "./update_attempt.ts";
import { fetchFinality } from "./state_bytes.ts";

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

/** A candidate, or the reason that there is none. */
type Selection = { readonly kind: "candidate"; readonly candidate: Candidate } | {
  readonly kind: "wait";
  readonly reason: WaitReason;
};

/** Builds updates from blocks and states. */
export class BlockStateStrategy {
  readonly #context: BeaconContext;

  constructor(context: BeaconContext) {
    this.#context = context;
  }

  /** Attempts an update once. @throws {RpcFault} of beacon nodes; `malformed` where data was refused. */
  async attempt(trusted: TrustedBeaconState, signal: AbortSignal): Promise<UpdateAttempt> {
    const { endpoints, network } = this.#context;
    const { statePeriod, latestFinalizedEpoch } = trusted.state.lightClientState;
    const position = await endpoints.ask({ route: beaconRoutes.checkpoints }, async (node) => {
      const checkpoint = await node.fetchFinalizedCheckpoint("head");
      const head = await node.fetchHeader("head");
      this.#context.noteHead(node.network, head.header.slot);
      return { checkpoint, head };
    }, signal);
    const { checkpoint, head } = position;
    if (checkpoint.root === ZERO_NODE) {
      return { kind: "nothing", reason: "the chain has finalized nothing yet" };
    }
    if (checkpoint.epoch <= latestFinalizedEpoch) return waitingAttempt(network, "epoch_not_newer");
    const isBehind = periodOfSlot(network, head.header.slot) > statePeriod + 1n;
    const selection = await endpoints.ask(
      { route: beaconRoutes.block },
      async (node) => {
        const start = isBehind ? await this.#lastBlockOf(node, statePeriod + 1n) : head;
        return await this.#select(node, trusted, start);
      },
      signal,
    );
    if (selection.kind === "wait") return waitingAttempt(network, selection.reason);
    return await this.#finish(trusted, { ...selection.candidate, hasMore: isBehind }, signal);
  }

  /** Finds the last block of a period. */
  async #lastBlockOf(node: BeaconNode, period: bigint): Promise<RootedHeader> {
    const end = firstSlotOfPeriod(this.#context.network, period + 1n);
    let missing: RpcFault | undefined;
    for (let slot = end - 1n; slot >= end - MAX_EMPTY_SLOTS; slot--) {
      try {
        return await node.fetchHeader(String(slot));
      } catch (fault) {
        if (!(fault instanceof RpcFault) || fault.code !== "not_found") throw fault;
        missing = fault;
      }
    }
    throw missing ?? new Error("A period has slots");
  }

  /** Finds the newest block, from `start` back, whose signatures the hub can use. */
  async #select(node: BeaconNode, trusted: TrustedBeaconState, start: RootedHeader): Promise<Selection> {
    let root = start.root;
    let reason: WaitReason = "too_few_participants";
    for (let step = 0; step < MAX_STEPS; step++) {
      const signing = await node.fetchBlock(root);
      const attested = await node.fetchHeader(signing.parentRoot);
      const plan = await this.#planFor(node, trusted, { signing, attested });
      if (plan.action === "build") {
        const withCommittee = plan.committee === "with_committee";
        const candidate = { network: node.network, attested, signing, withCommittee };
        believed(node.endpoint, beaconRoutes.block, () => this.#checkSigned(trusted, candidate));
        return { kind: "candidate", candidate };
      }
      if (plan.action === "wait") {
        reason = plan.reason;
        const mayHelp = reason === "too_few_participants" || reason === "attested_before_period" ||
          reason === "first_slot_of_fork";
        if (!mayHelp) break;
      }
      root = attested.root;
    }
    return { kind: "wait", reason };
  }

  async #planFor(
    node: BeaconNode,
    trusted: TrustedBeaconState,
    { signing, attested }: Pick<Candidate, "signing" | "attested">,
  ): Promise<UpdatePlan> {
    const { network } = node;
    const offer = {
      attestedSlot: attested.header.slot,
      signatureSlot: signing.slot,
      signerCount: countSigners(signing.syncAggregate.bits),
    };
    // Signers and slots are checked first: they need no request for the state.
    const state = trusted.state.lightClientState;
    const early = planUpdate(network, state, { ...offer, finalizedEpoch: state.latestFinalizedEpoch + 1n });
    if (early.action !== "build") return early;
    const { epoch } = await node.fetchFinalizedCheckpoint(attested.header.stateRoot);
    return planUpdate(network, state, { ...offer, finalizedEpoch: epoch });
  }

  /** Verifies the signature, which binds the attested header; later data is verified against its state root. */
  #checkSigned(trusted: TrustedBeaconState, { network, attested, signing, withCommittee }: Candidate): void {
    const state = trusted.state.lightClientState;
    checkSignature(
      network,
      withCommittee ? state.nextSyncCommittee : state.currentSyncCommittee,
      {
        attestedHeader: attested.header,
        signatureSlot: signing.slot,
        syncAggregate: signing.syncAggregate,
      },
    );
  }

  async #finish(
    trusted: TrustedBeaconState,
    { network, attested, signing, withCommittee, hasMore }: Candidate & { readonly hasMore: boolean },
    signal: AbortSignal,
  ): Promise<UpdateAttempt> {
    const { endpoints } = this.#context;
    const wanted = { network, attested: attested.header, withCommittee };
    const finality = await fetchFinality(endpoints, wanted, signal);
    // The node may have reported another epoch than the state proves.
    const plan = planUpdate(network, trusted.state.lightClientState, {
      attestedSlot: attested.header.slot,
      finalizedEpoch: finality.checkpoint.epoch,
      signatureSlot: signing.slot,
      signerCount: countSigners(signing.syncAggregate.bits),
    });
    if (plan.action === "wait") return waitingAttempt(network, plan.reason);
    const finalized = await endpoints.ask(
      { route: beaconRoutes.header },
      (node) => node.fetchHeader(finality.checkpoint.root),
      signal,
    );
    const signed = {
      attestedHeader: attested.header,
      syncCommitteeUpdate: finality.committee,
      finalizedHeader: finalized.header,
      finalityProof: finality.finalityProof,
      syncAggregate: signing.syncAggregate,
      signatureSlot: signing.slot,
    };
    const source = { network, signed, sources: [finality.source], hasMore };
    return await finishUpdate(this.#context, trusted, source, signal);
  }
}
