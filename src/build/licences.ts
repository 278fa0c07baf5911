/** The file that tells whose work is in a program, and under which terms. Bundling drops the licence files. */
import type { Package } from "./packages.ts";

const RULE = "-".repeat(80);

/** The text of `THIRD-PARTY-LICENCES.txt`: Deno, then the packages, those with the same words together. */
export function licencesText(
  program: string,
  deno: { readonly version: string; readonly licenceText: string },
  packages: readonly Package[],
): string {
  const groups = Map.groupBy(packages, (one) => one.licenceText ?? licenceWithoutText(one));
  const parts = [...groups].map(([text, some]) => section(some.map(title), text));
  const head = `${program} is under the Apache License 2.0, see LICENSE. It contains the work of others:
the Deno runtime and ${packages.length} npm packages, under the licences below. The sources of each package
are published on npm under its name and version.`;
  return [head, section([`Deno ${deno.version} (MIT)`], deno.licenceText.trim()), ...parts].join("\n\n") +
    "\n";
}

function section(titles: readonly string[], text: string): string {
  return [RULE, ...titles, RULE, "", text].join("\n");
}

function title({ name, version, licence }: Package): string {
  return `${name} ${version} (${licence})`;
}

/** For packages that publish no licence file. */
function licenceWithoutText({ name, licence, author }: Package): string {
  const by = author === "" ? "" : ` by ${author}`;
  return `${name}${by} is published under the licence ${licence} without a copy of its text:
https://spdx.org/licenses/${licence}.html`;
}
