/**
 * A real Geth for the devnet: the node that most providers run, where it can be built. It makes a block a second, and
 * nobody can make it do more. Start reading at {@link buildGeth}.
 */
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { type Anvil, AnvilFault, type AnvilOptions, superviseNode } from "./anvil.ts";

/** Newest version whose modules the Go module proxy has whole. */
const GETH_MODULE = "github.com/ethereum/go-ethereum/cmd/geth@v1.16.9";

const BUILT = new URL("../../../build/go/", import.meta.url);

/** Each account's balance at the start, wei: as anvil has it. */
const BALANCE = `0x${(10_000n * 10n ** 18n).toString(16)}`;

/**
 * The path of the executable, built by the Go toolchain if that was not done before (five minutes); `undefined` where
 * there is no Go. `GETH` names one that is there already.
 * @throws {Error} when it cannot be built.
 */
export async function buildGeth(): Promise<string | undefined> {
  const given = Deno.env.get("GETH");
  if (given !== undefined && given !== "") return given;
  const path = new URL("geth", BUILT).pathname;
  if (await exists(path)) return path;
  let build: Deno.CommandOutput;
  try {
    build = await new Deno.Command("go", {
      args: ["install", GETH_MODULE],
      env: { GOBIN: BUILT.pathname.replace(/\/$/, "") },
      stdout: "null",
      stderr: "piped",
    }).output();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  if (build.success) return path;
  throw new Error(`geth could not be built: ${new TextDecoder().decode(build.stderr).slice(-2000)}`);
}

/**
 * Starts a Geth in development mode with the devnet's accounts; ready after about two seconds. `slotsInAnEpoch` and
 * `extraArguments` mean nothing to it.
 * @throws {AnvilFault} when it does not come up.
 */
export async function startGeth(executable: string, options: AnvilOptions): Promise<Anvil> {
  const folder = await Deno.makeTempDir({ prefix: "geth-" });
  const genesis = `${folder}/genesis.json`;
  await Deno.writeTextFile(genesis, JSON.stringify(await genesisOf(executable, options)));
  await run(executable, ["--datadir", folder, "init", genesis]);
  const child = new Deno.Command(executable, {
    args: [
      ...["--datadir", folder, "--dev", "--dev.period", String(options.blockTimeSec ?? 1)],
      ...["--http", "--http.port", String(options.port ?? 0), "--http.api", "eth,debug,net,web3,txpool"],
      ...["--ws", "--ws.port", "0", "--port", "0", "--authrpc.port", "0", "--ipcdisable", "--nodiscover"],
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  return await superviseNode(child, options.chainId, {
    ready: child.stderr,
    portPattern: /HTTP server started[^\n]*endpoint=127\.0\.0\.1:(\d+)/,
    makesBlocksItself: true,
  });
}

/** The genesis of development mode, for another chain and with accounts that have something. */
async function genesisOf(
  executable: string,
  { chainId, genesisTimestampSec }: AnvilOptions,
): Promise<unknown> {
  const genesis: unknown = JSON.parse(await run(executable, ["--dev", "dumpgenesis"]));
  if (!isObject(genesis) || !isObject(genesis["config"]) || !isObject(genesis["alloc"])) {
    throw new AnvilFault("geth tells no genesis");
  }
  const accounts = Object.values(DEVNET_ACCOUNTS).map((
    { address },
  ) => [address.slice(2), { balance: BALANCE }]);
  return {
    ...genesis,
    config: { ...genesis["config"], chainId },
    timestamp: `0x${(genesisTimestampSec ?? Math.floor(Date.now() / 1000) - 5).toString(16)}`,
    // As much as the chains of the network have, so that the contracts can be created.
    gasLimit: "0x1c9c380",
    alloc: { ...genesis["alloc"], ...Object.fromEntries(accounts) },
  };
}

async function run(executable: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(executable, { args: [...args] }).output();
  if (!success) throw new AnvilFault(new TextDecoder().decode(stderr).slice(-1000));
  return new TextDecoder().decode(stdout);
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
