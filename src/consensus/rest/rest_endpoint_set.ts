/**
 * REST endpoints of one chain: tried in order of preference, the next one when an earlier one fails, lacks the route,
 * or returns invalid data. Independent of the API behind it.
 */
import type { Clock, Randomness } from "../../core/runtime/clock.ts";
import { orAbort } from "../../core/runtime/linked_abort.ts";
import { TrackedEndpoint } from "../../core/rpc/endpoint.ts";
import { FALSE_ANSWERS, isOfEndpoint, RpcFault, type RpcFaultCode } from "../../core/rpc/call.ts";
import type { RestEndpoint } from "./rest_endpoint.ts";

/** Maximum wait when all endpoints are cooling down. */
const MAX_WAIT_MS = 2000;
/** Rounds through the endpoints before the request fails; the callers poll again later anyway. */
const ROUNDS = 2;
const MAX_CONCURRENT = 4;

/** Options of a request to the endpoint set. */
export interface AskOptions {
  /** Route, for faults. Endpoints that recently lacked it are tried last. */
  readonly route: string;
  /** False: endpoints that recently lacked the route are not tried at all. Default true. */
  readonly asksAgain?: boolean;
  /** Called with the fault of each endpoint, also when another one succeeds. */
  readonly onFault?: (fault: RpcFault) => void;
}

/** The REST endpoints of one chain. */
export class RestEndpointSet {
  readonly #clock: Clock;
  readonly #chain: string;
  readonly #endpoints: readonly TrackedEndpoint<RestEndpoint>[];

  /**
   * @param options endpoints in order of preference, at least one.
   * @throws {RangeError} without endpoints.
   */
  constructor(
    deps: { readonly clock: Clock; readonly randomness: Randomness },
    options: { readonly chain: string; readonly endpoints: readonly RestEndpoint[] },
  ) {
    if (options.endpoints.length === 0) throw new RangeError("Expected at least one endpoint");
    this.#clock = deps.clock;
    this.#chain = options.chain;
    this.#endpoints = options.endpoints.map((endpoint) =>
      new TrackedEndpoint(deps, endpoint, MAX_CONCURRENT)
    );
  }

  /** The endpoints in order of preference. */
  get endpoints(): readonly RestEndpoint[] {
    return this.#endpoints.map(({ endpoint }) => endpoint);
  }

  /**
   * Runs `work` on one endpoint after the other until it succeeds. A fault thrown by `work` is that endpoint's and
   * leads to the next one; anything else is rethrown. @throws {RpcFault} when no endpoint succeeds; it names each host
   * with its code.
   */
  async ask<T>(
    options: AskOptions,
    work: (endpoint: RestEndpoint) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const faults = new Map<TrackedEndpoint<RestEndpoint>, RpcFault>();
    for (let round = 0; round < ROUNDS; round++) {
      for (const pooled of this.#order(options)) {
        signal.throwIfAborted();
        if (!isWorthAsking(faults.get(pooled)) || !await this.#isReady(pooled, signal)) continue;
        try {
          const result = await pooled.use(() => work(pooled.endpoint), signal);
          pooled.noteSuccess();
          return result;
        } catch (fault) {
          if (!(fault instanceof RpcFault)) throw fault;
          pooled.noteFault(fault);
          faults.set(pooled, fault);
          options.onFault?.(fault);
        }
      }
      const pauseMs = this.#order(options).length === 0 ? undefined : this.#pauseMs([...faults.values()]);
      if (round + 1 === ROUNDS || pauseMs === undefined) break;
      await this.#clock.sleep(pauseMs, signal);
    }
    throw this.#allFailed(options, faults);
  }

  /** Notes that an endpoint lacks a route; it is tried again after some minutes. */
  noteUnsupported(endpoint: RestEndpoint, route: string): void {
    this.#endpoints.find((pooled) => pooled.endpoint === endpoint)
      ?.noteFault(endpoint.fault("missing_method", route, { detail: "not served" }));
  }

  /** False when every endpoint recently lacked the route. */
  mayServe(route: string): boolean {
    return this.#endpoints.some((pooled) => !pooled.isUnsupported([{ method: route }]));
  }

  #order(options: AskOptions): readonly TrackedEndpoint<RestEndpoint>[] {
    const isUnsupported = (pooled: TrackedEndpoint<RestEndpoint>): boolean =>
      pooled.isUnsupported([{ method: options.route }]);
    const able = this.#endpoints.filter((pooled) => !isUnsupported(pooled));
    return options.asksAgain === false ? able : [...able, ...this.#endpoints.filter(isUnsupported)];
  }

  async #isReady(pooled: TrackedEndpoint<RestEndpoint>, signal: AbortSignal): Promise<boolean> {
    const state = pooled.availability();
    if (state.kind !== "probing") return state.kind === "ready";
    await orAbort(state.settled, signal);
    return pooled.availability().kind === "ready";
  }

  /** Delay before another round; `undefined`: another one would not help. */
  #pauseMs(faults: readonly RpcFault[]): number | undefined {
    const states = this.#endpoints.map((pooled) => pooled.availability());
    const waits = states.map((state) => state.kind === "cooling" ? state.leftMs : 0);
    const shortestMs = Math.min(...waits);
    const mayHelp = faults.length === 0 || faults.some(({ code }) => isTransient(code));
    return mayHelp && shortestMs <= MAX_WAIT_MS ? Math.max(shortestMs, 500) : undefined;
  }

  #allFailed(options: AskOptions, faults: ReadonlyMap<TrackedEndpoint<RestEndpoint>, RpcFault>): RpcFault {
    const known = this.#endpoints.flatMap((pooled) => faults.get(pooled) ?? pooled.lastFault ?? []);
    const first = known.find(({ code }) => code !== "not_found" && code !== "missing_method") ??
      known.find(({ code }) => code === "not_found") ?? known[0];
    const hosts = this.#endpoints.map(({ endpoint }) => endpoint.host).join(", ");
    const place = { chain: this.#chain, endpointHost: hosts, method: options.route };
    if (first === undefined) {
      return new RpcFault("missing_method", place, { detail: "not served" });
    }
    const [only] = this.#endpoints;
    if (this.#endpoints.length === 1 && only !== undefined && faults.has(only)) return first;
    return new RpcFault(first.code, place, {
      detail: known.map((fault) => `${fault.where.endpointHost}: ${fault.code}`).join("; "),
      retryAfterMs: first.retryAfterMs,
      cause: first,
    });
  }
}

/** True when the same endpoint may succeed a moment later. */
function isTransient(code: RpcFaultCode): boolean {
  return isOfEndpoint(code) && !FALSE_ANSWERS.has(code) && code !== "wrong_chain" && code !== "unauthorized";
}

function isWorthAsking(earlier: RpcFault | undefined): boolean {
  return earlier === undefined || isTransient(earlier.code);
}
