/**
 * REST endpoints of one chain: asked in order of preference, the next one when an earlier one fails, lacks the route,
 * or returns invalid data. Independent of the API behind it.
 */
import type { Clock, Randomness } from "../../core/runtime/clock.ts";
import { TrackedEndpoint } from "../../core/rpc/endpoint.ts";
import { EndpointRound } from "../../core/rpc/endpoint_round.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import type { RestEndpoint } from "./rest_endpoint.ts";

const MAX_CONCURRENT = 4;

/** Options of a request to the endpoint set. */
export interface AskOptions {
  /** Route, for faults. Endpoints that recently lacked it are asked last. */
  readonly route: string;
  /** False: endpoints that recently lacked the route are not asked at all. Default true. */
  readonly asksAgain?: boolean;
  /** Called with the fault of each endpoint, also when another one succeeds. */
  readonly onFault?: (fault: RpcFault) => void;
}

/** The REST endpoints of one chain. */
export class RestEndpointSet {
  readonly #clock: Clock;
  readonly #chain: string;
  readonly #members: readonly TrackedEndpoint<RestEndpoint>[];

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
    this.#members = options.endpoints.map((endpoint) => new TrackedEndpoint(deps, endpoint, MAX_CONCURRENT));
  }

  /** The endpoints in order of preference. */
  get endpoints(): readonly RestEndpoint[] {
    return this.#members.map(({ endpoint }) => endpoint);
  }

  /**
   * Runs `work` on one endpoint after the other until it succeeds. A fault thrown by `work` is that endpoint's and
   * leads to the next one; anything else is rethrown. @throws {RpcFault} when no endpoint succeeds; it names each host
   * with its code.
   */
  async ask<T>(
    { route, asksAgain = true, onFault }: AskOptions,
    work: (endpoint: RestEndpoint) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const calls = [{ method: route }];
    const members = this.#members.filter((member) => asksAgain || !member.isUnsupported(calls));
    const round = new EndpointRound(this.#clock, members, calls);
    for (;;) {
      const member = round.take();
      if (member === undefined) {
        if (await round.wait(signal)) continue;
        throw round.allFailed({ chain: this.#chain, method: route });
      }
      try {
        const result = await member.use(() => work(member.endpoint), signal);
        member.noteSuccess();
        return result;
      } catch (fault) {
        if (!(fault instanceof RpcFault)) throw fault;
        member.noteFault(fault);
        round.fail(member, fault);
        onFault?.(fault);
      }
    }
  }

  /** Notes that an endpoint lacks a route; it is tried again after some minutes. */
  noteUnsupported(endpoint: RestEndpoint, route: string): void {
    this.#members.find((member) => member.endpoint === endpoint)
      ?.noteFault(endpoint.fault("missing_method", route, { detail: "not served" }));
  }

  /** False when every endpoint recently lacked the route. */
  mayServe(route: string): boolean {
    return this.#members.some((member) => !member.isUnsupported([{ method: route }]));
  }
}
