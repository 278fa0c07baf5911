/**
 * A real Geth for the devnet: the node that most providers run, or a fork of it that has its development mode. It makes a
 * block a second, and nobody can make it do more. Start reading at {@link startGeth}.
 */
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "./accounts.ts";
import { type Anvil, AnvilFault, type AnvilOptions, superviseNode } from "./anvil.ts";
import { BUILT, downloadModule, go, isFile } from "../../tests/kubernetes/go_tools.ts";
import { isCommand } from "../../tests/release/support/debian.ts";
import { concatHex, encodeAbiParameters, type Hex, numberToHex, size, toFunctionSelector } from "viem";

/** The line in which a node says on which port it listens. */
const HTTP_PORT = /HTTP server started[^\n]*endpoint=127\.0\.0\.1:(\d+)/;

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
  return await startNode(executable, options, [
    ...["--datadir", folder, "--dev", "--dev.period", String(options.blockTimeSec ?? 1)],
    // op-geth waits for a block that may be finished already, until the next one is made of the same transactions:
    // ethereum-optimism/op-geth: miner/payload_building.go (WaitFull). By default that is too late.
    ...["--miner.recommit", "200ms"],
    ...["--authrpc.port", "0"],
  ]);
}

/** Starts a node of this family; `making`: what makes its blocks. */
async function startNode(
  executable: string,
  { chainId, port, extraArguments = [] }: AnvilOptions,
  making: readonly string[],
): Promise<Anvil> {
  const serving = [
    ...["--http", "--http.port", String(port ?? 0), "--http.api", "eth,debug,net,web3,txpool"],
    ...["--ws", "--ws.port", "0", "--port", "0", "--ipcdisable", "--nodiscover"],
  ];
  const args = [...making, ...serving, ...extraArguments];
  const child = new Deno.Command(executable, { args, stdin: "null", stdout: "null", stderr: "piped" })
    .spawn();
  return await superviseNode(child, chainId, {
    ready: child.stderr,
    portPattern: HTTP_PORT,
    makesBlocksItself: true,
  });
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
function prefunded(): Readonly<Record<string, { readonly balance: string }>> {
  const accounts = Object.values(DEVNET_ACCOUNTS);
  return Object.fromEntries(accounts.map(({ address }) => [address.slice(2), { balance: BALANCE }]));
}

/** What a command of a node prints. @throws {AnvilFault} when it fails. */
async function runNode(executable: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(executable, { args: [...args] }).output();
  if (!success) throw new AnvilFault(new TextDecoder().decode(stderr).slice(-1000));
  return new TextDecoder().decode(stdout);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Who makes all blocks. */
const VALIDATOR = "proposer";

/** Of the key that validators vote with; nobody votes, so that no block but the first is final. */
const VOTE_KEY: Hex = `0x${"00".repeat(48)}`;

/** The contract that names the validators of each epoch (of 200 blocks). */
const VALIDATOR_SET = "0x0000000000000000000000000000000000001000";

/** Forks of the chain's blocks and times that are active from the start: all that BSC has but the newest. */
const FORKS_BY_BLOCK = [
  "homestead eip150 eip155 eip158 byzantium constantinople petersburg istanbul muirGlacier ramanujan niels",
  "mirrorSync bruno euler gibbs nano moran planck luban plato berlin london hertz hertzfix",
].flatMap((names) => names.split(" "));
const FORKS_BY_TIME = [
  "shanghai kepler feynman feynmanFix cancun haber haberFix bohr pascal prague lorentz maxwell",
].flatMap((names) => names.split(" "));

/**
 * Starts the node with the devnet's accounts: a block every 750 ms, without a base fee. `slotsInAnEpoch` and
 * `blockTimeSec` mean nothing to it, and it stops at midnight UTC, when it looks for the contracts of staking.
 * @throws {AnvilFault} when it does not come up.
 */
export async function startBscNode(executable: string, options: AnvilOptions): Promise<Anvil> {
  const folder = await Deno.makeTempDir({ prefix: "bsc-" });
  const [genesis, key, password] = ["genesis.json", "key", "password"].map((name) => `${folder}/${name}`);
  if (genesis === undefined || key === undefined || password === undefined) throw new Error("three names");
  await Deno.writeTextFile(genesis, JSON.stringify(bscGenesis(options)));
  await Deno.writeTextFile(key, DEVNET_KEYS[VALIDATOR].slice(2));
  await Deno.writeTextFile(password, "devnet");
  const { address } = DEVNET_ACCOUNTS[VALIDATOR];
  await runNode(executable, [
    ...["account", "import", "--lightkdf", "--datadir", folder, "--password", password, key],
  ]);
  await runNode(executable, ["init", "--datadir", folder, genesis]);
  return await startNode(executable, options, [
    ...["--datadir", folder, "--networkid", String(options.chainId), "--syncmode", "full"],
    ...["--mine", "--miner.etherbase", address, "--unlock", address, "--password", password],
    ...["--allow-insecure-unlock"],
  ]);
}

function bscGenesis({ chainId, genesisTimestampSec }: AnvilOptions): unknown {
  const blobs = { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 };
  const { address } = DEVNET_ACCOUNTS[VALIDATOR];
  const [vanity, seal]: readonly Hex[] = [`0x${"00".repeat(32)}`, `0x${"00".repeat(65)}`];
  return {
    config: {
      chainId,
      ...Object.fromEntries(FORKS_BY_BLOCK.map((name) => [`${name}Block`, 0])),
      ...Object.fromEntries(FORKS_BY_TIME.map((name) => [`${name}Time`, 0])),
      parlia: {},
      blobSchedule: { cancun: blobs, prague: blobs },
    },
    timestamp: numberToHex(genesisTimestampSec ?? Math.floor(Date.now() / 1000) - 5),
    // One validator, who makes one block after the other.
    extraData: concatHex([vanity ?? "0x", "0x01", address, VOTE_KEY, "0x01", seal ?? "0x"]),
    gasLimit: "0x5f5e100",
    difficulty: "0x1",
    alloc: { ...prefunded(), [VALIDATOR_SET.slice(2)]: { balance: "0x0", code: validatorSet(address) } },
  };
}

/** Code that answers what consensus asks of the contract at an epoch's start, and takes everything else. */
function validatorSet(validator: Hex): Hex {
  const set = encodeAbiParameters([{ type: "address[]" }, { type: "bytes[]" }], [[validator], [VOTE_KEY]]);
  // calldataload(0) >> 224
  const selector: Hex = "0x5f3560e01c";
  const turnLength = toFunctionSelector("getTurnLength()");
  const validators = toFunctionSelector("getMiningValidators()");
  // Each case: dup, push4, eq, push1 where, jumpi.
  const head = (where: Hex, of: Hex): Hex => concatHex(["0x8063", of, "0x1460", where, "0x57"]);
  // jumpdest; mstore(0, 1); return(0, 32)
  const one: Hex = "0x5b60015f5260205ff3";
  const cases = size(selector) + 10 * 2;
  // push2 length, push2 offset, push0, codecopy; return(0, length)
  const offset = cases + 1 + size(one) + 14;
  const length = numberToHex(size(set), { size: 2 });
  const copied = concatHex([
    "0x5b61",
    length,
    "0x61",
    numberToHex(offset, { size: 2 }),
    "0x5f3961",
    length,
    "0x5ff3",
  ]);
  return concatHex([
    selector,
    head(numberToHex(cases + 1, { size: 1 }), turnLength),
    head(numberToHex(cases + 1 + size(one), { size: 1 }), validators),
    "0x00",
    one,
    copied,
    set,
  ]);
}

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

/**
 * The path of the executable, built if that was not done before (three to five minutes); `undefined` where there is no
 * Go.
 * @throws {Error} when it cannot be built.
 */
export async function buildGeth({ name, module, version, variable }: GethKind): Promise<string | undefined> {
  const given = Deno.env.get(variable);
  if (given !== undefined && given !== "") return given;
  const path = `${BUILT}${name}-${version}`;
  if (await isFile(path)) return path;
  if (!await isCommand("go")) return undefined;
  // A fork cannot be installed by its own address, since it calls itself by another: a module that replaces the other by
  // it can build it, with the fork's own versions of everything else.
  const scratch = await Deno.makeTempDir({ prefix: `${name}-` });
  try {
    const folder = await downloadModule(`${module}@${version}`);
    for (const file of ["go.mod", "go.sum"]) {
      await Deno.writeFile(`${scratch}/${file}`, await Deno.readFile(`${folder}/${file}`));
    }
    await go([
      ...["mod", "edit", "-module", "scratch/node", "-require", `${OWN_NAME}@v0.0.0`],
      ...["-replace", `${OWN_NAME}=${module}@${version}`, "go.mod"],
    ], { cwd: scratch });
    await go(["build", "-mod=mod", "-buildvcs=false", "-o", path, `${OWN_NAME}/cmd/geth`], { cwd: scratch });
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
  return path;
}
