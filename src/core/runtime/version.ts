/** The version of the programs, which stands in `deno.json` and nowhere else. */
import manifest from "../../../deno.json" with { type: "json" };

/** What `--version` of a program prints: its name, version, runtime and target. */
export function versionText(program: string, deno: string, target: string): string {
  return `${program} ${manifest.version} (deno ${deno}, ${target})`;
}
