/** Requests and answers of JSON-RPC as text, the same over HTTP and sockets. Independent of node families. */
import {
  BATCH_METHOD,
  formatMethods,
  type NodeError,
  type RpcAnswer,
  type RpcCall,
  type RpcFault,
  type TranslateError,
} from "./call.ts";
import type { EndpointFaults } from "./endpoint_faults.ts";
import { codeOfStatus } from "./http_exchange.ts";
import { isJsonObject, type Json, type JsonLimit, JsonLimitError, parseJson } from "./json.ts";

/** Encoded request: one call, or an array of all. */
export interface WireRequest {
  readonly text: string;
  readonly calls: readonly RpcCall[];
  /** Id of the first call; the others follow. */
  readonly firstId: number;
}

/** Encodes requests, each call with an id of its own. */
export class WireRequests {
  #lastId = 0;

  /** Encodes these calls as one request. */
  write(calls: readonly RpcCall[]): WireRequest {
    const firstId = this.#lastId + 1;
    this.#lastId += calls.length;
    const wire = calls.map(({ method, params }, index) => ({
      jsonrpc: "2.0",
      id: firstId + index,
      method,
      params,
    }));
    return { text: JSON.stringify(wire.length === 1 ? wire[0] : wire), calls, firstId };
  }
}

/** The request that a text answers, and what is known of the answer. */
export interface AnsweredRequest {
  readonly request: WireRequest;
  readonly limit: JsonLimit;
  /** Endpoint that answers. */
  readonly at: EndpointFaults;
  readonly translate: TranslateError;
  /** HTTP status; absent: sockets have none. */
  readonly status?: number;
  /** Pause requested by the endpoint, ms. */
  readonly retryAfterMs?: number | undefined;
}

type Entry = { readonly [name: string]: Json };

/**
 * Reads the answers to the calls of a request, in their order; a call that failed has its fault.
 * @throws {RpcFault} when the request as a whole has no usable answer
 */
export function readRpcAnswers(text: string, answered: AnsweredRequest): readonly RpcAnswer[] {
  const { calls, firstId } = answered.request;
  const entries = readEntries(text, answered);
  const [only] = entries;
  // Geth puts the error of a batch into an array: ethereum/go-ethereum: rpc/handler.go (respondWithBatchTooLarge).
  const refusal = calls.length > 1 && entries.length === 1 ? readNodeError(only?.error) : undefined;
  if (refusal !== undefined) throw ofBatch(refusal, answered);
  const byId = new Map(entries.map((entry) => [Number(entry.id ?? NaN), entry]));
  // The error of a single call may come without its id.
  const isOnlyError = calls.length === 1 && (only?.id ?? null) === null && (only?.error ?? null) !== null;
  if (isOnlyError && only !== undefined) byId.set(firstId, only);
  return calls.map((call, index) => {
    const entry = byId.get(firstId + index);
    if (entry !== undefined && entries.length === calls.length) return readAnswer(entry, call, answered);
    throw unusable(answered, `${entries.length} answers to ${calls.length} calls, or with other ids`);
  });
}

function readEntries(text: string, answered: AnsweredRequest): readonly Entry[] {
  const { at, limit, request: { calls } } = answered;
  try {
    return [parseJson(text, limit)].flat().filter(isJsonObject);
  } catch (error) {
    if (!(error instanceof JsonLimitError)) throw unusable(answered, "the answer is not complete JSON");
    throw at.fault("oversized", formatMethods(calls), { detail: `the answer has ${error.message}` });
  }
}

/** Fault of a text that does not answer the request; its status says more, where there is one. */
function unusable({ at, request, retryAfterMs, status = 200 }: AnsweredRequest, detail: string): RpcFault {
  const refusesArrays = request.calls.length > 1 && [400, 405, 415, 422].includes(status);
  if (refusesArrays) return at.fault("missing_method", BATCH_METHOD, { detail: `HTTP ${status}` });
  const method = formatMethods(request.calls);
  if (status < 300) return at.fault("malformed", method, { detail });
  return at.fault(codeOfStatus(status), method, { detail: `HTTP ${status}`, retryAfterMs });
}

function readAnswer({ error, result }: Entry, { method }: RpcCall, answered: AnsweredRequest): RpcAnswer {
  const refusal = readNodeError(error);
  if (refusal === undefined && result !== undefined) return { kind: "result", result };
  const fault = refusal === undefined
    ? answered.at.fault("malformed", method, { detail: "neither result nor error" })
    : translated(refusal, method, answered);
  return { kind: "fault", fault };
}

/** Fault of a request of several calls that is refused as a whole. */
function ofBatch(refusal: NodeError, answered: AnsweredRequest): RpcFault {
  const fault = translated(refusal, formatMethods(answered.request.calls), answered);
  const isAboutBatches = ["refused", "missing_method", "malformed"].includes(fault.code);
  return isAboutBatches ? answered.at.fault("missing_method", BATCH_METHOD, { detail: fault.detail }) : fault;
}

/** What the words do not tell the status does, e.g. that a provider sheds load. */
function translated(
  error: NodeError,
  method: string,
  { at, translate, status = 200 }: AnsweredRequest,
): RpcFault {
  const { code, data } = translate(error, method);
  // Substrate puts the reason for rejecting an extrinsic into `data`.
  const reason = typeof error.data === "string" && !error.data.startsWith("0x") ? `: ${error.data}` : "";
  const detail = error.message + reason;
  if (status < 300 || code !== "refused") return at.fault(code, method, { detail, data });
  return at.fault(codeOfStatus(status), method, { detail: `HTTP ${status}: ${detail}` });
}

/** The error of a JSON-RPC answer, read leniently; `undefined` when there is none. */
export function readNodeError(error: Json | undefined): NodeError | undefined {
  if (error === undefined || error === null) return undefined;
  if (!isJsonObject(error)) return { code: undefined, message: String(error), data: undefined };
  return {
    code: typeof error.code === "number" ? error.code : undefined,
    message: typeof error.message === "string" ? error.message : "",
    data: error.data,
  };
}
