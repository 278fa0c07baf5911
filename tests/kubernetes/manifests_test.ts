/** The manifests for Kubernetes: rendered by kustomize, checked by kubeconform. */
import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { runOnce } from "../scenario/support/run_once.ts";
import { buildTool, openApiPath, prometheusOperatorPath, render } from "./go_tools.ts";
import { type Resource, writeSchemas } from "./schemas.ts";

const EXAMPLE = new URL("../../packaging/kubernetes/example", import.meta.url).pathname;

/** Resources of the Prometheus Operator that the manifests have. */
const OWN_KINDS = ["podmonitors", "prometheusrules"];

async function readDefinitions(): Promise<readonly Resource[]> {
  const folder = await prometheusOperatorPath();
  const texts = await Promise.all(
    OWN_KINDS.map((kind) => Deno.readTextFile(`${folder}/monitoring.coreos.com_${kind}.yaml`)),
  );
  return texts.flatMap((text) => parseAllDocuments(text).map((document): Resource => document.toJS()));
}

Deno.test("manifests: kubeconform finds every resource of the example right, and a misspelt field wrong", async () => {
  const folder = await Deno.makeTempDir({ prefix: "kubernetes-" });
  try {
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
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
