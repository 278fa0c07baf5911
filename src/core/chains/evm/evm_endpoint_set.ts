/**
 * Endpoint set of an EVM chain: errors translated, chain id and head of each endpoint checked, contract reads bundled.
 */
import type { EndpointUrl } from "../../config/redact.ts";
import { isHexBytes } from "../../encoding/bytes.ts";
import { type BundledRead, decodeBundleResult, encodeBundle } from "../../evm/call_bundle.ts";
import { evmChainId, type StateMachine } from "../../ismp/state_machine.ts";
import type { RpcCall } from "../../rpc/call.ts";
import type { EndpointLineDeps } from "../../rpc/endpoint_line.ts";
import { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import { translateEvmError } from "../../rpc/evm_errors.ts";
import type { NamedHead } from "../../rpc/head_watch.ts";
import { createHttpEndpoint } from "../../rpc/http.ts";
import type { Fetch } from "../../rpc/http_exchange.ts";
import type { JoinedCall } from "../../rpc/joined_calls.ts";
import { isJsonObject, type Json } from "../../rpc/json.ts";
import { type EndpointState, parseQuantity } from "../../rpc/observed_endpoint.ts";
import { partsOf } from "../../runtime/slices.ts";
import type { Log } from "../../telemetry/log.ts";
import { blockAt, chainId } from "./queries.ts";

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
    head: { call: blockAt("latest").call, read: readHead },
    joining: {
      join: bundleReads,
      onRefused: (endpoint) => deps.log?.info("call_bundles_unavailable", { chain, endpoint }),
    },
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
      log?.warn("endpoint_behind", { blocks: state.blocks, seconds: Math.round(state.seconds) });
      break;
    case "unauthorized":
      log?.warn("endpoint_unauthorized");
      break;
    case "wrong_chain":
      log?.warn("endpoint_wrong_chain");
      break;
    case "ready":
      if (before !== "down" && before !== "throttled") log?.info("endpoint_ready", { before });
      break;
  }
}

/**
 * Reads of one bundle. A hundred receipts take about 3 million gas with what the code costs, less than any node allows
 * a call, and answer with 4 KB.
 */
const MAX_READS = 100;
/** Longer data is asked by itself, bytes: at {@link MAX_READS} of them a bundle would reach a contract's largest size. */
const MAX_DATA_BYTES = 200;

/** A read and its place among the calls of a request. */
interface PlacedRead extends BundledRead {
  readonly index: number;
}

/** Bundles the contract reads among the calls, at least two at one block together. */
export function bundleReads(calls: readonly RpcCall[]): readonly JoinedCall[] {
  const byTag = new Map<string, PlacedRead[]>();
  calls.forEach((call, index) => {
    const found = toRead(call);
    if (found === undefined) return;
    const reads = byTag.get(found.tag) ?? [];
    byTag.set(found.tag, reads);
    reads.push({ ...found.read, index });
  });
  return [...byTag].flatMap(([tag, reads]) =>
    partsOf(reads, MAX_READS).filter((part) => part.length > 1).map((part) => ({
      call: { method: "eth_call", params: [{ data: encodeBundle(part) }, tag] },
      indexes: part.map(({ index }) => index),
      split: (result) => decodeBundleResult(isHexBytes(result) ? result : "0x", part.length),
    }))
  );
}

/** The read that a call is, with its block; `undefined` for a call that cannot be in a bundle. */
function toRead(
  { method, params }: RpcCall,
): { readonly read: BundledRead; readonly tag: string } | undefined {
  const [call, tag, ...others] = params;
  if (method !== "eth_call" || others.length > 0 || typeof tag !== "string" || !isJsonObject(call)) {
    return undefined;
  }
  const { to, data, ...rest } = call;
  if (!isHexBytes(to) || !isHexBytes(data) || data.length > 2 + 2 * MAX_DATA_BYTES) return undefined;
  return Object.keys(rest).length === 0 ? { read: { to, data }, tag } : undefined;
}
