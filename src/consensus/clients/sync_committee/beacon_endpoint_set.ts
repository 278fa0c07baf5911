/**
 * The beacon nodes of one chain: a request is tried on one after the other until one answers, and nodes that return
 * invalid data are named in the log.
 */
import { ProverFault } from "../../prover.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { FALSE_ANSWERS, onFault, RpcFault, type RpcFaultCode } from "../../../core/rpc/call.ts";
import { TrackedEndpoint } from "../../../core/rpc/endpoint.ts";
import { EndpointRound } from "../../../core/rpc/endpoint_round.ts";
import type { RestEndpoint } from "../../rest/rest_endpoint.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { Clock, Randomness } from "../../../core/runtime/clock.ts";
import { BeaconNode } from "./beacon_node.ts";
import type { BeaconNetwork } from "./spec/beacon_network.ts";
import { DerivationError } from "./spec/sync_committee_error.ts";

/** Time for which the fork schedule of a node is remembered; operators upgrade nodes before a fork. */
const SCHEDULE_TTL_MS = 60 * 60_000;

/** Subjects that a node does not find before it counts as lacking the route: one may just be too new or too old. */
const MISSES = 2;

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

/** A node, and what is known of it. */
class KnownNode extends TrackedEndpoint<RestEndpoint> {
  /** Routes that have answered. */
  readonly #served = new Set<string>();
  /** By route: consecutive subjects that it did not have. */
  readonly #missed = new Map<string, Set<string>>();
  /** The network with the forks that it knows. */
  schedule: { readonly network: BeaconNetwork; readonly untilMs: number } | undefined;

  noteServed({ route }: BeaconCallOptions): void {
    this.noteSuccess();
    this.#served.add(route);
    this.#missed.delete(route);
  }

  /**
   * Notes a fault. Returns it, or that the node lacks the route, which is tried again after some minutes: some nodes and
   * gateways answer 5xx on routes that they lack.
   */
  noteFailed(call: BeaconCallOptions, fault: RpcFault): RpcFault {
    const { route, subject } = call;
    // It answers, with nothing new yet.
    if (fault.code === "lagging") this.noteServed(call);
    this.noteFault(fault);
    const isMiss = fault.code === "not_found" || (fault.code === "server_error" && !this.#served.has(route));
    if (!isMiss) return fault;
    const missed = this.#missed.get(route) ?? new Set();
    this.#missed.set(route, missed);
    if (missed.size < MISSES) missed.add(subject ?? String(missed.size));
    if (missed.size < MISSES) return fault;
    const { detail = "not served" } = fault;
    const missing = this.endpoint.fault("missing_method", route, { detail, cause: fault });
    this.noteFault(missing);
    return fault.code === "not_found" ? fault : missing;
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
    this.#nodes = endpoints.map((endpoint) => new KnownNode(deps, endpoint, MAX_CONCURRENT));
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
    const { route, asksAgain = true } = call;
    const nodes = this.#nodes.filter((node) => asksAgain || !node.isUnsupported([{ method: route }]));
    if (nodes.length === 0) {
      const endpointHost = this.#nodes.map(({ host }) => host).join(", ");
      const place = { chain: this.chain, endpointHost, method: route };
      throw new RpcFault("missing_method", place, { detail: "not served" });
    }
    // Where every node lacked the route, all are asked again: one may just have missed what it was asked for.
    const calls = this.mayServe(route) ? [{ method: route }] : [];
    const round = new EndpointRound(this.#clock, nodes, calls);
    for (;;) {
      const node = round.take();
      if (node === undefined) {
        if (await round.wait(signal)) continue;
        throw round.allFailed({ chain: this.chain, method: route });
      }
      try {
        return await this.#askOne(node, { call, work }, signal);
      } catch (fault) {
        if (!(fault instanceof RpcFault)) throw fault;
        round.fail(node, fault);
        this.#report(call, fault);
      }
    }
  }

  async #askOne<T>(
    known: KnownNode,
    { call, work }: {
      readonly call: BeaconCallOptions;
      readonly work: (node: BeaconNode) => Promise<T>;
    },
    signal: AbortSignal,
  ): Promise<T> {
    try {
      const result = await known.use(async () => {
        const network = await this.#networkOf(known, signal);
        return await work(new BeaconNode(known.endpoint, { network, signal }));
      }, signal);
      known.noteServed(call);
      return result;
    } catch (error) {
      throw error instanceof RpcFault ? known.noteFailed(call, error) : error;
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
    const network = await new BeaconNode(endpoint, { network: this.#network, signal }).fetchNetwork()
      .catch(onFault(() => this.#network, ...ABSENCES, "server_error"));
    known.schedule = { network, untilMs: this.#clock.now() + SCHEDULE_TTL_MS };
    return network;
  }

  /** False when every node recently lacked the route. */
  mayServe(route: string): boolean {
    return this.#nodes.some((known) => !known.isUnsupported([{ method: route }]));
  }
}

const ABSENCES: readonly RpcFaultCode[] = ["not_found", "missing_method", "refused"];

/** True when a healthy endpoint does not have the requested data. */
export function isAbsence(fault: RpcFault): boolean {
  return ABSENCES.includes(fault.code);
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
