/** What the npm packages in a bundle are, by their own words and by the lock file: licences, checksums. */
import { join } from "node:path";

/** A package in a program. */
export interface Package {
  readonly name: string;
  readonly version: string;
  /** SPDX expression of its `package.json`. */
  readonly licence: string;
  /** Whom its `package.json` names; may be empty. */
  readonly author: string;
  /** Text of its licence file; `undefined` when it has none. */
  readonly licenceText: string | undefined;
  /** Of the published tarball, hex; from the lock file. */
  readonly sha512: string;
}

/** Reads the packages named `name@version` from the package cache. @throws {Error} when one of them is incomplete. */
export async function readPackages(
  specifiers: readonly string[],
  { npmCache, lockFile }: { readonly npmCache: string; readonly lockFile: string },
): Promise<readonly Package[]> {
  const checksums = readChecksums(await Deno.readTextFile(lockFile));
  return await Promise.all(specifiers.map(async (specifier) => {
    const at = specifier.lastIndexOf("@");
    const [name, version] = [specifier.slice(0, at), specifier.slice(at + 1)];
    const folder = await findFolder(npmCache, `${name}/${version}`);
    const manifest: unknown = JSON.parse(await Deno.readTextFile(join(folder, "package.json")));
    const sha512 = checksums.get(specifier);
    if (sha512 === undefined) throw new Error(`The lock file has no checksum of ${specifier}`);
    const { licence, author } = readManifest(specifier, manifest);
    return { name, version, licence, author, licenceText: await readLicenceText(folder), sha512 };
  }));
}

/** Checksums (sha512, hex) by `name@version`, from the text of a lock file of version 5. */
export function readChecksums(lockText: string): ReadonlyMap<string, string> {
  const lock: unknown = JSON.parse(lockText);
  const npm = field(lock, "npm");
  if (typeof npm !== "object" || npm === null) throw new Error("The lock file has no npm packages");
  return new Map(
    Object.entries(npm).map(([key, entry]) => {
      const integrity = field(entry, "integrity");
      if (typeof integrity !== "string" || !integrity.startsWith("sha512-")) {
        throw new Error(`The lock file has no sha512 of ${key}`);
      }
      // Behind the first underscore stand the peers with which it was resolved.
      const specifier = key.replace(/^(@?[^@]+@[^@_]+)_.*$/, "$1");
      return [specifier, Uint8Array.fromBase64(integrity.slice("sha512-".length)).toHex()];
    }),
  );
}

async function findFolder(npmCache: string, below: string): Promise<string> {
  for await (const { name } of Deno.readDir(npmCache)) {
    const folder = join(npmCache, name, below);
    if (await Deno.stat(folder).then(({ isDirectory }) => isDirectory, () => false)) return folder;
  }
  throw new Error(`${below} is not in the package cache ${npmCache}`);
}

function readManifest(specifier: string, manifest: unknown): Pick<Package, "licence" | "author"> {
  const licence = field(manifest, "license");
  if (typeof licence !== "string") throw new Error(`${specifier} names no licence`);
  const author = field(manifest, "author");
  const name = typeof author === "string" ? author : field(author, "name");
  return { licence, author: typeof name === "string" ? name : "" };
}

async function readLicenceText(folder: string): Promise<string | undefined> {
  const files: string[] = [];
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (isFile && /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i.test(name)) files.push(name);
  }
  if (files.length === 0) return undefined;
  const texts = await Promise.all(files.sort().map((name) => Deno.readTextFile(join(folder, name))));
  return texts.map((text) => text.replaceAll("\r\n", "\n").trim()).join("\n\n");
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
