/**
 * Strategy of few bytes: light client objects of the beacon nodes, and the one branch that none of them contains.
 * Source: docs/protocol/evm-consensus.md section 5.7; ethereum/consensus-specs: specs/altair/light-client/full-node.md
 * (what nodes serve).
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { buildUpdate, deriveNextCommitteeBranch } from "./spec/build_update.ts";
import { periodOfSlot } from "./spec/beacon_network.ts";
import type { FinalityUpdate, LightClientUpdate } from "./spec/light_client_data.ts";
import { isWorthSubmitting, offerOf, planUpdate, type UpdatePlan } from "./spec/plan_update.ts";
import { committeeRoot } from "./spec/ssz_roots.ts";
import type { StateUpdate, SyncCommitteeUpdate } from "./spec/update.ts";
import { authenticateUpdate } from "./spec/verify_update.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { RestEndpoint } from "../../rest/rest_endpoint.ts";
import { type BeaconNode, beaconRoutes, believed } from "./beacon_node.ts";
import { isAbsence } from "./beacon_endpoint_set.ts";
import {
  type BeaconContext,
  type TrustedBeaconState,
  type UpdateAttempt,
  verified,
  waitingAttempt,
} from "./update_attempt.ts";

/** The newest finality update with its plan. */
interface Offer {
  readonly update: FinalityUpdate;
  readonly plan: UpdatePlan;
  /** The best update of the first missed period; absent where none was missed or the hub would not accept it. */
  readonly missed?: LightClientUpdate | undefined;
}

const ZERO: Hash256 = `0x${"00".repeat(32)}`;

/** Builds updates from light client objects. */
export class LightClientStrategy {
  readonly #context: BeaconContext;
  /** By endpoint: the finalized epoch that it offers, and since when. */
  readonly #offered = new Map<RestEndpoint, { readonly epoch: bigint; readonly sinceMs: number }>();

  constructor(context: BeaconContext) {
    this.#context = context;
  }

  /**
   * Attempts an update once. @throws {RpcFault} of beacon nodes; `malformed` where data was refused and no other node
   * succeeded.
   */
  async attempt(trusted: TrustedBeaconState, signal: AbortSignal): Promise<UpdateAttempt> {
    const offer = await this.#fetchOffer(trusted, signal);
    if (offer === undefined) return { kind: "unserved" };
    if (offer === "behind") {
      return {
        kind: "wait",
        reason: "the beacon nodes are behind: they are syncing, or their finality has stalled",
      };
    }
    const { update, plan } = offer;
    if (plan.action === "wait") return waitingAttempt(this.#context.network, plan.reason);
    if (plan.action === "catch_up") return await this.#catchUp(trusted, offer.missed, signal);
    const withCommittee = plan.committee === "with_committee";
    const height = update.finalizedHeader.execution.blockNumber;
    if (!withCommittee && trusted.height !== undefined && height <= trusted.height) {
      return { kind: "wait", reason: `the hub knows height ${trusted.height} already` };
    }
    if (!withCommittee) return await this.#finish(trusted, { source: update, committee: undefined }, signal);
    const committee = await this.#fetchCommittee(trusted, update, signal);
    if (committee === undefined) {
      const reason = "the committee of the next period is not served yet";
      return { kind: "wait", reason, againInMs: 2 * this.#context.network.slotSec * 1000 };
    }
    return await this.#finish(trusted, { source: update, committee }, signal);
  }

  /** @returns `undefined` when no node serves light clients, `behind` when all that do are syncing or have stalled. */
  async #fetchOffer(trusted: TrustedBeaconState, signal: AbortSignal): Promise<Offer | "behind" | undefined> {
    const faults: RpcFault[] = [];
    const route = beaconRoutes.finalityUpdate;
    try {
      return await this.#context.endpoints.ask(
        { route, onFault: (fault) => void faults.push(fault) },
        (node) => this.#readOffer(node, trusted),
        signal,
      );
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      if (faults.length > 0 && faults.every(({ code }) => code === "lagging")) return "behind";
      if (fault.code !== "malformed" && faults.some(isAbsence)) return undefined;
      throw fault;
    }
  }

  async #readOffer(node: BeaconNode, trusted: TrustedBeaconState): Promise<Offer> {
    const { network } = this.#context;
    const update = await node.fetchFinalityUpdate();
    const { plan, epoch } = believed(node.endpoint, beaconRoutes.finalityUpdate, () => {
      const offer = offerOf(update);
      const plan = planUpdate(network, trusted.state.lightClientState, offer);
      // Data for an update must be authentic; a wait is not worth a signature check.
      if (plan.action === "build") this.#authenticate(trusted, update);
      return { plan, epoch: offer.finalizedEpoch };
    });
    if (plan.action === "wait") this.#noteOffer(node.endpoint, epoch);
    if (plan.action !== "catch_up") return { update, plan };
    // A node that claims missed periods has to prove the first of them.
    const first = await node.fetchPeriodUpdate(plan.periods.startPeriod);
    return { update, plan, missed: this.#readPeriodUpdate(node, trusted, first) };
  }

  #authenticate(trusted: TrustedBeaconState, source: FinalityUpdate, committee?: SyncCommitteeUpdate): void {
    const { network } = this.#context;
    const update = buildUpdate(network, source, { payloadBranch: [], committee });
    authenticateUpdate(network, trusted.state.lightClientState, update);
  }

  /**
   * Skips an endpoint without progress while there are others: it is stuck or dishonest. @throws {RpcFault} `lagging`
   * when the finality that the endpoint offers has not advanced for two epochs.
   */
  #noteOffer(endpoint: RestEndpoint, epoch: bigint): void {
    const { network, clock, endpoints } = this.#context;
    const known = this.#offered.get(endpoint);
    if (known?.epoch !== epoch) {
      this.#offered.set(endpoint, { epoch, sinceMs: clock.now() });
      return;
    }
    const epochMs = Number(network.slotsPerEpoch) * network.slotSec * 1000;
    if (endpoints.rest.endpoints.length === 1 || clock.now() - known.sinceMs <= 2 * epochMs) return;
    throw endpoint.fault("lagging", beaconRoutes.finalityUpdate, {
      detail: `its finality has stalled at epoch ${epoch}`,
    });
  }

  /** Fetches the committee that an update into the next period must carry, with its branch in the attested state. */
  async #fetchCommittee(
    trusted: TrustedBeaconState,
    source: FinalityUpdate,
    signal: AbortSignal,
  ): Promise<SyncCommitteeUpdate | undefined> {
    const { network, endpoints } = this.#context;
    const period = periodOfSlot(network, source.attestedHeader.slot);
    const route = beaconRoutes.updates;
    const currentRoot = committeeRoot(trusted.state.lightClientState.nextSyncCommittee);
    try {
      return await endpoints.ask({ route, subject: String(period) }, async (node) => {
        const { nextSyncCommittee } = await node.fetchPeriodUpdate(period);
        return believed(node.endpoint, route, () => ({
          nextSyncCommittee,
          nextSyncCommitteeBranch: deriveNextCommitteeBranch(
            source,
            currentRoot,
            committeeRoot(nextSyncCommittee),
          ),
        }));
      }, signal);
    } catch (fault) {
      if (fault instanceof RpcFault && isAbsence(fault)) return undefined;
      throw fault;
    }
  }

  /**
   * Catches up on a missed period by its best update. Where no node has the state that it finalizes (any more), the
   * block state strategy tries other blocks of the period.
   */
  async #catchUp(
    trusted: TrustedBeaconState,
    missed: LightClientUpdate | undefined,
    signal: AbortSignal,
  ): Promise<UpdateAttempt> {
    if (missed === undefined) return { kind: "unserved" };
    try {
      const attempt = await this.#finish(trusted, { source: missed, committee: committeeOf(missed) }, signal);
      return attempt.kind === "update" ? { ...attempt, hasMore: true } : attempt;
    } catch (fault) {
      if (fault instanceof RpcFault && isStateGone(fault)) return { kind: "unserved" };
      throw fault;
    }
  }

  /** @returns `undefined` for an authentic update that the hub does not accept, e.g. one without finality. */
  #readPeriodUpdate(
    node: BeaconNode,
    trusted: TrustedBeaconState,
    update: LightClientUpdate,
  ): LightClientUpdate | undefined {
    return believed(node.endpoint, beaconRoutes.updates, () => {
      if (update.finalityBranch.every((hash) => hash === ZERO)) return undefined;
      const plan = planUpdate(this.#context.network, trusted.state.lightClientState, offerOf(update));
      if (plan.action !== "build" || plan.committee !== "with_committee") return undefined;
      this.#authenticate(trusted, update, committeeOf(update));
      return update;
    });
  }

  /** Adds the branch of the payload header to an authentic update. */
  async #finish(
    trusted: TrustedBeaconState,
    { source, committee }: AuthenticUpdate,
    signal: AbortSignal,
  ): Promise<UpdateAttempt> {
    const { network, branches } = this.#context;
    const { beacon, execution } = source.finalizedHeader;
    const found = await branches.find({ beacon, execution }, signal);
    const update: StateUpdate = buildUpdate(network, source, { payloadBranch: found.branch, committee });
    if (!isWorthSubmitting(trusted.state.lightClientState, update, trusted.height)) {
      return { kind: "wait", reason: "the update would not advance the hub" };
    }
    return {
      kind: "update",
      update,
      verified: verified(this.#context, trusted, update),
      sources: [`${found.source} of ${found.endpoint}`],
      hasMore: false,
    };
  }
}

/** An update whose signature was verified. */
interface AuthenticUpdate {
  readonly source: FinalityUpdate;
  /** The committee that it must carry into the next period. */
  readonly committee: SyncCommitteeUpdate | undefined;
}

/** True for the faults of nodes without a state any more; some just fail. */
function isStateGone(fault: RpcFault): boolean {
  return isAbsence(fault) || fault.code === "pruned" || fault.code === "server_error";
}

function committeeOf(update: LightClientUpdate): SyncCommitteeUpdate {
  return {
    nextSyncCommittee: update.nextSyncCommittee,
    nextSyncCommitteeBranch: update.nextSyncCommitteeBranch,
  };
}
