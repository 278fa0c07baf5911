/**
 * The beacon nodes of one chain: a request is tried on one after the other until one answers, and nodes that return
 * invalid data are named in the log.
 */
import { ProverFault } from "../../prover.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { FALSE_ANSWERS, isOfEndpoint, RpcFault, type RpcFaultCode } from "../../../core/rpc/call.ts";
import { TrackedEndpoint } from "../../../core/rpc/endpoint.ts";
import type { RestEndpoint } from "../../rest/rest_endpoint.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { Clock, Randomness } from "../../../core/runtime/clock.ts";
import { orAbort } from "../../../core/runtime/linked_abort.ts";
import { BeaconNode } from "./beacon_node.ts";
import type { BeaconNetwork } from "./spec/beacon_network.ts";
import { DerivationError } from "./spec/sync_committee_error.ts";

/** Time for which the fork schedule of a node is remembered; operators upgrade nodes before a fork. */
const SCHEDULE_TTL_MS = 60 * 60_000;

/** Consecutive server errors of a route before another route of the node is probed. */
const SERVER_ERRORS = 2;

/** Subjects that a node does not find before it counts as lacking the route: one may just be too new or too old. */
const MISSES = 2;

/** Maximum wait when all nodes are cooling down. */
const MAX_WAIT_MS = 2000;
/** Rounds through the nodes before the request fails; the callers poll again later anyway. */
const ROUNDS = 2;
const MAX_CONCURRENT = 4;

/** Options of a request. */
export interface BeaconCallOptions {
  /** Route or source, for faults. Nodes that recently lacked it are tried last. */
  readonly route: string;
  /** Subject, e.g. a slot: a subject that is not found twice counts once. Absent: always a new subject. */
  readonly subject?: string;
  /** False: nodes that recently lacked the route are not tried at all. Default true. */
  readonly asksAgain?: boolean;
  /** Called with the fault of each node, also when another one succeeds. */
  readonly onFault?: (fault: RpcFault) => void;
}

/** What is known of the route of a node. */
interface KnownRoute {
  isServed: boolean;
  /** Server errors while it has never answered. */
  errors: number;
  /** Consecutive subjects that were not found. */
  readonly missed: Set<string>;
}

/** A node, and what is known of it. */
class KnownNode {
  readonly tracked: TrackedEndpoint<RestEndpoint>;
  readonly #routes = new Map<string, KnownRoute>();
  /** The network with the forks that it knows. */
  schedule: { readonly network: BeaconNetwork; readonly untilMs: number } | undefined;

  constructor(deps: { readonly clock: Clock; readonly randomness: Randomness }, endpoint: RestEndpoint) {
    this.tracked = new TrackedEndpoint(deps, endpoint, MAX_CONCURRENT);
  }

  get endpoint(): RestEndpoint {
    return this.tracked.endpoint;
  }

  routeOf(name: string): KnownRoute {
    const known = this.#routes.get(name) ?? { isServed: false, errors: 0, missed: new Set() };
    this.#routes.set(name, known);
    return known;
  }

  lacks(route: string): boolean {
    return this.tracked.isUnsupported([{ method: route }]);
  }

  /** Notes a fault, and whether it shows that the node lacks the route: then it is tried again after some minutes. */
  noteFault({ route, subject }: BeaconCallOptions, fault: RpcFault): void {
    this.tracked.noteFault(fault);
    const { missed } = this.routeOf(route);
    if (fault.code === "not_found") missed.add(subject ?? String(missed.size));
    if (fault.code !== "missing_method" && missed.size < MISSES) return;
    missed.clear();
    this.tracked.noteFault(this.endpoint.fault("missing_method", route, { detail: "not served" }));
  }

  /** Waits for a probe of the node that is under way; false when it is cooling down. */
  async isReady(signal: AbortSignal): Promise<boolean> {
    const state = this.tracked.availability();
    if (state.kind === "probing") await orAbort(state.settled, signal);
    return this.tracked.availability().kind === "ready";
  }
}

/** Dependencies of the set. */
export interface BeaconEndpointSetDeps {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
  readonly network: BeaconNetwork;
}

/** The beacon nodes of one chain: tried in order of preference. */
export class BeaconEndpointSet {
  readonly #nodes: readonly KnownNode[];
  readonly #clock: Clock;
  readonly #network: BeaconNetwork;
  readonly log: Log;

  /** @param endpoints in order of preference. @throws {RangeError} without endpoints. */
  constructor(
    deps: BeaconEndpointSetDeps,
    readonly chain: StateMachine,
    readonly endpoints: readonly RestEndpoint[],
  ) {
    if (endpoints.length === 0) throw new RangeError("Expected at least one endpoint");
    this.#clock = deps.clock;
    this.#network = deps.network;
    this.log = deps.log;
    this.#nodes = endpoints.map((endpoint) => new KnownNode(deps, endpoint));
  }

  /**
   * Returns the result of the first node that succeeds. A fault thrown by `work` is that node's; anything else is
   * rethrown. @throws {RpcFault} when no node succeeds; it names each host with its code.
   */
  async ask<T>(
    call: BeaconCallOptions,
    work: (node: BeaconNode) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const faults = new Map<KnownNode, RpcFault>();
    for (let round = 0; round < ROUNDS; round++) {
      for (const known of this.#order(call)) {
        signal.throwIfAborted();
        const earlier = faults.get(known);
        const isWorthAsking = earlier === undefined || isTransient(earlier.code);
        if (!isWorthAsking || !await known.isReady(signal)) continue;
        try {
          return await this.#askOne(known, { call, work }, signal);
        } catch (fault) {
          if (!(fault instanceof RpcFault)) throw fault;
          faults.set(known, fault);
          this.#report(call, fault);
        }
      }
      const pauseMs = this.#order(call).length === 0 ? undefined : this.#pauseMs([...faults.values()]);
      if (round + 1 === ROUNDS || pauseMs === undefined) break;
      await this.#clock.sleep(pauseMs, signal);
    }
    throw this.#allFailed(call, faults);
  }

  async #askOne<T>(
    known: KnownNode,
    { call, work }: {
      readonly call: BeaconCallOptions;
      readonly work: (node: BeaconNode) => Promise<T>;
    },
    signal: AbortSignal,
  ): Promise<T> {
    const route = known.routeOf(call.route);
    try {
      const result = await known.tracked.use(async () => {
        const network = await this.#networkOf(known, signal);
        return await work(new BeaconNode(known.endpoint, { network, signal }));
      }, signal);
      known.tracked.noteSuccess();
      route.isServed = true;
      route.missed.clear();
      return result;
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      const isMissing = error.code === "server_error" && !route.isServed &&
        ++route.errors >= SERVER_ERRORS && await this.#answersAtAll(known, signal);
      const fault = isMissing
        ? known.endpoint.fault("missing_method", call.route, {
          detail: error.detail ?? "not served",
          cause: error,
        })
        : error;
      known.noteFault(call, fault);
      throw fault;
    }
  }

  #report(call: BeaconCallOptions, fault: RpcFault): void {
    const { where, code, detail } = fault;
    const fields = { route: call.route, endpoint: where.endpointHost, code, detail };
    if (FALSE_ANSWERS.has(code)) this.log.warn("endpoint_data_invalid.contradiction", fields);
    else this.log.debug("read_failed.beacon_node", fields);
    call.onFault?.(fault);
  }

  /**
   * The network by the node's own fork schedule: a false one makes the node's own data fail. Without the route the known
   * forks count.
   */
  async #networkOf(known: KnownNode, signal: AbortSignal): Promise<BeaconNetwork> {
    const { schedule, endpoint } = known;
    if (schedule !== undefined && this.#clock.now() < schedule.untilMs) return schedule.network;
    let network = this.#network;
    try {
      network = await new BeaconNode(endpoint, { network, signal }).fetchNetwork();
    } catch (fault) {
      if (!(fault instanceof RpcFault) || !(isAbsence(fault) || fault.code === "server_error")) throw fault;
    }
    known.schedule = { network, untilMs: this.#clock.now() + SCHEDULE_TTL_MS };
    return network;
  }

  /**
   * Probes the genesis, which every beacon node serves. Some nodes and gateways answer 5xx on routes that they lack: one
   * that answers here is healthy, so the route is missing.
   */
  async #answersAtAll({ endpoint }: KnownNode, signal: AbortSignal): Promise<boolean> {
    try {
      await new BeaconNode(endpoint, { network: this.#network, signal }).fetchGenesisValidatorsRoot();
      return true;
    } catch (error) {
      if (error instanceof RpcFault) return false;
      throw error;
    }
  }

  /** False when every node recently lacked the route. */
  mayServe(route: string): boolean {
    return this.#nodes.some((known) => !known.lacks(route));
  }

  #order({ route, asksAgain }: BeaconCallOptions): readonly KnownNode[] {
    const able = this.#nodes.filter((known) => !known.lacks(route));
    return asksAgain === false ? able : [...able, ...this.#nodes.filter((known) => known.lacks(route))];
  }

  /** Delay before another round; `undefined`: another one would not help. */
  #pauseMs(faults: readonly RpcFault[]): number | undefined {
    const states = this.#nodes.map(({ tracked }) => tracked.availability());
    const shortestMs = Math.min(...states.map((state) => state.kind === "cooling" ? state.leftMs : 0));
    const mayHelp = faults.length === 0 || faults.some(({ code }) => isTransient(code));
    return mayHelp && shortestMs <= MAX_WAIT_MS ? Math.max(shortestMs, 500) : undefined;
  }

  #allFailed({ route }: BeaconCallOptions, faults: ReadonlyMap<KnownNode, RpcFault>): RpcFault {
    const known = this.#nodes.flatMap((node) => faults.get(node) ?? node.tracked.lastFault ?? []);
    const first = known.find(({ code }) => code !== "not_found" && code !== "missing_method") ??
      known.find(({ code }) => code === "not_found") ?? known[0];
    const endpointHost = this.endpoints.map(({ host }) => host).join(", ");
    const place = { chain: this.chain, endpointHost, method: route };
    if (first === undefined) return new RpcFault("missing_method", place, { detail: "not served" });
    if (this.#nodes.length === 1 && faults.size > 0) return first;
    return new RpcFault(first.code, place, {
      detail: known.map((fault) => `${fault.where.endpointHost}: ${fault.code}`).join("; "),
      retryAfterMs: first.retryAfterMs,
      cause: first,
    });
  }
}

/** True when the same node may succeed a moment later. */
function isTransient(code: RpcFaultCode): boolean {
  return isOfEndpoint(code) && !FALSE_ANSWERS.has(code) && code !== "wrong_chain" && code !== "unauthorized";
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
