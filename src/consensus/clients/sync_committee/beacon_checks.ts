/** Checks of the beacon nodes of a chain: each by itself, and what an update costs with what it serves. */
import type { CheckJob, CheckRow } from "../../../core/checks/check_row.ts";
import { REQUEST_TIMEOUT_MS, silenceRow } from "../../../core/checks/check_row.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { RestEndpoint } from "../../rest/rest_endpoint.ts";
import { BeaconNode } from "./beacon_node.ts";
import { probeBeaconNode, type ServedRoutes } from "./probe_node.ts";
import { type BeaconNetwork, epochOfSlot } from "./spec/beacon_network.ts";
import { describeUnfollowedFork, findUnfollowedFork } from "./spec/fork_schedule.ts";
import { adviseOnNodes, type ProbedNode, strangerRow } from "./start_check.ts";

/** Time for which the routes of a node are remembered: a probe makes it load a state. */
const ROUTES_TTL_MS = 6 * 3_600_000;

/** Options of the checks. */
export interface BeaconCheckOptions {
  readonly chain: StateMachine;
  readonly network: BeaconNetwork;
  readonly nodes: readonly RestEndpoint[];
}

/** A node with what was found. */
interface CheckedNode {
  readonly rows: readonly CheckRow[];
  readonly probed: ProbedNode | undefined;
}

/** Creates the checks; the result lists those of one round. */
export function checkBeaconEndpoints(
  clock: Clock,
  { chain, network, nodes }: BeaconCheckOptions,
): () => readonly CheckJob[] {
  const known = new Map<RestEndpoint, { readonly routes: ServedRoutes; readonly untilMs: number }>();

  async function fetchRoutes(endpoint: RestEndpoint, signal: AbortSignal): Promise<ServedRoutes> {
    const remembered = known.get(endpoint);
    if (remembered !== undefined && clock.now() < remembered.untilMs) return remembered.routes;
    const routes = await probeBeaconNode(endpoint, { network, signal, timeoutMs: REQUEST_TIMEOUT_MS });
    known.set(endpoint, { routes, untilMs: clock.now() + ROUTES_TTL_MS });
    return routes;
  }

  async function checkNode(endpoint: RestEndpoint, signal: AbortSignal): Promise<CheckedNode> {
    const row = { chain, endpoint: endpoint.host } as const;
    const startMs = clock.now();
    try {
      const node = new BeaconNode(endpoint, { network, signal, timeoutMs: REQUEST_TIMEOUT_MS });
      const root = await node.fetchGenesisValidatorsRoot();
      const found = `answers in ${Math.round(clock.now() - startMs)} ms`;
      const answering: CheckRow = { ...row, check: "endpoint", result: "ok", found };
      if (root !== network.genesisValidatorsRoot) {
        return { rows: [answering, strangerRow(chain, endpoint.host)], probed: undefined };
      }
      const routes = await fetchRoutes(endpoint, signal);
      const serving: CheckRow = { ...row, check: "chain_id", result: "ok", found: `serves ${chain}` };
      return {
        rows: [
          answering,
          serving,
          { ...row, check: "beacon_routes", ...judgeRoutes(routes) },
          { ...row, check: "beacon_forks", ...judgeForks(routes) },
        ],
        probed: { host: endpoint.host, routes },
      };
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      return { rows: [silenceRow(chain, fault, nodes.length > 1)], probed: undefined };
    }
  }

  const run = async (signal: AbortSignal): Promise<readonly CheckRow[]> => {
    const checked = await Promise.all(nodes.map((endpoint) => checkNode(endpoint, signal)));
    const probed = checked.flatMap((node) => node.probed ?? []);
    return [...checked.flatMap(({ rows }) => rows), ...adviseOnNodes(chain, probed)];
  };
  return () => [{ chain, check: "beacon_routes", run }];
}

/** Forks of a node's schedule, by its newest finalized slot. */
function judgeForks({ network, slot }: ServedRoutes): Pick<CheckRow, "result" | "found" | "advice"> {
  if (network === undefined || slot === undefined) {
    return { result: "ok", found: "serves no schedule of forks" };
  }
  const unfollowed = findUnfollowedFork(network, slot, undefined);
  if (unfollowed !== undefined) {
    const advice = "upgrade this program before the fork, and see that the hub is upgraded";
    return { result: "warning", found: describeUnfollowedFork(unfollowed), advice };
  }
  const next = network.forks.find(({ epoch }) => epoch > epochOfSlot(network, slot));
  return {
    result: "ok",
    found: next ? `next fork ${next.name} at epoch ${next.epoch}` : "no fork has a date",
  };
}

/** Routes of a node, and the size of an update that is made from this node alone. Sizes are those of Ethereum. */
function judgeRoutes(routes: ServedRoutes): Pick<CheckRow, "result" | "found" | "advice"> {
  const { lightClient, updates, stateProofs, states } = routes;
  const served = `light clients ${lightClient}${updates === "no" ? " without updates of periods" : ""}, ` +
    `state proofs ${stateProofs}, states ${states}`;
  if (stateProofs === "yes") return { result: "ok", found: `${served}: 5 KB an update` };
  if (lightClient === "yes" && routes.isGloas) {
    return { result: "ok", found: `${served}: 60 KB an update` };
  }
  if (lightClient === "yes" && (states === "bytes" || states === "slow")) {
    return { result: "ok", found: `${served}: 3 MB an update` };
  }
  if (states === "no") {
    return {
      result: "warning",
      found: `${served}: no update can be made from this node alone`,
      advice: "use a node with light client routes and state proofs, e.g. Lodestar with --rest.namespace '*'",
    };
  }
  if (states === "unknown") return { result: "ok", found: `${served}: the size of an update is not known` };
  return { result: "ok", found: `${served}: a whole state (300 MB) an update` };
}
