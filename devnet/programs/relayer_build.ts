/** The compiled programs, built when one is missing or older than its sources. */
import { REPOSITORY } from "./repository.ts";

/** Path of the messaging relayer. */
export const RELAYER_EXECUTABLE: string = `${REPOSITORY}/build/causeway`;

/** Path of the consensus relayer. */
export const CONSENSUS_EXECUTABLE: string = `${REPOSITORY}/build/causeway-consensus`;

/** What the executables are made of. */
const INPUTS = ["src", "deno.json", "deno.lock"];

/** The build failed; standard error has what it printed. */
export class BuildFault extends Error {
  override readonly name = "BuildFault";
}

/** True when there is no such executable or a source changed after it was made. */
export async function isRelayerOutdated(executable = RELAYER_EXECUTABLE): Promise<boolean> {
  const built = await modifiedMs(executable);
  if (built === undefined) return true;
  for (const input of INPUTS) {
    if (await newestMs(`${REPOSITORY}/${input}`) > built) return true;
  }
  return false;
}

/**
 * Builds both executables without a look at their types, unless they are newer than their sources; takes about 10 s.
 * Of several processes that ask for it, one builds and the others wait.
 * @throws {BuildFault}
 */
export async function ensurePrograms(
  { onBuild, signal }: { readonly onBuild?: () => void; readonly signal?: AbortSignal } = {},
): Promise<void> {
  await Deno.mkdir(`${REPOSITORY}/build`, { recursive: true });
  using lock = await Deno.open(`${REPOSITORY}/build/lock`, { create: true, write: true });
  await lock.lock(true);
  if (!await isRelayerOutdated(RELAYER_EXECUTABLE) && !await isRelayerOutdated(CONSENSUS_EXECUTABLE)) return;
  onBuild?.();
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", "src/build/build.ts", "--no-check"],
    cwd: REPOSITORY,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    ...(signal === undefined ? {} : { signal }),
  }).output();
  signal?.throwIfAborted();
  if (success) return;
  await Deno.stderr.write(stderr);
  throw new BuildFault("The programs could not be built");
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
