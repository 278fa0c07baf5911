/** Tools, above all of Kubernetes, built by the Go toolchain from what the Go module proxy has. Each is built once. */
import { runOnce } from "../scenario/support/run_once.ts";

const BUILT = new URL("../../build/go/", import.meta.url).pathname;

/** Release of Kubernetes. */
const KUBERNETES = "1.37.2";

/** A tool that is installed by its own address. */
const INSTALLED = {
  kustomize: "sigs.k8s.io/kustomize/kustomize/v5@v5.8.2",
  kubeconform: "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
} as const;

/** The path of a tool, built where that was not done before (a minute). @throws {Error} without Go. */
export function buildTool(name: keyof typeof INSTALLED): Promise<string> {
  return installTool(name, INSTALLED[name]);
}

/** The path of a program that a module installs, built where that was not done before. @throws {Error} without Go. */
export async function installTool(name: string, module: string): Promise<string> {
  const folder = `${BUILT}${name}-${module.slice(module.lastIndexOf("@") + 1)}`;
  if (!await isFile(`${folder}/${name}`)) await go(["install", module], { GOBIN: folder, CGO_ENABLED: "0" });
  return `${folder}/${name}`;
}

/** The OpenAPI document of Kubernetes. */
export async function openApiPath(): Promise<string> {
  return `${await downloadModule(`k8s.io/kubernetes@v${KUBERNETES}`)}/api/openapi-spec/swagger.json`;
}

/** The folder with the definitions of the Prometheus Operator's own resources. */
export async function prometheusOperatorPath(): Promise<string> {
  const folder = await downloadModule("github.com/prometheus-operator/prometheus-operator@v0.85.0");
  return `${folder}/example/prometheus-operator-crd`;
}

/**
 * The path of the API server, built where that was not done before (seven minutes of a processor). It cannot be
 * installed by its address, since its module names its parts by folders that it does not have on the proxy: they are
 * modules of their own there.
 */
export async function buildApiServer(): Promise<string> {
  const path = `${BUILT}kube-apiserver-v${KUBERNETES}`;
  if (await isFile(path)) return path;
  const module = await downloadModule(`k8s.io/kubernetes@v${KUBERNETES}`);
  const version = `v0.${KUBERNETES.slice(KUBERNETES.indexOf(".") + 1)}`;
  const manifest = (await Deno.readTextFile(`${module}/go.mod`))
    .replace(/^module .*$/m, "module scratch/apiserver")
    .replaceAll(/=> \.\/staging\/src\/(\S+)/g, `=> $1 ${version}`)
    .replaceAll(/^(\s+k8s\.io\/\S+) v0\.0\.0$/gm, `$1 ${version}`);
  const scratch = await Deno.makeTempDir({ prefix: "apiserver-" });
  try {
    await Deno.writeTextFile(`${scratch}/go.mod`, manifest);
    await Deno.writeFile(`${scratch}/go.sum`, await Deno.readFile(`${module}/go.sum`));
    await go(["mod", "edit", "-require", `k8s.io/kubernetes@v${KUBERNETES}`], {}, scratch);
    const release = `-X k8s.io/component-base/version.gitVersion=v${KUBERNETES}`;
    await go(
      [
        ...["build", "-mod=mod", "-buildvcs=false", "-trimpath", "-ldflags", `-s -w ${release}`],
        ...["-o", path, "k8s.io/kubernetes/cmd/kube-apiserver"],
      ],
      {},
      scratch,
    );
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
  return path;
}

/** Where the toolchain has put a module. */
async function downloadModule(module: string): Promise<string> {
  const answer: { readonly Dir: string } = JSON.parse(await go(["mod", "download", "-json", module]));
  return answer.Dir;
}

/** What the Go toolchain prints. It may take longer than tests wait for anything else. @throws {Error} when it fails. */
async function go(args: readonly string[], env: Record<string, string> = {}, cwd = BUILT): Promise<string> {
  await Deno.mkdir(BUILT, { recursive: true });
  const { success, stdout, stderr } = await new Deno.Command("go", { args: [...args], env, cwd }).output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`go ${args[0]} failed: ${new TextDecoder().decode(stderr).slice(-2_000)}`);
}

/** What kustomize renders. @throws {Error} when it refuses. */
export async function render(folder: string): Promise<string> {
  const { code, stdout, stderr } = await runOnce(await buildTool("kustomize"), ["build", folder]);
  if (code !== 0) throw new Error(`kustomize refuses ${folder}: ${stderr}`);
  return stdout;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
