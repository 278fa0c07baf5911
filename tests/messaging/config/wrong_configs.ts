/** Wrong configuration files of the messaging relayer; wrong_configs.txt has the lines that must be said about them. */
import { editorOf, withWrongValues, type WrongConfig } from "../../support/wrong_configs.ts";

/** A file without any fault, on which most of the wrong ones are based. */
export const GOOD_TOML = `# relayer of the devnet
[hub]
state_machine = "KUSAMA-4009"
rpc_ws = "wss://hub.example.org/ws?key=hubrpckey1"

[relayer]
minimum_profit_percentage = 0
delivery_endpoints = ["EVM-31337", "KUSAMA-2000"]

[evm1]
type = "evm"
state_machine = "EVM-31337"
rpc_urls = [
  "https://user:evmrpcpassword@evm1.example.org/v3/evmrpckey1",
  "http://127.0.0.1:8545",
]
consensus_state_id = "ETH0"
etherscan_api_key = "ETHERSCANKEY1"
ismp_host = "0x1111111111111111111111111111111111111111"
signer = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"

[para]
type = "substrate"
state_machine = "KUSAMA-2000"
hashing = "Blake2"
rpc_ws = "ws://127.0.0.1:9944"
consensus_state_id = "PAS0"
`;

/** {@link GOOD_TOML} with changes. */
export const edited = editorOf(GOOD_TOML);

const SIGNER = '"0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"';
const KEY_64 = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const GROUP_ORDER = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
/** Of an address that begins with a zero byte: 0x00edf2d16afbc028fb1e879559b07997af79539f. */
export const ZERO_ADDRESS_KEY = "0000000000000000000000000000000000000000000000000000000000000082";
const HUB_URL = "://hub.example.org/ws?key=hubrpckey1";
const HUB = GOOD_TOML.slice(GOOD_TOML.indexOf("[hub]"), GOOD_TOML.indexOf("[relayer]"));
const EVM1 = GOOD_TOML.slice(GOOD_TOML.indexOf("[evm1]"), GOOD_TOML.indexOf("[para]"));
const PARA = GOOD_TOML.slice(GOOD_TOML.indexOf("[para]"));

/** EVM chains with tries of other kinds than Ethereum's: Pharos, Sei, Cronos, Injective. */
export const OTHER_TRIES: readonly number[] = [688689, 1329, 25, 1776];
const SUBSTRATE_EVM = EVM1.replace('"evm"', '"substrate_evm"\nws_url = "wss://one.example.org/KEY"');

const REMOTE = '"web3signer:https://user:evmrpcpassword@signer.example.org:9000"';
const ADDRESS = 'signer_address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"';

/** Adds a line to a section of the good file. */
export function plus(section: "hub" | "relayer" | "evm1" | "para", line: string): string {
  return edited([`[${section}]\n`, `[${section}]\n${line}\n`]);
}

export const wrongConfigs: readonly WrongConfig[] = [
  // The file and its sections.
  ["empty file", ""],
  ["no hub", edited([HUB, ""])],
  ["misspelt hub", edited(["[hub]", "[hubb]"])],
  ["hub twice under both names", edited(["[relayer]", `${HUB.replace("hub", "hyperbridge")}\n[relayer]`])],
  ["hub as an array of tables", edited(["[hub]", "[[hub]]"])],
  ["a fleet without a count", edited(["[evm1]", "[relayer.fleet]\nindex = 0\n\n[evm1]"])],
  ["a number beyond the fleet", edited(["[evm1]", "[relayer.fleet]\nindex = 3\ncount = 3\n\n[evm1]"])],
  ["a fleet that is no section", plus("relayer", "fleet = 3")],
  ["misspelt relayer section", edited(["[relayer]", "[relayr]"])],
  ["no chains", edited([EVM1, ""], [PARA, ""], ['["EVM-31337", "KUSAMA-2000"]', "[]"])],
  ["top-level key", `log_level = "info"\n${GOOD_TOML}`],
  ["top-level number for the hub", `hub = 3\n${GOOD_TOML.replace(HUB, "")}`],
  ["empty sections", '[hub]\n[relayer]\n[evm1]\ntype = "evm"\n[para]\ntype = "substrate"\n'],
  [
    "inline section",
    edited([EVM1, "\n[chains]\n"], [
      "# relayer of the devnet",
      'evm1 = { type = "evm", state_machine = "EVM-31337" }',
    ]),
  ],
  // Syntax.
  ["unquoted text", edited(['state_machine = "KUSAMA-4009"', "state_machine = KUSAMA-4009"])],
  ["open string", edited([SIGNER, SIGNER.slice(0, -1)])],
  ["unquoted key without 0x", edited([SIGNER, KEY_64])],
  ["open header", edited(["[relayer]", "[relayer"])],
  ["open array", edited(['  "http://127.0.0.1:8545",\n]', '  "http://127.0.0.1:8545",'])],
  ["key twice", plus("hub", 'state_machine = "KUSAMA-4009"')],
  ["section twice", `${GOOD_TOML}\n[evm1]\ntype = "evm"\n`],
  ["value without key", edited([`signer = ${SIGNER}`, SIGNER])],
  ["JSON instead of TOML", '{ "hub": { "state_machine": "KUSAMA-4009" } }\n'],
  [
    "hub consensus id not ASCII",
    edited([PARA, ""], [', "KUSAMA-2000"', ""], ["[hub]\n", '[hub]\nconsensus_state_id = "DÖT"\n']),
  ],
  ["hub consensus id beside a parachain", plus("hub", 'consensus_state_id = "PAS0"')],
  ["misspelt rpc_ws", edited(['rpc_ws = "wss', 'rpc_wss = "wss'])],
  [
    "unusable delivery endpoints beside a problem",
    edited(['["EVM-31337", "KUSAMA-2000"]', '["KUSAMA-4009", "EVM-5", "EVM-5"]'], [
      "percentage = 0",
      "percentage = true",
    ]),
  ],
  ["entry without type", edited(['type = "evm"\n', ""])],
  [
    "live evm entry without fields",
    edited([EVM1, '[evm1]\ntype = "evm"\nstate_machine = "EVM-10"\n\n'], ["EVM-31337", "EVM-10"]),
  ],
  ["two entries of one chain", `${GOOD_TOML}\n${EVM1.replace("[evm1]", "[evm2]")}`],
  [
    "a chain that is the hub",
    edited(['state_machine = "KUSAMA-2000"', 'state_machine = "KUSAMA-4009"'], [', "KUSAMA-2000"', ""]),
  ],
  ["live consensus id misspelt", edited(["ETH0", "OP"], ["EVM-31337", "EVM-10"], ["EVM-31337", "EVM-10"])],
  // Values of one section.
  ...withWrongValues(GOOD_TOML, "hub", {
    state_machine: ['"EVM-1"', '"kusama-4009"', '"KUSAMA-04009"', '"KUSAMA-4294967296"', "4009"],
    rpc_ws: [`"http${HUB_URL}"`, '"hub.example.org/ws?key=hubrpckey1"', '""', `["wss${HUB_URL}"]`],
    max_rpc_payload_size: ["0", "150000000.0", '"150000000"'],
    initial_height: ["-1", "18446744073709551616"],
    poll_interval: ["0", "2147484", "00:00:10"],
    signer: [
      '"bottom drive obey lake curtain smoke basket hold race lonely fit walk"',
      '"//Alice"',
      `"0x${KEY_64}00"`,
      `"0x${"ff".repeat(64)}"`,
      REMOTE,
    ],
    token_price: ["0"],
  }),
  ...withWrongValues(GOOD_TOML, "relayer", {
    minimum_profit_percentage: ["-1", '"10%"'],
    minimum_withdrawal_amount: ["-0.5", "nan", "inf", '"100"'],
    delivery_endpoints: ['"EVM-31337"', '["EVM-31337", "ethereum", 5, "EVM--1"]'],
    module_filter: [
      '["", "0x", "0xabc", "0xzz", "1111111111111111111", "pallet-ü", 7]',
      `["${"x".repeat(65)}", "${"ab".repeat(65)}"]`,
    ],
    disable_fee_accumulation: ['"yes"'],
  }),
  ...withWrongValues(GOOD_TOML, "evm1", {
    type: ['"EVM"', '"solana"', '["evm"]', '"op_stack"'],
  }),
  ...withWrongValues(GOOD_TOML, "evm1", {
    state_machine: ['"POLKADOT-2000"', '"EVM-mainnet"', "{}"],
    rpc_urls: [
      "[]",
      '"http://127.0.0.1:8545"',
      '["wss://evm1.example.org/key/evmrpckey2", "not a url", "https://", "evmrpckey3:x", 5]',
    ],
    consensus_state_id: ['"ETH01"', "1163151408"],
    etherscan_api_key: ["12345"],
    ismp_host: [`"0x${"1".repeat(38)}"`, `"${KEY_64}"`, '"0xhost"', `"0x${"0".repeat(40)}"`],
    gas_price_buffer: ["5000"],
    client_type: ['"geth"', '"Nethermind"'],
    signer: [
      '""',
      `"${KEY_64.slice(2)}"`,
      `"0x${KEY_64.slice(1)}"`,
      `"0x${KEY_64.slice(1)}O"`,
      `0x${KEY_64}`,
      `"${"0".repeat(64)}"`,
      `"${GROUP_ORDER}"`,
      `"${ZERO_ADDRESS_KEY}"`,
      '"keys/missing.hex"',
      '"~/key"',
      REMOTE,
      `${REMOTE}\nsigner_address = "0x1234"`,
      `${REMOTE}\nsigner_address = "0x00${"11".repeat(19)}"`,
      `"web3signer:"\n${ADDRESS}`,
      `"web3signer:signer.example.org:9000"\n${ADDRESS}`,
      `${REMOTE.replace("https", "wss")}\n${ADDRESS}`,
      `${REMOTE.replace(/"$/, '?key=evmrpckey1"')}\n${ADDRESS}`,
      REMOTE.replace("web3signer:", ""),
      '"keys/zero.hex"',
      '"keys"',
      '"keys/short.hex"',
      '"keys/words"',
      '"keys/empty"',
    ],
  }, {
    "keys/zero.hex": `0x${ZERO_ADDRESS_KEY}\n`,
    "keys/short.hex": "0xac0974\n",
    "keys/words": "bottom drive obey lake\n",
    "keys/empty": "\n",
  }),
  ...withWrongValues(GOOD_TOML, "para", {
    state_machine: ['"EVM-2000"', '"SUBSTRATE-ceres"'],
    fee_token_decimals: ["19"],
    signer: [REMOTE],
  }),
  // Chains of which nothing can be proved.
  ...OTHER_TRIES.map((chainId) =>
    [
      `EVM-${chainId}, whose fees could never be claimed`,
      edited(['"EVM-31337", ', `"EVM-${chainId}", `], [
        'machine = "EVM-31337"',
        `machine = "EVM-${chainId}"`,
      ]),
    ] as const
  ),
  ...[420420419, 420420417].map((chainId) =>
    [
      `EVM-${chainId} as a chain with Ethereum's trie`,
      edited(['state_machine = "EVM-31337"', `state_machine = "EVM-${chainId}"`], [
        '["EVM-31337", "KUSAMA-2000"]',
        "[]",
      ]),
    ] as const
  ),
  [
    "a chain with Ethereum's trie as substrate_evm",
    edited([EVM1, SUBSTRATE_EVM.replace("EVM-31337", "EVM-1")], [
      '"EVM-31337", "KUSAMA-2000"',
      '"EVM-1", "KUSAMA-2000"',
    ]),
  ],
  [
    "Pharos as substrate_evm",
    edited([EVM1, SUBSTRATE_EVM.replace("EVM-31337", "EVM-688689")], [
      '"EVM-31337", "KUSAMA-2000"',
      '"EVM-688689", "KUSAMA-2000"',
    ]),
  ],
  ["substrate_evm without its Substrate node", edited(['"evm"', '"substrate_evm"'])],
  ...(["KUSAMA", "POLKADOT"] as const).map((relay) =>
    [
      `Polkadot Hub as ${relay}-1000`,
      edited(["KUSAMA-4009", `${relay}-4009`], ["KUSAMA-2000", `${relay}-1000`], [
        "KUSAMA-2000",
        `${relay}-1000`,
      ]),
    ] as const
  ),
  // Many at once.
  [
    "both names of a key",
    plus("relayer", "retry_frequency = 300\nunprofitable_retry_frequency = 300"),
  ],
  [
    "the form of the network's newer documents",
    `[hyperbridge]
rpc_ws = "wss://hub.example.org"
signer = ${SIGNER}

[hyperbridge.consensus]
type = "parachain"
relay_rpc_ws = "wss://relay.example.org"

[relayer]
retry_frequency = 300
outbound = true
consensus_chains = ["EVM-1"]
fisherman = true

[ethereum]
type = "evm"
rpc_urls = ["https://one.example.org"]
minimum_profit_percentage = 0

[ethereum.consensus]
type = "ethereum"
beacon_http_urls = ["https://beacon.example.org"]

[pharos]
type = "pharos_evm"
`,
  ],
  [
    "everything wrong at once",
    `colour = true\n${
      edited(
        ["KUSAMA-4009", "EVM-1"],
        ["wss://hub", "https://hub"],
        ["percentage = 0", "percentage = 5.5"],
        ['delivery_endpoints = ["EVM-31337", "KUSAMA-2000"]\n', "delivery_endpoint = []\nrouter = {}\n"],
        ['"ETH0"', '"ETH"'],
        [SIGNER, '"secret"'],
        ["Blake2", "Blake3"],
        ["ws://127.0.0.1:9944", "127.0.0.1:9944"],
      )
    }[extra]\nrpc_urls = []\n`,
  ],
];

const LISTED = '["EVM-31337", "KUSAMA-2000"]';
const HOST = "0x620128E2B19193d6Bd244a3AC8D3bBa0541B19c3";
/** {@link GOOD_TOML} with a chain that is only a source. */
export const SOURCE_TOML = edited([`signer = ${SIGNER}\n`, "inbound_only = true\n"]);

/** Files that can be used, and of which something is said. */
export const remarkedConfigs: readonly WrongConfig[] = [
  ["profit above 100 percent", edited(["percentage = 0", "percentage = 500"])],
  ["buffer above 100 percent", plus("evm1", "gas_price_buffer = 200")],
  [
    "buffer above the profit",
    edited(["percentage = 0", "percentage = 5"], ["[evm1]", "[evm1]\ngas_price_buffer = 10"]),
  ],
  ["delivery to a chain that is only a source", SOURCE_TOML],
  ["signer of a chain that is only a source", edited([SIGNER, '"/no/such/file"\ninbound_only = true'])],
  [
    "solochain beside a parachain",
    GOOD_TOML + PARA.replace("[para]", "\n[solo]").replace("KUSAMA-2000", "SUBSTRATE-cere"),
  ],
  ["delivery to the hub and to an unconfigured chain", edited([LISTED, '["KUSAMA-4009", "EVM-5"]'])],
  [
    "module filters with repeats and in ASCII",
    plus(
      "relayer",
      `module_filter = ["0x${"aB".repeat(20)}", "${"ab".repeat(20)}", "ISMP-RLYR", "ISMP-RLYR"]`,
    ),
  ],
  [
    "a repeated URL",
    edited(['  "http://127.0.0.1:8545",', '  "https://user:evmrpcpassword@evm1.example.org/v3/evmrpckey1",']),
  ],
  [
    "another id than the live hub's",
    edited(['"ETH0"', '"OPT0"'], ["EVM-31337", "EVM-10"], ["EVM-31337", "EVM-10"]),
  ],
  [
    "placeholders and variables without braces",
    edited(["ETHERSCANKEY1", "YOUR-ETHERSCAN-KEY"], ["hubrpckey1", "$HUB_KEY"]),
  ],
  ["host address with a right checksum", edited(["0x1111111111111111111111111111111111111111", HOST])],
  [
    "host address with a wrong checksum",
    edited(["0x1111111111111111111111111111111111111111", HOST.replace("c3", "c4")]),
  ],
  [
    "unknown and misspelt keys",
    edited(
      ["[hub]\n", '[hub]\nhashing = "Keccak"\n'],
      ["[evm1]\n", "[evm1]\nrpc-urls = []\nconstructor = 1\n"],
      ["[para]\n", "[para]\nmax_concurrent_queries = 4\n"],
    ),
  ],
  [
    "password file beside a remote signer",
    edited([SIGNER, `${REMOTE}\n${ADDRESS}\nkeystore_password_file = "password"`]),
    { password: "secret" },
  ],
  ["address of a remote signer beside a key", edited([SIGNER, `${SIGNER}\n${ADDRESS}`])],
  [
    "address of a remote signer with a wrong checksum",
    edited([SIGNER, `${REMOTE}\n${ADDRESS.replace("7099", "7098")}`]),
  ],
];
