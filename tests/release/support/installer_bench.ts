/** Installers of a program that only tells its version, run in a chosen shell against a server on this machine. */
import assert from "node:assert/strict";
import { makeInstaller } from "../../../src/build/release.ts";
import { packFolder, sha256Of } from "../../../src/build/archive.ts";
import { REPOSITORY } from "../../../devnet/programs/repository.ts";
import { type ReleaseServer, startReleaseServer } from "./release_server.ts";
import { makeToolbox, type Shell, type ToolboxChanges } from "./toolbox.ts";

/** How to run an installer. */
export interface InstallOptions {
  readonly args?: readonly string[];
  /** On top of HOME, TMPDIR and PATH, each in the bench's own folder; `undefined` takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly tools?: ToolboxChanges;
  /** Folders in front of the commands on PATH. */
  readonly pathInFront?: readonly string[];
  /** Text of the installer; default that of `causeway` v1.2.3. */
  readonly script?: string;
  /** The script comes from standard input, as with `curl | sh`. */
  readonly isPiped?: boolean;
  readonly uid?: number;
}

/** How it ended. */
export interface InstallResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The release that installers are made for. */
export const TAG = "v1.2.3";
const TARGET = "x86_64-unknown-linux-gnu";

/** A server with releases and a user's folder. */
export class InstallerBench implements AsyncDisposable {
  private constructor(readonly folder: string, readonly shell: Shell, readonly server: ReleaseServer) {}

  /** With `causeway` and `causeway-consensus` of {@link TAG} published. */
  static async open(shell: Shell): Promise<InstallerBench> {
    const folder = await Deno.makeTempDir({ prefix: "installer-" });
    // Other users must be able to enter: some tests do not run as root.
    await Deno.chmod(folder, 0o755);
    const bench = new InstallerBench(folder, shell, startReleaseServer());
    await Deno.mkdir(`${folder}/tmp`);
    await Deno.chmod(`${folder}/tmp`, 0o1777);
    for (const program of ["causeway", "causeway-consensus"]) await bench.publish(TAG, { program });
    return bench;
  }

  get home(): string {
    return `${this.folder}/home`;
  }

  /** Publishes an archive with a script instead of the program; `program` defaults to `causeway`. */
  async publish(
    tag: string,
    { program = "causeway", script = `echo "${program} ${tag}"` }: {
      readonly program?: string;
      readonly script?: string;
    } = {},
  ): Promise<void> {
    const base = `${program}-${TARGET}`;
    const stage = await Deno.makeTempDir({ dir: this.folder });
    await Deno.mkdir(`${stage}/${base}`);
    await Deno.writeTextFile(`${stage}/${base}/${program}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const outFile = `${stage}/archive.tar.gz`;
    await packFolder(stage, base, { outFile, epochSec: 0 });
    const sum = new TextEncoder().encode(`${await sha256Of(outFile)}  ${base}.tar.gz\n`);
    this.server.files.set(archivePath(tag, program), await Deno.readFile(outFile));
    this.server.files.set(`${archivePath(tag, program)}.sha256`, sum);
  }

  /** The installer as `deno task release` would make it. */
  async installer(program = "causeway", tag = TAG): Promise<string> {
    const archive = this.server.files.get(archivePath(tag, program));
    if (!(archive instanceof Uint8Array)) throw new Error(`${program} ${tag} is not published`);
    const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", archive)).toHex();
    const source = await Deno.readTextFile(`${REPOSITORY}/install.sh`);
    return makeInstaller(source, { program, tag, sha256, url: this.server.url });
  }

  /** Runs an installer to its end. */
  async run(options: InstallOptions = {}): Promise<InstallResult> {
    const child = await this.start(options);
    const { code, stdout, stderr } = await child.output();
    return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
  }

  /** Runs an installer that must succeed. */
  async install(options: InstallOptions = {}): Promise<InstallResult> {
    const result = await this.run(options);
    assert.equal(result.code, 0, `${JSON.stringify(options.tools)}: ${result.stderr}`);
    return result;
  }

  /** Starts an installer in a process group of its own. */
  async start(options: InstallOptions = {}): Promise<Deno.ChildProcess> {
    const script = options.script ?? await this.installer();
    const toolbox = await makeToolbox(this.folder, this.shell, options.tools);
    const file = await Deno.makeTempFile({ dir: this.folder, suffix: ".sh" });
    await Deno.writeTextFile(file, script);
    await Deno.chmod(file, 0o644);
    const env: Record<string, string> = {};
    const wanted = {
      HOME: this.home,
      TMPDIR: `${this.folder}/tmp`,
      PATH: [...(options.pathInFront ?? []), toolbox].join(":"),
      LC_ALL: "C",
      ...options.env,
    };
    for (const [name, value] of Object.entries(wanted)) if (value !== undefined) env[name] = value;
    const [command, ...first] = this.shell === "dash" ? ["/bin/dash"] : ["/bin/busybox", "sh"];
    const args = options.args ?? [];
    const child = new Deno.Command(command ?? "", {
      args: [...first, ...(options.isPiped ? ["-s", "--"] : [file]), ...args],
      clearEnv: true,
      env,
      cwd: this.folder,
      stdin: options.isPiped ? "piped" : "null",
      stdout: "piped",
      stderr: "piped",
      detached: true,
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    }).spawn();
    if (options.isPiped) {
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(script));
      await writer.close();
    }
    return child;
  }

  /** Names in the temporary folder. */
  leftovers(): string[] {
    return [...Deno.readDirSync(`${this.folder}/tmp`)].map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Path of an archive on the server. */
export function archivePath(tag: string, program = "causeway"): string {
  return `/${program}-${tag}/${program}-${TARGET}.tar.gz`;
}
