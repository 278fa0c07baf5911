/** Programs that tests need and that a fresh machine may lack: installed where that is possible, from Debian's packages. */
import { say } from "../../support/notes.ts";

/** Name of the package by name of the command. */
export type Needs = Readonly<Record<string, string>>;

/** Two test files may ask at the same time; apt itself only ever lets one of them in. */
const LOCK = "/tmp/causeway-tests-apt.lock";
/** Brings the lists of packages up to date, unless that was done within the last hour. */
const UPDATE =
  `find ${LOCK}.updated -mmin -60 2>/dev/null | grep -q . || { apt-get update -qq; touch ${LOCK}.updated; }`;

/**
 * Makes the commands available. False, with a line on standard error that cannot be overlooked, where they are missing
 * and cannot be installed: no Debian, not root, no network.
 * @throws {Error} when installing fails in CI, which has all of that.
 */
export async function haveCommands(needs: Needs): Promise<boolean> {
  const packages = await missing(needs);
  if (packages.length === 0) return true;
  try {
    if (Deno.uid() !== 0 || !await isCommand("apt-get")) throw new Error("not root, or no apt-get");
    await locked("bash", ["-euc", UPDATE]);
    await locked("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages]);
    return true;
  } catch (error) {
    if (Deno.env.get("CI") !== undefined && Deno.uid() === 0) throw error;
    say(`\n!!! NOT TESTED, because these cannot be installed here: ${packages.join(" ")} (${error})\n`);
    return false;
  }
}

async function missing(needs: Needs): Promise<readonly string[]> {
  const found = await Promise.all(
    Object.entries(needs).map(async ([command, name]) => await isCommand(command) ? [] : [name]),
  );
  return [...new Set(found.flat())];
}

/** True when the command is on PATH. */
export async function isCommand(name: string): Promise<boolean> {
  return await findCommand(name) !== undefined;
}

/** Path of a command; `undefined` when it is not on PATH. */
export async function findCommand(name: string): Promise<string | undefined> {
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    const path = `${folder}/${name}`;
    if (await Deno.stat(path).then(({ isFile }) => isFile, () => false)) return path;
  }
  return undefined;
}

async function locked(command: string, args: readonly string[]): Promise<void> {
  const { success, stderr, stdout } = await new Deno.Command("flock", {
    args: [LOCK, command, ...args],
    env: { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  if (success) return;
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  throw new Error(`${command} ${args.join(" ")} failed:\n${said}`);
}
