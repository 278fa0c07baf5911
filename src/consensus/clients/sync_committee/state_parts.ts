/**
 * Proofs from states where no light client objects are served: finality and the next committee from the attested state,
 * the payload header from the finalized one. Small sources come before whole states.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { electraStateIndices } from "./spec/beacon_network.ts";
import { deriveExecutionPayloadProof } from "./spec/build_update.ts";
import { DerivationError } from "./spec/derivation_error.ts";
import { branchOfNodes } from "./spec/merkle.ts";
import { checkpointRoot, committeeRoot } from "./spec/ssz_roots.ts";
import { readNextCommittee } from "./spec/state_prefix.ts";
import { PAYLOAD_STATE_INDICES, payloadProofOf, ProvedState, stateProofFormat } from "./spec/state_proof.ts";
import type { BeaconStateParts } from "./spec/state_stream.ts";
import type { BeaconBlockHeader, ExecutionPayloadProof, SyncCommitteeUpdate } from "./spec/update.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import { type BeaconNode, beaconRoutes, believed, type Checkpoint } from "./beacon_node.ts";
import type { BeaconContext } from "./update_attempt.ts";
import { byRootOrSlot, fetchStatePrefix, fetchWholeState } from "./state_bytes.ts";

/** Proofs from an attested state. */
export interface FinalityParts {
  readonly checkpoint: Checkpoint;
  readonly branch: readonly Hash256[];
  readonly committee: SyncCommitteeUpdate | undefined;
  /** For the log. */
  readonly source: string;
}

/** Proofs from a finalized state. */
export interface PayloadParts {
  readonly proof: ExecutionPayloadProof;
  /** For the log. */
  readonly source: string;
}

const { finalizedCheckpoint, nextSyncCommittee, executionPayloadHeader } = electraStateIndices;

/** Names of the sources in the endpoints' capabilities; those of finalized states differ. */
const ATTESTED_PROOF = "state proof of an attested state";
const FINALIZED_PROOF = "state proof of the payload header";
const WHOLE_STATE = "whole state";

/** What to prove from an attested state. */
interface WantedFinality {
  readonly attested: BeaconBlockHeader;
  readonly withCommittee: boolean;
}

/** The two ways to parts of a state. */
interface Ways<T> {
  /** Name of the proof in the endpoints' capabilities. */
  readonly proofRoute: string;
  readonly byProof: (node: BeaconNode) => Promise<T>;
  readonly byState: (node: BeaconNode) => Promise<T>;
}

/** Fetches parts of states from the beacon nodes. */
export class StateParts {
  readonly #context: BeaconContext;

  constructor(context: BeaconContext) {
    this.#context = context;
  }

  /** Fetches finality, and on demand the next committee, from the attested state. @throws {RpcFault} */
  async fetchFinality(
    attested: BeaconBlockHeader,
    withCommittee: boolean,
    signal: AbortSignal,
  ): Promise<FinalityParts> {
    const wanted = { attested, withCommittee };
    const ways = {
      proofRoute: ATTESTED_PROOF,
      byProof: (node: BeaconNode) => byRootOrSlot(attested, (id) => this.#finalityByProof(node, id, wanted)),
      byState: (node: BeaconNode) => byRootOrSlot(attested, (id) => this.#finalityByState(node, id, wanted)),
    };
    return await this.#firstOf(ways, attested.slot, signal);
  }

  /**
   * Fetches the proof of the payload header in the state of a finalized block. It is requested by slot: some nodes do
   * not find the root of a just finalized state. @throws {RpcFault}
   */
  async fetchPayload(finalized: BeaconBlockHeader, signal: AbortSignal): Promise<PayloadParts> {
    const ways = {
      proofRoute: FINALIZED_PROOF,
      byProof: (node: BeaconNode) => this.#payloadByProof(node, finalized),
      byState: (node: BeaconNode) =>
        byRootOrSlot(finalized, (id) => this.#payloadByState(node, id, finalized)),
    };
    return await this.#firstOf(ways, finalized.slot, signal);
  }

  /** Uses the proof route where a node has it, otherwise the whole state. */
  async #firstOf<T>(
    { proofRoute, byProof, byState }: Ways<T>,
    slot: bigint,
    signal: AbortSignal,
  ): Promise<T> {
    const { endpoints } = this.#context;
    const subject = String(slot);
    let refused: RpcFault | undefined;
    try {
      return await endpoints.ask({ route: proofRoute, subject, asksAgain: false }, byProof, signal);
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      if (fault.code === "malformed") refused = fault;
    }
    try {
      return await endpoints.ask({ route: WHOLE_STATE, subject }, byState, signal);
    } catch (fault) {
      throw fault instanceof RpcFault && refused !== undefined ? refused : fault;
    }
  }

  async #finalityByProof(
    node: BeaconNode,
    state: string,
    { attested, withCommittee }: WantedFinality,
  ): Promise<FinalityParts> {
    const checkpoint = await node.fetchFinalizedCheckpoint(state);
    const indices = withCommittee ? [finalizedCheckpoint, nextSyncCommittee] : [finalizedCheckpoint];
    const leaves = await node.fetchStateProof(state, stateProofFormat(indices));
    const route = beaconRoutes.stateProof;
    const proved = believed(node.endpoint, route, () => {
      const proved = new ProvedState(attested.stateRoot, indices, leaves);
      if (proved.node(finalizedCheckpoint) !== checkpointRoot(checkpoint.epoch, checkpoint.root)) {
        throw new DerivationError("state_root");
      }
      return proved;
    });
    return {
      checkpoint,
      branch: proved.branch(finalizedCheckpoint),
      committee: withCommittee ? await this.#fetchCommittee(node, state, { attested, proved }) : undefined,
      source: `state proof of ${node.endpoint.host}`,
    };
  }

  /** Reads the committee: the proof has its root, the prefix of the state its keys. */
  async #fetchCommittee(
    node: BeaconNode,
    state: string,
    { attested, proved }: { readonly attested: BeaconBlockHeader; readonly proved: ProvedState },
  ): Promise<SyncCommitteeUpdate> {
    const prefix = await fetchStatePrefix(node, state);
    return believed(node.endpoint, beaconRoutes.state, () => {
      const committee = readNextCommittee(prefix, attested.slot);
      if (committeeRoot(committee) !== proved.node(nextSyncCommittee)) {
        throw new DerivationError("committee_pair");
      }
      return { nextSyncCommittee: committee, nextSyncCommitteeBranch: proved.branch(nextSyncCommittee) };
    });
  }

  async #finalityByState(
    node: BeaconNode,
    state: string,
    { attested, withCommittee }: WantedFinality,
  ): Promise<FinalityParts> {
    const parts = await this.#wholeState(node, state, attested);
    const branch = (index: number): Hash256[] => branchOfNodes(index, (at) => parts.nodes[at]);
    return {
      checkpoint: parts.finalizedCheckpoint,
      branch: branch(finalizedCheckpoint),
      committee: withCommittee
        ? {
          nextSyncCommittee: parts.nextSyncCommittee,
          nextSyncCommitteeBranch: branch(nextSyncCommittee),
        }
        : undefined,
      source: `whole state of ${node.endpoint.host}`,
    };
  }

  async #payloadByProof(node: BeaconNode, finalized: BeaconBlockHeader): Promise<PayloadParts> {
    const format = stateProofFormat(PAYLOAD_STATE_INDICES);
    const leaves = await node.fetchStateProof(String(finalized.slot), format);
    return believed(node.endpoint, beaconRoutes.stateProof, () => ({
      proof: payloadProofOf(new ProvedState(finalized.stateRoot, PAYLOAD_STATE_INDICES, leaves)),
      source: `state proof of ${node.endpoint.host}`,
    }));
  }

  async #payloadByState(
    node: BeaconNode,
    state: string,
    finalized: BeaconBlockHeader,
  ): Promise<PayloadParts> {
    const parts = await this.#wholeState(node, state, finalized);
    const branch = branchOfNodes(executionPayloadHeader, (index) => parts.nodes[index]);
    return {
      proof: deriveExecutionPayloadProof(parts.payloadHeader, branch),
      source: `whole state of ${node.endpoint.host}`,
    };
  }

  #wholeState(node: BeaconNode, state: string, header: BeaconBlockHeader): Promise<BeaconStateParts> {
    const { slotsPerEpoch } = this.#context.network;
    return fetchWholeState(node, state, { root: header.stateRoot, slotsPerEpoch });
  }
}
