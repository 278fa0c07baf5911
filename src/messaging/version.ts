/** The version of the program, which stands in `deno.json` and nowhere else. */
import manifest from "../../deno.json" with { type: "json" };

/** What `--version` prints: version, runtime and target. */
export function versionText(deno: string, target: string): string {
  return `causeway ${manifest.version} (deno ${deno}, ${target})`;
}
