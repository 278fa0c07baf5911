/**
 * From the text of a message to the text of its answer: batches, errors, faults. Knows no transport.
 */
import { ConnectionFault, type FaultHook, type IncomingCall, wait } from "./faults.ts";
import {
  errorText,
  parseRequestJson,
  readRequest,
  resultText,
  rpcCodes,
  RpcError,
  type RpcRequest,
} from "./json_rpc.ts";
import { type RpcMethods, RpcSubscription } from "./method.ts";

/** Subscriptions of one connection; HTTP has none. */
export interface SubscriptionHost {
  /** Takes a subscription in, to be started when the answer with its id is on the way. */
  open(subscription: RpcSubscription): string;
  /** Ends one; false when there is none with this id. */
  close(id: string): boolean;
}

/** Replaces the result of a call. */
export type AnswerHook = (call: IncomingCall, result: unknown) => unknown;

/** Options of {@link RpcDispatcher}. */
export interface DispatcherOptions {
  readonly methods: RpcMethods;
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
  readonly fault: FaultHook;
  /** Changes answers before they go out: what a lying node does. Subscriptions stay as they are. */
  readonly alter?: AnswerHook;
  /** Called with every method that ran, for benchmarks. */
  readonly onCall: (call: IncomingCall) => void;
}

/** Answers messages. */
export class RpcDispatcher {
  readonly #options: DispatcherOptions;
  readonly #methods: ReadonlyMap<string, RpcMethods[string]>;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#methods = new Map(Object.entries(options.methods));
  }

  /**
   * The answer to one message, undefined when there is none (notifications only).
   * @throws {ConnectionFault} when a scenario wants the connection to suffer.
   */
  async answer(
    text: string,
    transport: IncomingCall["transport"],
    host: SubscriptionHost | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (text.length > this.#options.maxRequestBytes) {
      return errorText(null, new RpcError(rpcCodes.oversizedRequest, "Request is too big"));
    }
    let message: unknown;
    try {
      message = parseRequestJson(text);
    } catch {
      return errorText(null, new RpcError(rpcCodes.parseError, "Parse error"));
    }
    if (!Array.isArray(message)) return await this.#answerOne(message, transport, host, signal);
    if (message.length === 0) {
      return errorText(null, new RpcError(rpcCodes.invalidRequest, "Invalid request"));
    }
    const answers: string[] = [];
    for (const item of message) {
      const answer = await this.#answerOne(item, transport, host, signal);
      if (answer !== undefined) answers.push(answer);
    }
    return answers.length === 0 ? undefined : `[${answers.join(",")}]`;
  }

  async #answerOne(
    message: unknown,
    transport: IncomingCall["transport"],
    host: SubscriptionHost | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const request = readRequest(message);
    if (request === undefined) {
      return errorText(null, new RpcError(rpcCodes.invalidRequest, "Invalid request"));
    }
    const answer = await this.#run(request, transport, host, signal);
    if (request.id === undefined) return undefined;
    if (answer.length <= this.#options.maxResponseBytes) return answer;
    return errorText(request.id, new RpcError(rpcCodes.oversizedResponse, "Response is too big"));
  }

  async #run(
    request: RpcRequest,
    transport: IncomingCall["transport"],
    host: SubscriptionHost | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const call = { transport, method: request.method, params: request.params };
    const fault = this.#options.fault(call);
    switch (fault?.kind) {
      case undefined:
        break;
      case "delay":
        await wait(fault.ms, signal);
        break;
      case "error":
        return errorText(request.id, new RpcError(fault.code, fault.message, fault.data));
      case "result":
        return resultText(request.id, fault.result);
      case "drop":
        if (fault.afterCall === true) this.#execute(request, call, host);
        throw new ConnectionFault(fault);
      case "hang":
      case "truncate":
      case "status":
        throw new ConnectionFault(fault);
    }
    return this.#execute(request, call, host);
  }

  #execute(request: RpcRequest, call: IncomingCall, host: SubscriptionHost | undefined): string {
    this.#options.onCall(call);
    try {
      const result = this.#result(request, host);
      if (!(result instanceof RpcSubscription)) {
        const { alter } = this.#options;
        return resultText(request.id, alter === undefined ? result : alter(call, result));
      }
      if (host === undefined) throw methodNotFound();
      return resultText(request.id, host.open(result));
    } catch (error) {
      if (error instanceof RpcError) return errorText(request.id, error);
      const detail = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      return errorText(request.id, new RpcError(rpcCodes.internalError, "Internal error", detail));
    }
  }

  #result({ method, params }: RpcRequest, host: SubscriptionHost | undefined): unknown {
    if (/_unsubscribe|_unwatch/.test(method)) return host?.close(String(params[0])) ?? false;
    if (method === "rpc_methods") return { methods: [...this.#methods.keys(), "rpc_methods"].sort() };
    const run = this.#methods.get(method);
    if (run === undefined) throw methodNotFound();
    return run(params);
  }
}

function methodNotFound(): RpcError {
  return new RpcError(rpcCodes.methodNotFound, "Method not found");
}
