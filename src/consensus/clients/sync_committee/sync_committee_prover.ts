/**
 * Proves the finality of a beacon chain to the hub's sync committee client. Start reading at {@link
 * SyncCommitteeProver.next}: the light client strategy first, the block state strategy where nodes serve no light
 * clients.
 */
import { about, type CheckRow } from "../../../core/checks/check_row.ts";
import type { TargetReads, TargetUpdates } from "../../../core/chains/consensus_target.ts";
import type { EndpointUrl } from "../../../core/config/redact.ts";
import { decodeBeaconConsensusState } from "./spec/verify_update.ts";
import {
  type BeaconNetwork,
  epochOfSlot,
  isGloasAt,
  isStartOfGloas,
  periodOfSlot,
} from "./spec/beacon_network.ts";
import {
  type BeaconConsensusState,
  beaconConsensusStateCodec,
  canCarry,
  stateUpdateCodecs,
  type UpdateLayout,
  updateLayouts,
} from "./spec/update.ts";
import { describeUnfollowedFork, findUnfollowedFork } from "./spec/fork_schedule.ts";
import { checkChainIds, type EvmReader, fetchEvmHeader } from "../../evm_reader.ts";
import { equalBytes } from "../../../core/encoding/bytes.ts";
import { keepFault, RpcFault } from "../../../core/rpc/call.ts";
import { RestEndpoint } from "../../rest/rest_endpoint.ts";
import type { ProverContext } from "../../client.ts";
import { TargetClient } from "../../target_client.ts";
import {
  BaseProver,
  type ConsensusProver,
  type InitialConsensusState,
  ProverFault,
  type ProverFinding,
  type ProverOptions,
  usualPeriods,
} from "../../prover.ts";
import { beaconRoutes } from "./beacon_node.ts";
import { BeaconEndpointSet, proverFaultOf } from "./beacon_endpoint_set.ts";
import { fetchWholeState } from "./state_bytes.ts";
import { evmCommitment } from "../../spec/header_commitment.ts";
import { attemptByLightClient } from "./light_client_strategy.ts";
import type { BeaconContext, MadeUpdate, TrustedBeaconState } from "./finish_update.ts";
import { PayloadProofs } from "./payload_sources.ts";
import { attemptByBlocks } from "./block_state_strategy.ts";
import { checkBeaconNodes } from "./beacon_checks.ts";
import { proverFaultRow } from "../../poll_loop.ts";

/** Dependencies of the prover; those of endpoints are for the beacon nodes. */
export interface SyncCommitteeProverDeps
  extends Pick<ProverContext, "fetch" | "observer" | "clock" | "randomness" | "log"> {
  readonly hub: {
    readonly reads: Pick<TargetReads, "fetchClient" | "fetchLatestHeight" | "fetchNowSec">;
    readonly updates: Pick<TargetUpdates, "dryRunUpdates">;
  };
  /** Nodes of the execution chain. The prover does not close them. */
  readonly execution: EvmReader;
}

/** Configured options of the chain. */
export interface SyncCommitteeProverOptions extends ProverOptions {
  /** See `beaconNetworkOf(chainId)`; chains without one have no prover. */
  readonly network: BeaconNetwork;
  /** Base URLs of beacon nodes in order of preference, at least one (`beacon_http_urls`). */
  readonly beaconUrls: readonly EndpointUrl[];
}

/** Polls of one finalized state that no node serves before a fault is reported: new states take a moment. */
const MAX_UNSERVED_POLLS = 3;

/** Proves a chain of type `evm`. */
export class SyncCommitteeProver extends BaseProver<SyncCommitteeProverOptions> implements ConsensusProver {
  readonly #client: TargetClient<BeaconConsensusState>;
  readonly #deps: SyncCommitteeProverDeps;
  readonly #context: BeaconContext;
  /** Layout of updates that the hub's runtime read last; `undefined`: not known yet. */
  #layout: UpdateLayout | undefined;
  /** What stands of a fork that cannot be followed, by the node that was asked last. */
  #forkWarning: string | undefined;
  /** Names of forks that the log has warned of. */
  readonly #warned = new Set<string>();
  /** Consecutive polls without served data, with the hub's epoch at that time. */
  #unserved = { epoch: -1n, polls: 0 };

  /** @throws {RangeError} without beacon URLs. */
  constructor(deps: SyncCommitteeProverDeps, options: SyncCommitteeProverOptions) {
    super(options);
    const { network, consensusStateId } = options;
    this.#deps = deps;
    const { clientId } = network;
    this.#client = new TargetClient(deps.hub, options, { clientId, decode: decodeBeaconConsensusState });
    const nodes = options.beaconUrls.map((url) =>
      new RestEndpoint(deps, { url: url.reveal(), chain: this.chain })
    );
    const endpoints = new BeaconEndpointSet({ ...deps, network }, this.chain, nodes);
    const proofs = new PayloadProofs(endpoints, deps.execution);
    this.#context = {
      network,
      consensusStateId,
      endpoints,
      proofs,
      encode: (made, signal) => this.#encode(made, signal),
      noteHead: (network, slot) => this.#noteHead(network, slot),
    };
  }

  async check(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const { network, endpoints: { endpoints: nodes } } = this.#context;
    const [beacon, execution, hub] = await Promise.all([
      checkBeaconNodes(this.#deps.clock, { chain: this.chain, network, nodes }, signal),
      checkChainIds(this.#deps.execution, { chain: this.chain, key: "rpc_urls" }, signal),
      this.checkHub(signal),
    ]);
    return [...hub, ...beacon, ...execution];
  }

  async checkHub(signal: AbortSignal): Promise<readonly CheckRow[]> {
    try {
      await this.#fetchTrusted(signal);
      const found = this.#forkWarning;
      return found === undefined ? [] : [about(this.chain).warning("fork_not_followed", found)];
    } catch (fault) {
      if (!(fault instanceof ProverFault)) throw fault;
      // The row of the light client tells these.
      if (fault.code === "frozen" || fault.code === "expired") return [];
      return [proverFaultRow(this.chain, fault)];
    }
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    const trusted = await this.#fetchTrusted(signal);
    const epoch = trusted.state.lightClientState.latestFinalizedEpoch;
    const finding = await this.#attempt(trusted, signal).catch(keepFault);
    if (!(finding instanceof RpcFault)) {
      this.#unserved = { epoch, polls: 0 };
      return finding;
    }
    if (finding.where.chain !== this.chain) throw finding;
    return this.#findingOfFault(epoch, finding);
  }

  async #attempt(trusted: TrustedBeaconState, signal: AbortSignal): Promise<ProverFinding> {
    const light = await attemptByLightClient(this.#context, trusted, signal);
    if (light !== undefined) return light;
    this.#deps.log.debug("endpoint_limited.light_client_data", { chain: this.chain });
    return await attemptByBlocks(this.#context, trusted, signal);
  }

  /** Waits for a state that was just finalized, which nodes often serve only after a moment. */
  #findingOfFault(epoch: bigint, fault: RpcFault): ProverFinding {
    const reported = proverFaultOf(this.chain, fault);
    if (!(reported instanceof ProverFault) || reported.code !== "not_served") throw reported;
    const polls = this.#unserved.epoch === epoch ? this.#unserved.polls + 1 : 1;
    this.#unserved = { epoch, polls };
    if (polls > MAX_UNSERVED_POLLS) throw reported;
    const againInMs = 2 * this.#context.network.slotSec * 1000;
    return { kind: "nothing", reason: `not served yet: ${reported.detail}`, againInMs };
  }

  /**
   * Encodes an update that our verifier accepts, in the layout that the hub's runtime reads: the first in which a dry run
   * accepts it. Source: docs/protocol/evm-consensus.md section 5.11. @throws {ProverFault} `fork_not_followed`
   */
  async #encode(made: MadeUpdate, signal: AbortSignal): Promise<Uint8Array | ProverFinding> {
    const { update } = made;
    const known = this.#layout;
    const carrying = updateLayouts.filter((layout) => canCarry(layout, update.executionPayload))
      .sort((a, b) => Number(b === known) - Number(a === known));
    const id = this.consensusStateId;
    for (const name of carrying) {
      const bytes = stateUpdateCodecs[name].enc(update);
      const refusal = await this.#deps.hub.updates.dryRunUpdates({ id, proofs: [bytes] }, signal);
      if (refusal !== undefined) continue;
      if (name !== (known ?? "flat")) this.#deps.log.info("runtime_changed.update_layout", { layout: name });
      this.#layout = name;
      return bytes;
    }
    return await this.#findingOfRefusal(made, signal);
  }

  /**
   * Judges an update that the hub refuses in every layout. One of before Gloas is submitted in the known layout: its
   * refusal has another reason. The first finalized checkpoint of Gloas still commits to a block of before, whose header
   * has fewer items than hubs take: the next one follows after an epoch. Others are refused, too, when another relayer
   * was first. @throws {ProverFault} `fork_not_followed`
   */
  async #findingOfRefusal(
    { network, update, madeOn }: MadeUpdate,
    signal: AbortSignal,
  ): Promise<ProverFinding | Uint8Array> {
    const { slot } = update.finalizedHeader;
    if (!isGloasAt(network, update.attestedHeader.slot)) {
      return stateUpdateCodecs[this.#layout ?? "flat"].enc(update);
    }
    if (isStartOfGloas(network, slot)) {
      const reason =
        `the hub refuses the first finalized slot ${slot} of Gloas, whose execution block is of before`;
      return { kind: "nothing", reason };
    }
    const client = await this.#deps.hub.reads.fetchClient(this.consensusStateId, "best", signal);
    if (client !== undefined && !equalBytes(client.state, madeOn)) {
      return { kind: "nothing", reason: "another relayer has updated the client" };
    }
    const detail =
      `the hub refuses finalized slot ${slot} and its proof of Gloas in every layout of updates: nothing ` +
      "can be proved until its runtime follows the fork";
    throw this.fault("fork_not_followed", detail);
  }

  /** Warns once of a fork that cannot be followed. */
  #noteHead(network: BeaconNetwork, slot: bigint): void {
    const fork = findUnfollowedFork(network, slot, this.#layout);
    this.#forkWarning = fork && `${this.chain}: ${describeUnfollowedFork(fork)}`;
    if (fork === undefined || this.#warned.has(fork.fork.name)) return;
    this.#warned.add(fork.fork.name);
    this.#deps.log.warn("client_unusable.fork_not_followed", { explanation: this.#forkWarning });
  }

  /** Fetches the hub's state. @throws {ProverFault} `hub_state`, `frozen`, `expired` */
  async #fetchTrusted(signal: AbortSignal): Promise<TrustedBeaconState> {
    const { state, bytes } = await this.#client.fetch(signal);
    if (state.chainId !== this.#context.network.chainId) {
      throw this.#client.fault(`client ${this.consensusStateId} of the hub follows chain ${state.chainId}`);
    }
    const height = await this.#deps.hub.reads.fetchLatestHeight(this.commitmentId, signal);
    return { state, height, bytes };
  }

  /**
   * Makes the state of the whole finalized state of a beacon node, which has both committees: the operator trusts the
   * node. Source: polytope-labs/hyperbridge: tesseract/consensus/sync-committee/src (initial consensus state);
   * docs/protocol/evm-consensus.md section 5.10.
   */
  async fetchInitialState(signal: AbortSignal): Promise<InitialConsensusState> {
    const { network, endpoints } = this.#context;
    const { header, state } = await endpoints.ask({ route: beaconRoutes.state }, async (node) => {
      const { header } = await node.fetchHeader("finalized");
      return { header, state: await fetchWholeState(node, { network: node.network, header }) };
    }, signal).catch((fault) => {
      throw proverFaultOf(this.chain, keepFault(fault));
    });
    const { currentSyncCommittee, nextSyncCommittee } = state;
    const trusted: BeaconConsensusState = {
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
    return {
      clientId: network.clientId,
      state: beaconConsensusStateCodec.enc(trusted),
      ...usualPeriods(this.chain),
      // The newest block, as the reference does: updates below it add no commitment until finality has passed it.
      commitments: [
        evmCommitment(this.commitmentId, await fetchEvmHeader(this.#deps.execution, "latest", signal)),
      ],
    };
  }
}
