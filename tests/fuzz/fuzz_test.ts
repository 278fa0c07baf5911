import assert from "node:assert/strict";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import { readCorpus, thinned } from "./corpus.ts";
import { fuzz, judge } from "./fuzz.ts";
import { KNOWN_INPUTS } from "./known_inputs.ts";
import { TARGETS } from "./targets.ts";

/** Inputs of each decoder; ten million in all are a task of their own. */
const INPUTS = 50;

Deno.test("fuzz: each decoder takes or refuses what is nearly right, and nothing takes long", () => {
  const corpus = thinned(readCorpus(), 12);
  assert.deepEqual(TARGETS.flatMap((target) => fuzz(target, corpus, { inputs: INPUTS, seed: 1 })), []);
});

Deno.test("fuzz: what was found once is not found again", () => {
  for (const { target: name, bytes } of KNOWN_INPUTS) {
    const target = TARGETS.find((each) => each.name === name);
    assert.ok(target?.kind === "bytes", name);
    assert.equal(judge(() => target.decode(fromHex(bytes)), target.refusals), undefined, name);
  }
});

Deno.test("fuzz: an error that nobody declared and a decoder that hangs are findings", () => {
  assert.match(String(judge(() => (undefined as unknown as string).length)), /^TypeError/);
  const slow = (): void => {
    const startMs = performance.now();
    while (performance.now() - startMs < 60);
  };
  assert.equal(judge(slow), "took more than 50 ms");
});
