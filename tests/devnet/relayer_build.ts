/** The compiled relayer, built when it is missing or older than its sources. */
import { REPOSITORY } from "./repository.ts";

/** Path of the executable. */
export const RELAYER_EXECUTABLE: string = `${REPOSITORY}/build/causeway`;

/** What the executable is made of. */
const INPUTS = ["src", "deno.json", "deno.lock"];

/** The build failed; the message holds what it printed. */
export class BuildFault extends Error {
  override readonly name = "BuildFault";
  readonly code = "build_failed";
}

/** True when there is no executable or a source changed after it was made. */
export async function isRelayerOutdated(): Promise<boolean> {
  const built = await modifiedMs(RELAYER_EXECUTABLE);
  if (built === undefined) return true;
  for (const input of INPUTS) {
    if (await newestMs(`${REPOSITORY}/${input}`) > built) return true;
  }
  return false;
}

/** Builds the executable; takes about 15 s. @throws {BuildFault} */
export async function buildRelayer(signal?: AbortSignal): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "src/build/build.ts", "--only=causeway"],
    cwd: REPOSITORY,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    ...(signal === undefined ? {} : { signal }),
  }).output();
  signal?.throwIfAborted();
  if (!success) throw new BuildFault(`The relayer could not be built:\n${new TextDecoder().decode(stderr)}`);
}

async function newestMs(path: string): Promise<number> {
  const { isDirectory } = await Deno.stat(path);
  if (!isDirectory) return await modifiedMs(path) ?? 0;
  let newest = 0;
  for await (const entry of Deno.readDir(path)) {
    newest = Math.max(newest, await newestMs(`${path}/${entry.name}`));
  }
  return newest;
}

async function modifiedMs(path: string): Promise<number | undefined> {
  try {
    return (await Deno.stat(path)).mtime?.getTime();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return undefined;
  }
}
