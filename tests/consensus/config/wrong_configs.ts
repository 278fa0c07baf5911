/** Wrong configuration files of the consensus relayer; wrong_configs.txt has the lines that must be said about them. */
import { GOOD_TOML, OTHER_TRIES } from "../../messaging/config/wrong_configs.ts";
import { editorOf, inMemory, withWrongValues, type WrongConfig } from "../../support/wrong_configs.ts";

function readTextFile(name: string): string {
  return Deno.readTextFileSync(new URL(name, import.meta.url));
}

/** A file without any fault, on which most of the wrong ones are based. */
export const GOOD_CONSENSUS_TOML = readTextFile("good.toml");

/** A section that may follow the good file: it begins at line 77. */
export const AMOY_SECTION = readTextFile("amoy.toml");

/** A section that may follow the good file: it begins at line 77. */
export const POLKADOT_HUB_SECTION = readTextFile("polkadot_hub.toml");

/** The files that the good file names. */
export const KEY_FILES: Readonly<Record<string, string>> = {
  "keys/hub": "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80\n",
  "keys/evm": "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80\n",
};

/** {@link KEY_FILES} as the readers ask for them. */
export const goodFiles = inMemory(KEY_FILES);

/** {@link GOOD_CONSENSUS_TOML} with changes. */
export const edited = editorOf(GOOD_CONSENSUS_TOML);

/** The good file from a header up to the next one that is named. */
function part(from: string, to?: string): string {
  const start = GOOD_CONSENSUS_TOML.indexOf(`[${from}]`);
  return GOOD_CONSENSUS_TOML.slice(
    start,
    to === undefined ? undefined : GOOD_CONSENSUS_TOML.indexOf(`[${to}]`),
  );
}

/** Adds a line to a section of the good file. */
export function plus(section: string, line: string): string {
  return edited([`[${section}]\n`, `[${section}]\n${line}\n`]);
}

/** Changes one value of a section of the good file. */
function changed(section: string, from: string, to: string): string {
  const whole = part(section);
  if (!whole.includes(from)) throw new Error(`Not in [${section}]: ${from}`);
  return edited([whole, whole.replace(from, () => to)]);
}

/** The good file with this list of watched chains. */
function watching(list: string): string {
  return edited(["maximum_update_intervals = []", `maximum_update_intervals = ${list}`]);
}

const HUB = part("hub", "relayer");
const RELAYER = part("relayer", "sepolia");
const CHAINS = part("sepolia");

/** Each is given with {@link KEY_FILES}. */
export const wrongConsensusConfigs: readonly WrongConfig[] = [
  // The file and its sections.
  ["empty file", ""],
  [
    "chains in the layout of the network's newer documents",
    edited([
      CHAINS,
      `[ethereum]
type = "evm"
rpc_urls = ["https://eth.example.org"]
signer = "keys/evm"

[ethereum.consensus]
type = "ethereum"
beacon_http_urls = ["https://beacon.example.org"]

[polygon]
type = "evm"
consensus = { type = "polygon" }
`,
    ]),
  ],
  ["no chains", edited([CHAINS, ""])],
  ["no hub", edited([HUB, ""])],
  ["relayer section that is no table", `relayer = 3\n${edited([RELAYER, ""])}`],
  ["misspelt relayer section", edited(["[relayer]", "[relayr]"])],
  ["chain twice", edited(['"EVM-97"', '"EVM-11155111"'])],
  ["chain that is the hub", edited(["KUSAMA-4009", "KUSAMA-4009"], ['"EVM-97"', '"KUSAMA-4009"'])],
  // The hub.
  ["no type of hub", edited(['type = "grandpa"\n', ""])],
  ["no grandpa section", edited([part("hub.grandpa", "hub.substrate"), ""])],
  ["no substrate section", edited([part("hub.substrate", "relayer"), ""])],
  [
    "substrate as a text",
    edited([part("hub.substrate", "relayer"), ""], [
      'type = "grandpa"',
      'type = "grandpa"\nsubstrate = "wss://hub.example.org"',
    ]),
  ],
  ["beefy hub with grandpa section only", edited(['"grandpa"', '"beefy"'], ['\nsigner = "keys/hub"', ""])],
  [
    "beefy prover without its nodes",
    edited(['"grandpa"', '"beefy"'], [
      "[hub.grandpa]",
      '[hub.prover]\nproof_variant = "sp1"\n[hub.grandpa]',
    ]),
  ],
  [
    "beefy prover with a hub over http",
    edited(['"grandpa"', '"beefy"'], [
      "[hub.grandpa]",
      '[hub.prover]\nrelay_rpc_ws = "wss://relay.example.org"\npara_rpc_ws = "https://hub.example.org"\npara_ids = [1]\n[hub.grandpa]',
    ]),
  ],
  [
    "grandpa without values",
    edited([
      'rpc = "wss://relay.example.org/ws?key=relayrpckey1"\nslot_duration = 6000\npara_ids = [4009]\n',
      "",
    ]),
  ],
  ["hub without a key", edited(['signer = "keys/hub"\n', ""])],
  // The relayer.
  ["hub consensus under both names", plus("relayer", "enable_hyperbridge_consensus = true")],
  ...withWrongValues(GOOD_CONSENSUS_TOML, "hub", { type: ['"grandpas"'] }),
  ...withWrongValues(GOOD_CONSENSUS_TOML, "hub.grandpa", {
    para_ids: ["4009", '[-1, "4009", 4294967296]'],
    consensus_update_frequency: ["0"],
  }),
  ...withWrongValues(GOOD_CONSENSUS_TOML, "hub.substrate", {
    signer: ['"keys/nothing"'],
    max_concurent_queries: ["-1"],
  }),
  ...withWrongValues(GOOD_CONSENSUS_TOML, "relayer", {
    maximum_update_intervals: [
      "500",
      `[
  [["EVM-97", "BSC0"]],
  "EVM-97",
  [{ state_id = "EVM-97" }, 500],
  [{ state_id = "97", consensus_state_id = "BSC" }, 500],
  [["EVM-97", "BSC"], 500],
  [["EVM-97"], 500],
  [97, 500],
  [["EVM-97", "BSC0"], 0],
  [["EVM-97", "BSC0"], 18446744073709551616],
]`,
    ],
  }),
  // Chains of any type.
  ["no type", edited(['type = "bsc"\n', ""])],
  ["substrate entry with the keys of an EVM chain", edited(['type = "bsc"', 'type = "substrate"'])],
  ["chain without any value", edited([part("chapel", "chapel.host"), '[chapel]\ntype = "bsc"\n\n'])],
  ["no host section", edited([part("chapel.host"), ""])],
  // evm.
  ["no beacon nodes", edited(['beacon_http_urls = ["https://beacon.example.org/beaconkey1"]\n', ""])],
  ["no frequency", edited(["consensus_update_frequency = 60\n", ""])],
  ["network name of another chain", edited(['type = "evm"', 'type = "ethereum"'])],
  // Rollups.
  [
    "rollup with the L1's id on a chain that is not known",
    changed(
      "arbitrum",
      '"EVM-421614"\nrpc_urls = ["https://arbitrum.example.org"]\nconsensus_state_id = "ARB0"',
      '"EVM-5"\nrpc_urls = ["https://arbitrum.example.org"]\nconsensus_state_id = "ETH0"',
    ),
  ],
  [
    "rollup that is its own L1",
    changed("arbitrum.host", 'l1_state_machine = "EVM-11155111"', 'l1_state_machine = "EVM-421614"'),
  ],
  [
    "rollup without L1 values",
    changed("arbitrum.host", part("arbitrum.host", "optimism"), "[arbitrum.host]\n\n"),
  ],
  [
    "dispute games without values",
    changed("optimism.host", part("optimism.host", "chapel"), "[optimism.host]\n\n"),
  ],
  [
    "L1 endpoints under both names",
    plus("arbitrum.host", 'ethereum_rpc_url = ["https://sepolia.example.org"]'),
  ],
  ...withWrongValues(GOOD_CONSENSUS_TOML, "arbitrum.host", {
    l1_consensus_state_id: ["[69, 84, 72, 7]", "0"],
    l1_state_machine: ['"KUSAMA-2000"'],
  }),
  ...withWrongValues(GOOD_CONSENSUS_TOML, "optimism", { type: ['"opstack"'] }),
  // bsc.
  ...withWrongValues(GOOD_CONSENSUS_TOML, "chapel", {
    type: ['"evm_host"', '"bsc_testnet"', '"bsc"', '"bsc"'],
    state_machine: ['"EVM-97"', '"EVM-56"', '"EVM-204"', '"EVM-097"'],
    rpc_urls: ["[]", "[]", "[]"],
    consensus_state_id: ['"BSC0"', '"BSC"', '"BSC0"'],
  }),
  // polygon.
  ["Polygon on another chain", GOOD_CONSENSUS_TOML + AMOY_SECTION.replace('"EVM-80002"', '"EVM-2442"')],
  [
    "Polygon without a Heimdall node",
    GOOD_CONSENSUS_TOML + AMOY_SECTION.replace(/heimdall_rpc_url = .*/, "disable = 1"),
  ],
  // Keys and chains that earn nothing.
  ...OTHER_TRIES.filter((chainId) => chainId !== 688689).map((chainId) =>
    [
      `EVM-${chainId}, whose rewards could never be claimed`,
      edited(
        ['type = "bsc"\nstate_machine = "EVM-97"', `type = "evm"\nstate_machine = "EVM-${chainId}"`],
        ["\n[chapel.host]\nconsensus_update_frequency = 300\nepoch_length = 1000\n", ""],
      ),
    ] as const
  ),
  // Polkadot Hub.
  ...["KUSAMA", "POLKADOT"].map((relay) =>
    [
      `Polkadot Hub as ${relay}-1000`,
      `${GOOD_CONSENSUS_TOML}
[asset_hub]
type = "substrate"
state_machine = "${relay}-1000"
hashing = "Blake2"
rpc_ws = "ws://127.0.0.1:9944"
consensus_state_id = "PAS0"
`,
    ] as const
  ),
  [
    "Polkadot Hub as a chain with an Ethereum trie",
    GOOD_CONSENSUS_TOML +
    POLKADOT_HUB_SECTION.replace("substrate_evm", "evm").replace(/ws_url.*\n/, "")
      .replace(/\n\[paseo-hub\.host\]\n.*\n/, ""),
  ],
  [
    "Polkadot Hub's type for another chain",
    GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION.replaceAll("420420417", "1284"),
  ],
  [
    "Polkadot Hub's type for a live chain of another one",
    GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION.replaceAll("420420417", "10200").replace("PAS0", "GNO0"),
  ],
  [
    "Polkadot Hub without the relay chain's node",
    GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION.replace(/relay_rpc_ws = .*\n/, ""),
  ],
  [
    "Polkadot Hub in the layout of newer documents",
    GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION
      .replace("[paseo-hub.host]", '[paseo-hub.consensus]\ntype = "parachain"'),
  ],
  ["the file of the messaging relayer", GOOD_TOML],
];

const SOLOCHAIN = `
[solochain]
type = "substrate"
state_machine = "SUBSTRATE-cere"
hashing = "Blake2"
rpc_ws = "wss://cere.example.org"
consensus_state_id = "CERE"
`;
/** {@link GOOD_CONSENSUS_TOML} with a chain that follows the hub. */
export const FOLLOWER_TOML = GOOD_CONSENSUS_TOML + SOLOCHAIN;
/** {@link GOOD_CONSENSUS_TOML} with a hub of type `beefy`. */
export const BEEFY_TOML = edited(['"grandpa"', '"beefy"'], [part("hub.grandpa", "hub.substrate"), ""]);
/** {@link GOOD_CONSENSUS_TOML} with a chain of which nothing can be proved. */
export const UNPROVABLE_TOML = edited(
  ['state_machine = "EVM-11155111"\nrpc_urls', 'state_machine = "EVM-137"\nrpc_urls'],
  ['"ETH0"', '"POLY"'],
);
/** {@link GOOD_CONSENSUS_TOML} with the L1's id of rollups. */
export const L1_IDS_TOML = edited(['"ARB0"', '"ETH0"'], ['"OPT0"', '"ETH0"']);
/** {@link GOOD_CONSENSUS_TOML} with numbers that are replaced. */
export const CUT_TOML = edited(
  ["slot_duration = 6000", "slot_duration = 6000\nconsensus_update_frequency = 6000000000000000"],
  ["consensus_update_frequency = 60\n", "consensus_update_frequency = 2147484\n"],
  ['signer = "keys/hub"', 'signer = "keys/hub"\nmax_concurent_queries = 0'],
);

/** Files that can be used, and of which something is said. */
export const remarkedConsensusConfigs: readonly WrongConfig[] = [
  [
    "Polkadot Hub of another relay chain than the hub's",
    GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION.replaceAll("420420417", "420420419"),
  ],
  [
    "watched chains under names that never get updates",
    watching(`[
      [["EVM-421614", "ARB0"], 500], [["EVM-5", "ETH0"], 500], [["KUSAMA-4009", "PAS0"], 500],
      [["EVM-97", "BSC0"], 500], [["EVM-97", "BSC0"], 600],
    ]`),
  ],
  ["the L1's id on rollups", L1_IDS_TOML],
  ["an L1 without a section", edited([part("sepolia", "arbitrum"), ""])],
  ["periods that no timer holds, and 0 queries", CUT_TOML],
  ["nothing to prove of an evm chain, with a host section", UNPROVABLE_TOML],
  [
    "nothing to prove of an evm chain, without a host section",
    UNPROVABLE_TOML.replace(part("sepolia.host", "arbitrum"), ""),
  ],
  [
    "other ids than the live hub's",
    edited(['"BSC0"', '"BSC1"'], ['l1_consensus_state_id = "ETH0"', 'l1_consensus_state_id = "ETH1"']),
  ],
  ["heads without the hub's", edited(["para_ids = [4009]", "para_ids = [1000, 2000]"])],
  ["no heads", edited(["para_ids = [4009]", "para_ids = []"])],
  ["a misspelt key of a host section", plus("chapel.host", "epoch_lenght = 5")],
  ["a host section of a Substrate chain", `${FOLLOWER_TOML}\n[solochain.host]\nepoch_length = 5\n`],
];
