/**
 * Requests to one HTTP address, each with a deadline and a size limit, and faults that name its host only. Independent
 * of what is said in bodies. Start reading at {@link HttpAddress}.
 */
import { onError } from "../encoding/coded_error.ts";
import { decodePercent } from "../config/redact.ts";
import type { Clock } from "../runtime/clock.ts";
import { DeadlineFault, withDeadline } from "../runtime/retry.ts";
import { giveTurn } from "../runtime/slices.ts";
import { type AnswerLimit, answerLimit } from "./answer_limits.ts";
import type { CallConditions, RpcFault, RpcFaultCode } from "./call.ts";
import { EndpointFaults } from "./endpoint_faults.ts";

/** Subset of the global `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What requests need of the outside. */
export interface HttpDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
}

/** Options of an address. */
export interface HttpAddressOptions {
  /** User name and password are sent as basic authorization. */
  readonly url: string;
  /** Name of the chain in faults. */
  readonly chain: string;
  /** Deadline of a request unless the call sets one, milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum size of an answer, bytes, where it is below the limit of its method. */
  readonly maxResponseBytes?: number | undefined;
}

/** One request. */
export interface HttpRequest {
  /** Name of the request in faults. */
  readonly what: string;
  /** Calls that it makes, which limit the answer; absent: the one of this name. */
  readonly calls?: readonly { readonly method: string }[];
  /** Path and query, which are appended to those of the URL; absent: the URL itself. */
  readonly path?: string;
  /** Types of the answer. Default JSON. */
  readonly accept?: string;
  /** JSON to post; absent: a GET request. */
  readonly body?: string;
}

/** Answer to one HTTP request, read whole. */
export class HttpAnswer {
  constructor(
    readonly status: number,
    readonly headers: Headers,
    readonly bytes: Uint8Array,
    /** Limit of the answer. */
    readonly limit: AnswerLimit,
    /** Pause requested by the endpoint, ms. */
    readonly retryAfterMs: number | undefined,
  ) {}

  get text(): string {
    return new TextDecoder().decode(this.bytes);
  }
}

/** Type of JSON. */
export const JSON_TYPE = "application/json";
const DEFAULT_TIMEOUT_MS = 30_000;

/** An address that answers requests. */
export class HttpAddress extends EndpointFaults {
  readonly #deps: HttpDeps;
  readonly #options: HttpAddressOptions;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(deps: HttpDeps, options: HttpAddressOptions) {
    super(options.url, options.chain);
    const { url, headers } = splitAuthorization(options.url);
    this.#deps = deps;
    this.#options = options;
    this.#headers = headers;
    this.#url = url.href;
  }

  /** Sends a request and reads the whole answer, both within the deadline. @throws {RpcFault} */
  exchange(request: HttpRequest, conditions: CallConditions): Promise<HttpAnswer> {
    const { what, calls = [{ method: what }] } = request;
    const limit = answerLimit(calls, this.#options.maxResponseBytes);
    return this.within(what, conditions, async (signal) => {
      const response = await this.open(request, signal);
      const bytes = await readBody(response, limit.bytes).catch((cause) => {
        throw signal.aborted ? cause : this.brokenOff(what);
      });
      if (bytes === undefined) {
        throw this.fault(limit.excess, what, { detail: `the answer exceeds ${limit.bytes} bytes` });
      }
      const { status, headers } = response;
      const retryAfterMs = readRetryAfterMs(headers.get("retry-after"), this.#deps.clock.now());
      return new HttpAnswer(status, headers, bytes, limit, retryAfterMs);
    });
  }

  /** Runs a part of a request within its deadline, the address's own unless one is set. @throws {RpcFault} `timeout` */
  async within<T>(
    what: string,
    { signal, timeoutMs }: CallConditions,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const afterMs = timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    return await withDeadline(this.#deps.clock, { what, afterMs, signal }, work)
      .catch(onError(DeadlineFault, (): never => {
        throw this.fault("timeout", what, { detail: `no answer within ${afterMs} ms` });
      }));
  }

  /** Creates a fault of an answer with another status than expected. */
  statusFault({ status, retryAfterMs }: HttpAnswer, what: string): RpcFault {
    return this.fault(codeOfStatus(status), what, { detail: `HTTP ${status}`, retryAfterMs });
  }

  /** Creates the fault of a body that ends too early. The runtime's error text holds the URL. */
  brokenOff(what: string): RpcFault {
    return this.fault("unreachable", what, { detail: "the connection ended before the end of the answer" });
  }

  /** Sends a request; the body of the response is unread. @throws {RpcFault} `unreachable` */
  async open({ what, path, body, accept = JSON_TYPE }: HttpRequest, signal: AbortSignal): Promise<Response> {
    const headers = { accept, ...this.#headers };
    try {
      return await this.#deps.fetch(path === undefined ? this.#url : this.#below(path), {
        ...body === undefined
          ? { method: "GET", headers }
          : { method: "POST", headers: { "content-type": JSON_TYPE, ...headers }, body },
        // Following a redirect would send keys and transactions to a host that is not configured.
        redirect: "manual",
        signal,
      });
    } catch (cause) {
      if (signal.aborted) throw cause;
      // The runtime's error text contains the URL, so it does not become the cause.
      throw this.fault("unreachable", what, { detail: connectionProblem(cause) });
    }
  }

  #below(path: string): string {
    const url = new URL(this.#url);
    const below = new URL(`http://base${path}`);
    url.pathname = url.pathname.replace(/\/+$/, "") + below.pathname;
    for (const [name, value] of below.searchParams) url.searchParams.append(name, value);
    return url.href;
  }
}

/** Takes user name and password out of a URL: what remains, and the header of basic authorization that carries them. */
export function splitAuthorization(
  text: string,
): { readonly url: URL; readonly headers: Record<string, string> } {
  const url = new URL(text);
  const pair = `${decodePercent(url.username)}:${decodePercent(url.password)}`;
  url.username = "";
  url.password = "";
  const headers = pair === ":" ? {} : { authorization: `Basic ${new TextEncoder().encode(pair).toBase64()}` };
  return { url, headers };
}

/** Longest pause that an endpoint is granted: what says more is a mistake, or a day's plan that may be renewed. */
const MAX_RETRY_AFTER_MS = 5 * 60_000;

/**
 * Reads `Retry-After` as a pause, at most 5 minutes: seconds or an HTTP date (RFC 9110, section 10.2.3), or the Unix
 * time, in seconds or milliseconds, that some providers write.
 */
export function readRetryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const number = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) : undefined;
  const pauseMs = number === undefined
    ? Date.parse(header) - nowMs
    : number < 1e9
    ? Math.ceil(number * 1000)
    : (number < 1e12 ? number * 1000 : number) - nowMs;
  return Number.isNaN(pauseMs) ? undefined : Math.min(Math.max(0, pauseMs), MAX_RETRY_AFTER_MS);
}

/**
 * Status codes of gateways that timed out on the node behind them (524 is Cloudflare's): the request may be too
 * expensive.
 */
const GATEWAY_TIMEOUTS: readonly number[] = [408, 504, 524];

/** Fault code of a status other than 200. */
export function codeOfStatus(status: number): RpcFaultCode {
  if (status === 429) return "throttled";
  if (GATEWAY_TIMEOUTS.includes(status)) return "timeout";
  if (status >= 500) return "server_error";
  if (status === 413) return "too_large";
  // Of this one request; all else is of everything: a key, a plan, a check in front of the node, a path that is gone.
  return [400, 415, 422].includes(status) ? "refused" : "unauthorized";
}

/** Names the problem without the runtime's text, which contains the whole URL. */
export function connectionProblem(cause: unknown): string {
  const text = cause instanceof Error || cause instanceof ErrorEvent ? cause.message.toLowerCase() : "";
  if (text.includes("refused")) return "connection refused";
  if (text.includes("dns") || text.includes("lookup")) return "host name not found";
  if (text.includes("certificate") || text.includes("tls")) return "no secure connection (certificate)";
  if (/reset|closed|unexpected eof/.test(text)) return "connection closed by the endpoint";
  if (text.includes("tcp connect")) return "connection refused, or the host cannot be reached";
  return "no connection";
}

/** Bytes that most answers fit in. */
const FIRST_BYTES = 16 * 1024;
/** Bytes after which others have their turn. */
const TURN_BYTES = 1024 * 1024;

/**
 * Reads a body whole, its bytes counted as they arrive, after decompression; `undefined`, and the rest is not read, when
 * it has more than `limit` bytes.
 */
export async function readBody(
  { body }: Pick<Response, "body">,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  let buffer = new Uint8Array(Math.min(FIRST_BYTES, limit));
  let size = 0;
  let turnAt = TURN_BYTES;
  for await (const part of body ?? []) {
    const at = size;
    size += part.length;
    if (size > limit) return undefined; // which cancels the rest
    if (size > buffer.length) {
      const larger = new Uint8Array(Math.min(limit, Math.max(2 * buffer.length, size)));
      larger.set(buffer.subarray(0, at));
      buffer = larger;
    }
    buffer.set(part, at);
    if (size < turnAt) continue;
    turnAt = size + TURN_BYTES;
    await giveTurn();
  }
  return buffer.subarray(0, size);
}
