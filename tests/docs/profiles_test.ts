/** The table of docs/profiles.md: a row for each profile, with what its data says. */
import assert from "node:assert/strict";
import { BEACON_PROFILES } from "../../devnet/profiles/beacon_profiles.ts";
import { EVM_PROFILES } from "../../devnet/profiles/evm_profiles.ts";
import type { Profile } from "../../devnet/profiles/profile.ts";
import { SUBSTRATE_PROFILES } from "../../devnet/profiles/substrate_profiles.ts";
import { readRows } from "./support/markdown.ts";
import { readFile } from "./support/tree.ts";

/** The cells of a profile's row. */
function rowOf({ name, imitates, needsSecond, refusal }: Profile<unknown>): readonly string[] {
  const second = needsSecond === undefined ? "" : ` (${needsSecond}: with a second endpoint)`;
  if (refusal === undefined) return [`\`${name}\``, imitates + second];
  const what = refusal.consequence === "ends" ? "nothing is started" : "nothing is delivered to the chain";
  const end = `refused at the start, ${what}: "${refusal.reason} ..."; cure: "${refusal.cure}"`;
  return [`\`${name}\``, `${imitates}${second}; ${end}`];
}

Deno.test("profiles: the document has a row for each profile, with what its data says", async () => {
  const [, ...rows] = readRows(await readFile("docs/profiles.md"));
  assert.deepEqual(rows, [...EVM_PROFILES, ...SUBSTRATE_PROFILES, ...BEACON_PROFILES].map(rowOf));
});
