/** Files with keys that others than their owner and its group can read. */
import type { ConfigFiles } from "./toml.ts";

/** Permission of everybody to read. */
const OTHERS_READ = 0o004;

/** What is wrong with who may read a file; `undefined`: nothing, or it cannot be said. */
export function describeExposure(
  { readMode }: Pick<ConfigFiles, "readMode">,
  path: string,
): string | undefined {
  const mode = readMode?.(path);
  if (mode === undefined || (mode & OTHERS_READ) === 0) return undefined;
  return `a file that every user of this machine can read (mode ${(mode & 0o777).toString(8)})`;
}
