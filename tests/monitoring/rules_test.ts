/** Alert rules: their unit tests by promtool, and that every metric they name is exposed by the programs. */
import assert from "node:assert/strict";
import { runOnce } from "../scenario/support/run_once.ts";
import { haveCommands } from "../release/support/debian.ts";
import { readFile } from "../docs/support/tree.ts";
import { exposeSamples, findMetricNames } from "./support/exposed_metrics.ts";

const FOLDER = new URL("../../packaging/monitoring/", import.meta.url).pathname;

Deno.test("alerts: promtool accepts configuration and rules, and the unit tests of the rules pass", async () => {
  assert.ok(await haveCommands({ promtool: "prometheus" }), "There is no `promtool`: apt install prometheus");
  for (const args of [["check", "config", "prometheus.yml"], ["test", "rules", "alerts.test.yml"]]) {
    const { code, stdout, stderr } = await runOnce("promtool", args, { cwd: FOLDER });
    assert.equal(code, 0, `${args.join(" ")}: ${stdout}${stderr}`);
  }
});

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
