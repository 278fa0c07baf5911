/**
 * Sources of the proof of the execution block in a finalized state, the smaller first, each tried on every beacon node
 * before the next. All data is verified against the root of the state. Source of the order:
 * docs/protocol/evm-consensus.md sections 5.7 and 5.11.
 */
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { encodeBlockHeader } from "../../../core/evm/block_header.ts";
import { checkExecutionHeader, deriveExecutionPayloadProof } from "./spec/build_update.ts";
import { type BeaconNetwork, isGloasAt, stateIndicesAt } from "./spec/beacon_network.ts";
import { DerivationError } from "./spec/sync_committee_error.ts";
import type { LightClientBootstrap } from "./spec/light_client_data.ts";
import { committeeRoot, type ExecutionPayloadHeader, headerRoot } from "./spec/ssz_roots.ts";
import {
  branchOfBootstrap,
  branchOfFields,
  type CurrentCommittee,
  type ProvedHash,
  stateProofFormat,
  treeOfProof,
} from "./spec/state_proof.ts";
import type {
  BeaconBlockHeader,
  ExecutionPayloadProof,
  LegacyPayloadProof,
  SyncCommittee,
} from "./spec/update.ts";
import { keepFault, RpcFault } from "../../../core/rpc/call.ts";
import { type EvmReader, fetchEvmHeader } from "../../evm_reader.ts";
import { type BeaconNode, beaconRoutes, believed } from "./beacon_node.ts";
import { type BeaconEndpointSet, isAbsence } from "./beacon_endpoint_set.ts";
import { byRootOrSlot, fetchStatePrefix, fetchWholeState, WHOLE_STATE } from "./state_bytes.ts";

/** A finalized block that the attested header vouches for. */
export interface FinalizedBlock {
  readonly network: BeaconNetwork;
  readonly beacon: BeaconBlockHeader;
  /** The execution header, or its hash from Gloas on, where a light client object of the block has shown it. */
  readonly execution?: ExecutionPayloadHeader | Hash256;
  /** Committees of which one is the next in the finalized state. */
  readonly committees: readonly SyncCommittee[];
}

/** A proof with its source, for the log. */
export interface FoundProof {
  readonly proof: ExecutionPayloadProof;
  readonly source: string;
}

/** What sources lead to; a hash still lacks the header. */
type SourcedProof = LegacyPayloadProof | ProvedHash;

/** Function that reads the proof from one node. Throws faults of that node only. */
type ReadProof = (node: BeaconNode) => Promise<SourcedProof>;

/** Finds proofs, and caches data for the next one. */
export class PayloadProofs {
  readonly #endpoints: BeaconEndpointSet;
  readonly #execution: EvmReader;
  /** As the whole state that was read last has them. */
  #summaries: KnownSummaries | undefined;

  /** @param execution nodes of the execution chain. */
  constructor(endpoints: BeaconEndpointSet, execution: EvmReader) {
    this.#endpoints = endpoints;
    this.#execution = execution;
  }

  /**
   * Fetches the proof of the execution block in the state of a finalized block. @throws {RpcFault} when no source has
   * it; `malformed` where a node's data was refused on the way.
   */
  async find(block: FinalizedBlock, signal: AbortSignal): Promise<FoundProof> {
    const faults: RpcFault[] = [];
    for (const [source, read] of this.#sourcesOf(block)) {
      const subject = String(block.beacon.slot);
      const question = { route: source, subject, asksAgain: source === WHOLE_STATE };
      const found = await this.#endpoints.ask(
        question,
        async (node) => ({ proof: await read(node), source: `${source} of ${node.endpoint.host}` }),
        signal,
      ).catch(keepFault);
      // The hash is proved: without its header no other source helps.
      if (!(found instanceof RpcFault)) return { ...found, proof: await this.#complete(found.proof, signal) };
      faults.push(found);
    }
    throw worstOf(faults);
  }

  /** Sources by their names in the log and in the endpoints' capabilities. The last is always tried: there is no other one. */
  #sourcesOf(block: FinalizedBlock): readonly (readonly [string, ReadProof])[] {
    const stateProof = ["state proof", (node: BeaconNode) => this.#fromProof(node, block)] as const;
    const wholeState = [WHOLE_STATE, (node: BeaconNode) => this.#fromState(node, block)] as const;
    if (isGloasAt(block.network, block.beacon.slot)) {
      return [["bootstrap", (node) => this.#fromBootstrap(node, block)], stateProof, wholeState];
    }
    // Without light client objects nothing shows the execution header.
    if (block.execution === undefined) return [wholeState];
    const known = this.#summaries;
    if (known?.span !== block.beacon.slot / SLOTS_PER_SUMMARY) return [stateProof, wholeState];
    return [stateProof, ["state prefix", (node) => this.#fromPrefix(node, block, known.root)], wholeState];
  }

  /** Adds the execution header to a proof of its hash. */
  async #complete(proof: SourcedProof, signal: AbortSignal): Promise<ExecutionPayloadProof> {
    if (!("blockHash" in proof)) return proof;
    const { blockHash, executionPayloadBranch } = proof;
    const header = await fetchEvmHeader(this.#execution, blockHash, signal);
    const { stateRoot, number: blockNumber, timestampSec } = header;
    const executionHeader = encodeBlockHeader(header);
    return { stateRoot, blockNumber, timestampSec, executionHeader, executionPayloadBranch };
  }

  /** From Gloas on: the current committee's branch leads to that of the hash. */
  async #fromBootstrap(node: BeaconNode, block: FinalizedBlock): Promise<ProvedHash> {
    const bootstrap = await fetchBootstrap(node, block);
    return believed(node.endpoint, beaconRoutes.bootstrap, () => {
      const { execution: blockHash } = bootstrap.header;
      if (typeof blockHash !== "string") throw new DerivationError("execution_header");
      const place = { stateRoot: block.beacon.stateRoot, blockHash };
      const nextRoots = block.committees.map((committee) => committeeRoot(committee));
      return {
        blockHash,
        executionPayloadBranch: branchOfBootstrap(place, currentCommittee(bootstrap), nextRoots),
      };
    });
  }

  /** A few nodes in one answer. It is requested by slot: some nodes do not find the root of a just finalized state. */
  async #fromProof(node: BeaconNode, block: FinalizedBlock): Promise<SourcedProof> {
    const { network, beacon } = block;
    const { execution: index } = stateIndicesAt(network, beacon.slot);
    const leaves = await node.fetchStateProof(String(beacon.slot), stateProofFormat([index]));
    const tree = believed(
      node.endpoint,
      beaconRoutes.stateProof,
      () => treeOfProof(beacon.stateRoot, [index], leaves),
    );
    const branch = tree.branch(index);
    return isGloasAt(network, beacon.slot)
      ? { blockHash: tree.node(index), executionPayloadBranch: branch }
      : deriveExecutionPayloadProof(await fetchPayloadHeader(node, block), branch);
  }

  /** Neighbours of the payload header from the beginning of the state, the nodes above from a bootstrap. */
  async #fromPrefix(
    node: BeaconNode,
    block: FinalizedBlock,
    summariesRoot: Hash256,
  ): Promise<LegacyPayloadProof> {
    const { network, beacon: header } = block;
    const bootstrap = await fetchBootstrap(node, block);
    const execution = await fetchPayloadHeader(node, block);
    const prefix = await byRootOrSlot(
      header,
      (state) => fetchStatePrefix(node, state, { network, header }),
    );
    const place = { stateRoot: header.stateRoot, payloadRoot: execution.root };
    const branch = believed(
      node.endpoint,
      beaconRoutes.state,
      () => {
        const rootOf = (field: string): Hash256 => prefix.rootOf(field);
        return branchOfFields(place, { rootOf, summariesRoot }, currentCommittee(bootstrap));
      },
    );
    return deriveExecutionPayloadProof(execution, branch);
  }

  /** Every field of the state is hashed. */
  async #fromState(node: BeaconNode, { network, beacon }: FinalizedBlock): Promise<SourcedProof> {
    const { execution, tree } = await fetchWholeState(node, { network, header: beacon });
    const branch = tree.branch(stateIndicesAt(network, beacon.slot).execution);
    if (typeof execution === "string") return { blockHash: execution, executionPayloadBranch: branch };
    this.#summaries = { span: beacon.slot / SLOTS_PER_SUMMARY, root: tree.node(HISTORICAL_SUMMARIES) };
    return deriveExecutionPayloadProof(execution, branch);
  }
}

/** Slots between two changes of the summaries (SLOTS_PER_HISTORICAL_ROOT of all networks). */
const SLOTS_PER_SUMMARY = 8192n;
/** Generalized index of `historical_summaries` before Gloas. */
const HISTORICAL_SUMMARIES = 91;

/**
 * Root of the historical summaries, and the span of slots in which they do not change. Source:
 * ethereum/consensus-specs: specs/capella/beacon-chain.md (process_historical_summaries_update).
 */
interface KnownSummaries {
  readonly span: bigint;
  readonly root: Hash256;
}

/** Fetches the bootstrap of a block, whose execution header or hash is verified. */
async function fetchBootstrap(
  node: BeaconNode,
  { network, beacon }: FinalizedBlock,
): Promise<LightClientBootstrap> {
  const bootstrap = await node.fetchBootstrap(headerRoot(beacon));
  believed(node.endpoint, beaconRoutes.bootstrap, () => checkExecutionHeader(network, bootstrap.header));
  return bootstrap;
}

/** The execution header of a block of before Gloas: light client updates that are attested in Gloas have only its hash. */
async function fetchPayloadHeader(node: BeaconNode, block: FinalizedBlock): Promise<ExecutionPayloadHeader> {
  const { execution } = typeof block.execution === "object"
    ? block
    : (await fetchBootstrap(node, block)).header;
  if (typeof execution === "object") return execution;
  throw node.endpoint.fault("refused", beaconRoutes.bootstrap, { detail: "no execution header" });
}

function currentCommittee(bootstrap: LightClientBootstrap): CurrentCommittee {
  const { currentSyncCommittee, currentSyncCommitteeBranch: branch } = bootstrap;
  return { root: committeeRoot(currentSyncCommittee), branch };
}

/** Returns the most informative fault: refused data, then a failing endpoint, then missing data. */
function worstOf(faults: readonly RpcFault[]): RpcFault {
  const worst = faults.find(({ code }) => code === "malformed") ??
    faults.find((fault) => !isAbsence(fault)) ??
    faults.find(({ code }) => code === "not_found") ?? faults[0];
  if (worst === undefined) throw new Error("The whole state is always asked for");
  return worst;
}
