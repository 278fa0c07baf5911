import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { metricAreas, MetricRegistry, metrics } from "../../../src/core/telemetry/metrics.ts";
import { updateMetricTables } from "../../support/metric_table.ts";
import { readFiles } from "../../docs/support/tree.ts";

const DOCUMENT = Deno.readTextFileSync(new URL("../../../docs/operations/monitoring.md", import.meta.url));

Deno.test("metrics: docs/operations/monitoring.md holds what is declared (else: deno task docs:metrics)", () => {
  equal(updateMetricTables(DOCUMENT), DOCUMENT);
  throws(() => updateMetricTables("# Without marks\n"), /no marks/);
});

Deno.test("metrics: names say their unit, stand in one area, and have the ending of their type", () => {
  const names = Object.values(metricAreas).flatMap((area) => Object.keys(area));
  deepEqual(names.toSorted(), Object.keys(metrics).toSorted());
  for (const [name, { type, help, labels, buckets }] of Object.entries(metrics)) {
    match(name, /^causeway_[a-z_]+$/);
    equal(name.endsWith("_total"), type === "counter", name);
    match(help, /^[A-Z0-9`].*[^.]$/s, name);
    equal(buckets !== undefined, type === "histogram", name);
    deepEqual(labels.filter((label) => !/^[a-z]+$/.test(label)), [], name);
  }
});

Deno.test("metrics: every one is written somewhere", async () => {
  const files = await readFiles((path) => /^src\/.*\.ts$/.test(path) && !path.includes("/telemetry/metrics"));
  const source = [...files.values()].join("\n");
  ok(files.size > 400);
  deepEqual(Object.keys(metrics).filter((name) => !source.includes(`"${name}"`)), []);
});

Deno.test("metrics: values are exposed once there are any, with escaped labels, and gauges can be forgotten", async () => {
  const registry = new MetricRegistry();
  equal((await registry.expose()).trim(), "");
  registry.add("causeway_worker_restarts_total", { worker: 'a "quoted"\nname' });
  registry.add("causeway_worker_restarts_total", { worker: 'a "quoted"\nname' }, 2);
  registry.set("causeway_claims", { state: "unclaimed" }, 5);
  registry.observe("causeway_batch_messages", { target: "EVM-1" }, 7);
  const text = await registry.expose();
  match(text, /^causeway_worker_restarts_total\{worker="a \\"quoted\\"\\nname"\} 3$/m);
  match(text, /^causeway_claims\{state="unclaimed"\} 5$/m);
  match(text, /^causeway_batch_messages_bucket\{le="10",target="EVM-1"\} 1$/m);
  match(text, /^causeway_batch_messages_bucket\{le="5",target="EVM-1"\} 0$/m);
  registry.clear("causeway_claims");
  ok(!(await registry.expose()).includes('state="unclaimed"'));
});
