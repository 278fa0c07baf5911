/** Reads a beacon node as a test does: raw answers, and the parts of an update of each source. */
import { ssz as lodestar } from "@lodestar/types";
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import {
  electraStateIndices,
  periodOfSlot,
} from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import type { BeaconConsensusState } from "../../src/consensus/clients/sync_committee/spec/update.ts";
import { initialBeaconState } from "../../src/consensus/clients/sync_committee/initial_state.ts";
import {
  type FinalityUpdate,
  type LightClientBootstrap,
  type LightClientUpdate,
  parseFinalityUpdate,
  parseLightClientBootstrap,
  parseLightClientUpdate,
} from "../../src/consensus/clients/sync_committee/spec/light_client_data.ts";
import {
  branchOfFields,
  ProvedState,
  readNeighbourFields,
  STATE_PREFIX_BYTES,
  stateProofFormat,
} from "../../src/consensus/clients/sync_committee/spec/state_proof.ts";
import { committeeRoot, headerRoot } from "../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import { VectorNode } from "../../tests/consensus/vector_node.ts";
import type { Beacon, SimulatedBeaconNode } from "./beacon_options.ts";

const ssz = { accept: "application/octet-stream" };

/** Where the branch of the payload header comes from. */
export type BranchSource = "proof" | "prefix";

/** A JSON answer. @throws when the status is not 200. */
export async function fetchJson(beacon: SimulatedBeaconNode, path: string): Promise<VectorNode> {
  const response = await fetch(beacon.url + path);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return new VectorNode(JSON.parse(text));
}

/** An answer in bytes. @throws when the status is not 200. */
export async function fetchBytes(beacon: SimulatedBeaconNode, path: string): Promise<Uint8Array> {
  const response = await fetch(beacon.url + path, { headers: ssz });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The first bytes of an answer; the rest is not read. */
export async function fetchPrefix(
  beacon: SimulatedBeaconNode,
  path: string,
  length: number,
): Promise<Uint8Array> {
  const response = await fetch(beacon.url + path, { headers: ssz });
  const prefix = new Uint8Array(length);
  let at = 0;
  for await (const chunk of response.body ?? []) {
    prefix.set(chunk.subarray(0, length - at), at);
    at = Math.min(length, at + chunk.length);
    if (at === length) break;
  }
  return prefix.subarray(0, at);
}

/** The newest finality update. */
export async function fetchFinalityUpdate(beacon: Beacon): Promise<FinalityUpdate> {
  return parseFinalityUpdate(
    (await fetchJson(beacon, "/eth/v1/beacon/light_client/finality_update")).at("data").json,
  );
}

/** The best updates of consecutive periods. */
export async function fetchUpdates(
  beacon: Beacon,
  start: number,
  count: number,
): Promise<LightClientUpdate[]> {
  const path = `/eth/v1/beacon/light_client/updates?start_period=${start}&count=${count}`;
  const answers = (await fetchJson(beacon, path)).json;
  if (!Array.isArray(answers)) throw new Error("The updates are no list");
  return answers.map((answer) => parseLightClientUpdate(new VectorNode(answer).at("data").json));
}

/** The bootstrap of a final block. */
export async function fetchBootstrap(beacon: Beacon, root: Hash256): Promise<LightClientBootstrap> {
  const answer = await fetchJson(beacon, `/eth/v1/beacon/light_client/bootstrap/${root}`);
  return parseLightClientBootstrap(answer.at("data").json);
}

/**
 * The state with which governance would create the hub's client: it trusts the finalized header of the node.
 * Encode it with `beaconConsensusStateCodec`.
 */
export async function fetchTrusted(beacon: Beacon): Promise<BeaconConsensusState> {
  const { finalized, network } = beacon;
  const bootstrap = await fetchBootstrap(beacon, finalized.root);
  const period = Number(periodOfSlot(network, BigInt(finalized.slot)));
  const [update] = await fetchUpdates(beacon, period, 1);
  if (update === undefined) throw new Error(`No update of period ${period}`);
  return initialBeaconState(network, bootstrap, update);
}

/** Root of the summaries in the head's state. */
async function fetchSummariesRoot(beacon: Beacon): Promise<Hash256> {
  const state = lodestar.fulu.BeaconState.deserialize(
    await fetchBytes(beacon, "/eth/v2/debug/beacon/states/head"),
  );
  return toHash256(lodestar.capella.HistoricalSummaries.hashTreeRoot(state.historicalSummaries));
}

/** Branch of the payload header in the finalized state of an update, from one source. */
export async function fetchPayloadBranch(
  beacon: Beacon,
  update: FinalityUpdate,
  source: BranchSource,
): Promise<Hash256[]> {
  const { beacon: header, execution } = update.finalizedHeader;
  if (typeof execution === "string") throw new Error("Only for states of before Gloas");
  const place = { stateRoot: header.stateRoot, payloadRoot: execution.root };
  if (source === "proof") {
    const index = electraStateIndices.execution;
    const path = `/eth/v0/beacon/proof/state/${header.stateRoot}?format=${stateProofFormat([index])}`;
    const leaves = (await fetchJson(beacon, path)).at("data").hashes("leaves");
    return new ProvedState(header.stateRoot, [index], leaves).branch(index);
  }
  const path = `/eth/v2/debug/beacon/states/${header.slot}`;
  const prefix = await fetchPrefix(beacon, path, STATE_PREFIX_BYTES);
  const bootstrap = await fetchBootstrap(beacon, headerRoot(header));
  return branchOfFields(
    place,
    {
      fields: readNeighbourFields(prefix, header.slot),
      summariesRoot: await fetchSummariesRoot(beacon),
    },
    {
      committeeRoot: committeeRoot(bootstrap.currentSyncCommittee),
      branch: bootstrap.currentSyncCommitteeBranch,
    },
  );
}
