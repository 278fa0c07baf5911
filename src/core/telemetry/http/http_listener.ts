/** Listening for HTTP requests, as the programs see it; the real one is the runtime's. */
import type { ListenAddress } from "./listen_address.ts";

/** Answers one request. */
export type HandleRequest = (request: Request) => Response | Promise<Response>;

/** A listener that was opened. */
export interface OpenListener {
  /** Port, also where 0 was asked for. */
  readonly port: number;
  /** Stops listening and cuts what is being answered. */
  close(): Promise<void>;
}

/** The address cannot be listened on. */
export class ListenFault extends Error {
  override readonly name = "ListenFault";
  constructor(readonly code: "in_use" | "not_allowed" | "not_available", options?: ErrorOptions) {
    super(`Cannot listen: ${code}`, options);
  }
}

/** Opens a listener. @throws {ListenFault} */
export type OpenHttpListener = (address: ListenAddress, handle: HandleRequest) => OpenListener;

/** Listener of the runtime, for the real programs. */
export const platformListener: OpenHttpListener = ({ host, port }, handle) => {
  const cut = new AbortController();
  const server = openServer({ hostname: host, port, signal: cut.signal }, handle);
  return {
    port: server.addr.port,
    close: async () => {
      cut.abort();
      await server.finished;
    },
  };
};

function openServer(
  options: { readonly hostname: string; readonly port: number; readonly signal: AbortSignal },
  handle: HandleRequest,
): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({ ...options, onListen: () => {} }, (request) => handle(request));
  } catch (cause) {
    throw new ListenFault(codeOf(cause), { cause });
  }
}

function codeOf(cause: unknown): ListenFault["code"] {
  if (cause instanceof Deno.errors.AddrInUse) return "in_use";
  return cause instanceof Deno.errors.PermissionDenied ? "not_allowed" : "not_available";
}
