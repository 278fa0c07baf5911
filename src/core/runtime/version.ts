/** Version of the programs, which is defined only in `deno.json`, and the commit that they were built from. */
import manifest from "../../../deno.json" with { type: "json" };

/** Placeholder that the build (`src/build/bundle.ts`) replaces with the commit. */
const builtFrom = "@commit@";

/** Version without commit, e.g. `0.1.0`. */
export const programVersion: string = manifest.version;

/** Output of `--version`: program name, version, commit, runtime and target. */
export function versionText(program: string): string {
  const commit = builtFrom.startsWith("@") ? "unknown" : builtFrom;
  return `${program} ${programVersion} (commit ${commit}, deno ${Deno.version.deno}, ${Deno.build.target})`;
}
