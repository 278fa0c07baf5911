/** This very Deno as a child process: type checks, bundles, compiles. */

/**
 * Runs `deno` and gives its standard output; what it says on standard error is told only when it fails.
 * @throws {Error} when its status is not 0.
 */
export async function deno(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  return await run(Deno.execPath(), args, env);
}

/** Runs a program and gives its standard output. @throws {Error} with its standard error when its status is not 0. */
export async function run(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (!success) {
    throw new Error(`${command} ${args[0] ?? ""} failed:\n${new TextDecoder().decode(stderr).trim()}`);
  }
  return new TextDecoder().decode(stdout);
}

/** Tells the one who builds what was made. */
export function say(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}
