/**
 * JSON-RPC over HTTP POST: one call or a batch as one request, with a deadline, a size limit and a check of the
 * answer's shape. Independent of node families: the caller provides the translation of error texts.
 */
import { endpointHost } from "../config/redact.ts";
import type { Clock } from "../runtime/clock.ts";
import { DeadlineFault, withDeadline } from "../runtime/retry.ts";
import {
  BATCH_METHOD,
  type CallConditions,
  formatMethods,
  type NodeError,
  readNodeError,
  type RpcAnswer,
  type RpcCall,
  type RpcEndpoint,
  type TranslateError,
} from "./call.ts";
import { safeDetail } from "./detail.ts";
import { reactionTo, RpcFault, type RpcFaultCode } from "./fault.ts";
import { isJsonObject, type Json, parseJson } from "./json.ts";

/** Subset of the global `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** `fetch` of the runtime, for the real program. */
export const platformFetch: Fetch = (url, init) => fetch(url, init);

/** Options of an HTTP endpoint. */
export interface HttpEndpointOptions {
  readonly url: string;
  /** Name of the chain in faults. */
  readonly chain: string;
  readonly translate: TranslateError;
  /** Deadline of a request unless the call sets one, milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum size of an answer, bytes. Default 64 MiB. */
  readonly maxResponseBytes?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** Creates an endpoint for an HTTP(S) URL. User name and password of the URL are sent as basic authorization. */
export function createHttpEndpoint(
  deps: { readonly fetch: Fetch; readonly clock: Clock },
  options: HttpEndpointOptions,
): RpcEndpoint {
  return new HttpEndpoint(deps, options);
}

class HttpEndpoint implements RpcEndpoint {
  readonly host: string;
  readonly #deps: { readonly fetch: Fetch; readonly clock: Clock };
  readonly #options: HttpEndpointOptions;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  #lastId = 0;

  constructor(deps: { readonly fetch: Fetch; readonly clock: Clock }, options: HttpEndpointOptions) {
    const url = new URL(options.url);
    this.host = endpointHost(options.url);
    this.#deps = deps;
    this.#options = options;
    this.#headers = { "content-type": "application/json", accept: "application/json", ...authorization(url) };
    url.username = "";
    url.password = "";
    this.#url = url.href;
  }

  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const [first] = calls;
    if (first === undefined) return [];
    const firstId = this.#lastId + 1;
    this.#lastId += calls.length;
    const wire = calls.map((call, index) => ({
      jsonrpc: "2.0",
      id: firstId + index,
      method: call.method,
      params: call.params,
    }));
    const body = JSON.stringify(wire.length === 1 ? wire[0] : wire);
    const exchange = await this.#exchange(body, calls, conditions);
    return this.#readAnswers(exchange, calls, firstId);
  }

  /** Posts the body and reads the whole answer, both within the deadline. */
  async #exchange(body: string, calls: readonly RpcCall[], conditions: CallConditions): Promise<Exchange> {
    const afterMs = conditions.timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const what = formatMethods(calls);
    try {
      return await withDeadline(
        this.#deps.clock,
        { what, afterMs, signal: conditions.signal },
        (signal) => this.#post(body, calls, signal),
      );
    } catch (cause) {
      if (cause instanceof DeadlineFault) {
        throw this.#fault("timeout", what, { detail: `no answer within ${afterMs} ms` });
      }
      throw cause;
    }
  }

  async #post(body: string, calls: readonly RpcCall[], signal: AbortSignal): Promise<Exchange> {
    const method = formatMethods(calls);
    let response: Response;
    try {
      response = await this.#deps.fetch(this.#url, {
        method: "POST",
        headers: this.#headers,
        body,
        // Following a redirect would send keys and transactions to a host that is not configured.
        redirect: "manual",
        signal,
      });
    } catch (cause) {
      if (signal.aborted) throw cause;
      // The runtime's error text contains the URL, so it does not become the cause.
      throw this.#fault("unreachable", method, { detail: connectionProblem(cause) });
    }
    const text = await this.#readText(response, method, signal);
    return {
      status: response.status,
      retryAfterMs: readRetryAfterMs(response.headers.get("retry-after"), this.#deps.clock.now()),
      text,
    };
  }

  async #readText(response: Response, method: string, signal: AbortSignal): Promise<string> {
    const limit = this.#options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES;
    const decoder = new TextDecoder();
    const parts: string[] = [];
    let size = 0;
    try {
      for await (const chunk of response.body ?? []) {
        size += chunk.length;
        if (size > limit) break;
        parts.push(decoder.decode(chunk, { stream: true }));
      }
    } catch (cause) {
      if (signal.aborted) throw cause;
      throw this.#fault("malformed", method, { detail: "the connection ended within the answer" });
    }
    if (size > limit) {
      throw this.#fault("too_large", method, { detail: `the answer exceeds ${limit} bytes` });
    }
    parts.push(decoder.decode());
    return parts.join("");
  }

  #readAnswers(exchange: Exchange, calls: readonly RpcCall[], firstId: number): readonly RpcAnswer[] {
    const method = formatMethods(calls);
    if (exchange.status === 429) throw this.#statusFault("throttled", exchange, method);
    let answer: Json;
    try {
      answer = parseJson(exchange.text);
    } catch {
      throw this.#withoutJson(exchange, calls);
    }
    if (isJsonObject(answer) && calls.length > 1) throw this.#refusedBatch(answer, exchange, method);
    const entries = calls.length === 1 && !Array.isArray(answer) ? [answer] : answer;
    if (!Array.isArray(entries)) throw this.#withoutJson(exchange, calls);
    const refusal = findRefusal(entries, calls);
    if (refusal !== undefined) throw this.#refusedBatch(refusal, exchange, method);
    const byId = this.#sortById(entries, calls, firstId, exchange);
    return calls.map((call, index) => this.#readAnswer(byId.get(firstId + index), call));
  }

  #sortById(
    entries: readonly Json[],
    calls: readonly RpcCall[],
    firstId: number,
    exchange: Exchange,
  ): ReadonlyMap<number, { readonly [name: string]: Json }> {
    const malformed = (detail: string): RpcFault =>
      this.#fault("malformed", formatMethods(calls), { detail });
    const byId = new Map<number, { readonly [name: string]: Json }>();
    for (const entry of entries) {
      if (!isJsonObject(entry)) throw malformed("an entry is not an object");
      const isOnlyError = calls.length === 1 && (entry.id ?? null) === null && (entry.error ?? null) !== null;
      const id = isOnlyError ? firstId : Number(entry.id ?? NaN);
      if (!Number.isInteger(id) || id < firstId || id >= firstId + calls.length) {
        if (exchange.status >= 400) {
          throw this.#statusFault(codeOfStatus(exchange.status), exchange, formatMethods(calls));
        }
        throw malformed("an answer has an id that was not sent");
      }
      if (byId.has(id)) throw malformed("two answers have the same id");
      byId.set(id, entry);
    }
    if (byId.size !== calls.length) throw malformed(`${byId.size} answers for ${calls.length} calls`);
    return byId;
  }

  #readAnswer(entry: { readonly [name: string]: Json } | undefined, call: RpcCall): RpcAnswer {
    const error = entry === undefined ? undefined : readNodeError(entry.error);
    if (error !== undefined) return { kind: "fault", fault: this.#translated(error, call.method) };
    const result = entry?.result;
    if (result === undefined) {
      return {
        kind: "fault",
        fault: this.#fault("malformed", call.method, { detail: "neither result nor error" }),
      };
    }
    return { kind: "result", result };
  }

  /** Handles a batch answered by a single object: an error about the batch as a whole. */
  #refusedBatch(answer: { readonly [name: string]: Json }, exchange: Exchange, method: string): RpcFault {
    const error = readNodeError(answer.error);
    if (error === undefined) {
      return exchange.status >= 400
        ? this.#statusFault(codeOfStatus(exchange.status), exchange, method)
        : this.#fault("malformed", method, { detail: "one object in answer to a batch" });
    }
    const fault = this.#translated(error, method);
    const isAboutBatches = ["refused", "missing_method", "malformed"].includes(fault.code);
    return isAboutBatches ? this.#fault("missing_method", BATCH_METHOD, { detail: fault.detail }) : fault;
  }

  #withoutJson(exchange: Exchange, calls: readonly RpcCall[]): RpcFault {
    const method = formatMethods(calls);
    const refusesArrays = calls.length > 1 && [400, 405, 415, 422].includes(exchange.status);
    if (refusesArrays) return this.#statusFault("missing_method", exchange, BATCH_METHOD);
    if (exchange.status >= 300) return this.#statusFault(codeOfStatus(exchange.status), exchange, method);
    return this.#fault("malformed", method, { detail: "the answer is not complete JSON" });
  }

  #statusFault(code: RpcFaultCode, exchange: Exchange, method: string): RpcFault {
    return this.#fault(code, method, {
      detail: `HTTP ${exchange.status}`,
      retryAfterMs: exchange.retryAfterMs,
    });
  }

  #translated(error: NodeError, method: string): RpcFault {
    const { code, data } = this.#options.translate(error, method);
    return this.#fault(code, method, { detail: safeDetail(error.message), data });
  }

  #fault(
    code: RpcFaultCode,
    method: string,
    options: ConstructorParameters<typeof RpcFault>[3] = {},
  ): RpcFault {
    const where = { chain: this.#options.chain, endpointHost: this.host, method };
    return new RpcFault(code, reactionTo(code), where, options);
  }
}

/**
 * Error by which a node rejects a whole batch: Geth puts it into an array, with the id of the first call. Source:
 * ethereum/go-ethereum: rpc/handler.go (respondWithBatchTooLarge).
 */
function findRefusal(
  entries: readonly Json[],
  calls: readonly RpcCall[],
): { readonly [name: string]: Json } | undefined {
  const [only, ...others] = entries;
  if (calls.length < 2 || others.length > 0 || !isJsonObject(only)) return undefined;
  return readNodeError(only.error) === undefined ? undefined : only;
}

/** Outcome of one HTTP request. */
interface Exchange {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly text: string;
}

/** Basic authorization header for the user name and password of a URL, if it has any. */
export function authorization(url: URL): Record<string, string> {
  if (url.username === "" && url.password === "") return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { authorization: `Basic ${new TextEncoder().encode(pair).toBase64()}` };
}

/** Reads `Retry-After` as a pause: seconds or an HTTP date (RFC 9110, section 10.2.3). */
export function readRetryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Math.ceil(Number(header) * 1000);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

/**
 * Status codes of gateways that timed out on the node behind them (524 is Cloudflare's): the request may be too
 * expensive.
 */
const GATEWAY_TIMEOUTS: readonly number[] = [408, 504, 524];

function codeOfStatus(status: number): RpcFaultCode {
  if (GATEWAY_TIMEOUTS.includes(status)) return "timeout";
  if (status >= 500) return "server_error";
  if (status === 413) return "too_large";
  if ([401, 402, 403, 404, 405].includes(status)) return "missing_method";
  return "refused";
}

/** Names the problem without the runtime's text, which contains the whole URL. */
export function connectionProblem(cause: unknown): string {
  const text = cause instanceof Error ? cause.message.toLowerCase() : "";
  if (text.includes("refused")) return "connection refused";
  if (text.includes("dns") || text.includes("lookup")) return "host name not found";
  if (text.includes("certificate") || text.includes("tls")) return "no secure connection (certificate)";
  if (text.includes("reset") || text.includes("closed")) return "connection closed by the endpoint";
  return "no connection";
}
