/** The version of the programs, which stands in `deno.json` and nowhere else, and the commit that they were built from. */
import manifest from "../../../deno.json" with { type: "json" };

/** The build (`src/build/bundle.ts`) writes the commit in place of this mark. */
const builtFrom = "@commit@";

/** What `--version` of a program prints: its name, version, commit, runtime and target. */
export function versionText(program: string, deno: string, target: string): string {
  const commit = builtFrom.startsWith("@") ? "unknown" : builtFrom;
  return `${program} ${manifest.version} (commit ${commit}, deno ${deno}, ${target})`;
}
