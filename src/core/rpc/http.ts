/** JSON-RPC over HTTP POST: one call or a batch as one request. */
import {
  type CallConditions,
  formatMethods,
  type RpcAnswer,
  type RpcCall,
  type RpcEndpoint,
} from "./call.ts";
import type { TranslateError } from "./call.ts";
import { type Fetch, HttpAddress, type HttpAddressOptions, type HttpDeps } from "./http_exchange.ts";
import { readRpcAnswers, WireRequests } from "./json_rpc.ts";

export type { Fetch };

/** `fetch` of the runtime, for the real program. */
export const platformFetch: Fetch = (url, init) => fetch(url, init);

/** Options of an HTTP endpoint. */
export interface HttpEndpointOptions extends HttpAddressOptions {
  readonly translate: TranslateError;
}

/** An endpoint at an HTTP(S) URL. User name and password of the URL are sent as basic authorization. */
export class HttpEndpoint extends HttpAddress implements RpcEndpoint {
  readonly #translate: TranslateError;
  readonly #requests = new WireRequests();

  constructor(deps: HttpDeps, { translate, ...options }: HttpEndpointOptions) {
    super(deps, options);
    this.#translate = translate;
  }

  async send(calls: readonly RpcCall[], conditions: CallConditions): Promise<readonly RpcAnswer[]> {
    if (calls.length === 0) return [];
    const request = this.#requests.write(calls);
    const what = formatMethods(calls);
    const answer = await this.exchange({ what, calls, body: request.text }, conditions);
    if (answer.status === 429) throw this.statusFault(answer, what);
    const { status, retryAfterMs, limit } = answer;
    return readRpcAnswers(answer.text, {
      request,
      limit,
      at: this,
      translate: this.#translate,
      status,
      retryAfterMs,
    });
  }
}
