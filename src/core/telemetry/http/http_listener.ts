/**
 * Listening for HTTP requests: one per connection, GET and HEAD without bodies, in bounded number, size and time. What a
 * client does ends with its connection, and what ends the listener itself has it opened again: the limits of the
 * runtime's own server cannot be set, and its accept loop ends with the first error (too many open files).
 */
import type { Clock } from "../../runtime/clock.ts";
import { closeQuietly, type ConnectionSource, serveConnections } from "../../runtime/connections.ts";
import { writeBytes } from "../../runtime/control_socket.ts";
import { withDeadline } from "../../runtime/retry.ts";
import { systemClock } from "../../runtime/system_clock.ts";
import type { ListenAddress } from "./listen_address.ts";

/** Maximum number of open connections; beyond it the one that has been open longest is closed. */
export const MAX_CONNECTIONS = 64;

/** Time from the connection to the last byte of the answer, ms. */
const REQUEST_WITHIN_MS = 10_000;

/** Maximum size of request line and headers, bytes: a browser sends the cookies of all that this machine serves. */
const MAX_HEAD_BYTES = 16_384;

/** What is used of a request; its URL has the host that the client asked for. */
export type StatusRequest = Pick<Request, "method" | "url">;

/** Answers one request; must not throw. */
export type HandleRequest = (request: StatusRequest) => Response | Promise<Response>;

/** A listener that was opened. */
export interface OpenListener {
  /** Port, also where 0 was asked for. */
  readonly port: number;
  /** Stops listening and cuts what is being answered. */
  close(): Promise<void>;
}

/** The address cannot be listened on; the message is the reason, a clause. */
export class ListenFault extends Error {
  override readonly name = "ListenFault";
}

/** Opens a listener. @param onFault gets why no connection could be taken. @throws {ListenFault} */
type OpenHttpListener = (
  address: ListenAddress,
  handle: HandleRequest,
  onFault: (error: unknown) => void,
) => OpenListener;

/** Opens a listener of the system at an address. Throws the runtime's error. */
type Listen = (address: ListenAddress) => Deno.TcpListener;

/** Listener of the runtime, for the real programs. */
export const platformListener: OpenHttpListener = createListener(systemClock);

/** Creates {@link platformListener}; with another clock and another listener of the system for tests. */
export function createListener(
  clock: Clock,
  listen: Listen = ({ host, port }) => Deno.listen({ hostname: host, port }),
): OpenHttpListener {
  return (address, handle, onFault) => {
    const source = openAgain(address, listen);
    const ended = new AbortController();
    const { signal } = ended;
    const deadline = { what: "a request", afterMs: REQUEST_WITHIN_MS, signal };
    const talk = (connection: Deno.TcpConn): Promise<void> =>
      // A client that is slow or gone is no news.
      withDeadline(clock, deadline, () => answerOne(connection, handle)).catch(() => {});
    const service = { clock, source, limit: MAX_CONNECTIONS, talk, onError: onFault };
    const serving = serveConnections({ ...service, surplus: "oldest" }, signal);
    return {
      port: source.port,
      close: async () => {
        ended.abort();
        await serving;
      },
    };
  };
}

/** Opens an address, and again whenever that has failed. @throws {ListenFault} when it cannot be had the first time. */
function openAgain(
  address: ListenAddress,
  listen: Listen,
): ConnectionSource<Deno.TcpConn> & { readonly port: number } {
  let listener: Deno.TcpListener | undefined;
  try {
    listener = listen(address);
  } catch (cause) {
    throw new ListenFault(explain(cause), { cause });
  }
  const { port } = listener.addr;
  const close = (): void => {
    if (listener !== undefined) closeQuietly(listener);
    listener = undefined;
  };
  const accept = async (): Promise<Deno.TcpConn> => {
    listener ??= listen({ ...address, port });
    try {
      return await listener.accept();
    } catch (error) {
      close();
      throw error;
    }
  };
  return { port, accept, close };
}

function explain(cause: unknown): string {
  if (cause instanceof Deno.errors.AddrInUse) return "another process listens there already";
  return cause instanceof Deno.errors.PermissionDenied
    ? "this user may not listen there; ports below 1024 need privileges"
    : "this machine has no such address";
}

async function answerOne(connection: Deno.TcpConn, handle: HandleRequest): Promise<void> {
  const head = await readHead(connection);
  if (head === undefined) return;
  const request = parseHead(head);
  const answer = request === undefined
    ? new Response("This is not a request that is answered here.\n", { status: 400 })
    : await handle(request);
  await writeBytes(connection, await formatAnswer(answer, request?.method === "HEAD"));
  await connection.closeWrite();
  // Closed with unread bytes, the system would take back the answer.
  const rest = new Uint8Array(MAX_HEAD_BYTES);
  while (await connection.read(rest) !== null);
}

/** Text up to the empty line; `undefined`: there is none within the limit. */
async function readHead(connection: Deno.TcpConn): Promise<string | undefined> {
  const buffer = new Uint8Array(MAX_HEAD_BYTES);
  const latin1 = new TextDecoder("latin1");
  for (let size = 0; size < buffer.length;) {
    const count = await connection.read(buffer.subarray(size));
    if (count === null) return undefined;
    const from = Math.max(0, size - 3);
    size += count;
    const end = latin1.decode(buffer.subarray(from, size)).indexOf("\r\n\r\n");
    if (end >= 0) return latin1.decode(buffer.subarray(0, from + end));
  }
  return undefined;
}

/** Reads request line and `Host` (RFC 9112, sections 3 and 3.2); `undefined`: they are malformed. */
function parseHead(head: string): StatusRequest | undefined {
  const [line = "", ...fields] = head.split("\r\n");
  const [, method, target, minor] = /^([A-Z]{1,16}) (\/[!-~]*) HTTP\/1\.([01])$/.exec(line) ?? [];
  const hosts = fields.flatMap((field) => /^host:[ \t]*(.*?)[ \t]*$/i.exec(field)?.[1] ?? []);
  const [host = minor === "0" ? "localhost" : ""] = hosts; // no browser leaves it out
  if (method === undefined || hosts.length > 1) return undefined;
  if (!/^(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(host)) return undefined;
  const url = URL.parse(`http://${host}${target}`);
  return url === null ? undefined : { method, url: url.href };
}

async function formatAnswer(answer: Response, isHead: boolean): Promise<Uint8Array<ArrayBuffer>> {
  const body = await answer.bytes();
  const headers = new Headers(answer.headers);
  headers.set("content-length", String(body.length));
  headers.set("connection", "close");
  const lines = [`HTTP/1.1 ${answer.status} `, ...[...headers].map(([name, value]) => `${name}: ${value}`)];
  const head = new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`);
  return isHead ? head : await new Blob([head, body]).bytes();
}
