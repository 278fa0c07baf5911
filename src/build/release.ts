/**
 * Makes everything that is published of a version, in `dist/`: for each program an archive with its checksum, an
 * installer, and a list of what is inside; `SHA256SUMS` over all of it. Start reading at {@link makeRelease}.
 * Usage: `deno task release [--tag=v1.2.3] [--url=https://...] [--out=dist] [--no-build]`
 */
import { Command } from "commander";
import { packFolder, sha256Of } from "./archive.ts";
import { billOfMaterials } from "./bill_of_materials.ts";
import { buildPrograms } from "./build.ts";
import { emptyFolder, packagesIn, readNpmCache } from "./bundle.ts";
import { run, say } from "./deno_command.ts";
import { checkTag, type Identity, readIdentity, tagOf } from "./identity.ts";
import { licencesText } from "./licences.ts";
import { readPackages } from "./packages.ts";
import { type Program, PROGRAMS } from "./programs.ts";

/** What can be chosen. */
interface ReleaseOptions {
  /** Must fit the version of `deno.json`; the workflow of the forge hands in the tag that was pushed. */
  readonly tag?: string;
  /** Where the releases will be found; goes into the installers. */
  readonly url: string;
  readonly out: string;
  /** False: the executables in `build/` are taken as they are. */
  readonly build: boolean;
}

/** The only platform of releases (docs/specification.md, "Distribution"). */
const TARGET = "x86_64-unknown-linux-gnu";
/** What goes into the archives, unpacked: the folder that container images are made from. */
const UNPACKED = "build/release";

/** See the head of the file. */
async function makeRelease(options: ReleaseOptions): Promise<void> {
  const identity = await readIdentity();
  if (options.tag !== undefined) checkTag(options.tag, identity.version);
  if (options.build) await buildPrograms();
  await emptyFolder(options.out);
  await emptyFolder(UNPACKED);
  const files = await Promise.all(PROGRAMS.map((program) => publish(program, identity, options)));
  const sums = await Promise.all(
    files.flat().sort().map(async (file) => `${await sha256Of(`${options.out}/${file}`)}  ${file}\n`),
  );
  await Deno.writeTextFile(`${options.out}/SHA256SUMS`, sums.join(""));
}

/** Makes the files of one program; gives their names. */
async function publish(
  program: Program,
  identity: Identity,
  { out, url }: ReleaseOptions,
): Promise<string[]> {
  const base = `${program.name}-${TARGET}`;
  const executable = `build/${program.name}`;
  const npmCache = await readNpmCache();
  const packages = await readPackages(await bundledPackages(program), { npmCache, lockFile: "deno.lock" });
  const folder = `${UNPACKED}/${base}`;
  await Deno.mkdir(folder, { recursive: true });
  await run("cp", [
    "-R",
    executable,
    program.exampleConfig,
    `packaging/systemd/${program.unit}`,
    "packaging/monitoring/alerts.yml",
    "packaging/monitoring/dashboard.json",
    "LICENSE",
    "README.md",
    "docs", // what the unit, the README and the texts of the programs name
    folder,
  ]);
  const deno = {
    version: Deno.version.deno,
    licenceText: await Deno.readTextFile("packaging/licences/deno.txt"),
  };
  const licences = licencesText(program.name, deno, packages);
  await Deno.writeTextFile(`${folder}/THIRD-PARTY-LICENCES.txt`, licences);
  const names = {
    archive: `${base}.tar.gz`,
    checksum: `${base}.tar.gz.sha256`,
    installer: `${program.name}-installer.sh`,
    bill: `${program.name}.cdx.json`,
  };
  await packFolder(UNPACKED, base, { outFile: `${out}/${names.archive}`, epochSec: identity.epochSec });
  const sha256 = await sha256Of(`${out}/${names.archive}`);
  await Deno.writeTextFile(`${out}/${names.checksum}`, `${sha256}  ${names.archive}\n`);
  const settings = { program: program.name, tag: tagOf(identity.version), sha256, url };
  const installer = makeInstaller(await Deno.readTextFile("install.sh"), settings);
  await Deno.writeTextFile(`${out}/${names.installer}`, installer);
  const facts = {
    program,
    identity,
    denoVersion: deno.version,
    packages,
    sha256: await sha256Of(executable),
  };
  await Deno.writeTextFile(`${out}/${names.bill}`, billOfMaterials(facts));
  const megabytes = ((await Deno.stat(`${out}/${names.archive}`)).size / 1e6).toFixed(1);
  say(`${out}/${names.archive}: ${megabytes} MB, ${packages.length} packages`);
  return Object.values(names);
}

/** What an installer knows about its release. */
interface InstallerSettings {
  readonly program: string;
  readonly tag: string;
  /** Of the archive, hex. */
  readonly sha256: string;
  /** Folder of releases; empty: the caller has to name it. */
  readonly url: string;
}

/** Fills in the settings at the top of `install.sh`. @throws {Error} when they are not where they should be. */
export function makeInstaller(source: string, settings: InstallerSettings): string {
  const lines: Record<string, string> = {
    PROGRAM: settings.program,
    BAKED_VERSION: settings.tag,
    BAKED_SHA256: settings.sha256,
    BAKED_URL: settings.url.replace(/\/$/, ""),
  };
  let text = source;
  for (const [name, value] of Object.entries(lines)) {
    // The texts stand between single quotes, in which a shell reads everything as it is, up to the next one.
    if (!/^[\w.:/+@~-]*$/.test(value)) throw new Error(`${name} of the installer cannot be "${value}"`);
    const pattern = new RegExp(`^${name}='[^'\\n]*'$`, "gm");
    if ([...text.matchAll(pattern)].length !== 1) {
      throw new Error(`install.sh does not set ${name} exactly once`);
    }
    text = text.replace(pattern, () => `${name}='${value}'`);
  }
  return text;
}

/** The packages whose code the build took in, read from what it compiled. */
async function bundledPackages(program: Program): Promise<readonly string[]> {
  const folder = `build/stage/${program.name}`;
  const texts: string[] = [];
  for await (const { name } of Deno.readDir(folder)) texts.push(await Deno.readTextFile(`${folder}/${name}`));
  return packagesIn(texts);
}

function parseOptions(args: readonly string[]): ReleaseOptions {
  return new Command("deno task release")
    .description("Makes everything that is published of this version, in dist/")
    .option("--tag <tag>", "the tag that is released; must fit the version in deno.json")
    .option("--url <url>", "where releases are published, for installers", "")
    .option("--out <folder>", "where the files go; it is emptied first", "dist")
    .option("--no-build", "use the executables in build/ as they are")
    .parse([...args], { from: "user" })
    .opts<ReleaseOptions>();
}

if (import.meta.main) await makeRelease(parseOptions(Deno.args));
