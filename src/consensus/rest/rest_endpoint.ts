/**
 * One REST endpoint: GET requests for JSON or bytes, with deadlines, size limits and streaming. Independent of the API
 * behind it. HTTP status codes are translated here only.
 */
import { type AnswerLimit, answerLimit } from "../../core/rpc/answer_limits.ts";
import { RpcFault, type RpcFaultCode } from "../../core/rpc/call.ts";
import {
  HttpAddress,
  type HttpDeps,
  JSON_TYPE,
  readBody,
  readRetryAfterMs,
} from "../../core/rpc/http_exchange.ts";
import { isJsonObject, type Json, JsonLimitError, parseJson } from "../../core/rpc/json.ts";
import { observeRequest, type RpcObserver } from "../../core/rpc/observed_endpoint.ts";
import { type BudgetOf, describeBudget } from "../../core/rpc/request_budget.ts";
import { linkedAbort } from "../../core/runtime/linked_abort.ts";
import { DeadlineFault, withDeadline } from "../../core/runtime/retry.ts";

/** A GET request. */
export interface RestRequest {
  /** Name of the request in faults and in the endpoint's capabilities: the path without its values. */
  readonly route: string;
  /** Path and query below the base URL; begins with `/`. */
  readonly path: string;
}

/** An answer in the form that the endpoint chose. */
export type RestAnswer =
  | { readonly kind: "json"; readonly json: Json }
  | { readonly kind: "octets"; readonly bytes: Uint8Array };

/** What is wrong with an answer. */
export interface EndpointProblem {
  readonly detail: string;
  readonly cause?: unknown;
}

/** Conditions of one request. */
export interface RestConditions {
  readonly signal: AbortSignal;
  /**
   * Timeout of the whole answer, milliseconds; for streams: of the first byte, and of each following chunk. Default:
   * the endpoint's.
   */
  readonly timeoutMs?: number | undefined;
  /** Timeout of the first byte of a stream, milliseconds, where it differs. */
  readonly firstByteTimeoutMs?: number | undefined;
}

/** Consumer of the chunks of a body; `enough` ends the transfer. */
export type TakePiece = (bytes: Uint8Array) => "more" | "enough";

/** Reader of a long body. */
export interface BodyReader {
  /** Consumes an answer in bytes. */
  readonly take: TakePiece;
  /** Consumes an answer in JSON, from endpoints without a binary form; absent: only bytes are accepted. */
  readonly takeJson?: TakePiece | undefined;
  /** False: a body that ends before `enough` is too short. */
  readonly endsItself: boolean;
}

/** Options of a REST endpoint. */
export interface RestEndpointOptions {
  /** Base URL; request paths are appended to its path, its query is kept. */
  readonly url: string;
  /** Name of the chain in faults. */
  readonly chain: string;
  /** Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum size of an answer that is read whole, bytes, where it is below the limit of its route. */
  readonly maxAnswerBytes?: number | undefined;
  /** Maximum size of a streamed body, bytes. Default 4 GiB. */
  readonly maxStreamBytes?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_STREAM_BYTES = 4 * 1024 * 1024 * 1024;
/** Maximum size of an error body to read. */
const MAX_ERROR_BYTES = 4096;

/** Time for which an answer shows that the endpoint serves us, so that a refusal is of the route alone, ms. */
const SERVES_MS = 60_000;

/** Type of answers in bytes. */
const OCTETS_TYPE = "application/octet-stream";
/** Bytes where the endpoint offers them. */
const EITHER_TYPE = `${OCTETS_TYPE}, ${JSON_TYPE};q=0.5`;

type Deps = HttpDeps & {
  /** Notified of every request; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  /** Budgets of chains; absent: none is set. */
  readonly budgetOf?: BudgetOf | undefined;
};

/** An address that answers GET requests. Faults name its host, never its path, query or credentials. */
export class RestEndpoint {
  /** Host and port, safe to log. */
  readonly host: string;
  readonly #deps: Deps;
  readonly #options: RestEndpointOptions;
  readonly #address: HttpAddress;
  /** When it last served something; of one that never has, since when it is known. */
  #servedMs: number;

  constructor(deps: Deps, options: RestEndpointOptions) {
    this.#address = new HttpAddress(deps, options);
    this.host = this.#address.host;
    this.#deps = deps;
    this.#servedMs = deps.clock.now();
    this.#options = options;
  }

  /** Fetches the JSON at a path. @throws {RpcFault} */
  async fetchJson(request: RestRequest, conditions: RestConditions): Promise<Json> {
    const { bytes } = await this.#fetchWhole(request, JSON_TYPE, conditions);
    return this.#parse(bytes, request);
  }

  /** Fetches a path, as bytes where the endpoint offers them. @throws {RpcFault} */
  async fetchEither(request: RestRequest, conditions: RestConditions): Promise<RestAnswer> {
    const whole = await this.#fetchWhole(request, EITHER_TYPE, conditions);
    return whole.isOctets
      ? { kind: "octets", bytes: whole.bytes }
      : { kind: "json", json: this.#parse(whole.bytes, request) };
  }

  /**
   * Streams the body at a path to its reader, and ends the transfer when the reader has enough or throws. @throws
   * {RpcFault} `malformed` also when the body ends before there was `enough`, unless `endsItself`.
   */
  async stream(request: RestRequest, body: BodyReader, conditions: RestConditions): Promise<void> {
    const accept = body.takeJson === undefined ? OCTETS_TYPE : EITHER_TYPE;
    await this.#exchange(request, { accept, signal: conditions.signal }, async (begin) => {
      const first: RestConditions = {
        ...conditions,
        timeoutMs: conditions.firstByteTimeoutMs ?? conditions.timeoutMs,
      };
      const response = await this.#within(request, first, begin);
      const take = isOctets(response) ? body.take : isJson(response) ? body.takeJson : undefined;
      if (take === undefined) {
        throw this.#address.fault("missing_method", request.route, {
          detail: "the endpoint serves no bytes here",
        });
      }
      const limit = this.#options.maxStreamBytes ?? DEFAULT_MAX_STREAM_BYTES;
      let size = 0;
      const reader = readPieces(response);
      for (let waiting = first;; waiting = conditions) {
        const next = await this.#within(request, waiting, () => reader.next());
        if (next.done === true) break;
        size += next.value.length;
        if (size > limit) {
          throw this.#address.fault("too_large", request.route, {
            detail: `the body exceeds ${limit} bytes`,
          });
        }
        if (take(next.value) === "enough") return;
      }
      if (!body.endsItself) {
        throw this.#address.fault("malformed", request.route, { detail: "the body is too short" });
      }
    });
  }

  /** Reads a whole answer within the deadline. */
  async #fetchWhole(
    request: RestRequest,
    accept: string,
    conditions: RestConditions,
  ): Promise<{ readonly bytes: Uint8Array; readonly isOctets: boolean }> {
    const limit = this.#limitOf(request);
    return await this.#exchange(
      request,
      { accept, signal: conditions.signal },
      (begin) =>
        this.#within(request, conditions, async () => {
          const response = await begin();
          const bytes = await this.#read(response, limit.bytes);
          if (bytes === undefined) {
            throw this.#address.fault(limit.excess, request.route, {
              detail: `the answer exceeds ${limit.bytes} bytes`,
            });
          }
          return { bytes, isOctets: isOctets(response) };
        }),
    );
  }

  /**
   * Makes one request. `use` begins it and reads the body; the connection is always released afterwards.
   */
  async #exchange<T>(
    request: RestRequest,
    { accept, signal }: { readonly accept: string; readonly signal: AbortSignal },
    use: (begin: () => Promise<Response>) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const leftMs = await this.#deps.budgetOf?.(this.#options.chain)?.take(1, signal);
    if (leftMs !== undefined) {
      const problem = { detail: describeBudget(leftMs), retryAfterMs: leftMs };
      throw this.#address.fault("over_budget", request.route, problem);
    }
    const end = linkedAbort(signal);
    const place = { chain: this.#options.chain, endpointHost: this.host };
    const work = async (): Promise<T> => {
      try {
        return await use(() => this.#begin(request, accept, end.signal));
      } catch (cause) {
        signal.throwIfAborted();
        if (!(cause instanceof ConnectionEnded)) throw cause;
        const detail = "the connection ended before the end of the answer";
        throw this.#address.fault("unreachable", request.route, { detail });
      }
    };
    try {
      const calls = [{ method: request.route }];
      return await observeRequest(this.#deps, { place, calls }, work, () => ({ outcomes: ["ok"] }));
    } finally {
      end.abort();
      end.unlink();
    }
  }

  async #begin(request: RestRequest, accept: string, signal: AbortSignal): Promise<Response> {
    const { route: what, path } = request;
    const response = await this.#address.open({ what, path, accept }, signal);
    if (response.status === 200) {
      this.#servedMs = this.#deps.clock.now();
      return response;
    }
    throw await this.#statusFault(response, request);
  }

  async #statusFault(response: Response, request: RestRequest): Promise<RpcFault> {
    const body = await this.#read(response, MAX_ERROR_BYTES);
    const words = body === undefined ? undefined : readMessage(new TextDecoder().decode(body));
    const mayBeOfAll = this.#deps.clock.now() - this.#servedMs > SERVES_MS;
    const code = toFaultCode(response.status, { isNodesOwn: words !== undefined, mayBeOfAll });
    return this.#address.fault(code, request.route, {
      detail: words === undefined
        ? `HTTP ${response.status}`
        : `HTTP ${response.status}: ${this.#address.safeDetail(words)}`,
      retryAfterMs: readRetryAfterMs(response.headers.get("retry-after"), this.#deps.clock.now()),
    });
  }

  /** Reads a whole body; `undefined`: it has more bytes than the limit. @throws {ConnectionEnded} */
  async #read(response: Response, limit: number): Promise<Uint8Array | undefined> {
    return await readBody(response, limit).catch((cause) => {
      throw connectionEnded(cause);
    });
  }

  #limitOf({ route }: Pick<RestRequest, "route">): AnswerLimit {
    return answerLimit([{ method: route }], this.#options.maxAnswerBytes);
  }

  async #within<T>(
    request: RestRequest,
    { signal, timeoutMs }: RestConditions,
    work: () => Promise<T>,
  ): Promise<T> {
    const afterMs = timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    try {
      return await withDeadline(this.#deps.clock, { what: request.route, afterMs, signal }, work);
    } catch (cause) {
      if (!(cause instanceof DeadlineFault)) throw cause;
      throw this.#address.fault("timeout", request.route, { detail: `no answer within ${afterMs} ms` });
    }
  }

  #parse(bytes: Uint8Array, request: RestRequest): Json {
    try {
      return parseJson(new TextDecoder().decode(bytes), this.#limitOf(request));
    } catch (error) {
      throw error instanceof JsonLimitError
        ? this.#address.fault("oversized", request.route, { detail: `the answer has ${error.message}` })
        : this.#address.fault("malformed", request.route, { detail: "the answer is not complete JSON" });
    }
  }

  /** Creates a fault of this endpoint, for callers that interpret the answers. */
  fault(code: RpcFaultCode, route: string, problem: EndpointProblem): RpcFault {
    return this.#address.fault(code, route, {
      detail: this.#address.safeDetail(problem.detail),
      cause: problem.cause,
    });
  }
}

/** The body ended prematurely. */
class ConnectionEnded extends Error {
  override readonly name = "ConnectionEnded";
  readonly code = "connection_ended";
}

/** Yields the bytes of a body as they arrive. @throws {ConnectionEnded} when they end too early. */
async function* readPieces(response: Response): AsyncGenerator<Uint8Array, void, void> {
  if (response.body === null) return;
  try {
    yield* response.body;
  } catch (cause) {
    throw connectionEnded(cause);
  }
}

/** What a broken body throws, without the runtime's text, which holds the URL; an abort as it is. */
function connectionEnded(cause: unknown): unknown {
  return cause instanceof DOMException ? cause : new ConnectionEnded("The connection ended");
}

/** True for an answer in bytes. */
function isOctets(response: Response): boolean {
  return isOfType(response, OCTETS_TYPE);
}

/** True for an answer in JSON. */
function isJson(response: Response): boolean {
  return isOfType(response, JSON_TYPE);
}

function isOfType(response: Response, type: string): boolean {
  return (response.headers.get("content-type") ?? "").toLowerCase().startsWith(type);
}

/** Reads the `message` of a JSON error body, as beacon nodes and similar servers send it. */
function readMessage(text: string): string | undefined {
  try {
    const json = parseJson(text);
    return isJsonObject(json) && typeof json.message === "string" ? json.message : undefined;
  } catch {
    return undefined; // a proxy's page, not the node's own answer
  }
}

/**
 * Maps a status to a fault code. A syncing node answers 503 in JSON (ethereum/beacon-APIs: types/http.yaml,
 * CurrentlySyncing), a proxy without a node does not. What may be about a key, a plan or a check in front of the node is
 * about the route where the endpoint has served others a moment ago.
 */
function toFaultCode(
  status: number,
  { isNodesOwn, mayBeOfAll }: { readonly isNodesOwn: boolean; readonly mayBeOfAll: boolean },
): RpcFaultCode {
  if (status === 429) return "throttled";
  if (status === 503 && isNodesOwn) return "lagging";
  if (status === 404) return "not_found";
  if (status === 413) return "too_large";
  if (status === 401 || status === 402) return "unauthorized";
  if ([405, 406, 415, 501].includes(status)) return "missing_method";
  if (status >= 500 || status === 408) return "server_error";
  if (status !== 400 && mayBeOfAll) return "unauthorized";
  return status === 403 ? "missing_method" : "refused";
}
