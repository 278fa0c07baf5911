/** The manifests for Kubernetes: rendered by kustomize, checked by kubeconform, taken by a real API server. */
import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { waitUntil } from "../../devnet/waiting.ts";
import { haveCommands } from "../release/support/debian.ts";
import { runOnce } from "../scenario/support/run_once.ts";
import { type Resource, startApiServer } from "./api_server.ts";
import { buildTool, openApiPath, prometheusOperatorPath, render } from "./go_tools.ts";
import { writeSchemas } from "./schemas.ts";

const EXAMPLE = new URL("../../packaging/kubernetes/example", import.meta.url).pathname;

/** Resources of the Prometheus Operator that the manifests have. */
const OWN_KINDS = ["podmonitors", "prometheusrules"];

function parseResources(text: string): readonly Resource[] {
  return parseAllDocuments(text).map((document): Resource => document.toJS());
}

async function readDefinitions(): Promise<readonly Resource[]> {
  const folder = await prometheusOperatorPath();
  const texts = await Promise.all(
    OWN_KINDS.map((kind) => Deno.readTextFile(`${folder}/monitoring.coreos.com_${kind}.yaml`)),
  );
  return texts.flatMap(parseResources);
}

/** The pod that a StatefulSet would start, with another user than its own where that is given. */
function podOf(resource: Resource, securityContext: object = {}): Resource {
  const { spec } = resource as unknown as {
    readonly spec: {
      readonly template: {
        readonly spec: { readonly securityContext: object; readonly volumes: readonly object[] };
      };
    };
  };
  const pod = spec.template.spec;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...resource.metadata, name: `${resource.metadata.name}-0` },
    spec: {
      ...pod,
      securityContext: { ...pod.securityContext, ...securityContext },
      volumes: [...pod.volumes.filter((volume) => !("name" in volume && volume.name === "data")), {
        name: "data",
        emptyDir: {},
      }],
    },
  } as Resource;
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "kubernetes-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("manifests: kubeconform finds every resource of the example right, and a misspelt field wrong", async () => {
  await inFolder(async (folder) => {
    await writeSchemas(folder, await openApiPath(), await readDefinitions());
    const rendered = await render(EXAMPLE);
    const check = async (text: string): Promise<number> => {
      await Deno.writeTextFile(`${folder}/rendered.yaml`, text);
      const location = `${folder}/{{.ResourceKind}}-{{.ResourceAPIVersion}}.json`;
      const { code, stdout, stderr } = await runOnce(await buildTool("kubeconform"), [
        ...["-schema-location", location, "-verbose", `${folder}/rendered.yaml`],
      ]);
      await Deno.stdout.write(new TextEncoder().encode(stdout + stderr));
      return code;
    };
    assert.equal(await check(rendered), 0);
    assert.equal(await check(rendered.replace("readOnlyRootFilesystem", "readOnlyRoot")), 1);
  });
});

Deno.test("manifests: a real API server takes every resource, and the pods under the standard that the namespace asks for", async () => {
  assert.ok(await haveCommands({ etcd: "etcd-server", openssl: "openssl" }), "there is no etcd");
  await inFolder(async (folder) => {
    await using server = await startApiServer(folder);
    for (const definition of await readDefinitions()) {
      const { status, body } = await server.apply(definition);
      assert.equal(status, 201, body);
    }
    const resources = parseResources(await render(EXAMPLE));
    assert.ok(resources.length >= 13);
    for (const resource of resources) {
      // The server serves definitions that it has just stored a moment later.
      let verdict = await server.apply(resource, { dryRun: resource.kind !== "Namespace" });
      await waitUntil("the kind is known", async () => {
        if (verdict.status === 404) verdict = await server.apply(resource, { dryRun: true });
        return verdict.status !== 404;
      });
      const name = `${resource.kind} ${resource.metadata.name}`;
      assert.ok([200, 201].includes(verdict.status), `${name}: ${verdict.body}`);
      assert.equal(verdict.warnings, null, name);
    }
    for (const set of resources.filter(({ kind }) => kind === "StatefulSet")) {
      const taken = await server.apply(podOf(set), { dryRun: true });
      assert.equal(taken.status, 201, taken.body);
      const refused = await server.apply(podOf(set, { runAsNonRoot: false }), { dryRun: true });
      assert.equal(refused.status, 403, refused.body);
      assert.match(refused.body, /PodSecurity/);
    }
  });
});
