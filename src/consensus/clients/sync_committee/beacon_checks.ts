/**
 * Checks of the beacon nodes of a chain: what each of them serves, which depends on its software and flags, and what an
 * update costs with all of them.
 */
import {
  about,
  adviseOnFault,
  type CheckJob,
  type CheckRow,
  checkSubjects,
  describeFault,
  REQUEST_TIMEOUT_MS,
  type RowsAbout,
  silenceRow,
} from "../../../core/checks/check_row.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { keepFault, onFault, RpcFault } from "../../../core/rpc/call.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { RestEndpoint } from "../../rest/rest_endpoint.ts";
import { isAbsence } from "./beacon_endpoint_set.ts";
import { BeaconNode } from "./beacon_node.ts";
import {
  type BeaconNetwork,
  epochOfSlot,
  isGloasAt,
  periodOfSlot,
  stateIndicesAt,
} from "./spec/beacon_network.ts";
import { describeUnfollowedFork, findUnfollowedFork } from "./spec/fork_schedule.ts";
import { stateProofFormat } from "./spec/state_proof.ts";
import { byRootOrSlot } from "./state_bytes.ts";

/** Options of the checks. */
export interface BeaconCheckOptions {
  readonly chain: StateMachine;
  readonly network: BeaconNetwork;
  readonly nodes: readonly RestEndpoint[];
  /** Timeout of each answer, ms. */
  readonly timeoutMs: number;
}

/** Time for which the routes of a node are remembered: a probe makes it load a state. */
const ROUTES_TTL_MS = 6 * 3_600_000;
/** Timeout of each answer, ms, while the start-up waits for it. */
const START_TIMEOUT_MS = 10_000;

/** Creates the check for the operator. */
export function checkBeaconEndpoints(
  clock: Clock,
  place: Omit<BeaconCheckOptions, "timeoutMs">,
): CheckJob {
  const options = { ...place, timeoutMs: REQUEST_TIMEOUT_MS };
  const known = new Map<RestEndpoint, { readonly routes: ServedRoutes; readonly untilMs: number }>();
  const probe = async (endpoint: RestEndpoint, signal: AbortSignal): Promise<ServedRoutes> => {
    const remembered = known.get(endpoint);
    if (remembered !== undefined && clock.now() < remembered.untilMs) return remembered.routes;
    const routes = await probeBeaconNode(endpoint, options, signal);
    known.set(endpoint, { routes, untilMs: clock.now() + ROUTES_TTL_MS });
    return routes;
  };
  return {
    chain: options.chain,
    check: "beacon_routes",
    run: (signal) => checkNodes(clock, options, probe, signal),
  };
}

/** Checks the nodes at the start: rows about what needs attention. */
export async function checkBeaconNodes(
  clock: Clock,
  place: Omit<BeaconCheckOptions, "timeoutMs">,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const options = { ...place, timeoutMs: START_TIMEOUT_MS };
  const probe = (endpoint: RestEndpoint, inner: AbortSignal): Promise<ServedRoutes> =>
    probeBeaconNode(endpoint, options, inner);
  const rows = await checkNodes(clock, options, probe, signal);
  return rows.filter(({ result, check }) => result !== "ok" || !(check in checkSubjects));
}

/** Checks each node independently of the others, and all of them together. */
async function checkNodes(
  clock: Clock,
  options: BeaconCheckOptions,
  probe: (endpoint: RestEndpoint, signal: AbortSignal) => Promise<ServedRoutes>,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { chain, network, nodes, timeoutMs } = options;
  const probed: ProbedNode[] = [];
  const checkOne = async (endpoint: RestEndpoint): Promise<readonly CheckRow[]> => {
    const { host } = endpoint;
    const at = about(chain, host);
    const startMs = clock.now();
    const node = new BeaconNode(endpoint, { network, signal, timeoutMs });
    const root = await node.fetchGenesisValidatorsRoot();
    const answering = at.ok("endpoint", `answers in ${Math.round(clock.now() - startMs)} ms`);
    if (root !== network.genesisValidatorsRoot) {
      const advice = "correct or remove its URL in beacon_http_urls";
      return [answering, at.failed("chain_id", "is of another network", advice)];
    }
    const known = [answering, at.ok("chain_id", `serves ${chain}`)];
    const routes = await probe(endpoint, signal).catch(keepFault);
    if (routes instanceof RpcFault) {
      const found = `what it serves is not known: ${routes.where.method} failed: ${describeFault(routes)}`;
      return [...known, at.warning("beacon_routes", found, adviseOnFault(routes))];
    }
    probed.push({ host, routes });
    return [...known, at.ok("beacon_routes", describeRoutes(routes)), judgeForks(at, routes)];
  };
  const silent = onFault((fault) => [silenceRow(chain, fault, nodes.length > 1)]);
  const rows = await Promise.all(nodes.map((endpoint) => checkOne(endpoint).catch(silent)));
  return [...rows.flat(), ...adviseOnNodes(chain, probed)];
}

function describeRoutes({ lightClient, updates, stateProofs, states }: ServedRoutes): string {
  const periods = updates === "no" ? " without updates of periods" : "";
  return `light clients ${lightClient}${periods}, state proofs ${stateProofs}, states ${states}`;
}

/** Forks of a node's schedule, by its newest finalized slot. */
function judgeForks({ ok, warning }: RowsAbout, { network, slot }: ServedRoutes): CheckRow {
  if (network === undefined) return ok("beacon_forks", "serves no schedule of forks");
  const unfollowed = findUnfollowedFork(network, slot, undefined);
  if (unfollowed !== undefined) {
    const advice = "upgrade this program before the fork, and see that the hub is upgraded";
    return warning("beacon_forks", describeUnfollowedFork(unfollowed), advice);
  }
  const next = network.forks.find(({ epoch }) => epoch > epochOfSlot(network, slot));
  const found = next === undefined ? "no fork has a date" : `next fork ${next.name} at epoch ${next.epoch}`;
  return ok("beacon_forks", found);
}

/** Support of a route: `unknown` where the node's answer is inconclusive. */
type Served = "yes" | "no" | "unknown";

/** Capabilities of one node. */
export interface ServedRoutes {
  /** Network with the forks that the node knows; `undefined`: not served. */
  readonly network: BeaconNetwork | undefined;
  /** Newest finalized slot. */
  readonly slot: bigint;
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

/**
 * Probes all routes of a node in parallel, by one request to each. Faults are findings, but an abort is thrown. @throws
 * {RpcFault} when it has no finalized header.
 */
async function probeBeaconNode(
  endpoint: RestEndpoint,
  { network: known, timeoutMs }: Pick<BeaconCheckOptions, "network" | "timeoutMs">,
  signal: AbortSignal,
): Promise<ServedRoutes> {
  const own = await fetchSchedule(new BeaconNode(endpoint, { network: known, signal, timeoutMs }));
  const network = own ?? known;
  const node = new BeaconNode(endpoint, { network, signal, timeoutMs });
  const { header } = await node.fetchHeader("finalized");
  const { slot } = header;
  const format = stateProofFormat([stateIndicesAt(network, slot).execution]);
  const [lightClient, updates, stateProofs, states] = await Promise.all([
    served(() => node.fetchFinalityUpdate()),
    served(() => node.fetchPeriodUpdate(periodOfSlot(network, slot))),
    served(() => node.fetchStateProof(String(slot), format)),
    statesOf(node, header),
  ]);
  const isGloas = isGloasAt(network, slot);
  return { network: own, slot, isGloas, lightClient, updates, stateProofs, states };
}

async function fetchSchedule(node: BeaconNode): Promise<BeaconNetwork | undefined> {
  return await node.fetchNetwork().catch(onFault((fault) => {
    if (fault.code === "malformed") throw fault;
    return undefined;
  }));
}

async function served(ask: () => Promise<unknown>): Promise<Served> {
  return await ask().then(() => "yes", onFault((fault) => isAbsence(fault) ? "no" : "unknown"));
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
  return await byRootOrSlot(header, (state) => node.streamState(state, body)).then(
    () => form,
    onFault((fault) => {
      if (fault.code === "timeout") return "slow";
      return isAbsence(fault) ? "no" : "unknown";
    }),
  );
}

/** A node that was probed. */
interface ProbedNode {
  readonly host: string;
  readonly routes: ServedRoutes;
}

/** Recommended nodes, as named in every advice (flags: docs of the six implementations). */
const SMALL_SOURCES = "Lodestar 1.30 or later with --rest.namespace '*' serves proofs (5 KB an update)";
const LIGHT_CLIENTS =
  "Lighthouse, Lodestar and Nimbus serve light clients by default, Prysm with --enable-light-client; Teku and " +
  "Grandine do not";

/**
 * Rows about the cost of an update of `chain` with these nodes together, and its feasibility. Capabilities that no node
 * reported are not mentioned.
 */
export function adviseOnNodes(chain: string, nodes: readonly ProbedNode[]): readonly CheckRow[] {
  if (nodes.length === 0) return [];
  const { ok, warning } = about(chain);
  const hosts = nodes.map(({ host }) => host).join(", ");
  const where = `beacon node${nodes.length === 1 ? "" : "s"} ${hosts}`;
  const may = (test: (routes: ServedRoutes) => boolean): boolean => nodes.some(({ routes }) => test(routes));
  const hasLightClient = may(({ lightClient }) => lightClient !== "no");
  if (hasLightClient && may(({ stateProofs, isGloas }) => stateProofs !== "no" || isGloas)) {
    if (may(({ updates }) => updates !== "no")) return [];
    const found = `${where} serve no light_client/updates: a change of the period is read from a state`;
    return may(({ states }) => states !== "no")
      ? [ok("light_client_updates_missing", found)]
      : [warning("light_client_updates_missing", `${found}, which none of them serves. ${LIGHT_CLIENTS}`)];
  }
  if (!may(({ states }) => states !== "no")) {
    const found =
      `${where} serve neither states nor proofs of them, so that no update can be made. Add a node that ` +
      `does: ${SMALL_SOURCES}; the debug routes of any other node serve whole states`;
    return [warning("beacon_states_unavailable", found)];
  }
  const isBytes = may(({ states }) => states !== "no" && states !== "json");
  if (hasLightClient && isBytes) {
    const slow = may(({ states }) => states === "bytes" || states === "unknown")
      ? ""
      : ", and the first byte may come only after ten minutes";
    return [ok("partial_states_read", `${where}: an update reads 3 MB of a state${slow}. ${SMALL_SOURCES}`)];
  }
  const form = isBytes
    ? ""
    : " in JSON, which is more than twice as long; a node that serves bytes is better";
  const found = `${where}: an update reads whole states (300 MB on Ethereum)${form}. ${SMALL_SOURCES}` +
    (hasLightClient ? "" : `. ${LIGHT_CLIENTS}`);
  return [warning("whole_states_read", found)];
}
