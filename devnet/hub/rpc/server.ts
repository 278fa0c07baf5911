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
import { pause, untilAborted } from "../../waiting.ts";

/** Replaces the result of a call. */
export type AnswerHook = (call: IncomingCall, result: unknown) => unknown;

/** Options of {@link RpcDispatcher}. */
export interface DispatcherOptions {
  readonly methods: RpcMethods;
  /** Methods that are not offered now. */
  readonly isMissing: (method: string) => boolean;
  readonly fault: FaultHook;
  /** Changes answers before they go out: what a lying node does. */
  readonly alter: AnswerHook;
  /** Awaited before each message. */
  readonly before?: () => Promise<void>;
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
    signal: AbortSignal,
  ): Promise<string | undefined> {
    await this.#options.before?.();
    let message: unknown;
    try {
      message = parseRequestJson(text);
    } catch {
      return errorText(null, new RpcError(rpcCodes.parseError, "Parse error"));
    }
    if (!Array.isArray(message)) return await this.#answerOne(message, transport, signal);
    if (message.length === 0) {
      return errorText(null, new RpcError(rpcCodes.invalidRequest, "Invalid request"));
    }
    const answers: string[] = [];
    for (const item of message) {
      const answer = await this.#answerOne(item, transport, signal);
      if (answer !== undefined) answers.push(answer);
    }
    return answers.length === 0 ? undefined : `[${answers.join(",")}]`;
  }

  async #answerOne(
    message: unknown,
    transport: IncomingCall["transport"],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const request = readRequest(message);
    if (request === undefined) {
      return errorText(null, new RpcError(rpcCodes.invalidRequest, "Invalid request"));
    }
    const answer = await this.#run(request, transport, signal);
    return request.id === undefined ? undefined : answer;
  }

  async #run(
    request: RpcRequest,
    transport: IncomingCall["transport"],
    signal: AbortSignal,
  ): Promise<string> {
    const call = { transport, method: request.method, params: request.params };
    const fault = this.#options.fault(call);
    switch (fault?.kind) {
      case undefined:
        break;
      case "delay":
        await pause(fault.ms, signal);
        break;
      case "error":
        return errorText(request.id, new RpcError(fault.code, fault.message));
      case "result":
        return resultText(request.id, fault.result);
      case "drop":
        if (fault.afterCall === true) this.#execute(request, call);
        throw new ConnectionFault(fault);
      case "hang":
      case "truncate":
      case "status":
        throw new ConnectionFault(fault);
    }
    return this.#execute(request, call);
  }

  #execute(request: RpcRequest, call: IncomingCall): string {
    try {
      return resultText(request.id, this.#options.alter(call, this.#result(call)));
    } catch (error) {
      if (error instanceof RpcError) return errorText(request.id, error);
      const detail = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      return errorText(request.id, new RpcError(rpcCodes.internalError, "Internal error", detail));
    }
  }

  #result(call: IncomingCall): unknown {
    const { method, params } = call;
    const { isMissing, onCall } = this.#options;
    if (method === "rpc_methods") {
      return { methods: [...this.#methods.keys(), method].filter((each) => !isMissing(each)).sort() };
    }
    const run = isMissing(method) ? undefined : this.#methods.get(method);
    if (run === undefined) throw new RpcError(rpcCodes.methodNotFound, "Method not found");
    onCall(call);
    return run(params);
  }
}

/** A server that can go away and come back at the same address, with everything else as it was. */
export class RpcServer implements AsyncDisposable {
  readonly #dispatcher: RpcDispatcher;
  readonly #port: KeptPort;
  #running: Pick<TestServer, "stop"> | undefined;

  /**
   * Listens from {@link start} on, at an address that stays with it until the end.
   * @param port one of 127.0.0.1 to use where it is free; absent or 0: any.
   */
  constructor(dispatcher: RpcDispatcher, port?: number) {
    this.#dispatcher = dispatcher;
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
    this.#running ??= await this.#port.listen((port) => serveRpc(this.#dispatcher, port));
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
function serveRpc(dispatcher: RpcDispatcher, port: number): Pick<TestServer, "stop"> {
  const end = new AbortController();
  const sockets = new Set<WebSocket>();
  const server = serveLocally({ port }, (request) => {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
      return serveHttp(dispatcher, request, end.signal);
    }
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
    serveSocket(dispatcher, socket, sockets, end.signal);
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

async function serveHttp(
  dispatcher: RpcDispatcher,
  request: Request,
  signal: AbortSignal,
): Promise<Response> {
  if (request.method !== "POST") {
    return new Response("Used HTTP Method is not allowed. POST is required\n", { status: 405 });
  }
  const ends = AbortSignal.any([signal, request.signal]);
  try {
    const answer = await dispatcher.answer(await request.text(), "http", ends);
    return new Response(answer ?? "", { headers: jsonHeaders });
  } catch (error) {
    if (!(error instanceof ConnectionFault)) throw error;
    return await faultyResponse(error.fault, ends);
  }
}

async function faultyResponse(fault: ConnectionFault["fault"], ends: AbortSignal): Promise<Response> {
  switch (fault.kind) {
    case "status":
      return new Response("", { status: fault.status, headers: { ...fault.headers } });
    case "hang":
      await untilAborted(ends);
      return new Response("", { status: 503 });
    case "truncate":
      return brokenResponse('{"jsonrpc":"2.0","result":['.slice(0, fault.bytes));
    case "drop":
      return brokenResponse("");
  }
}

/** Headers, then `start` of a body, then a broken connection. */
function brokenResponse(start: string): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller): void {
      if (start !== "") controller.enqueue(new TextEncoder().encode(start));
    },
    pull(controller): void {
      controller.error(new Error("Connection dropped on demand"));
    },
  });
  return new Response(body, { headers: jsonHeaders });
}

function serveSocket(
  dispatcher: RpcDispatcher,
  socket: WebSocket,
  sockets: Set<WebSocket>,
  signal: AbortSignal,
): void {
  sockets.add(socket);
  socket.addEventListener("close", () => sockets.delete(socket));
  socket.addEventListener("message", async (event) => {
    const text = typeof event.data === "string" ? event.data : new TextDecoder().decode(event.data);
    try {
      const answer = await dispatcher.answer(text, "ws", signal);
      if (answer !== undefined && socket.readyState === WebSocket.OPEN) socket.send(answer);
    } catch (error) {
      if (!(error instanceof ConnectionFault)) throw error;
      breakSocket(socket, error.fault);
    }
  });
}

function breakSocket(socket: WebSocket, fault: ConnectionFault["fault"]): void {
  switch (fault.kind) {
    case "hang":
      return;
    case "truncate":
      socket.send('{"jsonrpc":"2.0","result":['.slice(0, fault.bytes));
      return;
    case "drop":
    case "status":
      socket.close(1011, "closed on demand");
  }
}
