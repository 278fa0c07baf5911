/**
 * Probe of a beacon node's capabilities, by one request to each route. The routes depend on the node's software and
 * flags.
 */
import type { RestEndpoint } from "../../rest/rest_endpoint.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { type BeaconNetwork, hubIndicesAt, isGloasAt, periodOfSlot } from "./spec/beacon_network.ts";
import { executionNodes, stateProofFormat } from "./spec/state_proof.ts";
import { BeaconNode } from "./beacon_node.ts";
import { isAbsence } from "./beacon_endpoint_set.ts";
import { byRootOrSlot } from "./state_bytes.ts";

/** Support of a route: `unknown` where the node's answer is inconclusive. */
export type Served = "yes" | "no" | "unknown";

/** Capabilities of one node. */
export interface ServedRoutes {
  /** Network with the forks that the node knows; `undefined`: not served. */
  readonly network: BeaconNetwork | undefined;
  /** Newest finalized slot; `undefined`: not served. */
  readonly slot: bigint | undefined;
  /** True when the finalized state is of Gloas: light client routes are then enough. */
  readonly isGloas: boolean;
  /** `light_client/*`, without the updates of periods. */
  readonly lightClient: Served;
  /** `light_client/updates`, which gateways may deny. */
  readonly updates: Served;
  /** Proofs of single nodes of a state (Lodestar). */
  readonly stateProofs: Served;
  /** Whole states: in bytes, in JSON only, not at all; `slow`: no first byte in time. */
  readonly states: "bytes" | "json" | "slow" | Exclude<Served, "yes">;
}

/** Timeout of each answer, ms: the start-up waits for it. */
const PROBE_TIMEOUT_MS = 10_000;

/** Probes all routes of a node in parallel. Faults are findings, but an abort is thrown. */
export async function probeBeaconNode(
  endpoint: RestEndpoint,
  { network: known, signal, timeoutMs = PROBE_TIMEOUT_MS }: {
    readonly network: BeaconNetwork;
    readonly signal: AbortSignal;
    readonly timeoutMs?: number;
  },
): Promise<ServedRoutes> {
  const own = await fetchSchedule(new BeaconNode(endpoint, { network: known, signal, timeoutMs }));
  const network = own ?? known;
  const node = new BeaconNode(endpoint, { network, signal, timeoutMs });
  const lightClient = served(() => node.fetchFinalityUpdate());
  let header: Awaited<ReturnType<BeaconNode["fetchHeader"]>>["header"];
  try {
    header = (await node.fetchHeader("finalized")).header;
  } catch (fault) {
    if (!(fault instanceof RpcFault)) throw fault;
    return {
      network: own,
      slot: undefined,
      isGloas: false,
      lightClient: await lightClient,
      updates: "unknown",
      stateProofs: "unknown",
      states: "unknown",
    };
  }
  const slot = String(header.slot);
  const format = stateProofFormat(executionNodes(hubIndicesAt(network, header.slot)));
  const [updates, stateProofs, states] = await Promise.all([
    served(() => node.fetchPeriodUpdate(periodOfSlot(network, header.slot))),
    served(() => node.fetchStateProof(slot, format)),
    statesOf(node, header),
  ]);
  return {
    network: own,
    slot: header.slot,
    isGloas: isGloasAt(network, header.slot),
    lightClient: await lightClient,
    updates,
    stateProofs,
    states,
  };
}

async function fetchSchedule(node: BeaconNode): Promise<BeaconNetwork | undefined> {
  try {
    return await node.fetchNetwork();
  } catch (fault) {
    if (!(fault instanceof RpcFault) || fault.code === "malformed") throw fault;
    return undefined;
  }
}

async function served(ask: () => Promise<unknown>): Promise<Served> {
  try {
    await ask();
    return "yes";
  } catch (fault) {
    if (!(fault instanceof RpcFault)) throw fault;
    return isAbsence(fault) ? "no" : "unknown";
  }
}

/** Reads the first piece of a state. */
async function statesOf(
  node: BeaconNode,
  header: Parameters<typeof byRootOrSlot>[0],
): Promise<ServedRoutes["states"]> {
  let form: "bytes" | "json" = "bytes";
  const body = {
    endsItself: true,
    take: () => "enough" as const,
    takeJson: () => {
      form = "json";
      return "enough" as const;
    },
  };
  try {
    await byRootOrSlot(header, (state) => node.streamState(state, body));
    return form;
  } catch (fault) {
    if (!(fault instanceof RpcFault)) throw fault;
    if (fault.code === "timeout") return "slow";
    return isAbsence(fault) ? "no" : "unknown";
  }
}
