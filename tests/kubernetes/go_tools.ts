/** Tools, above all of Kubernetes, built by the Go toolchain from what the Go module proxy has. Each is built once. */
import { runOnce } from "../scenario/support/run_once.ts";

/** Where what was built is kept, with a slash at the end. */
export const BUILT: string = new URL("../../build/go/", import.meta.url).pathname;

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
  if (!await isFile(`${folder}/${name}`)) {
    await go(["install", module], { env: { GOBIN: folder, CGO_ENABLED: "0" } });
  }
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

/** Where the toolchain has put a module. @throws {Error} without Go. */
export async function downloadModule(module: string): Promise<string> {
  const answer: { readonly Dir: string } = JSON.parse(await go(["mod", "download", "-json", module]));
  return answer.Dir;
}

/** What the Go toolchain prints. It may take longer than tests wait for anything else. @throws {Error} when it fails. */
export async function go(
  args: readonly string[],
  options: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
): Promise<string> {
  await Deno.mkdir(BUILT, { recursive: true });
  const command = new Deno.Command("go", { cwd: BUILT, ...options, args: [...args] });
  const { success, stdout, stderr } = await command.output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`go ${args[0]} failed: ${new TextDecoder().decode(stderr).slice(-2_000)}`);
}

/** What kustomize renders. @throws {Error} when it refuses. */
export async function render(folder: string): Promise<string> {
  const { code, stdout, stderr } = await runOnce(await buildTool("kustomize"), ["build", folder]);
  if (code !== 0) throw new Error(`kustomize refuses ${folder}: ${stderr}`);
  return stdout;
}

/** Whether there is such a file. */
export async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
