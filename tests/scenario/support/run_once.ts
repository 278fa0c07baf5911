/** Programs that are run to their end: the compiled relayer with any arguments, and shell lines around it. */
import { RELAYER_EXECUTABLE } from "../../../devnet/programs/relayer_build.ts";
import { DEADLINE_MS } from "../../../devnet/waiting.ts";

/** How a program ended and what it said. */
export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where and as whom to run. */
export interface RunOptions {
  readonly cwd?: string;
  /** User and group to run as; needs root. */
  readonly uid?: number;
  /** Environment beside our own. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the compiled relayer. @throws {Error} after four minutes; the process is ended then. */
export async function runRelayerOnce(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return await runOnce(RELAYER_EXECUTABLE, args, options);
}

/** Runs any program. @throws {Error} after four minutes; the process is ended then. */
export async function runOnce(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> {
  const overdue = AbortSignal.timeout(DEADLINE_MS);
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: overdue,
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0", ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  }).output();
  const said = { stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
  if (overdue.aborted) throw new Error(`${program} did not end:\n${said.stdout}${said.stderr}`);
  return { code, ...said };
}
