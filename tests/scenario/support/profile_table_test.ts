import assert from "node:assert/strict";
import { BEACON_PROFILES } from "../../../devnet/profiles/beacon_profiles.ts";
import { batch } from "../../../devnet/profiles/request_behaviours.ts";
import { EVM_PROFILES } from "../../../devnet/profiles/evm_profiles.ts";
import { SUBSTRATE_PROFILES } from "../../../devnet/profiles/substrate_profiles.ts";
import { REPOSITORY } from "../../../devnet/programs/repository.ts";
import { type AnyProfile, refusedResult, resultsIn, unsatisfied, updateTable } from "./profile_table.ts";

const profile = (name: string): AnyProfile => ({
  name,
  imitates: `the node ${name}`,
  sources: [],
  behaviours: [batch(100, 8, {})],
});

Deno.test("profile table: a run writes what it played, and leaves how the others went", () => {
  const both = [profile("one"), profile("two")];
  const empty = "# Head\n<!-- table -->\n<!-- table ends -->\n\nFoot\n";
  const first = updateTable(empty, both, new Map([["one", "arrived a | b"]]));
  assert.match(first, /^# Head\n[^]*\n\nFoot\n$/);
  assert.deepEqual([...resultsIn(first)], [["one", "arrived a | b"], ["two", "not played yet"]]);
  const second = updateTable(first, both, new Map([["two", "refused"]]));
  assert.deepEqual([...resultsIn(second).values()], ["arrived a | b", "refused"]);
  // A profile that is gone takes its row with it.
  assert.deepEqual([...resultsIn(updateTable(second, both.slice(1), new Map())).keys()], ["two"]);
  assert.throws(() => updateTable("no marks", both, new Map()), /no marks/);
});

Deno.test("profile table: a row is open until its profile was played and ended as it should", () => {
  const refusal = { reason: "no proofs", cure: "another flag", consequence: "holds" } as const;
  const refused: AnyProfile = { ...profile("refused"), refusal };
  const served = profile("served");
  const open = (result: string | undefined, one = served): readonly string[] =>
    unsatisfied([one], new Map(result === undefined ? [] : [[one.name, result]]));
  for (
    const good of [
      "served",
      "served, beside hostile modules",
    ]
  ) assert.deepEqual(open(good), []);
  const text = refusedResult(refusal);
  assert.deepEqual(open(text, refused), []);
  for (
    const bad of [
      "fails: never met batch",
      "not played since the limit is smaller",
      "served; its limit was not met",
      text,
    ]
  ) assert.deepEqual(open(bad), [`served: ${bad}`]);
  assert.deepEqual(open(undefined), ["served: not played yet"]);
  assert.deepEqual(open("served", refused), ["refused: served"]);
  // The reason or the cure has changed since it was played.
  const other = { ...refused, refusal: { ...refusal, cure: "another node" } };
  assert.deepEqual(open(text, other), [`refused: ${text}`]);
});

Deno.test("profile table: the document has a row for each profile, and each was played and ended as it should", async () => {
  const document = await Deno.readTextFile(`${REPOSITORY}/docs/profiles.md`);
  const results = resultsIn(document);
  const all = [...EVM_PROFILES, ...SUBSTRATE_PROFILES, ...BEACON_PROFILES];
  assert.deepEqual([...results.keys()], all.map(({ name }) => name));
  assert.deepEqual(unsatisfied(all, results), []);
});
