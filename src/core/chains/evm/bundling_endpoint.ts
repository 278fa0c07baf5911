/**
 * Endpoint that makes one call of the contract reads of a request, since providers bill calls. Reads at one block stay
 * at one block, and each has its own answer: one that fails in a bundle is asked by itself, so that its fault is what
 * the node says of it. Nodes that do not run bundles are asked as ever.
 */
import { isHexBytes } from "../../encoding/bytes.ts";
import { type BundledRead, decodeBundleResult, encodeBundle } from "../../evm/call_bundle.ts";
import type { CallConditions, RpcAnswer, RpcCall, RpcEndpoint } from "../../rpc/call.ts";
import { BLOCK_FAULTS, RpcFault } from "../../rpc/fault.ts";
import { isJsonObject } from "../../rpc/json.ts";
import type { Clock } from "../../runtime/clock.ts";
import { partsOf } from "../../runtime/parts.ts";

/**
 * Reads of one bundle. A hundred receipts take about 3 million gas with what the code costs, less than any node allows
 * a call, and answer with 4 KB.
 */
const MAX_READS = 100;
/** Longer data is asked by itself, bytes: at {@link MAX_READS} of them a bundle would reach a contract's largest size. */
const MAX_DATA_BYTES = 200;
/** An endpoint that did not run a bundle is tried again after this time; providers change nodes. */
const REFUSED_TTL_MS = 10 * 60_000;

/** What a bundling endpoint needs. */
export interface BundlingDeps {
  readonly clock: Pick<Clock, "now">;
  /** Called when the endpoint turns out not to run bundles; default: nothing. */
  readonly onRefused?: ((endpointHost: string) => void) | undefined;
}

/** A read and its place among the calls of a request. */
interface PlacedRead extends BundledRead {
  readonly index: number;
}

/** Reads at one block that go together. */
interface Bundle {
  readonly reads: readonly PlacedRead[];
  readonly call: RpcCall;
}

/** See the head of the file. */
export class BundlingEndpoint implements RpcEndpoint {
  readonly #deps: BundlingDeps;
  readonly #endpoint: RpcEndpoint;
  #refusedUntilMs = 0;

  constructor(deps: BundlingDeps, endpoint: RpcEndpoint) {
    this.#deps = deps;
    this.#endpoint = endpoint;
  }

  get host(): string {
    return this.#endpoint.host;
  }

  /** As {@link RpcEndpoint.send}: one request, and another one for the reads that their bundle did not answer. */
  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const isRefused = this.#deps.clock.now() < this.#refusedUntilMs;
    const bundles = isRefused ? [] : bundlesOf(calls);
    if (bundles.length === 0) return await this.#endpoint.send(calls, conditions);
    const request = new BundledRequest(calls, bundles);
    let sent: readonly RpcAnswer[];
    try {
      sent = await this.#endpoint.send(request.wire, conditions);
    } catch (fault) {
      if (!(fault instanceof RpcFault) || !mayMindBundles(fault)) throw fault;
      const answers = await this.#endpoint.send(calls, conditions);
      this.#noteRefused();
      return answers;
    }
    request.fill(sent);
    const open = request.open();
    if (open.length === 0) return request.answers();
    const single = await this.#endpoint.send(open.flatMap((index) => calls[index] ?? []), conditions);
    if (request.fillSingle(open, single)) this.#noteRefused();
    return request.answers();
  }

  #noteRefused(): void {
    this.#refusedUntilMs = this.#deps.clock.now() + REFUSED_TTL_MS;
    this.#deps.onRefused?.(this.host);
  }
}

/** Calls of which some are bundled, with their answers as they come. */
class BundledRequest {
  readonly #bundles: readonly Bundle[];
  /** Calls that are sent as they are, by their index. */
  readonly #plain: readonly number[];
  readonly #answers: (RpcAnswer | undefined)[];
  /** Reads of bundles that were not run. */
  readonly #unrun = new Set<number>();
  /** What is sent: the calls that stay as they are, and a call for each bundle. */
  readonly wire: readonly RpcCall[];

  constructor(calls: readonly RpcCall[], bundles: readonly Bundle[]) {
    const bundled = new Set(bundles.flatMap(({ reads }) => reads.map(({ index }) => index)));
    this.#bundles = bundles;
    this.#plain = calls.flatMap((_, index) => bundled.has(index) ? [] : [index]);
    this.#answers = calls.map(() => undefined);
    this.wire = [...this.#plain.flatMap((index) => calls[index] ?? []), ...bundles.map(({ call }) => call)];
  }

  /** Takes the answers to {@link wire}. */
  fill(sent: readonly RpcAnswer[]): void {
    this.#plain.forEach((index, place) => this.#answers[index] = sent[place]);
    this.#bundles.forEach(({ reads }, place) => this.#unbundle(reads, sent[this.#plain.length + place]));
  }

  /** Calls that are not answered yet, by their index. */
  open(): readonly number[] {
    return this.#answers.flatMap((answer, index) => answer === undefined ? [index] : []);
  }

  /** Takes the answers to single reads; true when some work that no bundle could make. */
  fillSingle(open: readonly number[], single: readonly RpcAnswer[]): boolean {
    open.forEach((index, place) => this.#answers[index] = single[place]);
    return open.some((index) => this.#unrun.has(index) && this.#answers[index]?.kind === "result");
  }

  /** The answers to all calls, in their order. */
  answers(): readonly RpcAnswer[] {
    return this.#answers.map((answer) => {
      if (answer === undefined) throw new Error("Call without an answer");
      return answer;
    });
  }

  #unbundle(reads: readonly PlacedRead[], answer: RpcAnswer | undefined): void {
    if (answer?.kind === "fault" && BLOCK_FAULTS.has(answer.fault.code)) {
      for (const { index } of reads) this.#answers[index] = answer;
      return;
    }
    const result = answer?.kind === "result" && isHexBytes(answer.result) ? answer.result : "0x";
    const values = decodeBundleResult(result, reads.length);
    reads.forEach(({ index }, place) => {
      const value = values?.[place];
      if (value !== undefined) this.#answers[index] = { kind: "result", result: value };
      else if (values === undefined) this.#unrun.add(index);
    });
  }
}

/** True when a request may have been refused because of the bundles in it. */
function mayMindBundles({ code }: RpcFault): boolean {
  return code === "refused" || code === "missing_method";
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

/** The contract reads among the calls, at least two at one block together. */
function bundlesOf(calls: readonly RpcCall[]): readonly Bundle[] {
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
      reads: part,
      call: { method: "eth_call", params: [{ data: encodeBundle(part) }, tag] },
    }))
  );
}
