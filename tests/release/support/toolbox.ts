/** A PATH that holds chosen commands only, so that tests can take single ones away or put false ones in. */
import { findCommand } from "./debian.ts";

/** The shells that installers must work in. `busybox`: all commands are its own, so no curl and no getconf. */
export const SHELLS = ["dash", "busybox"] as const;

/** One of {@link SHELLS}. */
export type Shell = typeof SHELLS[number];

/** What an installer may use. */
const COMMANDS = [
  ..."uname mktemp tar gzip mkdir cp chmod mv rm cat sleep getconf ldd".split(" "),
  ..."curl wget sha256sum shasum openssl".split(" "),
];

/** What can be changed about the commands. */
export interface ToolboxChanges {
  readonly without?: readonly string[];
  /** Text of shell scripts by name. */
  readonly false?: Readonly<Record<string, string>>;
}

/** Fills a new folder; gives its path. Commands that the machine lacks are left out. */
export async function makeToolbox(
  parent: string,
  shell: Shell,
  changes: ToolboxChanges = {},
): Promise<string> {
  const folder = await Deno.makeTempDir({ dir: parent, prefix: "toolbox-" });
  await Deno.chmod(folder, 0o755);
  const busybox = await findCommand("busybox");
  for (const name of COMMANDS) {
    const real = shell === "dash" ? await findCommand(name) : await isApplet(name) ? busybox : undefined;
    if (real !== undefined && !changes.without?.includes(name)) await Deno.symlink(real, `${folder}/${name}`);
  }
  for (const [name, text] of Object.entries(changes.false ?? {})) {
    await Deno.remove(`${folder}/${name}`).catch(() => undefined);
    await Deno.writeTextFile(`${folder}/${name}`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }
  return folder;
}

let applets: ReadonlySet<string> | undefined;

async function isApplet(name: string): Promise<boolean> {
  if (applets === undefined) {
    const { stdout } = await new Deno.Command("busybox", { args: ["--list"] }).output();
    applets = new Set(new TextDecoder().decode(stdout).split("\n"));
  }
  return applets.has(name);
}
