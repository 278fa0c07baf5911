/** The Grafana dashboard: written by its typed source, and every metric in it is exposed by a program. */
import assert from "node:assert/strict";
import { makeDashboard } from "../monitoring/support/dashboard.ts";
import { readFile } from "./support/tree.ts";
import { exposeSamples, findMetricNames } from "../monitoring/support/exposed_metrics.ts";

Deno.test("dashboard: the file is what its source makes (else: deno task docs:dashboard)", async () => {
  const written: unknown = JSON.parse(await readFile("packaging/monitoring/dashboard.json"));
  assert.deepEqual(written, JSON.parse(JSON.stringify(makeDashboard())));
});

Deno.test("dashboard: every metric in it is exposed by a program", async () => {
  const exposed = await exposeSamples();
  const names = findMetricNames(JSON.stringify(makeDashboard()));
  assert.ok(names.size >= 25, [...names].join());
  assert.deepEqual([...names].filter((name) => !new RegExp(`^${name}[{ ]`, "m").test(exposed)), []);
});

Deno.test("dashboard: every panel says what it shows and has a unit, and asks only for the chosen programs", () => {
  const text = JSON.stringify(makeDashboard());
  const panels = makeDashboard().panels?.filter((panel) => panel.type === "timeseries") ?? [];
  assert.ok(panels.length >= 20, String(panels.length));
  const queries = [...text.matchAll(/"expr":"((?:[^"\\]|\\.)*)"/g)].map(([, query]) => query ?? "");
  assert.ok(queries.length > panels.length);
  assert.deepEqual(queries.filter((query) => !query.includes("$instance")), []);
});
