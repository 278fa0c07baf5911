/** The installer of one program and one release, made of `install.sh`. */

/** What an installer knows about its release. */
export interface InstallerSettings {
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
