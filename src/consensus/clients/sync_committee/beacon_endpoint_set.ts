/**
 * The beacon nodes of one chain: a request is tried on one after the other until one answers, and nodes that return
 * invalid data are named in the log.
 */
import { ProverFault } from "../../prover.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { FALSE_ANSWERS, RpcFault } from "../../../core/rpc/call.ts";
import type { RestEndpoint } from "../../rest/rest_endpoint.ts";
import type { RestEndpointSet } from "../../rest/rest_endpoint_set.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import { BeaconNode } from "./beacon_node.ts";
import type { BeaconNetwork } from "./spec/beacon_network.ts";
import { DerivationError } from "./spec/sync_committee_error.ts";

/** Time for which the fork schedule of a node is remembered; operators upgrade nodes before a fork. */
const SCHEDULE_TTL_MS = 60 * 60_000;

/** Consecutive server errors of a route before another route of the node is probed. */
const SERVER_ERRORS = 2;

/** Subjects that a node does not find before it counts as lacking the route: one may just be too new or too old. */
const MISSES = 2;

/** Options of a request. */
export interface BeaconCallOptions {
  readonly route: string;
  /** Subject, e.g. a slot: a subject that is not found twice counts once. Absent: always a new subject. */
  readonly subject?: string;
  /** False: endpoints that recently lacked the route are skipped. Default true. */
  readonly asksAgain?: boolean;
  readonly onFault?: (fault: RpcFault) => void;
}

/** The beacon nodes of one chain. */
export class BeaconEndpointSet {
  /** By endpoint and route: consecutive subjects that were not found. */
  readonly #misses = new Map<RestEndpoint, Map<string, Set<string>>>();
  /** By endpoint and route: server errors of routes that never answered; `served` once one did. */
  readonly #serverErrors = new Map<RestEndpoint, Map<string, number | "served">>();
  /** By endpoint: the network with the forks that it knows. */
  readonly #networks = new Map<RestEndpoint, { readonly network: BeaconNetwork; readonly untilMs: number }>();
  readonly #clock: Clock;
  readonly #network: BeaconNetwork;
  readonly log: Log;

  constructor(
    deps: { readonly clock: Clock; readonly log: Log; readonly network: BeaconNetwork },
    readonly chain: StateMachine,
    readonly rest: RestEndpointSet,
  ) {
    this.#clock = deps.clock;
    this.#network = deps.network;
    this.log = deps.log;
  }

  /**
   * Returns the result of the first node that succeeds. `work` throws faults of its endpoint only. @throws {RpcFault}
   * when all fail.
   */
  async ask<T>(
    question: BeaconCallOptions,
    work: (node: BeaconNode) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { route } = question;
    const onFault = (fault: RpcFault): void => {
      const fields = { route, endpoint: fault.where.endpointHost, code: fault.code, detail: fault.detail };
      if (FALSE_ANSWERS.has(fault.code)) this.log.warn("endpoint_data_invalid.contradiction", fields);
      else this.log.debug("read_failed.beacon_node", fields);
      question.onFault?.(fault);
    };
    return await this.rest.ask({ ...question, onFault }, async (endpoint) => {
      const node = new BeaconNode(endpoint, { network: await this.#networkOf(endpoint, signal), signal });
      try {
        const result = await work(node);
        this.#misses.get(endpoint)?.delete(route);
        this.#errorsOf(endpoint).set(route, "served");
        return result;
      } catch (error) {
        if (!(error instanceof RpcFault)) throw error;
        const fault = error.code === "server_error"
          ? await this.#judgeServerError(node, route, error)
          : error;
        this.#noteMiss(endpoint, question, fault);
        throw fault;
      }
    }, signal);
  }

  /**
   * The network by the node's own fork schedule: a false one makes the node's own data fail. Without the route the known
   * forks count.
   */
  async #networkOf(endpoint: RestEndpoint, signal: AbortSignal): Promise<BeaconNetwork> {
    const known = this.#networks.get(endpoint);
    if (known !== undefined && this.#clock.now() < known.untilMs) return known.network;
    let network = this.#network;
    try {
      network = await new BeaconNode(endpoint, { network, signal }).fetchNetwork();
    } catch (fault) {
      if (!(fault instanceof RpcFault) || !(isAbsence(fault) || fault.code === "server_error")) throw fault;
    }
    this.#networks.set(endpoint, { network, untilMs: this.#clock.now() + SCHEDULE_TTL_MS });
    return network;
  }

  /**
   * Some nodes and gateways answer 5xx on routes that they lack. A node that answers on another route is healthy, so
   * the route is missing; a node that served it before has it.
   */
  async #judgeServerError(node: BeaconNode, route: string, fault: RpcFault): Promise<RpcFault> {
    const { endpoint } = node;
    const errors = this.#errorsOf(endpoint);
    const known = errors.get(route) ?? 0;
    if (known === "served") return fault;
    errors.set(route, known + 1);
    if (known + 1 < SERVER_ERRORS || !await answersAtAll(node)) return fault;
    return endpoint.fault("missing_method", route, { detail: fault.detail ?? "not served", cause: fault });
  }

  #errorsOf(endpoint: RestEndpoint): Map<string, number | "served"> {
    const known = this.#serverErrors.get(endpoint) ?? new Map<string, number | "served">();
    this.#serverErrors.set(endpoint, known);
    return known;
  }

  /** False when every node recently lacked the route. */
  mayServe(route: string): boolean {
    return this.rest.mayServe(route);
  }

  #noteMiss(endpoint: RestEndpoint, { route, subject }: BeaconCallOptions, fault: RpcFault): void {
    if (fault.code === "missing_method") this.rest.noteUnsupported(endpoint, route);
    if (fault.code !== "not_found") return;
    const ofEndpoint = this.#misses.get(endpoint) ?? new Map<string, Set<string>>();
    this.#misses.set(endpoint, ofEndpoint);
    const missed = ofEndpoint.get(route) ?? new Set<string>();
    ofEndpoint.set(route, missed.add(subject ?? String(missed.size)));
    if (missed.size < MISSES) return;
    this.rest.noteUnsupported(endpoint, route);
    ofEndpoint.delete(route);
  }
}

/** Probes the genesis, which every beacon node serves. */
async function answersAtAll(node: BeaconNode): Promise<boolean> {
  try {
    await node.fetchGenesisValidatorsRoot();
    return true;
  } catch (error) {
    if (error instanceof RpcFault) return false;
    throw error;
  }
}

/** True when a healthy endpoint does not have the requested data. */
export function isAbsence(fault: RpcFault): boolean {
  return fault.code === "not_found" || fault.code === "missing_method" || fault.code === "refused";
}

/** Converts a fault of beacon nodes: invalid and missing data become {@link ProverFault}s. */
export function proverFaultOf(chain: StateMachine, fault: RpcFault): ProverFault | RpcFault {
  const unknown = unknownForkIn(fault);
  if (unknown !== undefined) {
    const detail =
      `${unknown}: nothing can be proved until the hub's runtime is upgraded, and this program with it`;
    return new ProverFault("fork_not_followed", { chain, detail }, { cause: fault });
  }
  if (FALSE_ANSWERS.has(fault.code)) {
    const blamed = fault.cause instanceof RpcFault ? fault.cause : fault;
    const detail = `${blamed.where.method}: ${blamed.detail ?? "unusable data"}`;
    return new ProverFault("bad_data", { chain, endpoint: blamed.where.endpointHost, detail }, {
      cause: fault,
    });
  }
  if (!isAbsence(fault)) return fault;
  const detail = `no node serves ${fault.where.method}${
    fault.detail === undefined ? "" : ` (${fault.detail})`
  }`;
  return new ProverFault("not_served", { chain, endpoint: fault.where.endpointHost, detail }, {
    cause: fault,
  });
}

/** Describes the unknown fork behind a fault; `undefined`: the fault has another cause. */
function unknownForkIn({ cause, detail }: RpcFault): string | undefined {
  if (cause instanceof DerivationError && cause.code === "unknown_fork") return detail;
  return cause instanceof RpcFault ? unknownForkIn(cause) : undefined;
}
