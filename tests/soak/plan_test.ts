import assert from "node:assert/strict";
import { describeTrouble, planRound } from "./plan.ts";

const ALL = { clock: true, disk: true };

Deno.test("soak: a seed gives the same plan again, and another one another plan", () => {
  assert.deepEqual(planRound(7, ALL), planRound(7, ALL));
  assert.notDeepEqual(planRound(7, ALL), planRound(8, ALL));
});

Deno.test("soak: every kind of trouble comes, each ends within its round, and only what the machine can do", () => {
  const kinds = new Set<string>();
  for (let seed = 0; seed < 200; seed++) {
    const { troubles, messages, endsAtMs } = planRound(seed, ALL);
    assert.ok(messages.length > 0);
    for (const { trouble, atMs, forMs } of troubles) {
      kinds.add(trouble.kind);
      assert.ok(atMs + forMs <= endsAtMs);
    }
    const without = planRound(seed, { clock: false, disk: false }).troubles.map(({ trouble }) =>
      trouble.kind
    );
    assert.ok(!without.includes("clock") && !without.includes("disk_full"));
  }
  assert.deepEqual([...kinds].sort(), [
    "clock",
    "cut",
    "disk_full",
    "empty_wallet",
    "endpoint",
    "kill",
    "lie",
    "no_updates",
    "reorganisation",
    "rotation",
    "stop",
  ]);
});

Deno.test("soak: a trouble is told with its time, its length and what it is about", () => {
  const trouble = { kind: "reorganisation", place: "B", blocks: 2 } as const;
  assert.equal(
    describeTrouble({ trouble, atMs: 1_500, forMs: 0 }),
    'at 1.5 s: reorganisation, place "B", blocks 2',
  );
});
