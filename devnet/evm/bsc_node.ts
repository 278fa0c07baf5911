/**
 * BSC's own node for the devnet, where it can be built: it has no development mode, so this is a chain of its consensus
 * with a single validator. Start reading at {@link startBscNode}.
 */
import { concatHex, encodeAbiParameters, type Hex, numberToHex, size, toFunctionSelector } from "viem";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "./accounts.ts";
import { type Anvil, type AnvilOptions, superviseNode } from "./anvil.ts";
import { HTTP_PORT, nodeArguments, prefunded, runNode } from "./geth.ts";

/** Who makes all blocks. */
const VALIDATOR = "proposer";

/** Of the key that validators vote with; nobody votes, so that no block but the first is final. */
const VOTE_KEY: Hex = `0x${"00".repeat(48)}`;

/** The contract that names the validators of each epoch (of 200 blocks). */
const VALIDATOR_SET = "0x0000000000000000000000000000000000001000";

/** Forks of the chain's blocks and times that are active from the start: all that BSC has but the newest. */
const FORKS_BY_BLOCK = [
  ...["homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg", "istanbul"],
  ...[
    "muirGlacier",
    "ramanujan",
    "niels",
    "mirrorSync",
    "bruno",
    "euler",
    "gibbs",
    "nano",
    "moran",
    "planck",
  ],
  ...["luban", "plato", "berlin", "london", "hertz", "hertzfix"],
];
const FORKS_BY_TIME = [
  ...[
    "shanghai",
    "kepler",
    "feynman",
    "feynmanFix",
    "cancun",
    "haber",
    "haberFix",
    "bohr",
    "pascal",
    "prague",
  ],
  ...["lorentz", "maxwell"],
];

/**
 * Starts the node with the devnet's accounts: a block every 750 ms, without a base fee. `slotsInAnEpoch` and
 * `blockTimeSec` mean nothing to it, and it stops at midnight UTC, when it looks for the contracts of staking.
 * @throws {AnvilFault} when it does not come up.
 */
export async function startBscNode(executable: string, options: AnvilOptions): Promise<Anvil> {
  const folder = await Deno.makeTempDir({ prefix: "bsc-" });
  const [genesis, key, password] = ["genesis.json", "key", "password"].map((name) => `${folder}/${name}`);
  if (genesis === undefined || key === undefined || password === undefined) throw new Error("three names");
  await Deno.writeTextFile(genesis, JSON.stringify(genesisOf(options)));
  await Deno.writeTextFile(key, DEVNET_KEYS[VALIDATOR].slice(2));
  await Deno.writeTextFile(password, "devnet");
  const { address } = DEVNET_ACCOUNTS[VALIDATOR];
  await runNode(executable, [
    ...["account", "import", "--lightkdf", "--datadir", folder, "--password", password, key],
  ]);
  await runNode(executable, ["init", "--datadir", folder, genesis]);
  const child = new Deno.Command(executable, {
    args: [
      ...["--datadir", folder, "--networkid", String(options.chainId), "--syncmode", "full"],
      ...["--mine", "--miner.etherbase", address, "--unlock", address, "--password", password],
      ...["--allow-insecure-unlock"],
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

function genesisOf({ chainId, genesisTimestampSec }: AnvilOptions): unknown {
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
