/**
 * Geth, and the nodes of networks that are forks of it, built by the Go toolchain from what the Go module proxy has.
 * Start reading at {@link buildGeth}.
 */

/** A node that can be built. */
export interface GethKind {
  readonly name: "geth" | "op-geth" | "bsc";
  /** As the proxy names it; all of them call themselves {@link OWN_NAME}. */
  readonly module: string;
  readonly version: string;
  /** Variable of the environment that names an executable which is there already. */
  readonly variable: string;
}

/** Each in the newest version whose modules the proxy has whole. */
export const GETH_KINDS: readonly GethKind[] = [
  { name: "geth", module: "github.com/ethereum/go-ethereum", version: "v1.16.9", variable: "GETH" },
  {
    name: "op-geth",
    module: "github.com/ethereum-optimism/op-geth",
    version: "v1.101702.3",
    variable: "OP_GETH",
  },
  { name: "bsc", module: "github.com/bnb-chain/bsc", version: "v1.7.8", variable: "BSC_GETH" },
];

/** The module that a fork takes the place of. */
const OWN_NAME = "github.com/ethereum/go-ethereum";

const BUILT = new URL("../../build/go/", import.meta.url);

/**
 * The path of the executable, built if that was not done before (three to five minutes); `undefined` where there is no
 * Go.
 * @throws {Error} when it cannot be built.
 */
export async function buildGeth({ name, module, version, variable }: GethKind): Promise<string | undefined> {
  const given = Deno.env.get(variable);
  if (given !== undefined && given !== "") return given;
  const path = new URL(`${name}-${version}`, BUILT).pathname;
  if (await exists(path)) return path;
  if (!await hasGo()) return undefined;
  // A fork cannot be installed by its own address, since it calls itself by another: a module that replaces the other by
  // it can build it, with the fork's own versions of everything else.
  const scratch = await Deno.makeTempDir({ prefix: `${name}-` });
  try {
    const download: unknown = JSON.parse(
      await go(["mod", "download", "-json", `${module}@${version}`], scratch),
    );
    await Deno.writeFile(`${scratch}/go.mod`, await Deno.readFile(`${folderIn(download)}/go.mod`));
    await Deno.writeFile(`${scratch}/go.sum`, await Deno.readFile(`${folderIn(download)}/go.sum`));
    await go([
      ...["mod", "edit", "-module", "scratch/node", "-require", `${OWN_NAME}@v0.0.0`],
      ...["-replace", `${OWN_NAME}=${module}@${version}`, "go.mod"],
    ], scratch);
    await go(["build", "-mod=mod", "-buildvcs=false", "-o", path, `${OWN_NAME}/cmd/geth`], scratch);
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
  return path;
}

/** Where the module proxy's answer was put. */
function folderIn(download: unknown): string {
  const folder = typeof download === "object" && download !== null && "Dir" in download
    ? download.Dir
    : undefined;
  if (typeof folder !== "string") throw new Error("go tells no folder of the module");
  return folder;
}

async function hasGo(): Promise<boolean> {
  try {
    return (await new Deno.Command("go", { args: ["version"], stdout: "null" }).spawn().status).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** What the Go toolchain prints. @throws {Error} when it fails. */
async function go(args: readonly string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("go", { args: [...args], cwd }).output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`go ${args[0]} failed: ${new TextDecoder().decode(stderr).slice(-2000)}`);
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
