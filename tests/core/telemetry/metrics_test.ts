import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import { gaugesOf, metricAreas, MetricRegistry } from "../../../src/core/telemetry/metrics.ts";
import { allMetrics, updateMetricTables } from "../../support/registry_tables.ts";
import { readFiles } from "../../docs/support/tree.ts";

const DOCUMENT = Deno.readTextFileSync(new URL("../../../docs/operations/monitoring.md", import.meta.url));

Deno.test("metrics: docs/operations/monitoring.md holds what is declared (else: deno task docs:metrics)", () => {
  equal(updateMetricTables(DOCUMENT), DOCUMENT);
  throws(() => updateMetricTables("# Without marks\n"), /no marks/);
});

Deno.test("metrics: names say their unit, stand in one area, and have the ending of their type", () => {
  const all = Object.values(allMetrics).flatMap((area) => Object.entries(area));
  equal(new Set(all.map(([name]) => name)).size, all.length);
  for (const [name, { type, help, labels, buckets }] of all) {
    match(name, /^causeway_[a-z_]+$/);
    equal(name.endsWith("_total"), type === "counter", name);
    match(help, /^[A-Z0-9`].*[^.]$/s, name);
    equal(buckets !== undefined, type === "histogram", name);
    deepEqual(labels.filter((label) => !/^[a-z]+$/.test(label)), [], name);
  }
});

Deno.test("metrics: every counter and histogram is written somewhere", async () => {
  const files = await readFiles((path) => /^src\/.*\.ts$/.test(path) && !path.includes("/telemetry/metrics"));
  const source = [...files.values()].join("\n");
  ok(files.size > 400);
  const names = Object.values(metricAreas).flatMap((area) => Object.keys(area));
  deepEqual(names.filter((name) => !source.includes(`"${name}"`)), []);
});

/** What gauges are read in. */
interface Sample {
  readonly claims: readonly { readonly state: string; readonly count: number | undefined }[];
}

const GAUGES = gaugesOf(({ claims }: Sample) => claims, ["state"], {
  causeway_claims: ["Claims", ({ count }) => count],
});

Deno.test("metrics: values are exposed once there are any, with escaped labels, and gauges go with what they count", async () => {
  const registry = new MetricRegistry();
  equal((await registry.expose()).trim(), "");
  registry.add("causeway_worker_restarts_total", { worker: 'a "quoted"\nname' });
  registry.add("causeway_worker_restarts_total", { worker: 'a "quoted"\nname' }, 2);
  registry.write(GAUGES, { claims: [{ state: "unclaimed", count: 5 }, { state: "lost", count: undefined }] });
  registry.observe("causeway_batch_messages", { target: "EVM-1" }, 7);
  const text = await registry.expose();
  match(text, /^causeway_worker_restarts_total\{worker="a \\"quoted\\"\\nname"\} 3$/m);
  match(text, /^causeway_claims\{state="unclaimed"\} 5$/m);
  match(text, /^causeway_batch_messages_bucket\{le="10",target="EVM-1"\} 1$/m);
  match(text, /^causeway_batch_messages_bucket\{le="5",target="EVM-1"\} 0$/m);
  ok(!text.includes('state="lost"'));
  registry.write(GAUGES, { claims: [] });
  ok(!(await registry.expose()).includes('state="unclaimed"'));
});

Deno.test("metrics: labels name chains as the configuration does", async () => {
  const registry = new MetricRegistry(new ChainNames([{ section: "base", stateMachine: "EVM-8453" }]));
  registry.add("causeway_worker_restarts_total", { worker: "EVM-8453 -> EVM-84532" });
  match(await registry.expose(), /worker="base -> EVM-84532"/);
});
