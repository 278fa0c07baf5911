/**
 * HTTP and WebSocket on one port. Can be stopped and started again on the same port.
 */
import {
  ConnectionFault,
  errorText,
  type FaultHook,
  type IncomingCall,
  parseRequestJson,
  readRequest,
  resultText,
  rpcCodes,
  RpcError,
  type RpcMethods,
  type RpcRequest,
} from "./json_rpc.ts";
import { serveLocally, type TestServer } from "../../../tests/support/test_server.ts";
import { KeptPort } from "../../kept_port.ts";
import { untilAborted } from "../../waiting.ts";

/** Replaces the result of a call. */
export type AnswerHook = (call: IncomingCall, result: unknown) => unknown;

/** How a node behaves; looked at again for each call. */
export interface RpcHooks {
  /** Decides about every call; undefined: all pass. */
  fault: FaultHook | undefined;
  /** Replaces results, as a node that lies does; undefined: all are as they are. */
  alter: AnswerHook | undefined;
  /** Methods that are refused as not found. */
  missingMethods: ReadonlySet<string>;
  /** How often each method ran. */
  readonly callCounts: Map<string, number>;
}

/** What is served. */
export interface ServedRpc {
  readonly methods: RpcMethods;
  readonly hooks: RpcHooks;
  /** Awaited before each message. */
  readonly before?: () => Promise<void>;
}

/** The answer to one message, undefined when there is none (notifications only). @throws {ConnectionFault} */
async function answer(served: ServedRpc, text: string): Promise<string | undefined> {
  await served.before?.();
  let message: unknown;
  try {
    message = parseRequestJson(text);
  } catch {
    return errorText(null, new RpcError(rpcCodes.parseError, "Parse error"));
  }
  if (!Array.isArray(message)) return answerOne(served, message);
  if (message.length === 0) return errorText(null, invalidRequest());
  const answers = message.flatMap((item) => answerOne(served, item) ?? []);
  return answers.length === 0 ? undefined : `[${answers.join(",")}]`;
}

function answerOne(served: ServedRpc, message: unknown): string | undefined {
  const request = readRequest(message);
  if (request === undefined) return errorText(null, invalidRequest());
  const { method, params } = request;
  const fault = served.hooks.fault?.({ method, params });
  if (fault?.kind === "result") return resultText(request.id, fault.result);
  if (fault?.kind === "error") return errorText(request.id, new RpcError(fault.code, fault.message));
  if (fault?.kind === "drop" && fault.afterCall === true) execute(served, request);
  if (fault !== undefined) throw new ConnectionFault(fault.kind);
  const text = execute(served, request);
  return request.id === undefined ? undefined : text;
}

function invalidRequest(): RpcError {
  return new RpcError(rpcCodes.invalidRequest, "Invalid request");
}

function execute({ methods, hooks }: ServedRpc, { id, method, params }: RpcRequest): string {
  const { missingMethods, callCounts, alter } = hooks;
  try {
    if (method === "rpc_methods") {
      const names = [...Object.keys(methods), method].filter((each) => !missingMethods.has(each));
      return resultText(id, { methods: names.sort() });
    }
    const run = Object.hasOwn(methods, method) && !missingMethods.has(method) ? methods[method] : undefined;
    if (run === undefined) throw new RpcError(rpcCodes.methodNotFound, "Method not found");
    callCounts.set(method, (callCounts.get(method) ?? 0) + 1);
    const result = run(params);
    return resultText(id, alter === undefined ? result : alter({ method, params }, result));
  } catch (error) {
    if (error instanceof RpcError) return errorText(id, error);
    const detail = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return errorText(id, new RpcError(rpcCodes.internalError, "Internal error", detail));
  }
}

/** A server that can go away and come back at the same address, with everything else as it was. */
export class RpcServer implements AsyncDisposable {
  readonly #served: ServedRpc;
  readonly #port: KeptPort;
  #running: Pick<TestServer, "stop"> | undefined;

  /**
   * Listens from {@link start} on, at an address that stays with it until the end.
   * @param port one of 127.0.0.1 to use where it is free; absent or 0: any.
   */
  constructor(served: ServedRpc, port?: number) {
    this.#served = served;
    this.#port = new KeptPort(port);
  }

  get port(): number {
    return this.#port.number;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Opens the port, if it is not open: for the first time at once. @throws {NoPortFault} */
  async start(): Promise<void> {
    this.#running ??= await this.#port.listen((port) => serveRpc(this.#served, port));
  }

  /** Closes the port and every connection. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#port[Symbol.dispose]();
  }
}

/** Serves from one opening of the port to its closing. */
function serveRpc(served: ServedRpc, port: number): Pick<TestServer, "stop"> {
  const end = new AbortController();
  const sockets = new Set<WebSocket>();
  const server = serveLocally({ port }, (request) => {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
      return serveHttp(served, request, end.signal);
    }
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    serveSocket(served, socket, sockets);
    return response;
  });
  const stop = async (): Promise<void> => {
    const closing = [...sockets].map((socket) =>
      new Promise<void>((resolve) => {
        if (socket.readyState === WebSocket.CLOSED) return resolve();
        socket.addEventListener("close", () => resolve());
        socket.close(1001, "server stops");
      })
    );
    end.abort();
    await Promise.race([Promise.all(closing), untilAborted(AbortSignal.timeout(1000))]);
    await server.stop();
  };
  return { stop };
}

const jsonHeaders = { "content-type": "application/json; charset=utf-8" };

async function serveHttp(served: ServedRpc, request: Request, end: AbortSignal): Promise<Response> {
  if (request.method !== "POST") {
    return new Response("Used HTTP Method is not allowed. POST is required\n", { status: 405 });
  }
  try {
    return new Response(await answer(served, await request.text()) ?? "", { headers: jsonHeaders });
  } catch (error) {
    if (!(error instanceof ConnectionFault)) throw error;
    if (error.kind === "drop") return brokenResponse();
    await untilAborted(AbortSignal.any([end, request.signal]));
    return new Response("", { status: 503 });
  }
}

/** Headers, then a broken connection. */
function brokenResponse(): Response {
  const body = new ReadableStream<Uint8Array>({
    pull(controller): void {
      controller.error(new Error("Connection dropped on demand"));
    },
  });
  return new Response(body, { headers: jsonHeaders });
}

function serveSocket(served: ServedRpc, socket: WebSocket, sockets: Set<WebSocket>): void {
  sockets.add(socket);
  socket.addEventListener("close", () => sockets.delete(socket));
  socket.addEventListener("message", async (event) => {
    const text = typeof event.data === "string" ? event.data : new TextDecoder().decode(event.data);
    try {
      const answered = await answer(served, text);
      if (answered !== undefined && socket.readyState === WebSocket.OPEN) socket.send(answered);
    } catch (error) {
      if (!(error instanceof ConnectionFault)) throw error;
      if (error.kind === "drop") socket.close(1011, "closed on demand");
    }
  });
}
