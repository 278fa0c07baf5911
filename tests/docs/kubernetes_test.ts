/** The manifests for Kubernetes: ports, paths, users and times are those of the programs, the image and the services. */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { PROGRAMS } from "../../src/build/programs.ts";
import { parseArguments as parseConsensus } from "../../src/consensus/arguments.ts";
import { parseConsensusConfig } from "../../src/consensus/config/read.ts";
import { createStatusHandler } from "../../src/core/telemetry/http/status_server.ts";
import { parseArguments as parseMessaging } from "../../src/messaging/arguments.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import {
  type Container,
  KUBERNETES,
  type PodMonitor,
  readManifest,
  type StatefulSet,
} from "./support/manifests.ts";
import { makePrometheusRule, RULE_FILE } from "./support/prometheus_rule.ts";
import { readFile } from "./support/tree.ts";

const KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const NAME_LABEL = "app.kubernetes.io/name";

/** Each program's own: how it reads arguments and configuration, and where the example has the latter. */
const OWN = {
  "causeway": { parseLine: parseMessaging, parseConfig: parseMessagingConfig, file: "relayer.toml" },
  "causeway-consensus": {
    parseLine: parseConsensus,
    parseConfig: parseConsensusConfig,
    file: "consensus.toml",
  },
} as const;

function ownOf(name: string): (typeof OWN)[keyof typeof OWN] {
  assert.ok(name === "causeway" || name === "causeway-consensus", `there are no manifests for ${name}`);
  return OWN[name];
}

/** The status server of a program that is ready. */
const serve = createStatusHandler({
  metrics: () => Promise.resolve(""),
  reasons: () => [],
  page: () => "",
  statusJson: () => "{}",
}, (error) => assert.fail(String(error)));

async function statusOf(path: string): Promise<number> {
  return (await serve(new Request(`http://127.0.0.1${path}`))).status;
}

function readStatefulSet(program: string): Promise<StatefulSet> {
  return readManifest(`${program}/stateful_set.yaml`);
}

/** The only container of a list. */
function onlyOf(containers: readonly Container[]): Container {
  const [container] = containers;
  assert.ok(container !== undefined && containers.length === 1);
  return container;
}

/** The folder that a volume is mounted at. */
function mountOf({ volumeMounts }: Container, name: string): string {
  const mount = volumeMounts.find((each) => each.name === name);
  assert.ok(mount !== undefined, name);
  return mount.mountPath;
}

function assertHardened({ name, securityContext, volumeMounts }: Container): void {
  assert.deepEqual(securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  }, name);
  for (const mount of volumeMounts) {
    assert.equal(mount.readOnly ?? false, mount.name !== "data", `${name}: ${mount.mountPath}`);
  }
}

Deno.test("kubernetes: the alert rules are those for Prometheus (else: deno task docs:rules)", async () => {
  const rules = await readFile("packaging/monitoring/alerts.yml");
  const written = await readFile(RULE_FILE);
  assert.equal(written, makePrometheusRule(rules));
  const { spec }: { readonly spec: unknown } = parse(written);
  assert.deepEqual(spec, parse(rules));
});

for (const { name, unit } of PROGRAMS) {
  const own = ownOf(name);

  Deno.test(`kubernetes: ${name} gets arguments that it takes, and files that are there`, async () => {
    const { spec } = (await readStatefulSet(name)).spec.template;
    const relayer = onlyOf(spec.containers);
    // As the entry point of the image begins.
    const entry = /^ENTRYPOINT \["[^"]+", "([^"]+)"\]/m.exec(await readFile("Dockerfile"))?.[1];
    assert.ok(entry !== undefined);
    const parsed = own.parseLine([entry, ...relayer.args], "test");
    assert.ok(parsed.kind === "run", JSON.stringify(parsed));
    const line = parsed.arguments;
    assert.deepEqual(line.listen, { host: "0.0.0.0", port: relayer.ports[0]?.containerPort });
    assert.equal(line.config, `${mountOf(relayer, "config")}/${own.file}`);
    const data = mountOf(relayer, "data");
    if ("db" in line) assert.ok(String(line.db).startsWith(`${data}/`));
    else assert.ok("cache" in line && line.cache === data);
  });

  Deno.test(`kubernetes: the probes of ${name} ask for what the status server has`, async () => {
    const { spec } = (await readStatefulSet(name)).spec.template;
    const { startupProbe, livenessProbe, readinessProbe, ports } = onlyOf(spec.containers);
    assert.deepEqual(
      [startupProbe, livenessProbe, readinessProbe].map((probe) => probe.httpGet.path),
      ["/healthz", "/healthz", "/readyz"],
    );
    for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
      assert.equal(await statusOf(probe.httpGet.path), 200);
      assert.equal(probe.httpGet.port, ports[0]?.name);
    }
  });

  Deno.test(`kubernetes: ${name} runs alone, as the user of the image, and may do and write nothing else`, async () => {
    const { replicas, podManagementPolicy, template } = (await readStatefulSet(name)).spec;
    assert.deepEqual([replicas, podManagementPolicy], [1, "Parallel"]);
    const [user, group] = /^USER (\d+):(\d+)$/m.exec(await readFile("Dockerfile"))?.slice(1).map(Number) ??
      [];
    const { automountServiceAccountToken, securityContext, containers } = template.spec;
    assert.deepEqual(securityContext, {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: group,
      fsGroup: group,
      fsGroupChangePolicy: "OnRootMismatch",
      seccompProfile: { type: "RuntimeDefault" },
    });
    assert.equal(automountServiceAccountToken, false);
    assertHardened(onlyOf(containers));
  });

  Deno.test(`kubernetes: ${name} has as long to stop as its service`, async () => {
    const { spec } = (await readStatefulSet(name)).spec.template;
    const service = await readFile(`packaging/systemd/${unit}`);
    assert.equal(
      spec.terminationGracePeriodSeconds,
      Number(/^TimeoutStopSec=(\d+)$/m.exec(service)?.[1]),
    );
  });

  Deno.test(`kubernetes: the example's configuration of ${name} is taken without a warning`, async () => {
    const { spec } = (await readStatefulSet(name)).spec.template;
    const keys = mountOf(onlyOf(spec.containers), "keys");
    const mode = spec.volumes.find((volume) => volume.name === "keys")?.secret?.defaultMode;
    assert.equal(mode, 0o440);
    const files: string[] = [];
    const { problems, remarks } = own.parseConfig({
      readFile: (path) => {
        files.push(path);
        return new TextEncoder().encode(KEY);
      },
      readVariable: (variable) => `value-of-${variable}`,
      readMode: () => mode,
    }, await readFile(`${KUBERNETES}/example/${own.file}`));
    assert.deepEqual([problems, remarks], [[], []]);
    assert.ok(files.length > 0);
    assert.deepEqual(files.filter((file) => !/^[a-z]+$/.test(file.replace(`${keys}/`, ""))), []);
  });
}

Deno.test("kubernetes: both programs are scraped, as the jobs that the alert rules are written for", async () => {
  const { jobLabel, selector, podMetricsEndpoints } =
    (await readManifest<PodMonitor>("monitoring/pod_monitor.yaml")).spec;
  assert.equal(jobLabel, NAME_LABEL);
  for (const { name } of PROGRAMS) {
    const { metadata, spec } = (await readStatefulSet(name)).spec.template;
    assert.match(metadata.labels[jobLabel] ?? "", /^causeway/);
    assert.equal(metadata.labels[jobLabel], name);
    for (const [label, value] of Object.entries(selector.matchLabels)) {
      assert.equal(metadata.labels[label], value);
    }
    const ports = onlyOf(spec.containers).ports;
    assert.deepEqual(podMetricsEndpoints.map(({ port }) => port), ports.map((port) => port.name));
  }
  for (const { path } of podMetricsEndpoints) assert.equal(await statusOf(path), 200);
});

Deno.test("kubernetes: both programs may reach the same", async () => {
  const [one, other] = await Promise.all(
    PROGRAMS.map(({ name }) => readManifest(`${name}/network_policy.yaml`)),
  );
  assert.deepEqual(JSON.parse(JSON.stringify(other).replaceAll('"causeway-consensus"', '"causeway"')), one);
});

Deno.test("kubernetes: Litestream restores before the relayer starts, ends after it, and copies its database", async () => {
  const { metadata, spec: { template } } = await readManifest<StatefulSet>("litestream/stateful_set.yaml");
  const { spec } = (await readStatefulSet(metadata.name)).spec.template;
  const relayer = onlyOf(spec.containers);
  const [restore, replicate, ...others] = template.spec.initContainers;
  assert.ok(restore !== undefined && replicate !== undefined && others.length === 0);
  assert.deepEqual([restore.restartPolicy, replicate.restartPolicy], [undefined, "Always"]);
  const database = relayer.args.find((arg) => arg.startsWith("--db="))?.slice("--db=".length);
  assert.ok(database !== undefined);
  assert.equal(restore.args.at(-1), database);
  const { dbs }: { readonly dbs: readonly { readonly path: string }[] } = parse(
    await readFile(`${KUBERNETES}/litestream/litestream.yml`),
  );
  assert.deepEqual(dbs.map(({ path }) => path), [database]);
  for (const container of [restore, replicate]) {
    assertHardened(container);
    assert.equal(mountOf(container, "data"), mountOf(relayer, "data"));
    assert.ok(container.volumeMounts.every((mount) => mount.name !== "keys"), "it needs no keys of accounts");
  }
  assert.ok(template.spec.terminationGracePeriodSeconds >= spec.terminationGracePeriodSeconds + 30);
});
