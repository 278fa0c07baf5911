/** What the npm packages in a bundle are, by their own words and by the lock file: licences, checksums. */
import { join } from "node:path";
import * as z from "zod";

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

const manifestShape = z.object({
  license: z.string(),
  author: z.string().or(z.object({ name: z.string() }).transform(({ name }) => name)).catch(""),
});

const lockShape = z.object({
  npm: z.record(z.string(), z.object({ integrity: z.string().startsWith("sha512-") })),
});

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
    const manifest = manifestShape.safeParse(
      JSON.parse(await Deno.readTextFile(join(folder, "package.json"))),
    );
    if (!manifest.success) throw new Error(`${specifier} names no licence`);
    const sha512 = checksums.get(specifier);
    if (sha512 === undefined) throw new Error(`The lock file has no checksum of ${specifier}`);
    const { license: licence, author } = manifest.data;
    return { name, version, licence, author, licenceText: await readLicenceText(folder), sha512 };
  }));
}

/** Checksums (sha512, hex) by `name@version`, from the text of a lock file of version 5. */
export function readChecksums(lockText: string): ReadonlyMap<string, string> {
  const lock = lockShape.safeParse(JSON.parse(lockText));
  if (!lock.success) throw new Error(`The lock file has no sha512 of each package: ${lock.error.message}`);
  return new Map(
    Object.entries(lock.data.npm).map(([key, { integrity }]) => {
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

async function readLicenceText(folder: string): Promise<string | undefined> {
  const files: string[] = [];
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (isFile && /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i.test(name)) files.push(name);
  }
  if (files.length === 0) return undefined;
  const texts = await Promise.all(files.sort().map((name) => Deno.readTextFile(join(folder, name))));
  return texts.map((text) => text.replaceAll("\r\n", "\n").trim()).join("\n\n");
}
