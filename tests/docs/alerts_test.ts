/** Alert rules: every metric they name is exposed by the programs. They are played by promtool in `tests/monitoring`. */
import assert from "node:assert/strict";
import { exposeSamples, findMetricNames } from "../monitoring/support/exposed_metrics.ts";
import { readFile } from "./support/tree.ts";

Deno.test("alerts: each has a case in which it fires and one in which it does not, and a row in the documents", async () => {
  const rules = await readFile("packaging/monitoring/alerts.yml");
  const cases = await readFile("packaging/monitoring/alerts.test.yml");
  const document = await readFile("docs/operations/monitoring.md");
  const names = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? "");
  assert.ok(names.length >= 10);
  for (const name of names) {
    const parts = cases.split("- alertname: ").filter((part) => part.startsWith(`${name}\n`));
    assert.ok(parts.some((part) => part.includes("exp_alerts: []")), `${name} has no case without an alert`);
    assert.ok(parts.some((part) => part.includes("exp_labels:")), `${name} has no case with an alert`);
    assert.ok(document.includes(`| \`${name}\` |`), `${name} is not in docs/operations/monitoring.md`);
  }
});

Deno.test("alerts: every metric that the rules name is exposed by a program", async () => {
  const exposed = await exposeSamples();
  const rules = await readFile("packaging/monitoring/alerts.yml");
  const expressions = rules.split("\n").filter((line) => !/^\s*(?:summary|description|#)/.test(line)).join(
    "\n",
  );
  const names = findMetricNames(expressions);
  assert.ok(names.size >= 12, [...names].join());
  assert.deepEqual([...names].filter((name) => !new RegExp(`^${name}[{ ]`, "m").test(exposed)), []);
});
