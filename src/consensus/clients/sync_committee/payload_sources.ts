/**
 * Sources of the branch of the execution payload header in a finalized state: four, the smaller first, each tried on
 * every beacon node before the next. All data is verified against the root of the state. Source of the order:
 * docs/protocol/evm-consensus.md section 5.7.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { payloadHeaderRoot } from "./spec/build_update.ts";
import { type BeaconNetwork, electraStateIndices } from "./spec/beacon_network.ts";
import { DerivationError } from "./spec/derivation_error.ts";
import { branchOfNodes, branchRoot, depthOf } from "./spec/merkle.ts";
import {
  branchOfFields,
  branchOfStateProof,
  branchOfSummariesProof,
  type PayloadPlace,
  STATE_PROOF_FORMAT,
} from "./spec/payload_branch.ts";
import { committeeRoot, type ExecutionPayloadHeader, headerRoot } from "./spec/ssz_roots.ts";
import {
  historicalSummariesRoot,
  type HistoricalSummary,
  readNeighbourFields,
  readNewestSummary,
} from "./spec/state_prefix.ts";
import type { BeaconBlockHeader } from "./spec/update.ts";
import { RpcFault } from "../../../core/rpc/fault.ts";
import type { RpcEndpointSet } from "../../../core/rpc/endpoint_set.ts";
import type { RestEndpoint } from "../../rest/rest_endpoint.ts";
import {
  type BeaconNode,
  beaconRoutes,
  believed,
  summariesPaths,
  type SummariesProof,
} from "./beacon_node.ts";
import { type BeaconEndpointSet, isAbsence } from "./beacon_endpoint_set.ts";
import { byRootOrSlot, fetchStatePrefix, fetchWholeState } from "./state_bytes.ts";
import { SummariesMemory } from "./summaries_memory.ts";
import { fetchNextWithdrawalIndex } from "./withdrawals.ts";

/** Names of the sources, as logged and cached. */
const payloadSources = ["state proof", "historical summaries", "state prefix", "whole state"] as const;

/** Name of a source. */
export type PayloadSource = typeof payloadSources[number];

/** A finalized block that the attested header vouches for. */
export interface FinalizedBlock {
  readonly beacon: BeaconBlockHeader;
  readonly execution: ExecutionPayloadHeader;
}

/** A branch with its source. */
export interface FoundBranch {
  readonly branch: readonly Hash256[];
  readonly source: PayloadSource;
  readonly endpoint: string;
}

/** Generalized index of the historical summaries in an Electra or Fulu state. */
const SUMMARIES_INDEX = 91;

/** Function that reads the branch from one node. Throws faults of that node only. */
type ReadBranch = (node: BeaconNode) => Promise<readonly Hash256[]>;

/** Dependencies of the search for branches. */
export interface PayloadBranchesDeps {
  readonly endpoints: BeaconEndpointSet;
  /** Nodes of the execution chain. */
  readonly execution: RpcEndpointSet;
  readonly network: BeaconNetwork;
  /** Absent: nothing outlives the program. */
  readonly summaries?: SummariesMemory;
}

/** Finds branches, and caches data for the next one. */
export class PayloadBranches {
  readonly #endpoints: BeaconEndpointSet;
  readonly #execution: RpcEndpointSet;
  readonly #network: BeaconNetwork;
  readonly #summaries: SummariesMemory;
  /** Path of {@link summariesPaths} that an endpoint served last. */
  readonly #paths = new Map<RestEndpoint, (state: string) => string>();

  constructor({ endpoints, execution, network, summaries = new SummariesMemory() }: PayloadBranchesDeps) {
    this.#summaries = summaries;
    this.#endpoints = endpoints;
    this.#execution = execution;
    this.#network = network;
  }

  /**
   * Fetches the branch of the payload header in the state of a finalized block. @throws {RpcFault} when no source has
   * it; `malformed` where a node's data was refused on the way.
   */
  async find(block: FinalizedBlock, signal: AbortSignal): Promise<FoundBranch> {
    const faults: RpcFault[] = [];
    for (const source of payloadSources) {
      const read = await this.#readerOf(source, block, signal);
      if (read === undefined) continue;
      try {
        return await this.#ask({ source, read }, block, signal);
      } catch (fault) {
        if (!(fault instanceof RpcFault)) throw fault;
        faults.push(fault);
      }
    }
    throw worstOf(faults);
  }

  async #ask(
    { source, read }: { readonly source: PayloadSource; readonly read: ReadBranch },
    block: FinalizedBlock,
    signal: AbortSignal,
  ): Promise<FoundBranch> {
    const question = {
      route: source,
      subject: String(block.beacon.slot),
      // The last source is always tried: there is no other one.
      asksAgain: source === "whole state",
    };
    return await this.#endpoints.ask(
      question,
      async (node) => ({ branch: await read(node), source, endpoint: node.endpoint.host }),
      signal,
    );
  }

  /** Returns the reader of a source for this block; `undefined` when the source is not usable now. */
  async #readerOf(
    source: PayloadSource,
    block: FinalizedBlock,
    signal: AbortSignal,
  ): Promise<ReadBranch | undefined> {
    switch (source) {
      case "state proof":
        return (node) => this.#fromProof(node, block);
      case "historical summaries": {
        if (!this.#endpoints.mayServe(source)) return undefined;
        const index = await this.#nextWithdrawal(block, signal);
        return index === undefined ? undefined : (node) => this.#fromSummaries(node, block, index);
      }
      case "state prefix": {
        const missing = this.#summaries.missingSlots(block.beacon.slot);
        return missing === undefined ? undefined : (node) => this.#fromPrefix(node, block, missing);
      }
      case "whole state":
        return (node) => this.#fromState(node, block);
    }
  }

  /** Source A: seven nodes in one answer. */
  async #fromProof(node: BeaconNode, block: FinalizedBlock): Promise<Hash256[]> {
    const leaves = await node.fetchStateProof(String(block.beacon.slot), STATE_PROOF_FORMAT);
    return believed(node.endpoint, beaconRoutes.stateProof, () => branchOfStateProof(toPlace(block), leaves));
  }

  /** Source B: the summaries with their branch; the sibling of the payload header is known from withdrawals. */
  async #fromSummaries(
    node: BeaconNode,
    block: FinalizedBlock,
    nextWithdrawalIndex: bigint,
  ): Promise<Hash256[]> {
    const place = toPlace(block);
    const { entries, branch } = await this.#fetchSummaries(node, String(block.beacon.slot));
    const route = beaconRoutes.summaries;
    const summariesRoot = believed(node.endpoint, route, () => {
      const root = historicalSummariesRoot(entries);
      if (branch.length !== depthOf(SUMMARIES_INDEX)) throw new DerivationError("branch_length");
      if (branchRoot(root, branch, SUMMARIES_INDEX) !== place.stateRoot) {
        throw new DerivationError("state_root");
      }
      return root;
    });
    this.#summaries.note(block.beacon.slot, entries);
    try {
      return branchOfSummariesProof(place, { summariesRoot, branch }, nextWithdrawalIndex);
    } catch (cause) {
      if (!(cause instanceof DerivationError)) throw cause;
      // The node's part is proved, so this is the execution node's.
      const { blockNumber } = block.execution;
      this.#endpoints.log.warn("block_withdrawals_mismatch", {
        chain: this.#endpoints.chain,
        block: blockNumber,
        endpoint: this.#execution.hosts.join(", "),
      });
      throw node.endpoint.fault("refused", route, {
        detail: "withdrawals of the execution node do not match",
        cause,
      });
    }
  }

  async #fetchSummaries(node: BeaconNode, state: string): Promise<SummariesProof> {
    const known = this.#paths.get(node.endpoint);
    const order = [...summariesPaths].sort((a, b) => Number(b === known) - Number(a === known));
    let missing: RpcFault | undefined;
    for (const path of order) {
      try {
        const proof = await node.fetchSummaries(path(state));
        this.#paths.set(node.endpoint, path);
        return proof;
      } catch (fault) {
        if (!(fault instanceof RpcFault) || !isAbsence(fault)) throw fault;
        missing = fault;
      }
    }
    throw missing ?? new Error("There are paths");
  }

  /** The execution nodes' part of source B; their faults are not those of a beacon node. */
  async #nextWithdrawal(block: FinalizedBlock, signal: AbortSignal): Promise<bigint | undefined> {
    const { blockNumber: number, blockHash: hash } = block.execution;
    try {
      return await fetchNextWithdrawalIndex(this.#execution, { number, hash }, signal);
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      this.#endpoints.log.debug("block_withdrawals_unknown", { error: fault });
      return undefined;
    }
  }

  /** Source C: neighbours of the payload header from the beginning of the state, the nodes above from a bootstrap. */
  async #fromPrefix(
    node: BeaconNode,
    block: FinalizedBlock,
    missingSlots: readonly bigint[],
  ): Promise<Hash256[]> {
    const { slot } = block.beacon;
    const bootstrap = await node.fetchBootstrap(headerRoot(block.beacon));
    const added: HistoricalSummary[] = [];
    for (const start of missingSlots) {
      const prefix = await fetchStatePrefix(node, String(start));
      added.push(believed(node.endpoint, beaconRoutes.state, () => readNewestSummary(prefix, start)));
    }
    const prefix = await byRootOrSlot(block.beacon, (state) => fetchStatePrefix(node, state));
    const entries = this.#summaries.entriesAt(slot, added);
    const derive = (): Hash256[] =>
      branchOfFields(toPlace(block), {
        fields: readNeighbourFields(prefix, slot),
        summariesRoot: historicalSummariesRoot(entries),
      }, {
        committeeRoot: committeeRoot(bootstrap.currentSyncCommittee),
        branch: bootstrap.currentSyncCommitteeBranch,
      });
    const branch = this.#summaries.isUnproven
      ? this.#deriveUnproven(node, derive)
      : believed(node.endpoint, beaconRoutes.state, derive);
    this.#summaries.note(slot, entries);
    return branch;
  }

  /** With unproven summaries a mismatch is no fault of the node: another source is tried. */
  #deriveUnproven(node: BeaconNode, derive: () => Hash256[]): Hash256[] {
    try {
      return derive();
    } catch (cause) {
      if (!(cause instanceof DerivationError)) throw cause;
      this.#summaries.forgetUnproven();
      throw node.endpoint.fault("refused", beaconRoutes.state, {
        detail: "the summaries of --cache do not match",
        cause,
      });
    }
  }

  /** Source D: every field of the state is hashed. */
  async #fromState(node: BeaconNode, block: FinalizedBlock): Promise<Hash256[]> {
    const { slot, stateRoot } = block.beacon;
    const expected = { root: stateRoot, slotsPerEpoch: this.#network.slotsPerEpoch };
    const parts = await byRootOrSlot(block.beacon, (state) => fetchWholeState(node, state, expected));
    this.#summaries.note(slot, parts.historicalSummaries);
    return branchOfNodes(electraStateIndices.executionPayloadHeader, (index) => parts.nodes[index]);
  }
}

function toPlace({ beacon, execution }: FinalizedBlock): PayloadPlace {
  return { stateRoot: beacon.stateRoot, payloadRoot: payloadHeaderRoot(execution) };
}

/** Returns the most informative fault: refused data, then a failing endpoint, then missing data. */
function worstOf(faults: readonly RpcFault[]): RpcFault {
  const worst = faults.find(({ code }) => code === "malformed") ??
    faults.find((fault) => !isAbsence(fault)) ??
    faults.find(({ code }) => code === "not_found") ?? faults[0];
  if (worst === undefined) throw new Error("The whole state is always asked for");
  return worst;
}
