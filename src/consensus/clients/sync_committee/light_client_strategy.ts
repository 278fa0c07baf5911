/**
 * Strategy of few bytes: light client objects of the beacon nodes, and the proof of the execution block, which none of
 * them contains. Source: docs/protocol/evm-consensus.md sections 5.7 and 5.11; ethereum/consensus-specs:
 * specs/altair/light-client/full-node.md (what nodes serve).
 */
import {
  buildSignedUpdate,
  deriveNextCommitteeBranch,
  offerOf,
  planUpdate,
  type UpdatePlan,
} from "./spec/build_update.ts";
import {
  type BeaconNetwork,
  epochOfSlot,
  firstSlotOfPeriod,
  hubIndicesAt,
  isStartOfGloas,
  periodOfSlot,
} from "./spec/beacon_network.ts";
import type { FinalityUpdate, LightClientUpdate } from "./spec/light_client_data.ts";
import { committeeRoot, withoutPadding, ZERO_NODE } from "./spec/ssz_roots.ts";
import type { SyncCommitteeUpdate } from "./spec/update.ts";
import { authenticateUpdate } from "./spec/verify_update.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { RestEndpoint } from "../../rest/rest_endpoint.ts";
import { type BeaconNode, beaconRoutes, believed } from "./beacon_node.ts";
import { isAbsence } from "./beacon_endpoint_set.ts";
import {
  type BeaconContext,
  finishUpdate,
  type TrustedBeaconState,
  type UpdateAttempt,
  waitingAttempt,
} from "./update_attempt.ts";
import { fetchFinality } from "./state_bytes.ts";

/** The newest finality update with its plan. */
interface Offer {
  /** Of the node that served it. */
  readonly network: BeaconNetwork;
  readonly update: FinalityUpdate;
  readonly plan: UpdatePlan;
  /** The best update of the first missed period; absent where none was missed or the hub would not accept it. */
  readonly missed?: LightClientUpdate | undefined;
}

/** An update whose signature was verified. */
interface AuthenticUpdate {
  readonly source: FinalityUpdate;
  /** The committee that it must carry into the next period. */
  readonly committee: SyncCommitteeUpdate | undefined;
}

/** Polls without an update of a new period before its committee is read from a state, whatever the nodes answer. */
const MAX_POLLS_WITHOUT_UPDATE = 3;

/** Epochs after which the best update of a period finalizes a block of that period, unless finality has stalled. */
const MAX_EPOCHS_TO_FINALITY = 4n;

/** Builds updates from light client objects. */
export class LightClientStrategy {
  readonly #context: BeaconContext;
  /** By endpoint: the finalized epoch that it offers, and since when. */
  readonly #offered = new Map<RestEndpoint, { readonly epoch: bigint; readonly sinceMs: number }>();
  /** Consecutive polls in which no node served an update of this period. */
  #unserved = { period: -1n, polls: 0 };

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
        kind: "nothing",
        reason: "the beacon nodes are behind: they are syncing, or their finality has stalled",
      };
    }
    const { network, update, plan } = offer;
    if (plan.action === "wait") return waitingAttempt(network, plan.reason);
    if (plan.action === "catch_up") return await this.#catchUp(trusted, offer, signal);
    if (plan.committee === "with_committee") return await this.#rotate(trusted, offer, signal);
    const { execution } = update.finalizedHeader;
    const isKnown = typeof execution === "object" && trusted.height !== undefined &&
      execution.blockNumber <= trusted.height;
    if (isKnown) return { kind: "nothing", reason: `the hub knows height ${trusted.height} already` };
    return await this.#finish(trusted, { network, source: update, committee: undefined }, signal);
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
      if (fault.code !== "malformed" && faults.some(isMissing)) return undefined;
      throw fault;
    }
  }

  async #readOffer(node: BeaconNode, trusted: TrustedBeaconState): Promise<Offer> {
    const { network } = node;
    const update = await node.fetchFinalityUpdate();
    const { plan, epoch } = believed(node.endpoint, beaconRoutes.finalityUpdate, () => {
      const offer = offerOf(network, update);
      const plan = planUpdate(network, trusted.state.lightClientState, offer);
      // Data for an update must be authentic; a wait is not worth a signature check.
      if (plan.action === "build") authenticate(network, trusted, { source: update, committee: undefined });
      return { plan, epoch: offer.finalizedEpoch };
    });
    this.#context.noteHead(network, update.attestedHeader.slot);
    if (plan.action === "wait") this.#noteOffer(node.endpoint, epoch);
    if (plan.action !== "catch_up") return { network, update, plan };
    // A node that claims missed periods has to prove the first of them.
    const first = await node.fetchPeriodUpdate(plan.period);
    return { network, update, plan, missed: readPeriodUpdate(node, trusted, first) };
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
    if (endpoints.endpoints.length === 1 || clock.now() - known.sinceMs <= 2 * epochMs) return;
    throw endpoint.fault("lagging", beaconRoutes.finalityUpdate, {
      detail: `its finality has stalled at epoch ${epoch}`,
    });
  }

  /**
   * Enters the next period, with the committee of its best update, or of the attested state where no node serves such
   * updates.
   */
  async #rotate(trusted: TrustedBeaconState, offer: Offer, signal: AbortSignal): Promise<UpdateAttempt> {
    const { endpoints } = this.#context;
    const { network, update } = offer;
    const found = await this.#fetchRotation(trusted, offer, signal);
    if (found !== undefined && "kind" in found) return found;
    if (found !== undefined) return await this.#finish(trusted, { network, ...found }, signal);
    const wanted = { network, attested: update.attestedHeader, withCommittee: true };
    const { committee, source } = await fetchFinality(endpoints, wanted, signal);
    return await this.#finish(trusted, { network, source: update, committee, sources: [source] }, signal);
  }

  /** @returns the attempt's end when something is awaited, `undefined` when no node serves updates of periods. */
  async #fetchRotation(
    trusted: TrustedBeaconState,
    { network, update }: Offer,
    signal: AbortSignal,
  ): Promise<AuthenticUpdate | Extract<UpdateAttempt, { kind: "nothing" }> | undefined> {
    const { endpoints } = this.#context;
    const period = periodOfSlot(network, update.attestedHeader.slot);
    const route = beaconRoutes.updates;
    const againInMs = 2 * network.slotSec * 1000;
    // Nodes make it after a moment: one that does not have it twice counts as lacking the route.
    if (!endpoints.mayServe(route)) return this.#noteUnserved(period);
    try {
      const found = await endpoints.ask(
        { route },
        async (node) => readRotation(node, trusted, { update, best: await node.fetchPeriodUpdate(period) }),
        signal,
      );
      this.#unserved = { period, polls: 0 };
      if (found !== undefined) return found;
      const epochs = epochOfSlot(network, update.attestedHeader.slot - firstSlotOfPeriod(network, period));
      if (epochs >= MAX_EPOCHS_TO_FINALITY) return undefined;
      return { kind: "nothing", reason: "the best update of the new period is not final yet", againInMs };
    } catch (fault) {
      if (!(fault instanceof RpcFault) || fault.code === "malformed") throw fault;
      const polls = this.#unserved.period === period ? this.#unserved.polls + 1 : 1;
      this.#unserved = { period, polls };
      if (polls > MAX_POLLS_WITHOUT_UPDATE) return this.#noteUnserved(period);
      if (!isAbsence(fault)) throw fault;
      return { kind: "nothing", reason: "the committee of the next period is not served yet", againInMs };
    }
  }

  /** Logs once for each period that no node serves its updates. */
  #noteUnserved(period: bigint): undefined {
    if (this.#unserved.period === period && this.#unserved.polls === Infinity) return;
    this.#unserved = { period, polls: Infinity };
    const { chain, log } = this.#context.endpoints;
    log.warn("endpoint_limited.light_client_updates", { chain });
  }

  /**
   * Catches up on a missed period by its best update. Where no node has the state that it finalizes (any more), the
   * block state strategy tries other blocks of the period.
   */
  async #catchUp(
    trusted: TrustedBeaconState,
    { network, missed }: Offer,
    signal: AbortSignal,
  ): Promise<UpdateAttempt> {
    if (missed === undefined) return { kind: "unserved" };
    try {
      const source = { network, source: missed, committee: committeeOf(network, missed), hasMore: true };
      return await this.#finish(trusted, source, signal);
    } catch (fault) {
      if (fault instanceof RpcFault && isStateGone(fault)) return { kind: "unserved" };
      throw fault;
    }
  }

  /** Adds the execution block to an authentic update. */
  async #finish(
    trusted: TrustedBeaconState,
    { network, sources = [], hasMore = false, ...update }: AuthenticUpdate & {
      readonly network: BeaconNetwork;
      readonly sources?: readonly string[];
      readonly hasMore?: boolean;
    },
    signal: AbortSignal,
  ): Promise<UpdateAttempt> {
    const signed = buildSignedUpdate(network, update.source, update.committee);
    const { execution } = update.source.finalizedHeader;
    return await finishUpdate(
      this.#context,
      trusted,
      { network, signed, execution, sources, hasMore },
      signal,
    );
  }
}

function authenticate(
  network: BeaconNetwork,
  trusted: TrustedBeaconState,
  { source, committee }: AuthenticUpdate,
): void {
  authenticateUpdate(network, trusted.state.lightClientState, buildSignedUpdate(network, source, committee));
}

/**
 * The update into the next period: the newest one, where the committee's branch follows from the finality branch,
 * otherwise the best one of the period. @returns `undefined` for a best one that the hub does not accept.
 */
function readRotation(
  node: BeaconNode,
  trusted: TrustedBeaconState,
  { update, best }: { readonly update: FinalityUpdate; readonly best: LightClientUpdate },
): AuthenticUpdate | undefined {
  const { nextSyncCommittee } = best;
  const derived = believed(
    node.endpoint,
    beaconRoutes.updates,
    () =>
      deriveNextCommitteeBranch(node.network, update, {
        currentRoot: committeeRoot(trusted.state.lightClientState.nextSyncCommittee),
        nextRoot: committeeRoot(nextSyncCommittee),
      }),
  );
  if (derived !== undefined) {
    return { source: update, committee: { nextSyncCommittee, nextSyncCommitteeBranch: derived } };
  }
  const usable = readPeriodUpdate(node, trusted, best);
  return usable && { source: usable, committee: committeeOf(node.network, usable) };
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
    const plan = planUpdate(network, trusted.state.lightClientState, offerOf(network, update));
    if (plan.action !== "build" || plan.committee !== "with_committee") return undefined;
    authenticate(network, trusted, { source: update, committee: committeeOf(network, update) });
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

function committeeOf(network: BeaconNetwork, update: LightClientUpdate): SyncCommitteeUpdate {
  const { nextSyncCommittee: index } = hubIndicesAt(network, update.attestedHeader.slot);
  return {
    nextSyncCommittee: update.nextSyncCommittee,
    nextSyncCommitteeBranch: withoutPadding(update.nextSyncCommitteeBranch, index),
  };
}
