/**
 * Endpoint set of an EVM chain: errors translated, chain id and head of each endpoint checked, contract reads bundled.
 */
import type { EndpointUrl } from "../../config/redact.ts";
import { evmChainId, type StateMachine } from "../../ismp/state_machine.ts";
import type { EndpointLineDeps } from "../../rpc/endpoint_line.ts";
import { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import { translateEvmError } from "../../rpc/evm_errors.ts";
import type { NamedHead } from "../../rpc/head_watch.ts";
import { createHttpEndpoint } from "../../rpc/http.ts";
import type { Fetch } from "../../rpc/http_exchange.ts";
import { isJsonObject, type Json } from "../../rpc/json.ts";
import { type EndpointState, parseQuantity } from "../../rpc/observed_endpoint.ts";
import type { Log } from "../../telemetry/log.ts";
import { CallBundles } from "./call_bundles.ts";
import { chainId, newestBlock } from "./queries.ts";

/** Dependencies of an endpoint set. */
export interface EvmEndpointSetDeps extends EndpointLineDeps {
  readonly fetch: Fetch;
  /** Names endpoints that are not used as configured; absent: nobody is told. */
  readonly log?: Log | undefined;
}

/** Options of an endpoint set. */
export interface EvmEndpointSetOptions {
  /** `EVM-<chain id>`: the chain id of every endpoint is checked along with its first request and its heads. */
  readonly stateMachine: StateMachine;
  /** In order of preference, at least one. */
  readonly urls: readonly EndpointUrl[];
  /** Maximum number of concurrent HTTP requests to one endpoint; the default of the endpoint set if absent. */
  readonly maxConcurrent?: number | undefined;
}

/** Creates an endpoint set that sends nothing before its first use. @throws {RangeError} without URLs. */
export function createEvmEndpointSet(
  deps: EvmEndpointSetDeps,
  { stateMachine: chain, urls, maxConcurrent }: EvmEndpointSetOptions,
): RpcEndpointSet {
  const number = BigInt(evmChainId(chain));
  return new RpcEndpointSet(deps, {
    chain,
    endpoints: urls.map((url) =>
      createHttpEndpoint(deps, { url: url.reveal(), chain, translate: translateEvmError })
    ),
    maxConcurrent,
    identity: { call: chainId.call, isExpected: (result) => parseQuantity(result) === number },
    head: { call: newestBlock.call, read: readHead },
    joining: (endpoint) =>
      new CallBundles(deps.clock, () => deps.log?.info("endpoint_limited.call_bundles", { chain, endpoint })),
    onState: (endpoint, state, before) => reportState(deps.log?.with({ chain, endpoint }), state, before),
  });
}

function readHead(block: Json): NamedHead | undefined {
  if (!isJsonObject(block)) return undefined;
  const [height, timeSec] = [parseQuantity(block.number), parseQuantity(block.timestamp)];
  return height === undefined || timeSec === undefined ? undefined : { height, timeSec: Number(timeSec) };
}

/** Tells of states that the operator can change; that an endpoint is down or throttles is told by what waits for it. */
function reportState(log: Log | undefined, state: EndpointState, before: EndpointState["kind"]): void {
  switch (state.kind) {
    case "behind":
      log?.warn("endpoint_unusable.behind", { blocks: state.blocks, seconds: Math.round(state.seconds) });
      break;
    case "unauthorized":
      log?.warn("endpoint_unusable.unauthorized");
      break;
    case "wrong_chain":
      log?.warn("endpoint_unusable.wrong_chain");
      break;
    case "ready":
      if (before !== "down" && before !== "throttled") log?.info("endpoint_ready", { before });
      break;
  }
}
