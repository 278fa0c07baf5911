/**
 * JSON-RPC over HTTP POST: one call or a batch as one request, with a check of the answer's shape. Independent of node
 * families: the caller provides the translation of error texts.
 */
import {
  BATCH_METHOD,
  type CallConditions,
  formatMethods,
  type NodeError,
  readNodeError,
  type RpcAnswer,
  type RpcCall,
  type RpcEndpoint,
  type RpcFault,
  type TranslateError,
  WireRequests,
} from "./call.ts";
import {
  codeOfStatus,
  type Fetch,
  HttpAddress,
  type HttpAddressOptions,
  type HttpAnswer,
  type HttpDeps,
} from "./http_exchange.ts";
import { isJsonObject, type Json, JsonLimitError, parseJson } from "./json.ts";

export type { Fetch };

/** `fetch` of the runtime, for the real program. */
export const platformFetch: Fetch = (url, init) => fetch(url, init);

/** Options of an HTTP endpoint. */
export interface HttpEndpointOptions extends HttpAddressOptions {
  readonly translate: TranslateError;
}

type JsonObject = { readonly [name: string]: Json };

/** An endpoint at an HTTP(S) URL. User name and password of the URL are sent as basic authorization. */
export class HttpEndpoint implements RpcEndpoint {
  readonly host: string;
  readonly #address: HttpAddress;
  readonly #translate: TranslateError;
  readonly #requests = new WireRequests();

  constructor(deps: HttpDeps, { translate, ...options }: HttpEndpointOptions) {
    this.#address = new HttpAddress(deps, options);
    this.host = this.#address.host;
    this.#translate = translate;
  }

  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    const [first] = calls;
    if (first === undefined) return [];
    const { text: body, firstId } = this.#requests.write(calls);
    const answer = await this.#address.exchange({ what: formatMethods(calls), calls, body }, conditions);
    return this.#readAnswers(answer, calls, firstId);
  }

  #readAnswers(exchange: HttpAnswer, calls: readonly RpcCall[], firstId: number): readonly RpcAnswer[] {
    const method = formatMethods(calls);
    if (exchange.status === 429) throw this.#address.statusFault(exchange, method);
    let answer: Json;
    try {
      answer = parseJson(exchange.text, exchange.limit);
    } catch (error) {
      if (!(error instanceof JsonLimitError)) throw this.#withoutJson(exchange, calls);
      throw this.#address.fault("oversized", method, { detail: `the answer has ${error.message}` });
    }
    if (isJsonObject(answer) && calls.length > 1) throw this.#refusedBatch(answer, exchange, method);
    const entries = calls.length === 1 && !Array.isArray(answer) ? [answer] : answer;
    if (!Array.isArray(entries)) throw this.#withoutJson(exchange, calls);
    const refusal = findRefusal(entries, calls);
    if (refusal !== undefined) throw this.#refusedBatch(refusal, exchange, method);
    const byId = new Map<number, JsonObject>();
    for (const entry of entries) {
      if (!isJsonObject(entry)) continue;
      const isOnlyError = calls.length === 1 && (entry.id ?? null) === null && (entry.error ?? null) !== null;
      byId.set(isOnlyError ? firstId : Number(entry.id ?? NaN), entry);
    }
    return calls.map((call, index) => {
      const entry = byId.get(firstId + index);
      if (entry !== undefined && entries.length === calls.length) {
        return this.#readAnswer(entry, call, exchange.status);
      }
      if (exchange.status >= 400) throw this.#address.statusFault(exchange, method);
      const detail = `${entries.length} answers to ${calls.length} calls, or with other ids`;
      throw this.#address.fault("malformed", method, { detail });
    });
  }

  #readAnswer({ error, result }: JsonObject, { method }: RpcCall, status: number): RpcAnswer {
    const refusal = readNodeError(error);
    if (refusal === undefined && result !== undefined) return { kind: "result", result };
    if (refusal === undefined) {
      const detail = "neither result nor error";
      return { kind: "fault", fault: this.#address.fault("malformed", method, { detail }) };
    }
    const fault = this.#translated(refusal, method);
    // What the words do not tell the status does, e.g. that a provider sheds load.
    const code = status >= 300 && fault.code === "refused" ? codeOfStatus(status) : fault.code;
    if (code === fault.code) return { kind: "fault", fault };
    const detail = `HTTP ${status}: ${fault.detail}`;
    return { kind: "fault", fault: this.#address.fault(code, method, { detail }) };
  }

  /** Handles a batch answered by a single object: an error about the batch as a whole. */
  #refusedBatch(answer: JsonObject, exchange: HttpAnswer, method: string): RpcFault {
    const error = readNodeError(answer.error);
    if (error === undefined) {
      return exchange.status >= 400
        ? this.#address.statusFault(exchange, method)
        : this.#address.fault("malformed", method, { detail: "one object in answer to a batch" });
    }
    const fault = this.#translated(error, method);
    const isAboutBatches = ["refused", "missing_method", "malformed"].includes(fault.code);
    return isAboutBatches
      ? this.#address.fault("missing_method", BATCH_METHOD, { detail: fault.detail })
      : fault;
  }

  #withoutJson(exchange: HttpAnswer, calls: readonly RpcCall[]): RpcFault {
    const method = formatMethods(calls);
    const refusesArrays = calls.length > 1 && [400, 405, 415, 422].includes(exchange.status);
    if (refusesArrays) return this.#address.statusFault(exchange, BATCH_METHOD, "missing_method");
    if (exchange.status >= 300) return this.#address.statusFault(exchange, method);
    return this.#address.fault("malformed", method, { detail: "the answer is not complete JSON" });
  }

  #translated(error: NodeError, method: string): RpcFault {
    const { code, data } = this.#translate(error, method);
    return this.#address.fault(code, method, { detail: this.#address.safeDetail(error.message), data });
  }
}

/**
 * Error by which a node rejects a whole batch: Geth puts it into an array, with the id of the first call. Source:
 * ethereum/go-ethereum: rpc/handler.go (respondWithBatchTooLarge).
 */
function findRefusal(entries: readonly Json[], calls: readonly RpcCall[]): JsonObject | undefined {
  const [only, ...others] = entries;
  if (calls.length < 2 || others.length > 0 || !isJsonObject(only)) return undefined;
  return readNodeError(only.error) === undefined ? undefined : only;
}
