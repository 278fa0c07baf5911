/** Client of `control_socket.ts`: one request of a command to the running program. */
import type { Clock } from "./clock.ts";
import { closeQuietly } from "./connections.ts";
import { statOrUndefined } from "./file_access.ts";
import { readLine, writeBytes } from "./control_socket.ts";
import { DeadlineFault, withDeadline } from "./retry.ts";

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
  try {
    const connection = await connect(path);
    connection?.close();
    return connection !== undefined;
  } catch (error) {
    if (error instanceof ControlFault) return true;
    throw error;
  }
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
