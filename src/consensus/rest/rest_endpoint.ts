/**
 * One REST endpoint: GET requests for JSON or bytes, with deadlines, size limits and streaming. Independent of the API
 * behind it. HTTP status codes are translated here only.
 */
import { readOrUndefined } from "../../core/encoding/coded_error.ts";
import type { RpcFault, RpcFaultCode } from "../../core/rpc/call.ts";
import {
  HttpAddress,
  type HttpAddressOptions,
  type HttpAnswer,
  type HttpDeps,
  JSON_TYPE,
  readBody,
  readRetryAfterMs,
} from "../../core/rpc/http_exchange.ts";
import { isJsonObject, type Json, JsonLimitError, parseJson } from "../../core/rpc/json.ts";
import { observeRequest, type RpcObserver } from "../../core/rpc/observed_endpoint.ts";
import { type BudgetOf, describeBudget } from "../../core/rpc/request_budget.ts";
import { linkedAbort } from "../../core/runtime/linked_abort.ts";

/** A GET request. */
export interface RestRequest {
  /** Name of the request in faults and in the endpoint's capabilities: the path without its values. */
  readonly route: string;
  /** Path and query below the base URL; begins with `/`. */
  readonly path: string;
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

/** Options of a REST endpoint. Request paths are appended to the path of its URL, whose query is kept. */
export interface RestEndpointOptions extends HttpAddressOptions {
  /** Maximum size of a streamed body, bytes. Default 4 GiB. */
  readonly maxStreamBytes?: number | undefined;
}

const DEFAULT_MAX_STREAM_BYTES = 4 * 1024 * 1024 * 1024;
/** Maximum size of an error body to read where a stream was asked for. */
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

/** An address that answers GET requests. */
export class RestEndpoint extends HttpAddress {
  readonly #deps: Deps;
  readonly #options: RestEndpointOptions;
  /** When it last served something; of one that never has, since when it is known. */
  #servedMs: number;

  constructor(deps: Deps, options: RestEndpointOptions) {
    super(deps, options);
    this.#deps = deps;
    this.#servedMs = deps.clock.now();
    this.#options = options;
  }

  /** Fetches the JSON at a path. @throws {RpcFault} */
  async fetchJson(request: RestRequest, conditions: RestConditions): Promise<Json> {
    const { route: what, path } = request;
    const answer = await this.#observed(request, conditions.signal, async () => {
      const answer = await this.exchange({ what, path, accept: JSON_TYPE }, conditions);
      if (answer.status !== 200) throw this.#refusal(answer, answer.text, request);
      this.#servedMs = this.#deps.clock.now();
      return answer;
    });
    try {
      return parseJson(answer.text, answer.limit);
    } catch (error) {
      throw error instanceof JsonLimitError
        ? this.fault("oversized", what, { detail: `the answer has ${error.message}` })
        : this.fault("malformed", what, { detail: "the answer is not complete JSON" });
    }
  }

  /**
   * Streams the body at a path to its reader, and ends the transfer when the reader has enough or throws. @throws
   * {RpcFault} `malformed` also when the body ends before there was `enough`, unless `endsItself`.
   */
  async stream(request: RestRequest, body: BodyReader, conditions: RestConditions): Promise<void> {
    const { route: what, path } = request;
    const accept = body.takeJson === undefined ? OCTETS_TYPE : EITHER_TYPE;
    const first: RestConditions = {
      ...conditions,
      timeoutMs: conditions.firstByteTimeoutMs ?? conditions.timeoutMs,
    };
    await this.#observed(request, conditions.signal, async () => {
      const end = linkedAbort(conditions.signal);
      try {
        const { response, take } = await this.within(what, first, async () => {
          const begun = await this.open({ what, path, accept }, end.signal);
          return { response: begun, take: await this.#takeOf(begun, request, body) };
        });
        const limit = this.#options.maxStreamBytes ?? DEFAULT_MAX_STREAM_BYTES;
        let size = 0;
        const pieces = (response.body ?? new Blob().stream())[Symbol.asyncIterator]();
        for (let waiting = first;; waiting = conditions) {
          const next = await this.within(what, waiting, () => pieces.next().catch(() => "broken" as const));
          if (next === "broken") throw this.brokenOff(what);
          if (next.done === true) break;
          size += next.value.length;
          if (size > limit) {
            throw this.fault("too_large", what, { detail: `the body exceeds ${limit} bytes` });
          }
          if (take(next.value) === "enough") return;
        }
        if (!body.endsItself) throw this.fault("malformed", what, { detail: "the body is too short" });
      } finally {
        end.abort();
        end.unlink();
      }
    });
  }

  /** What consumes the body of a response by its type. @throws {RpcFault} of a response without a body to take */
  async #takeOf(
    response: Response,
    request: RestRequest,
    { take, takeJson }: BodyReader,
  ): Promise<TakePiece> {
    if (response.status !== 200) {
      const bytes = await readBody(response, MAX_ERROR_BYTES).catch(() => undefined) ?? new Uint8Array();
      throw this.#refusal(response, new TextDecoder().decode(bytes), request);
    }
    this.#servedMs = this.#deps.clock.now();
    const found = isOfType(response, OCTETS_TYPE)
      ? take
      : isOfType(response, JSON_TYPE)
      ? takeJson
      : undefined;
    if (found !== undefined) return found;
    throw this.fault("missing_method", request.route, { detail: "the endpoint serves no bytes here" });
  }

  /** Makes one request within the budget of its chain. @throws {RpcFault} `over_budget` */
  async #observed<T>({ route }: RestRequest, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const leftMs = await this.#deps.budgetOf?.(this.chain)?.take(1, signal);
    if (leftMs !== undefined) {
      throw this.fault("over_budget", route, { detail: describeBudget(leftMs), retryAfterMs: leftMs });
    }
    const place = { chain: this.chain, endpointHost: this.host };
    return await observeRequest(this.#deps, { place, calls: [{ method: route }] }, work, () => ({
      outcomes: ["ok"],
    }));
  }

  #refusal(
    { status, headers }: Pick<HttpAnswer, "status" | "headers">,
    body: string,
    { route }: RestRequest,
  ): RpcFault {
    const words = readMessage(body);
    const mayBeOfAll = this.#deps.clock.now() - this.#servedMs > SERVES_MS;
    const code = toFaultCode(status, { isNodesOwn: words !== undefined, mayBeOfAll });
    const detail = words === undefined ? `HTTP ${status}` : `HTTP ${status}: ${words}`;
    const retryAfterMs = readRetryAfterMs(headers.get("retry-after"), this.#deps.clock.now());
    return this.fault(code, route, { detail, retryAfterMs });
  }
}

function isOfType({ headers }: Response, type: string): boolean {
  return (headers.get("content-type") ?? "").toLowerCase().startsWith(type);
}

/** Reads the `message` of a JSON error body, as beacon nodes and similar servers send it. */
function readMessage(text: string): string | undefined {
  // Otherwise it is a proxy's page, not the node's own answer.
  const json = readOrUndefined(() => parseJson(text));
  return isJsonObject(json) && typeof json.message === "string" ? json.message : undefined;
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
