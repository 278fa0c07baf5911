/**
 * Unix socket through which an operator's commands reach a running program: one line of JSON each way, and the
 * connection ends. Only the owner of the program can connect (mode 0600). Neither a slow nor a hostile client can hold
 * the program: size, number and time of requests are limited. Start reading at
 * {@link openControlSocket}; {@link askControl} is the other side.
 */
import { onError } from "../encoding/coded_error.ts";
import type { Log } from "../telemetry/log.ts";
import type { Clock } from "./clock.ts";
import { closeQuietly, serveConnections } from "./connections.ts";
import { explainForeignPath, statOrUndefined } from "./file_access.ts";
import { linkedAbort, orAbort } from "./linked_abort.ts";
import { DeadlineFault, withDeadline } from "./retry.ts";
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
    return serveSocket(deps, listenAt(path));
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

function serveSocket({ clock, log }: ControlSocketDeps, source: Deno.UnixListener): ControlSocket {
  const closed = new AbortController();
  let next = Promise.withResolvers<Serving>();
  const within = <T>(what: string, afterMs: number, work: () => Promise<T>): Promise<T> =>
    withDeadline(clock, { what, afterMs, signal: closed.signal }, work);
  const talk = async (connection: Deno.UnixConn): Promise<void> => {
    const read = (): Promise<string | undefined> => readLine(connection, MAX_REQUEST_BYTES);
    const line = await within("a request line", REQUEST_WITHIN_MS, read);
    if (line === undefined) return;
    const serving = await within("the start of the program", START_WITHIN_MS, () => next.promise);
    const conversation = reply(connection, line, serving);
    serving.conversations.add(conversation);
    await conversation;
  };
  const reply = async (connection: Deno.UnixConn, line: string, serving: Serving): Promise<void> => {
    const gone = linkedAbort(serving.signal);
    try {
      void untilClosed(connection).then(() => gone.abort(new Error("The client has closed the connection")));
      const bytes = new TextEncoder().encode(`${await serving.answer(line, gone.signal)}\n`);
      await within("a client that reads its answer", READ_WITHIN_MS, () => writeBytes(connection, bytes));
    } finally {
      gone.unlink();
    }
  };
  const accept = (): Promise<void> =>
    serveConnections({
      clock,
      source,
      limit: MAX_CONNECTIONS,
      surplus: "newest", // a command that is being answered continues
      talk,
      onError: (error) => log.debug("control_request_failed", { error }),
    }, closed.signal);
  let accepting: Promise<void> | undefined;
  return {
    close: () => {
      if (accepting === undefined) closeQuietly(source);
      closed.abort(new Error("The socket is closed"));
    },
    serve: async (answer, signal) => {
      const ends = linkedAbort(signal, closed.signal);
      const conversations = new Set<Promise<void>>();
      accepting ??= accept();
      next.resolve({ answer, signal: ends.signal, conversations });
      await orAbort(new Promise(() => {}), ends.signal).catch(() => undefined);
      next = Promise.withResolvers();
      ends.unlink();
      await Promise.allSettled(conversations);
      if (closed.signal.aborted) await accepting;
    },
  };
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
async function readLine(
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

/** Maximum length of an answer, bytes. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** The running program cannot be asked, or gave no answer: the text is for the operator. */
export class ControlFault extends Error {
  override readonly name = "ControlFault";
  readonly code = "control";
}

/** One request. */
export interface ControlRequest {
  /** Path of the socket. */
  readonly path: string;
  /** Request without line breaks. */
  readonly line: string;
  /** Time for the answer, ms; no limit when absent. */
  readonly afterMs?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Asks the program at a socket; `undefined`: there is none, or the process that served it is dead.
 * @throws {ControlFault}
 */
export async function askControl(
  { clock }: { readonly clock: Clock },
  { path, line, afterMs, signal }: ControlRequest,
): Promise<string | undefined> {
  const connection = await connect(path);
  if (connection === undefined) return undefined;
  const close = (): void => closeQuietly(connection);
  signal.addEventListener("abort", close, { once: true });
  const ask = async (): Promise<string> => {
    await writeBytes(connection, new TextEncoder().encode(`${line}\n`));
    const answer = await readLine(connection, MAX_ANSWER_BYTES);
    if (answer === undefined) throw new ControlFault("The running program ended before it had answered.");
    return answer;
  };
  try {
    if (afterMs === undefined) return await ask();
    return await withDeadline(clock, { what: "an answer of the running program", afterMs, signal }, ask);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ControlFault) throw error;
    throw unreachable(path, error);
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

/** True when a living process serves a socket, for this user or another. */
export async function isControlServed(path: string): Promise<boolean> {
  return await connect(path).then((connection) => {
    connection?.close();
    return connection !== undefined;
  }, onError(ControlFault, () => true));
}

async function connect(path: string): Promise<Deno.UnixConn | undefined> {
  let owner: number | undefined;
  const refusal = (): ControlFault =>
    new ControlFault(
      `This user may not use ${path}, which belongs to the user that runs the program (uid ${
        owner ?? "unknown"
      }): ` +
        "run the command as that user (sudo -u <user> ...).",
    );
  try {
    owner = statOrUndefined(path)?.uid ?? undefined;
    // A program of another user could answer there with anything.
    if (owner !== undefined && owner !== Deno.uid()) throw refusal();
    return await Deno.connect({ transport: "unix", path });
  } catch (error) {
    if (error instanceof ControlFault) throw error;
    // Without a listener behind it, the file is what a dead process has left.
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.ConnectionRefused) {
      return undefined;
    }
    if (error instanceof Deno.errors.PermissionDenied) throw refusal();
    throw unreachable(path, error);
  }
}

function unreachable(path: string, error: unknown): ControlFault {
  const reason = error instanceof DeadlineFault
    ? `it gave no answer within ${error.afterMs / 1000} s`
    : error instanceof Error
    ? error.message
    : String(error);
  return new ControlFault(`The running program cannot be asked through ${path}: ${reason}.`);
}
