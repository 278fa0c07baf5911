/**
 * Unix socket through which an operator's commands reach a running program: one line of JSON each way, and the
 * connection ends. Only the owner of the program can connect (mode 0600). Neither a slow nor a hostile client can hold
 * the program: size, number and time of requests are limited. `control_client.ts` is the other side.
 */
import type { Log } from "../telemetry/log.ts";
import type { Clock } from "./clock.ts";
import { serveConnections } from "./connections.ts";
import { explainForeignPath, statOrUndefined } from "./file_access.ts";
import { linkedAbort, orAbort } from "./linked_abort.ts";
import { withDeadline } from "./retry.ts";
import { dirname } from "node:path";

/** Maximum length of a request, bytes. */
const MAX_REQUEST_BYTES = 65_536;

/** Maximum number of open connections; commands of one operator need a few. */
const MAX_CONNECTIONS = 16;

/** Time in which a client must have sent its request, and then read the answer, ms. */
const REQUEST_WITHIN_MS = 5_000;
const READ_WITHIN_MS = 30_000;

/** Time for which a request waits for a program that is starting, ms: the start checks take up to half a minute. */
const START_WITHIN_MS = 60_000;

/** Maximum length of a socket's path, bytes: `sun_path` of Linux and macOS with its final zero. */
const MAX_PATH_BYTES = 103;

/** Answers one request line with one line, without line breaks; `signal` is aborted when nobody waits any more. */
export type AnswerLine = (line: string, signal: AbortSignal) => Promise<string>;

/** Dependencies of the socket. */
export interface ControlSocketDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** Socket of a program. */
export interface ControlSocket {
  /**
   * Answers requests until `signal` is aborted. It may be called again then: meanwhile requests wait, for a program
   * that starts over with another configuration.
   */
  serve(answer: AnswerLine, signal: AbortSignal): Promise<void>;
  /** Closes the socket; its file stays, since the right to remove it is gone by then. */
  close(): void;
}

/**
 * Opens the socket at `path`, replacing one that an earlier run left behind: the caller makes sure that no other
 * process serves it. Needs the right to write, which may be dropped afterwards. `undefined`: it cannot be opened, which
 * is logged; the program works without it.
 */
export function openControlSocket(deps: ControlSocketDeps, path: string): ControlSocket | undefined {
  try {
    return new UnixControlSocket(deps, listenAt(path));
  } catch (error) {
    deps.log.warn("control_socket_unavailable", { socket: path, explanation: explain(error, path) });
    return undefined;
  }
}

/** Explains why the socket cannot be opened. */
function explain(error: unknown, path: string): string {
  if (error instanceof Deno.errors.PermissionDenied) {
    return `this user may not create files in ${dirname(path)}`;
  }
  return error instanceof Error ? error.message : String(error);
}

/**
 * Binds in a folder that only the owner may enter, sets the mode and moves the socket to its place: at no time can
 * anybody else connect, and there is no time without a socket.
 */
function listenAt(path: string): Deno.UnixListener {
  if (new TextEncoder().encode(path).length > MAX_PATH_BYTES) {
    throw new Error(`its path is longer than the ${MAX_PATH_BYTES} bytes that the system accepts`);
  }
  const foreign = explainForeignPath(path);
  if (foreign !== undefined) throw new Error(foreign);
  const found = statOrUndefined(path);
  if (found !== undefined && !found.isSocket) {
    throw new Error("a file that is no socket has its name: move it away");
  }
  const folder = Deno.makeTempDirSync({ dir: dirname(path), prefix: ".c" });
  try {
    const listener = Deno.listen({ transport: "unix", path: `${folder}/s` });
    try {
      Deno.chmodSync(`${folder}/s`, 0o600);
      Deno.renameSync(`${folder}/s`, path);
      return listener;
    } catch (error) {
      listener.close();
      throw error;
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Who answers now. */
interface Serving {
  readonly answer: AnswerLine;
  readonly signal: AbortSignal;
  readonly conversations: Set<Promise<void>>;
}

class UnixControlSocket implements ControlSocket {
  readonly #deps: ControlSocketDeps;
  readonly #listener: Deno.UnixListener;
  readonly #closed = new AbortController();
  #accepting: Promise<void> | undefined;
  #serving = Promise.withResolvers<Serving>();

  constructor(deps: ControlSocketDeps, listener: Deno.UnixListener) {
    this.#deps = deps;
    this.#listener = listener;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#closed.abort(new Error("The socket is closed"));
    if (this.#accepting === undefined) this.#listener.close();
  }

  get #isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  async serve(answer: AnswerLine, signal: AbortSignal): Promise<void> {
    const ends = linkedAbort(signal, this.#closed.signal);
    const conversations = new Set<Promise<void>>();
    this.#serving.resolve({ answer, signal: ends.signal, conversations });
    this.#accepting ??= serveConnections({
      clock: this.#deps.clock,
      source: this.#listener,
      limit: MAX_CONNECTIONS,
      surplus: "newest", // a command that is being answered continues
      talk: (connection) => this.#talk(connection),
      onError: (error) => this.#deps.log.debug("control_request_failed", { error }),
    }, this.#closed.signal);
    await orAbort(new Promise(() => {}), ends.signal).catch(() => undefined);
    this.#serving = Promise.withResolvers();
    ends.unlink();
    await Promise.allSettled(conversations);
    if (this.#isClosed) await this.#accepting;
  }

  /** Answers one request. */
  async #talk(connection: Deno.UnixConn): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#closed;
    const line = await withDeadline(
      clock,
      { what: "a request line", afterMs: REQUEST_WITHIN_MS, signal },
      () => readLine(connection, MAX_REQUEST_BYTES),
    );
    if (line === undefined) return;
    const start = { what: "the start of the program", afterMs: START_WITHIN_MS, signal };
    const serving = await withDeadline(clock, start, () => this.#serving.promise);
    const conversation = this.#answer(connection, line, serving);
    serving.conversations.add(conversation);
    await conversation;
  }

  /** Has the request answered and sends the answer. */
  async #answer(connection: Deno.UnixConn, line: string, { answer, signal }: Serving): Promise<void> {
    const gone = linkedAbort(signal);
    try {
      void untilClosed(connection).then(() => gone.abort(new Error("The client has closed the connection")));
      const bytes = new TextEncoder().encode(`${await answer(line, gone.signal)}\n`);
      await withDeadline(
        this.#deps.clock,
        { what: "a client that reads its answer", afterMs: READ_WITHIN_MS, signal: this.#closed.signal },
        () => writeBytes(connection, bytes),
      );
    } finally {
      gone.unlink();
    }
  }
}

/** Resolves when the other side has closed the connection; what it sends meanwhile is dropped. */
async function untilClosed(connection: Deno.UnixConn): Promise<void> {
  const bytes = new Uint8Array(1_024);
  try {
    while (await connection.read(bytes) !== null);
  } catch {
    // closed by us
  }
}

/**
 * Reads up to the first line break; `undefined`: the other side has closed before.
 * @throws {Error} when the line is longer than `maxBytes`.
 */
export async function readLine(
  connection: Pick<Deno.UnixConn, "read">,
  maxBytes: number,
): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  const buffer = new Uint8Array(16_384);
  for (let total = 0;;) {
    const count = await connection.read(buffer);
    if (count === null) return undefined;
    const part = buffer.slice(0, count);
    const end = part.indexOf(10);
    parts.push(end < 0 ? part : part.subarray(0, end));
    total += count;
    if (end >= 0) return new TextDecoder().decode(await new Blob(parts.map((each) => each.slice())).bytes());
    if (total > maxBytes) throw new Error(`A line of more than ${maxBytes} bytes`);
  }
}

/** Writes all bytes. */
export async function writeBytes(connection: Pick<Deno.UnixConn, "write">, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}
