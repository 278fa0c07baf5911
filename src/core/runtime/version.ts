/** Version of the programs, which is defined only in `deno.json`, and the commit that they were built from. */
import manifest from "../../../deno.json" with { type: "json" };

/** Placeholder that the build (`src/build/bundle.ts`) replaces with the commit. */
const builtFrom = "@commit@";

/** Output of `--version`: program name, version, commit, runtime and target. */
export function versionText(program: string, deno: string, target: string): string {
  const commit = builtFrom.startsWith("@") ? "unknown" : builtFrom;
  return `${program} ${manifest.version} (commit ${commit}, deno ${deno}, ${target})`;
}
