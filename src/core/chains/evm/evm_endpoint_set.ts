/**
 * Endpoint set of an EVM chain: errors translated, the chain id of each endpoint checked, contract reads bundled.
 */
import { evmChainId, type StateMachine } from "../../ismp/state_machine.ts";
import type { EndpointUrl } from "../../config/redact.ts";
import { translateEvmError } from "../../rpc/evm_errors.ts";
import { createHttpEndpoint, type Fetch } from "../../rpc/http.ts";
import type { Json } from "../../rpc/json.ts";
import { observeEndpoint, type RpcObserver } from "../../rpc/observed_endpoint.ts";
import { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Randomness } from "../../runtime/randomness.ts";
import type { Log } from "../../telemetry/log.ts";
import { type Merging, MergingEndpoint } from "../../rpc/merging_endpoint.ts";
import { bundleReads } from "./call_bundles.ts";
import { JoiningEndpoint } from "./joining_endpoint.ts";
import { joinLogQueries } from "./log_queries.ts";
import { chainId } from "./queries.ts";

/** Dependencies of an endpoint set. */
export interface EvmEndpointSetDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Notified of every request; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  /** Names endpoints that do not run bundles of reads; absent: nobody is told. */
  readonly log?: Log | undefined;
}

/** Options of an endpoint set. */
export interface EvmEndpointSetOptions {
  /** `EVM-<chain id>`: the chain id of every endpoint is checked along with its first request. */
  readonly stateMachine: StateMachine;
  /** In order of preference, at least one. */
  readonly urls: readonly EndpointUrl[];
  /** Maximum number of concurrent HTTP requests to one endpoint; the default of the endpoint set if absent. */
  readonly maxConcurrent?: number | undefined;
  /** Several callers share the set, and what they ask at the same time is sent together; absent: it is not. */
  readonly merging?: Merging | undefined;
}

/** Creates an endpoint set that sends nothing before its first use. @throws {RangeError} without URLs. */
export function createEvmEndpointSet(
  deps: EvmEndpointSetDeps,
  options: EvmEndpointSetOptions,
): RpcEndpointSet {
  const chain = options.stateMachine;
  const number = BigInt(evmChainId(chain));
  const onRefused = (endpoint: string): void =>
    deps.log?.info("call_bundles_unavailable", { chain, endpoint });
  const endpoints = options.urls.map((url) => {
    const http = createHttpEndpoint(deps, { url: url.reveal(), chain, translate: translateEvmError });
    const { clock } = deps;
    const bundling = new JoiningEndpoint(
      { clock, onRefused, join: bundleReads },
      observeEndpoint(deps, chain, http),
    );
    if (options.merging === undefined) return bundling;
    const joining = new JoiningEndpoint({ clock, join: joinLogQueries }, bundling);
    return new MergingEndpoint(clock, joining, options.merging);
  });
  const isExpected = (result: Json): boolean =>
    typeof result === "string" && /^0x[0-9a-f]+$/i.test(result) && BigInt(result) === number;
  return new RpcEndpointSet(deps, {
    chain,
    endpoints,
    maxConcurrent: options.maxConcurrent,
    identity: { call: chainId.call, isExpected },
  });
}
