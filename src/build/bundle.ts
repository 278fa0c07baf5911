/**
 * One program as the few JavaScript files that `deno compile` takes. The bytes depend on the sources alone: paths of
 * the machine are taken out, and the files are named by their order instead of by a hash that those paths went into.
 */
import { join, relative, resolve } from "node:path";
import { deno } from "./deno_command.ts";
import type { Identity } from "./identity.ts";
import type { Program } from "./programs.ts";

/** A program as `deno compile` takes it. */
export interface Bundle {
  readonly main: string;
  /** Parts that are loaded, and read at all, only when they are needed: `--version` is answered by `main` alone. */
  readonly parts: readonly string[];
}

/** Stands in `src/core/runtime/version.ts` where the commit goes. */
const COMMIT_MARK = "@commit@";

/** Makes the bundle of `program` in `folder`, which is emptied first. */
export async function bundle(program: Program, folder: string, identity: Identity): Promise<Bundle> {
  const raw = `${folder}.raw`;
  await emptyFolder(raw);
  await deno([
    "bundle",
    "--quiet",
    "--code-splitting",
    "--external",
    "bufferutil",
    "--external",
    "utf-8-validate",
    "--outdir",
    raw,
    program.entry,
  ]);
  const texts = new Map<string, string>();
  for await (const { name } of Deno.readDir(raw)) texts.set(name, await Deno.readTextFile(join(raw, name)));
  const npmCache = await readNpmCache();
  const made = nameByOrder(
    new Map(
      [...texts].map(([name, text]) => [name, withoutMachine(text, relative(Deno.cwd(), npmCache))]),
    ),
  );
  await emptyFolder(folder);
  const time = new Date(identity.epochSec * 1000);
  for (const [name, text] of withCommit(made, identity.commit)) {
    assertNoPaths(name, text, [npmCache, Deno.cwd()]);
    await Deno.writeTextFile(join(folder, name), text);
    // The time of the file goes into the executable.
    await Deno.utime(join(folder, name), time, time);
  }
  await Deno.remove(raw, { recursive: true });
  const parts = [...made.keys()].filter((name) => name !== "main.js").map((name) => `${folder}/${name}`);
  return { main: `${folder}/main.js`, parts };
}

/** Folder of npm packages: `<npmCache>/<registry>/<name>/<version>`. */
export async function readNpmCache(): Promise<string> {
  const info: unknown = JSON.parse(await deno(["info", "--json"]));
  if (typeof info === "object" && info !== null && "npmCache" in info && typeof info.npmCache === "string") {
    return resolve(info.npmCache);
  }
  throw new Error("deno info names no npmCache");
}

/** Writes `npm/<name>/<version>/...` for paths into the package cache, wherever it is and whatever its registry. */
export function withoutMachine(text: string, npmCache: string): string {
  const place = npmCache.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.replaceAll(new RegExp(`${place}/[^/\\s"]+/`, "g"), "npm/");
}

/** Packages of which something went into the bundle, as `name@version`, sorted. */
export function packagesIn(texts: Iterable<string>): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    for (
      const [, name, version] of text.matchAll(/(?:\/\/ |")npm\/((?:@[^/\s"]+\/)?[^/\s"]+)\/([^/\s"]+)\//g)
    ) {
      found.add(`${name}@${version}`);
    }
  }
  return [...found].sort();
}

/**
 * Renames every file but `main.js` to `part_<n>.js`, counted in the order in which files are first named when they
 * are read from `main.js` on. A file that no other one names is left out: it belongs to code that was shaken off.
 */
export function nameByOrder(texts: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const names = new Map([["main.js", "main.js"]]);
  const reference = /(["'])\.\/([^"'/]+\.js)\1/g;
  for (const name of names.keys()) {
    for (const [, , other] of (texts.get(name) ?? "").matchAll(reference)) {
      if (other !== undefined && texts.has(other) && !names.has(other)) {
        names.set(other, `part_${names.size}.js`);
      }
    }
  }
  return new Map([...names].map(([old, name]) => {
    const text = texts.get(old) ?? "";
    return [
      name,
      text.replaceAll(reference, (all, quote: string, other: string) => {
        const renamed = names.get(other);
        return renamed === undefined ? all : `${quote}./${renamed}${quote}`;
      }),
    ];
  }));
}

/** @throws {Error} unless the mark stands in the bundle exactly once. */
function withCommit(texts: ReadonlyMap<string, string>, commit: string): ReadonlyMap<string, string> {
  const marks = [...texts.values()].reduce((sum, text) => sum + text.split(COMMIT_MARK).length - 1, 0);
  if (marks !== 1) throw new Error(`The bundle has ${marks} places for the commit instead of one`);
  return new Map([...texts].map(([name, text]) => [name, text.replace(COMMIT_MARK, commit)]));
}

function assertNoPaths(name: string, text: string, paths: readonly string[]): void {
  const found = paths.find((path) => text.includes(`${path}/`));
  if (found !== undefined) throw new Error(`${name} names ${found}: the build would differ between machines`);
}

/** Makes `folder` exist and hold nothing. */
export async function emptyFolder(folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch((error: unknown) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.mkdir(folder, { recursive: true });
}
