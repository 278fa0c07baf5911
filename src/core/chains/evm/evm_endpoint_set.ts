/**
 * Endpoint set of an EVM chain: errors translated, chain id and head of each endpoint checked, contract reads bundled.
 */
import type { EndpointUrl } from "../../config/redact.ts";
import { isHexBytes } from "../../encoding/bytes.ts";
import { type BundledRead, decodeBundleResult, encodeBundle } from "../../evm/call_bundle.ts";
import { evmChainId, type StateMachine } from "../../ismp/state_machine.ts";
import { BLOCK_FAULTS, type RpcAnswer, type RpcCall, RpcFault } from "../../rpc/call.ts";
import type { EndpointLineDeps, JoinedCalls } from "../../rpc/endpoint_line.ts";
import { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import { translateEvmError } from "../../rpc/evm_errors.ts";
import type { NamedHead } from "../../rpc/head_watch.ts";
import { HttpEndpoint } from "../../rpc/http.ts";
import type { Fetch } from "../../rpc/http_exchange.ts";
import { isJsonObject, type Json } from "../../rpc/json.ts";
import { type EndpointState, parseQuantity } from "../../rpc/observed_endpoint.ts";
import type { Clock } from "../../runtime/clock.ts";
import { partsOf } from "../../runtime/slices.ts";
import type { Log } from "../../telemetry/log.ts";
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
      new HttpEndpoint(deps, { url: url.reveal(), chain, translate: translateEvmError })
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
  if (state.kind === "behind") {
    log?.warn("endpoint_unusable.behind", { blocks: state.blocks, seconds: Math.round(state.seconds) });
  } else if (state.kind === "unauthorized" || state.kind === "wrong_chain") {
    log?.warn(`endpoint_unusable.${state.kind}`);
  } else if (state.kind === "ready" && before !== "down" && before !== "throttled") {
    log?.info("endpoint_ready", { before });
  }
}

/**
 * Reads of one bundle. A hundred receipts take about 3 million gas with what the code costs, less than any node allows
 * a call, and answer with 4 KB.
 */
const MAX_READS = 100;
/** Longer data is asked by itself, bytes: at {@link MAX_READS} of them a bundle would reach a contract's largest size. */
const MAX_DATA_BYTES = 200;
/** An endpoint that did not run a bundle is tried again after this time; providers change nodes. */
const REFUSED_TTL_MS = 10 * 60_000;

/** A read and its place among the calls of a request. */
interface PlacedRead extends BundledRead {
  readonly index: number;
  readonly tag: string;
}

/** Bundles at one endpoint. */
export class CallBundles implements JoinedCalls {
  #refusedUntilMs = 0;

  /** @param onRefused called when the endpoint turns out not to run bundles */
  constructor(readonly clock: Pick<Clock, "now">, readonly onRefused: () => void) {}

  /** Sends calls: one request, and another one for reads that were not answered together. */
  async send(
    calls: readonly RpcCall[],
    send: (calls: readonly RpcCall[]) => Promise<readonly RpcAnswer[]>,
  ): Promise<readonly RpcAnswer[]> {
    const bundles = this.clock.now() < this.#refusedUntilMs ? [] : bundleReads(calls);
    if (bundles.length === 0) return await send(calls);
    const inBundles = new Set(bundles.flat().map(({ index }) => index));
    const plain = calls.flatMap((_, index) => inBundles.has(index) ? [] : [index]);
    const answers = new Map<number, RpcAnswer | undefined>();
    let isRun = true;
    try {
      // Bundles come last: a caller that also asks for the head relies on the head being read first.
      const sent = await send([...plain.flatMap((index) => calls[index] ?? []), ...bundles.map(toCall)]);
      plain.forEach((index, place) => answers.set(index, sent[place]));
      bundles.forEach((reads, place) => {
        isRun = share(answers, reads, sent[plain.length + place]) && isRun;
      });
    } catch (fault) {
      const mayBeBundles = fault instanceof RpcFault && ["refused", "missing_method"].includes(fault.code);
      if (!mayBeBundles) throw fault;
      isRun = false;
    }
    const open = calls.flatMap((_, index) => answers.has(index) ? [] : [index]);
    if (open.length > 0) {
      const single = await send(open.flatMap((index) => calls[index] ?? []));
      open.forEach((index, place) => answers.set(index, single[place]));
      // Where reads fail in a bundle and alone, the bundle is not to blame.
      if (!isRun && single.some(({ kind }) => kind === "result")) this.#noteRefused();
    }
    return calls.map((_, index) => {
      const answer = answers.get(index);
      if (answer === undefined) throw new Error("Call without an answer");
      return answer;
    });
  }

  #noteRefused(): void {
    this.#refusedUntilMs = this.clock.now() + REFUSED_TTL_MS;
    this.onRefused();
  }
}

/** Gives each read of a bundle its own answer, as far as it follows. False: the bundle was not run. */
function share(
  answers: Map<number, RpcAnswer | undefined>,
  reads: readonly PlacedRead[],
  answer: RpcAnswer | undefined,
): boolean {
  if (answer?.kind === "fault" && BLOCK_FAULTS.has(answer.fault.code)) {
    for (const { index } of reads) answers.set(index, answer);
    return true;
  }
  const result = answer?.kind === "result" ? answer.result : undefined;
  const results = decodeBundleResult(isHexBytes(result) ? result : "0x", reads.length);
  reads.forEach(({ index }, place) => {
    const found = results?.[place];
    if (found !== undefined) answers.set(index, { kind: "result", result: found });
  });
  return results !== undefined;
}

/** The contract reads among the calls, at least two at one block together. */
function bundleReads(calls: readonly RpcCall[]): readonly (readonly PlacedRead[])[] {
  const reads = calls.flatMap((call, index) => toRead(call, index) ?? []);
  return [...Map.groupBy(reads, ({ tag }) => tag).values()].flatMap((atBlock) =>
    partsOf(atBlock, MAX_READS).filter((part) => part.length > 1)
  );
}

function toCall(reads: readonly PlacedRead[]): RpcCall {
  return { method: "eth_call", params: [{ data: encodeBundle(reads) }, reads[0]?.tag] };
}

/** The read that a call is; `undefined` for a call that cannot be in a bundle. */
function toRead({ method, params }: RpcCall, index: number): PlacedRead | undefined {
  const [call, tag, ...others] = params;
  if (method !== "eth_call" || others.length > 0 || typeof tag !== "string" || !isJsonObject(call)) {
    return undefined;
  }
  const { to, data, ...rest } = call;
  if (!isHexBytes(to) || !isHexBytes(data) || data.length > 2 + 2 * MAX_DATA_BYTES) return undefined;
  return Object.keys(rest).length === 0 ? { to, data, tag, index } : undefined;
}
