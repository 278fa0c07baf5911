/**
 * A real Geth for the devnet: the node that most providers run, or a fork of it that has its development mode. It makes a
 * block a second, and nobody can make it do more. Start reading at {@link startGeth}; `geth_build.ts` builds it.
 */
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { type Anvil, AnvilFault, type AnvilOptions, superviseNode } from "./anvil.ts";

/** The line in which a node says on which port it listens. */
export const HTTP_PORT = /HTTP server started[^\n]*endpoint=127\.0\.0\.1:(\d+)/;

/** Each account's balance at the start, wei: as anvil has it. */
const BALANCE = `0x${(10_000n * 10n ** 18n).toString(16)}`;

/**
 * Starts a Geth in development mode with the devnet's accounts; ready after about two seconds. `slotsInAnEpoch`
 * means nothing to it.
 * @throws {AnvilFault} when it does not come up.
 */
export async function startGeth(executable: string, options: AnvilOptions): Promise<Anvil> {
  const folder = await Deno.makeTempDir({ prefix: "geth-" });
  const genesis = `${folder}/genesis.json`;
  await Deno.writeTextFile(genesis, JSON.stringify(await genesisOf(executable, options)));
  await runNode(executable, ["--datadir", folder, "init", genesis]);
  const child = new Deno.Command(executable, {
    args: [
      ...["--datadir", folder, "--dev", "--dev.period", String(options.blockTimeSec ?? 1)],
      // op-geth waits for a block that may be finished already, until the next one is made of the same transactions:
      // ethereum-optimism/op-geth: miner/payload_building.go (WaitFull). By default that is too late.
      ...["--miner.recommit", "200ms"],
      ...["--authrpc.port", "0"],
      ...nodeArguments(options),
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  return await superviseNode(child, options.chainId, {
    ready: child.stderr,
    portPattern: HTTP_PORT,
    makesBlocksItself: true,
  });
}

/** What nodes of this family are told, whatever makes their blocks. */
export function nodeArguments({ port, extraArguments }: AnvilOptions): readonly string[] {
  return [
    ...["--http", "--http.port", String(port ?? 0), "--http.api", "eth,debug,net,web3,txpool"],
    ...["--ws", "--ws.port", "0", "--port", "0", "--ipcdisable", "--nodiscover"],
    ...(extraArguments ?? []),
  ];
}

/** The genesis of development mode, for another chain and with accounts that have something. */
async function genesisOf(
  executable: string,
  { chainId, genesisTimestampSec }: AnvilOptions,
): Promise<unknown> {
  const genesis: unknown = JSON.parse(await runNode(executable, ["--dev", "dumpgenesis"]));
  if (!isObject(genesis) || !isObject(genesis["config"]) || !isObject(genesis["alloc"])) {
    throw new AnvilFault("geth tells no genesis");
  }
  return {
    ...genesis,
    config: { ...genesis["config"], chainId },
    timestamp: `0x${(genesisTimestampSec ?? Math.floor(Date.now() / 1000) - 5).toString(16)}`,
    // As much as the chains of the network have, so that the contracts can be created.
    gasLimit: "0x1c9c380",
    alloc: { ...genesis["alloc"], ...prefunded() },
  };
}

/** The devnet's accounts as a genesis has them. */
export function prefunded(): Readonly<Record<string, { readonly balance: string }>> {
  const accounts = Object.values(DEVNET_ACCOUNTS);
  return Object.fromEntries(accounts.map(({ address }) => [address.slice(2), { balance: BALANCE }]));
}

/** What a command of a node prints. @throws {AnvilFault} when it fails. */
export async function runNode(executable: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(executable, { args: [...args] }).output();
  if (!success) throw new AnvilFault(new TextDecoder().decode(stderr).slice(-1000));
  return new TextDecoder().decode(stdout);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
