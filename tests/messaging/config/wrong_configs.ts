/**
 * Wrong configuration files of the messaging relayer and the exact lines that must be said about them, as data:
 * the unit test reads them with the library, the scenario test with the compiled program.
 *
 * The lines begin with `relayer.toml`, so the file must be given under that relative path.
 */

/** A file that must be refused. */
export interface WrongConfig {
  readonly name: string;
  readonly toml: string;
  /** The problem lines, all of them, in order. */
  readonly expected: readonly string[];
  /** The warning lines, all of them, in order; none when absent. */
  readonly warnings?: readonly string[];
  /** Further files, by path relative to the working directory. */
  readonly files?: Readonly<Record<string, string>>;
}

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

/** {@link GOOD_TOML} with each first text, which must occur, replaced by the second. */
export function edited(...changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`Not in the good file: ${from}`);
    return text.replace(from, () => to);
  }, GOOD_TOML);
}

const SIGNER = '"0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"';
const KEY_64 = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const GROUP_ORDER = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
/** Of an address that begins with a zero byte: 0x00edf2d16afbc028fb1e879559b07997af79539f. */
export const ZERO_ADDRESS_KEY = "0000000000000000000000000000000000000000000000000000000000000082";
const HUB = GOOD_TOML.slice(GOOD_TOML.indexOf("[hub]"), GOOD_TOML.indexOf("[relayer]"));
const RELAYER = GOOD_TOML.slice(GOOD_TOML.indexOf("[relayer]"), GOOD_TOML.indexOf("[evm1]"));
const EVM1 = GOOD_TOML.slice(GOOD_TOML.indexOf("[evm1]"), GOOD_TOML.indexOf("[para]"));
const PARA = GOOD_TOML.slice(GOOD_TOML.indexOf("[para]"));

/** EVM chains with tries of other kinds than Ethereum's. */
export const OTHER_TRIES: readonly (readonly [chainId: number, name: string])[] = [
  [688689, "Pharos"],
  [1329, "Sei"],
  [1328, "Sei"],
  [25, "Cronos"],
  [338, "Cronos"],
  [1776, "Injective"],
  [1440, "Injective"],
  [1439, "Injective"],
];
/** Polkadot Hub, with the id that the live hub uses for it. */
const POLKADOT_HUBS = [[420420419, "DOT0"], [420420417, "PAS0"]] as const;
const LIVE_IDS = [...POLKADOT_HUBS, [688689, "PHAR"]] as const;
const SUBSTRATE_EVM = EVM1.replace('"evm"', '"substrate_evm"\nws_url = "wss://one.example.org/KEY"');

/** The warning about an id that is not that of the live hub. */
function liveIdWarning(chainId: number, line: number): readonly string[] {
  return LIVE_IDS.flatMap(([known, id]) =>
    known !== chainId ? [] : [
      `relayer.toml:${line}: [evm1].consensus_state_id: found "ETH0", expected "${id}", which is what the live hub uses for EVM-${chainId}`,
    ]
  );
}

/** Adds a line to a section of the good file. */
function plus(section: "hub" | "relayer" | "evm1" | "para", line: string): string {
  return edited([`[${section}]\n`, `[${section}]\n${line}\n`]);
}

export const wrongConfigs: readonly WrongConfig[] = [
  // The file and its sections.
  {
    name: "empty file",
    toml: "",
    expected: [
      "relayer.toml: [hub]: found no such section, expected a section [hub]",
      "relayer.toml: [relayer]: found no such section, expected a section [relayer]",
      'relayer.toml: found no chain, expected at least one section of a chain (type = "evm", "substrate_evm" or "substrate")',
    ],
  },
  {
    name: "only comments",
    toml: "# nothing\n# here\n",
    expected: [
      "relayer.toml: [hub]: found no such section, expected a section [hub]",
      "relayer.toml: [relayer]: found no such section, expected a section [relayer]",
      'relayer.toml: found no chain, expected at least one section of a chain (type = "evm", "substrate_evm" or "substrate")',
    ],
  },
  {
    name: "no hub",
    toml: edited([HUB, ""]),
    expected: ["relayer.toml: [hub]: found no such section, expected a section [hub]"],
  },
  {
    name: "misspelt hub",
    toml: edited(["[hub]", "[hubb]"]),
    expected: [
      'relayer.toml:2: [hubb].type: found nothing, expected "evm", "substrate_evm" or "substrate"',
      "relayer.toml: [hub]: found no such section, expected a section [hub]; is [hubb] meant?",
    ],
  },
  {
    name: "hub twice under both names",
    toml: edited(["[relayer]", `${HUB.replace("hub", "hyperbridge")}\n[relayer]`]),
    expected: [
      "relayer.toml:6: [hyperbridge]: found a second section for the hub beside [hub], expected either [hub] or [hyperbridge]",
    ],
  },
  {
    name: "hub as an array of tables",
    toml: edited(["[hub]", "[[hub]]"]),
    expected: [
      "relayer.toml:2: hub: found an array of sections (double brackets), expected a section in single brackets",
    ],
  },
  {
    name: "no relayer section",
    toml: edited([RELAYER, ""]),
    expected: ["relayer.toml: [relayer]: found no such section, expected a section [relayer]"],
  },
  {
    name: "a fleet without a count",
    toml: edited(["[evm1]", "[relayer.fleet]\nindex = 0\n\n[evm1]"]),
    expected: ["relayer.toml:10: [relayer.fleet].count: found nothing, expected an integer from 1 to 64"],
  },
  {
    name: "a number beyond the fleet",
    toml: edited(["[evm1]", "[relayer.fleet]\nindex = 3\ncount = 3\n\n[evm1]"]),
    expected: [
      "relayer.toml:11: [relayer.fleet].index: found 3, expected an integer from 0 to 2, below count",
    ],
  },
  {
    name: "a fleet that is no section",
    toml: plus("relayer", "fleet = 3"),
    expected: ["relayer.toml:7: [relayer.fleet]: found an integer, expected a section [relayer.fleet]"],
  },
  {
    name: "misspelt relayer section",
    toml: edited(["[relayer]", "[relayr]"]),
    expected: [
      'relayer.toml:6: [relayr].type: found nothing, expected "evm", "substrate_evm" or "substrate"',
      "relayer.toml: [relayer]: found no such section, expected a section [relayer]; is [relayr] meant?",
    ],
  },
  {
    name: "no chains",
    toml: edited([EVM1, ""], [PARA, ""], ['["EVM-31337", "KUSAMA-2000"]', "[]"]),
    expected: [
      'relayer.toml: found no chain, expected at least one section of a chain (type = "evm", "substrate_evm" or "substrate")',
    ],
  },
  {
    name: "top-level key",
    toml: `log_level = "info"\n${GOOD_TOML}`,
    expected: [
      "relayer.toml:1: log_level: found a text outside of any section, expected a section in single brackets",
    ],
  },
  {
    name: "top-level number for the hub",
    toml: `hub = 3\n${GOOD_TOML.replace(HUB, "")}`,
    expected: [
      "relayer.toml:1: hub: found an integer outside of any section, expected a section in single brackets",
    ],
  },
  {
    name: "empty sections",
    toml: '[hub]\n[relayer]\n[evm1]\ntype = "evm"\n[para]\ntype = "substrate"\n',
    expected: [
      'relayer.toml:1: [hub].state_machine: found nothing, expected "POLKADOT-n" or "KUSAMA-n" with a para id',
      "relayer.toml:1: [hub].rpc_ws: found nothing, expected a WebSocket URL (ws:// or wss://)",
      "relayer.toml:2: [relayer].minimum_profit_percentage: found nothing, expected an integer from 0 to 1000000 (percent)",
      "relayer.toml:2: [relayer].delivery_endpoints: found nothing, expected an array of state machines (empty for all chains)",
      'relayer.toml:3: [evm1].state_machine: found nothing, expected "EVM-n" with a chain id; other relayers derive it; write it here',
      "relayer.toml:3: [evm1].rpc_urls: found nothing, expected an array of at least one HTTP URL (http:// or https://)",
      'relayer.toml:3: [evm1].consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0"; other relayers derive it; write it here',
      'relayer.toml:3: [evm1].etherscan_api_key: found nothing, expected an API key (may be an empty text); write "" to use prices of the chain alone',
      "relayer.toml:3: [evm1].ismp_host: found nothing, expected a contract address of 20 bytes (0x and 40 hex digits); other relayers derive it; write it here",
      "relayer.toml:3: [evm1].signer: found nothing, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL; of a chain that is only a source, write inbound_only = true instead",
      'relayer.toml:5: [para].state_machine: found nothing, expected "POLKADOT-n", "KUSAMA-n" or "SUBSTRATE-xxxx" with 4 characters',
      'relayer.toml:5: [para].hashing: found nothing, expected "Keccak" or "Blake2"',
      "relayer.toml:5: [para].rpc_ws: found nothing, expected a WebSocket URL (ws:// or wss://)",
      'relayer.toml:5: [para].consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
    ],
  },
  {
    name: "inline section",
    toml: edited([EVM1, "\n[chains]\n"], [
      "# relayer of the devnet",
      'evm1 = { type = "evm", state_machine = "EVM-31337" }',
    ]),
    expected: [
      "relayer.toml:1: [evm1].rpc_urls: found nothing, expected an array of at least one HTTP URL (http:// or https://)",
      'relayer.toml:1: [evm1].consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0"; other relayers derive it; write it here',
      'relayer.toml:1: [evm1].etherscan_api_key: found nothing, expected an API key (may be an empty text); write "" to use prices of the chain alone',
      "relayer.toml:1: [evm1].ismp_host: found nothing, expected a contract address of 20 bytes (0x and 40 hex digits); other relayers derive it; write it here",
      "relayer.toml:1: [evm1].signer: found nothing, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL; of a chain that is only a source, write inbound_only = true instead",
      'relayer.toml:11: [chains].type: found nothing, expected "evm", "substrate_evm" or "substrate"',
    ],
  },
  // Syntax.
  {
    name: "unquoted text",
    toml: edited(['state_machine = "KUSAMA-4009"', "state_machine = KUSAMA-4009"]),
    expected: [
      "relayer.toml:3: found a syntax error at column 17 of `state_machine = ...`: unexpected character, expected TOML; text values need quotes",
    ],
  },
  {
    name: "open string",
    toml: edited([SIGNER, SIGNER.slice(0, -1)]),
    expected: [
      "relayer.toml:20: found a syntax error at column 77 of `signer = ...`: unterminated string constant, expected TOML; a closing quote may be missing",
    ],
  },
  {
    name: "unquoted key without 0x",
    toml: edited([SIGNER, KEY_64]),
    expected: [
      "relayer.toml:20: found a syntax error at column 10 of `signer = ...`: unexpected character, expected TOML; text values need quotes",
    ],
  },
  {
    name: "open header",
    toml: edited(["[relayer]", "[relayer"]),
    expected: [
      "relayer.toml:6: found a syntax error at column 9 of `[relayer ...`: no closing bracket of the header, expected TOML",
    ],
  },
  {
    name: "open array",
    toml: edited(['  "http://127.0.0.1:8545",\n]', '  "http://127.0.0.1:8545",']),
    expected: [
      "relayer.toml:16: found a syntax error at column 1 of `consensus_state_id = ...`: unexpected character, expected TOML",
    ],
  },
  {
    name: "key twice",
    toml: plus("hub", 'state_machine = "KUSAMA-4009"'),
    expected: [
      "relayer.toml:4: found a syntax error at column 1 of `state_machine = ...`: defining a key multiple times is invalid, expected TOML",
    ],
  },
  {
    name: "section twice",
    toml: `${GOOD_TOML}\n[evm1]\ntype = "evm"\n`,
    expected: [
      "relayer.toml:29: found a syntax error at column 2 of `[evm1] ...`: defining a key multiple times is invalid, expected TOML; the first is in line 10",
    ],
  },
  {
    name: "value without key",
    toml: edited([`signer = ${SIGNER}`, SIGNER]),
    expected: [
      "relayer.toml:20: found a syntax error at column 69: no equals sign after the key, expected TOML",
    ],
  },
  {
    name: "JSON instead of TOML",
    toml: '{ "hub": { "state_machine": "KUSAMA-4009" } }\n',
    expected: ["relayer.toml:1: found a syntax error at column 1: unexpected token, expected TOML"],
  },
  // [hub].
  {
    name: "hub without fields",
    toml: edited([HUB, "[hub]\n\n"]),
    expected: [
      'relayer.toml:2: [hub].state_machine: found nothing, expected "POLKADOT-n" or "KUSAMA-n" with a para id',
      "relayer.toml:2: [hub].rpc_ws: found nothing, expected a WebSocket URL (ws:// or wss://)",
    ],
  },
  {
    name: "hub is an EVM chain",
    toml: edited(["KUSAMA-4009", "EVM-1"]),
    expected: [
      'relayer.toml:3: [hub].state_machine: found "EVM-1", expected "POLKADOT-n" or "KUSAMA-n" with a para id',
    ],
  },
  {
    name: "hub is a solochain",
    toml: edited(["KUSAMA-4009", "SUBSTRATE-cere"]),
    expected: [
      'relayer.toml:3: [hub].state_machine: found "SUBSTRATE-cere", expected "POLKADOT-n" or "KUSAMA-n" with a para id',
    ],
  },
  {
    name: "hub without number",
    toml: edited(["KUSAMA-4009", "KUSAMA-x"]),
    expected: [
      'relayer.toml:3: [hub].state_machine: found "KUSAMA-x", expected "POLKADOT-n" or "KUSAMA-n" with a para id',
    ],
  },
  {
    name: "hub in lower case",
    toml: edited(["KUSAMA-4009", "kusama-4009"]),
    expected: [
      'relayer.toml:3: [hub].state_machine: found "kusama-4009", expected "POLKADOT-n" or "KUSAMA-n" with a para id',
    ],
  },
  {
    name: "hub with leading zero",
    toml: edited(["KUSAMA-4009", "KUSAMA-04009"]),
    expected: [
      'relayer.toml:3: [hub].state_machine: found "KUSAMA-04009", expected "POLKADOT-n" or "KUSAMA-n" with a para id; write "KUSAMA-4009"',
    ],
  },
  {
    name: "hub id above 32 bits",
    toml: edited(["KUSAMA-4009", "KUSAMA-4294967296"]),
    expected: [
      'relayer.toml:3: [hub].state_machine: found "KUSAMA-4294967296", expected "POLKADOT-n" or "KUSAMA-n" with a para id',
    ],
  },
  {
    name: "hub id is a number",
    toml: edited(['"KUSAMA-4009"', "4009"]),
    expected: [
      'relayer.toml:3: [hub].state_machine: found an integer, expected "POLKADOT-n" or "KUSAMA-n" with a para id; put it in quotes',
    ],
  },
  {
    name: "hub over HTTP",
    toml: edited(["wss://hub.example.org/ws", "http://hub.example.org/ws"]),
    expected: [
      'relayer.toml:4: [hub].rpc_ws: found "http://hub.example.org/..." (scheme http), expected a WebSocket URL (ws:// or wss://)',
    ],
  },
  {
    name: "hub URL without scheme",
    toml: edited(["wss://hub.example.org/ws", "hub.example.org/ws"]),
    expected: [
      "relayer.toml:4: [hub].rpc_ws: found a text that is not a URL, expected a WebSocket URL (ws:// or wss://)",
    ],
  },
  {
    name: "hub URL empty",
    toml: edited(["wss://hub.example.org/ws?key=hubrpckey1", ""]),
    expected: [
      "relayer.toml:4: [hub].rpc_ws: found an empty text, expected a WebSocket URL (ws:// or wss://)",
    ],
  },
  {
    name: "hub URL is an array",
    toml: edited([
      '"wss://hub.example.org/ws?key=hubrpckey1"',
      '["wss://hub.example.org/ws?key=hubrpckey1"]',
    ]),
    expected: ["relayer.toml:4: [hub].rpc_ws: found an array, expected a WebSocket URL (ws:// or wss://)"],
  },
  {
    name: "misspelt rpc_ws",
    toml: edited(['rpc_ws = "wss', 'rpc_wss = "wss']),
    expected: ["relayer.toml:2: [hub].rpc_ws: found nothing, expected a WebSocket URL (ws:// or wss://)"],
    warnings: [
      "relayer.toml:4: [hub].rpc_wss: found an unknown key, which is ignored, expected a key of [hub]; did you mean `rpc_ws`?",
    ],
  },
  {
    name: "payload size 0",
    toml: plus("hub", "max_rpc_payload_size = 0"),
    expected: [
      "relayer.toml:3: [hub].max_rpc_payload_size: found 0, expected an integer from 1 to 4294967295 (bytes)",
    ],
  },
  {
    name: "payload size above 32 bits",
    toml: plus("hub", "max_rpc_payload_size = 4294967296"),
    expected: [
      "relayer.toml:3: [hub].max_rpc_payload_size: found 4294967296, expected an integer from 1 to 4294967295 (bytes)",
    ],
  },
  {
    name: "payload size with decimal point",
    toml: plus("hub", "max_rpc_payload_size = 150000000.0"),
    expected: [
      "relayer.toml:3: [hub].max_rpc_payload_size: found 150000000.0 (not an integer), expected an integer from 1 to 4294967295 (bytes)",
    ],
  },
  {
    name: "payload size in quotes",
    toml: plus("hub", 'max_rpc_payload_size = "150000000"'),
    expected: [
      'relayer.toml:3: [hub].max_rpc_payload_size: found the text "150000000" (in quotes), expected an integer from 1 to 4294967295 (bytes)',
    ],
  },
  {
    name: "negative initial height",
    toml: plus("hub", "initial_height = -1"),
    expected: ["relayer.toml:3: [hub].initial_height: found -1, expected a block height (an integer from 0)"],
  },
  {
    name: "initial height above 64 bits",
    toml: plus("hub", "initial_height = 18446744073709551616"),
    expected: [
      "relayer.toml:3: [hub].initial_height: found an integer of more than 64 bits, expected a block height (an integer from 0)",
    ],
  },
  {
    name: "poll interval 0",
    toml: plus("hub", "poll_interval = 0"),
    expected: [
      "relayer.toml:3: [hub].poll_interval: found 0, expected an integer from 1 to 2147483 (seconds)",
    ],
  },
  {
    name: "poll interval overflows a timer",
    toml: plus("hub", "poll_interval = 2147484"),
    expected: [
      "relayer.toml:3: [hub].poll_interval: found 2147484, expected an integer from 1 to 2147483 (seconds)",
    ],
  },
  {
    name: "poll interval as float",
    toml: plus("hub", "poll_interval = 1e1"),
    expected: [
      "relayer.toml:3: [hub].poll_interval: found 10.0 (not an integer), expected an integer from 1 to 2147483 (seconds)",
    ],
  },
  {
    name: "poll interval as time",
    toml: plus("hub", "poll_interval = 00:00:10"),
    expected: [
      "relayer.toml:3: [hub].poll_interval: found a date or time, expected an integer from 1 to 2147483 (seconds)",
    ],
  },
  {
    name: "concurrent queries 0",
    toml: plus("hub", "max_concurent_queries = 0"),
    expected: [
      "relayer.toml:3: [hub].max_concurent_queries: found 0, expected an integer from 1 to 4294967295",
    ],
  },
  {
    name: "hub consensus id of 3 characters",
    toml: edited([PARA, ""], [', "KUSAMA-2000"', ""], ["[hub]\n", '[hub]\nconsensus_state_id = "DOT"\n']),
    expected: [
      'relayer.toml:3: [hub].consensus_state_id: found "DOT", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
    ],
  },
  {
    name: "hub consensus id not ASCII",
    toml: edited([PARA, ""], [', "KUSAMA-2000"', ""], ["[hub]\n", '[hub]\nconsensus_state_id = "DÖT"\n']),
    expected: [
      'relayer.toml:3: [hub].consensus_state_id: found "DÖT", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
    ],
  },
  {
    name: "hub consensus id beside a parachain",
    toml: plus("hub", 'consensus_state_id = "PAS0"'),
    expected: [
      'relayer.toml:3: [hub].consensus_state_id: found "PAS0", which is for solochains, beside the parachain [para] with "KUSAMA-2000", expected either solochains or parachains in one file; remove it, or run one relayer for the solochains and one for the parachains',
    ],
  },
  {
    name: "hub seed phrase",
    toml: plus("hub", 'signer = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"'),
    expected: [
      "relayer.toml:3: [hub].signer: found several words or a derivation path, expected an sr25519 seed (32 bytes as hex), the path of a file that holds one, or keystore:PATH; seed phrases and derivation paths are not supported; give the seed as hex",
    ],
  },
  {
    name: "hub derivation path",
    toml: plus("hub", 'signer = "//Alice"'),
    expected: [
      "relayer.toml:3: [hub].signer: found several words or a derivation path, expected an sr25519 seed (32 bytes as hex), the path of a file that holds one, or keystore:PATH; seed phrases and derivation paths are not supported; give the seed as hex",
    ],
  },
  {
    name: "hub seed of 33 bytes",
    toml: plus("hub", `signer = "0x${KEY_64}00"`),
    expected: [
      "relayer.toml:3: [hub].signer: found 33 bytes of hex, expected an sr25519 seed (32 bytes as hex), the path of a file that holds one, or keystore:PATH",
    ],
  },
  {
    name: "hub key of 64 bytes that is none",
    toml: plus("hub", `signer = "0x${"ff".repeat(64)}"`),
    expected: [
      "relayer.toml:3: [hub].signer: found 64 bytes that are not an expanded sr25519 key, expected an sr25519 seed (32 bytes as hex), the path of a file that holds one, or keystore:PATH",
    ],
  },
  // [relayer].
  {
    name: "relayer without fields",
    toml: edited([RELAYER, "[relayer]\n\n"]),
    expected: [
      "relayer.toml:6: [relayer].minimum_profit_percentage: found nothing, expected an integer from 0 to 1000000 (percent)",
      "relayer.toml:6: [relayer].delivery_endpoints: found nothing, expected an array of state machines (empty for all chains)",
    ],
  },
  {
    name: "negative profit",
    toml: edited(["percentage = 0", "percentage = -1"]),
    expected: [
      "relayer.toml:7: [relayer].minimum_profit_percentage: found -1, expected an integer from 0 to 1000000 (percent)",
    ],
  },
  {
    name: "profit with decimals",
    toml: edited(["percentage = 0", "percentage = 0.5"]),
    expected: [
      "relayer.toml:7: [relayer].minimum_profit_percentage: found 0.5 (not an integer), expected an integer from 0 to 1000000 (percent)",
    ],
  },
  {
    name: "profit above the range",
    toml: edited(["percentage = 0", "percentage = 1000001"]),
    expected: [
      "relayer.toml:7: [relayer].minimum_profit_percentage: found 1000001, expected an integer from 0 to 1000000 (percent)",
    ],
  },
  {
    name: "profit as text",
    toml: edited(["percentage = 0", 'percentage = "10%"']),
    expected: [
      "relayer.toml:7: [relayer].minimum_profit_percentage: found a text, expected an integer from 0 to 1000000 (percent)",
    ],
  },
  {
    name: "withdrawal frequency 0",
    toml: plus("relayer", "withdrawal_frequency = 0"),
    expected: [
      "relayer.toml:7: [relayer].withdrawal_frequency: found 0, expected an integer from 1 to 2147483 (seconds)",
    ],
  },
  {
    name: "withdrawal frequency of a year",
    toml: plus("relayer", "withdrawal_frequency = 31536000"),
    expected: [
      "relayer.toml:7: [relayer].withdrawal_frequency: found 31536000, expected an integer from 1 to 2147483 (seconds)",
    ],
  },
  {
    name: "hub token without a price",
    toml: plus("hub", "token_price = 0"),
    expected: [
      "relayer.toml:3: [hub].token_price: found 0, expected a number from 0.000001 (dollars per token)",
    ],
  },
  {
    name: "negative withdrawal amount",
    toml: plus("relayer", "minimum_withdrawal_amount = -0.5"),
    expected: [
      "relayer.toml:7: [relayer].minimum_withdrawal_amount: found -0.5, expected a number of at least 0 (dollars)",
    ],
  },
  {
    name: "withdrawal amount not a number",
    toml: plus("relayer", "minimum_withdrawal_amount = nan"),
    expected: [
      "relayer.toml:7: [relayer].minimum_withdrawal_amount: found NaN, expected a number of at least 0 (dollars)",
    ],
  },
  {
    name: "infinite withdrawal amount",
    toml: plus("relayer", "minimum_withdrawal_amount = inf"),
    expected: [
      "relayer.toml:7: [relayer].minimum_withdrawal_amount: found Infinity, expected a number of at least 0 (dollars)",
    ],
  },
  {
    name: "withdrawal amount as text",
    toml: plus("relayer", 'minimum_withdrawal_amount = "100"'),
    expected: [
      'relayer.toml:7: [relayer].minimum_withdrawal_amount: found the text "100" (in quotes), expected a number of at least 0 (dollars)',
    ],
  },
  {
    name: "no loss at all",
    toml: plus("relayer", "maximum_daily_loss = 0"),
    expected: [
      "relayer.toml:7: [relayer].maximum_daily_loss: found 0, expected a number from 0.000001 (dollars)",
    ],
  },
  {
    name: "delivery endpoints as text",
    toml: edited(['["EVM-31337", "KUSAMA-2000"]', '"EVM-31337"']),
    expected: [
      "relayer.toml:8: [relayer].delivery_endpoints: found a text, expected an array of state machines (empty for all chains); put it in square brackets",
    ],
  },
  {
    name: "bad delivery endpoints",
    toml: edited(['["EVM-31337", "KUSAMA-2000"]', '[\n  "EVM-31337",\n  "ethereum",\n  5,\n  "EVM--1",\n]']),
    expected: [
      'relayer.toml:10: [relayer].delivery_endpoints[1]: found "ethereum", expected a state machine such as "EVM-1" or "POLKADOT-3367"',
      'relayer.toml:11: [relayer].delivery_endpoints[2]: found an integer, expected a state machine such as "EVM-1" or "POLKADOT-3367"; put it in quotes',
      'relayer.toml:12: [relayer].delivery_endpoints[3]: found "EVM--1", expected a state machine such as "EVM-1" or "POLKADOT-3367"; write "EVM-1"',
    ],
  },
  {
    name: "unusable delivery endpoints beside a problem",
    toml: edited(['["EVM-31337", "KUSAMA-2000"]', '["KUSAMA-4009", "EVM-5", "EVM-5"]'], [
      "percentage = 0",
      "percentage = true",
    ]),
    expected: [
      "relayer.toml:7: [relayer].minimum_profit_percentage: found the boolean true, expected an integer from 0 to 1000000 (percent)",
    ],
    warnings: [
      "relayer.toml:8: [relayer].delivery_endpoints[2]: found a repeat of element 1, which is ignored, expected each element once",
      'relayer.toml:8: [relayer].delivery_endpoints[0]: found "KUSAMA-4009", the hub, which is ignored, expected a configured chain other than the hub',
      'relayer.toml:8: [relayer].delivery_endpoints[1]: found "EVM-5", a chain without a section in this file, which is ignored, expected a configured chain other than the hub',
      "relayer.toml:8: [relayer].delivery_endpoints: found no configured chain, expected at least one of the configured chains; nothing is delivered from the hub to any chain",
    ],
  },
  {
    name: "module filter as text",
    toml: plus("relayer", 'module_filter = "ISMP-RLYR"'),
    expected: [
      "relayer.toml:7: [relayer].module_filter: found a text, expected an array of module identifiers; put it in square brackets",
    ],
  },
  {
    name: "bad module filters",
    toml: plus(
      "relayer",
      'module_filter = ["", "0x", "0xabc", "0xzz", "1111111111111111111", "pallet-ü", 7]',
    ),
    expected: [
      'relayer.toml:7: [relayer].module_filter[0]: found an empty text, expected a module identifier of 1 to 64 bytes (hex, or ASCII such as "ISMP-RLYR")',
      'relayer.toml:7: [relayer].module_filter[1]: found 0x without digits, expected a module identifier of 1 to 64 bytes (hex, or ASCII such as "ISMP-RLYR")',
      'relayer.toml:7: [relayer].module_filter[2]: found 3 hex digits (an odd number), expected a module identifier of 1 to 64 bytes (hex, or ASCII such as "ISMP-RLYR")',
      'relayer.toml:7: [relayer].module_filter[3]: found 0x and other characters than hex digits, expected a module identifier of 1 to 64 bytes (hex, or ASCII such as "ISMP-RLYR")',
      'relayer.toml:7: [relayer].module_filter[4]: found 19 hex digits (an odd number), expected a module identifier of 1 to 64 bytes (hex, or ASCII such as "ISMP-RLYR")',
      'relayer.toml:7: [relayer].module_filter[5]: found a text that is neither hex nor ASCII, expected a module identifier of 1 to 64 bytes (hex, or ASCII such as "ISMP-RLYR")',
      'relayer.toml:7: [relayer].module_filter[6]: found an integer, expected a module identifier of 1 to 64 bytes (hex, or ASCII such as "ISMP-RLYR"); put it in quotes',
    ],
  },
  {
    name: "module filter too long",
    toml: plus("relayer", `module_filter = ["${"x".repeat(65)}", "${"ab".repeat(65)}"]`),
    expected: [
      'relayer.toml:7: [relayer].module_filter[0]: found 65 bytes, expected a module identifier of 1 to 64 bytes (hex, or ASCII such as "ISMP-RLYR")',
      'relayer.toml:7: [relayer].module_filter[1]: found 65 bytes, expected a module identifier of 1 to 64 bytes (hex, or ASCII such as "ISMP-RLYR")',
    ],
  },
  {
    name: "retry frequency 0",
    toml: plus("relayer", "unprofitable_retry_frequency = 0"),
    expected: [
      "relayer.toml:7: [relayer].unprofitable_retry_frequency: found 0, expected an integer from 1 to 2147483 (seconds)",
    ],
  },
  {
    name: "boolean as text",
    toml: plus("relayer", 'disable_fee_accumulation = "yes"'),
    expected: ['relayer.toml:7: [relayer].disable_fee_accumulation: found "yes", expected true or false'],
  },
  {
    name: "boolean as number",
    toml: plus("relayer", "disable_fee_accumulation = 1"),
    expected: [
      "relayer.toml:7: [relayer].disable_fee_accumulation: found an integer, expected true or false",
    ],
  },
  // evm entries.
  {
    name: "evm entry without fields",
    toml: edited([EVM1, '[evm1]\ntype = "evm"\n\n']),
    expected: [
      'relayer.toml:10: [evm1].state_machine: found nothing, expected "EVM-n" with a chain id; other relayers derive it; write it here',
      "relayer.toml:10: [evm1].rpc_urls: found nothing, expected an array of at least one HTTP URL (http:// or https://)",
      'relayer.toml:10: [evm1].consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0"; other relayers derive it; write it here',
      'relayer.toml:10: [evm1].etherscan_api_key: found nothing, expected an API key (may be an empty text); write "" to use prices of the chain alone',
      "relayer.toml:10: [evm1].ismp_host: found nothing, expected a contract address of 20 bytes (0x and 40 hex digits); other relayers derive it; write it here",
      "relayer.toml:10: [evm1].signer: found nothing, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL; of a chain that is only a source, write inbound_only = true instead",
    ],
  },
  {
    name: "live evm entry without fields",
    toml: edited([EVM1, '[evm1]\ntype = "evm"\nstate_machine = "EVM-10"\n\n'], ["EVM-31337", "EVM-10"]),
    expected: [
      "relayer.toml:10: [evm1].rpc_urls: found nothing, expected an array of at least one HTTP URL (http:// or https://)",
      'relayer.toml:10: [evm1].consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0"; the live hub uses "ETH0" for this chain',
      'relayer.toml:10: [evm1].etherscan_api_key: found nothing, expected an API key (may be an empty text); write "" to use prices of the chain alone',
      "relayer.toml:10: [evm1].ismp_host: found nothing, expected a contract address of 20 bytes (0x and 40 hex digits); the live host of this chain is 0x620128e2b19193d6bd244a3ac8d3bba0541b19c3",
      "relayer.toml:10: [evm1].signer: found nothing, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL; of a chain that is only a source, write inbound_only = true instead",
    ],
    warnings: [
      'relayer.toml:12: [evm1].state_machine: found "EVM-10" (optimism), a chain of the mainnet, expected chains of the testnet, as KUSAMA-4009 is the hub of that; each network has a hub and a file of its own',
    ],
  },
  {
    name: "entry without type",
    toml: edited(['type = "evm"\n', ""]),
    expected: ['relayer.toml:10: [evm1].type: found nothing, expected "evm", "substrate_evm" or "substrate"'],
  },
  {
    name: "misspelt type",
    toml: edited(['"evm"', '"EVM"']),
    expected: [
      'relayer.toml:11: [evm1].type: found "EVM", expected "evm", "substrate_evm" or "substrate"; did you mean "evm"?',
    ],
  },
  {
    name: "unknown type",
    toml: edited(['"evm"', '"solana"']),
    expected: [
      'relayer.toml:11: [evm1].type: found "solana", expected "evm", "substrate_evm" or "substrate"',
    ],
  },
  {
    name: "type is a list",
    toml: edited(['"evm"', '["evm"]']),
    expected: [
      'relayer.toml:11: [evm1].type: found an array, expected "evm", "substrate_evm" or "substrate"',
    ],
  },
  {
    name: "tendermint",
    toml: edited(['"evm"', '"tendermint"']),
    expected: [
      'relayer.toml:11: [evm1].type: found the unsupported type "tendermint", expected "evm", "substrate_evm" or "substrate"; Tendermint chains are not supported',
    ],
  },
  {
    name: "pharos_evm",
    toml: edited(['"evm"', '"pharos_evm"']),
    expected: [
      'relayer.toml:11: [evm1].type: found the unsupported type "pharos_evm", expected "evm", "substrate_evm" or "substrate"; Pharos chains are not supported',
    ],
  },
  {
    name: "tron",
    toml: edited(['"evm"', '"tron"']),
    expected: [
      'relayer.toml:11: [evm1].type: found the unsupported type "tron", expected "evm", "substrate_evm" or "substrate"; Tron is not supported',
    ],
  },
  {
    name: "type of the consensus relayer",
    toml: edited(['"evm"', '"op_stack"']),
    expected: [
      'relayer.toml:11: [evm1].type: found the unsupported type "op_stack", expected "evm", "substrate_evm" or "substrate"; a type of the consensus relayer; for messages write type = "evm"',
    ],
  },
  {
    name: "evm entry with a parachain",
    toml: edited(['state_machine = "EVM-31337"', 'state_machine = "POLKADOT-2000"']),
    expected: [
      'relayer.toml:12: [evm1].state_machine: found "POLKADOT-2000", expected "EVM-n" with a chain id',
    ],
  },
  {
    name: "chain id not a number",
    toml: edited(['state_machine = "EVM-31337"', 'state_machine = "EVM-mainnet"']),
    expected: [
      'relayer.toml:12: [evm1].state_machine: found "EVM-mainnet", expected "EVM-n" with a chain id',
    ],
  },
  {
    name: "two entries of one chain",
    toml: `${GOOD_TOML}\n${EVM1.replace("[evm1]", "[evm2]")}`,
    expected: [
      'relayer.toml:31: [evm2].state_machine: found "EVM-31337", which [evm1] (line 10) has already, expected each chain in one section only',
    ],
  },
  {
    name: "a chain that is the hub",
    toml: edited(['state_machine = "KUSAMA-2000"', 'state_machine = "KUSAMA-4009"'], [', "KUSAMA-2000"', ""]),
    expected: [
      'relayer.toml:24: [para].state_machine: found "KUSAMA-4009", which is the hub, expected a chain other than the hub',
    ],
  },
  {
    name: "no URLs",
    toml: edited([
      GOOD_TOML.slice(GOOD_TOML.indexOf("rpc_urls"), GOOD_TOML.indexOf('consensus_state_id = "ETH0"')),
      "rpc_urls = []\n",
    ]),
    expected: [
      "relayer.toml:13: [evm1].rpc_urls: found an empty array, expected an array of at least one HTTP URL (http:// or https://)",
    ],
  },
  {
    name: "URLs as text",
    toml: edited([
      GOOD_TOML.slice(GOOD_TOML.indexOf("rpc_urls"), GOOD_TOML.indexOf('consensus_state_id = "ETH0"')),
      'rpc_urls = "http://127.0.0.1:8545"\n',
    ]),
    expected: [
      "relayer.toml:13: [evm1].rpc_urls: found a text, expected an array of at least one HTTP URL (http:// or https://); put it in square brackets",
    ],
  },
  {
    name: "bad URLs",
    toml: edited([
      '"http://127.0.0.1:8545"',
      '"wss://evm1.example.org/key/evmrpckey2", "not a url", "https://", "evmrpckey3:x", 5',
    ]),
    expected: [
      'relayer.toml:15: [evm1].rpc_urls[1]: found "wss://evm1.example.org/..." (scheme wss), expected an HTTP URL (http:// or https://)',
      "relayer.toml:15: [evm1].rpc_urls[2]: found a text that is not a URL, expected an HTTP URL (http:// or https://)",
      "relayer.toml:15: [evm1].rpc_urls[3]: found a text that is not a URL, expected an HTTP URL (http:// or https://)",
      "relayer.toml:15: [evm1].rpc_urls[4]: found a text that is not a URL, expected an HTTP URL (http:// or https://)",
      "relayer.toml:15: [evm1].rpc_urls[5]: found an integer, expected an HTTP URL (http:// or https://); put it in quotes",
    ],
  },
  {
    name: "consensus id of 5 characters",
    toml: edited(["ETH0", "ETH01"]),
    expected: [
      'relayer.toml:17: [evm1].consensus_state_id: found "ETH01", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
    ],
  },
  {
    name: "consensus id is a number",
    toml: edited(['"ETH0"', "1163151408"]),
    expected: [
      'relayer.toml:17: [evm1].consensus_state_id: found an integer, expected a consensus state id of exactly 4 ASCII characters such as "ETH0"; put it in quotes',
    ],
  },
  {
    name: "live consensus id misspelt",
    toml: edited(["ETH0", "OP"], ["EVM-31337", "EVM-10"], ["EVM-31337", "EVM-10"]),
    expected: [
      'relayer.toml:17: [evm1].consensus_state_id: found "OP", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"; the live hub uses "ETH0" for this chain',
    ],
    warnings: [
      'relayer.toml:12: [evm1].state_machine: found "EVM-10" (optimism), a chain of the mainnet, expected chains of the testnet, as KUSAMA-4009 is the hub of that; each network has a hub and a file of its own',
    ],
  },
  {
    name: "no etherscan key",
    toml: edited(['etherscan_api_key = "ETHERSCANKEY1"\n', ""]),
    expected: [
      'relayer.toml:10: [evm1].etherscan_api_key: found nothing, expected an API key (may be an empty text); write "" to use prices of the chain alone',
    ],
  },
  {
    name: "etherscan key is a number",
    toml: edited(['"ETHERSCANKEY1"', "12345"]),
    expected: [
      "relayer.toml:18: [evm1].etherscan_api_key: found an integer, expected an API key (may be an empty text); put it in quotes",
    ],
  },
  {
    name: "short host address",
    toml: edited(["0x1111111111111111111111111111111111111111", "0x11111111111111111111111111111111111111"]),
    expected: [
      "relayer.toml:19: [evm1].ismp_host: found 38 hex digits, expected a contract address of 20 bytes (0x and 40 hex digits)",
    ],
  },
  {
    name: "private key as host address",
    toml: edited(["0x1111111111111111111111111111111111111111", KEY_64]),
    expected: [
      "relayer.toml:19: [evm1].ismp_host: found 64 hex digits, expected a contract address of 20 bytes (0x and 40 hex digits)",
    ],
  },
  {
    name: "host address not hex",
    toml: edited(["0x1111111111111111111111111111111111111111", "0xhost"]),
    expected: [
      "relayer.toml:19: [evm1].ismp_host: found a text of 6 characters that is not hex, expected a contract address of 20 bytes (0x and 40 hex digits)",
    ],
  },
  {
    name: "zero host address",
    toml: edited([
      "0x1111111111111111111111111111111111111111",
      "0x0000000000000000000000000000000000000000",
    ]),
    expected: [
      "relayer.toml:19: [evm1].ismp_host: found the zero address, expected a contract address of 20 bytes (0x and 40 hex digits)",
    ],
  },
  {
    name: "no evm signer",
    toml: edited([`signer = ${SIGNER}\n`, ""]),
    expected: [
      "relayer.toml:10: [evm1].signer: found nothing, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL; of a chain that is only a source, write inbound_only = true instead",
    ],
  },
  {
    name: "empty signer",
    toml: edited([SIGNER, '""']),
    expected: [
      "relayer.toml:20: [evm1].signer: found an empty text, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "signer of 31 bytes",
    toml: edited([SIGNER, `"${KEY_64.slice(2)}"`]),
    expected: [
      "relayer.toml:20: [evm1].signer: found 31 bytes of hex, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "signer of 63 digits",
    toml: edited([SIGNER, `"0x${KEY_64.slice(1)}"`]),
    expected: [
      "relayer.toml:20: [evm1].signer: found 63 hex digits, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "signer with a letter that is not hex",
    toml: edited([SIGNER, `"0x${KEY_64.slice(1)}O"`]),
    expected: [
      "relayer.toml:20: [evm1].signer: found other characters than hex digits, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "signer as integer",
    toml: edited([SIGNER, `0x${KEY_64}`]),
    expected: [
      "relayer.toml:20: [evm1].signer: found an integer, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL; put it in quotes",
    ],
  },
  {
    name: "signer zero",
    toml: edited([SIGNER, `"${"0".repeat(64)}"`]),
    expected: [
      "relayer.toml:20: [evm1].signer: found a number outside of the secp256k1 group order, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "signer is the group order",
    toml: edited([SIGNER, `"${GROUP_ORDER}"`]),
    expected: [
      "relayer.toml:20: [evm1].signer: found a number outside of the secp256k1 group order, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "signer of an address with a leading zero byte",
    toml: edited([SIGNER, `"${ZERO_ADDRESS_KEY}"`]),
    expected: [
      "relayer.toml:20: [evm1].signer: found the key of an address that begins with a zero byte, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL; the hub cannot read such an address in a proof, so no fee and no reward could ever be claimed with it; make another key (one in 256 is like this)",
    ],
  },
  {
    name: "signer file of an address with a leading zero byte",
    toml: edited([SIGNER, '"keys/zero.hex"']),
    files: { "keys/zero.hex": `0x${ZERO_ADDRESS_KEY}\n` },
    expected: [
      "relayer.toml:20: [evm1].signer: found a file that holds the key of an address that begins with a zero byte, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL; the hub cannot read such an address in a proof, so no fee and no reward could ever be claimed with it; make another key (one in 256 is like this)",
    ],
  },
  {
    name: "signer file missing",
    toml: edited([SIGNER, '"keys/missing.hex"']),
    expected: [
      "relayer.toml:20: [evm1].signer: found a text that is not hex, and as a path: no file at this path, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "signer file is a directory",
    toml: edited([SIGNER, '"keys"']),
    files: { "keys/note": "" },
    expected: [
      "relayer.toml:20: [evm1].signer: found a text that is not hex, and as a path: a directory, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "signer file with too little",
    toml: edited([SIGNER, '"keys/short.hex"']),
    files: { "keys/short.hex": "0xac0974\n" },
    expected: [
      "relayer.toml:20: [evm1].signer: found a file that holds 3 bytes of hex, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "signer file with words",
    toml: edited([SIGNER, '"keys/words"']),
    files: { "keys/words": "bottom drive obey lake\n" },
    expected: [
      "relayer.toml:20: [evm1].signer: found a file that holds other characters than hex digits, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "empty signer file",
    toml: edited([SIGNER, '"keys/empty"']),
    files: { "keys/empty": "\n" },
    expected: [
      "relayer.toml:20: [evm1].signer: found a file that holds no digits, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
    ],
  },
  {
    name: "query batch size 0",
    toml: plus("evm1", "query_batch_size = 0"),
    expected: [
      "relayer.toml:11: [evm1].query_batch_size: found 0, expected an integer from 1 to 4294967295 (blocks)",
    ],
  },
  {
    name: "tracing batch size 0",
    toml: plus("evm1", "tracing_batch_size = 0"),
    expected: [
      "relayer.toml:11: [evm1].tracing_batch_size: found 0, expected an integer from 1 to 4294967295 (transactions)",
    ],
  },
  {
    name: "gas price buffer in basis points",
    toml: plus("evm1", "gas_price_buffer = 5000"),
    expected: [
      "relayer.toml:11: [evm1].gas_price_buffer: found 5000, expected an integer from 0 to 1000 (percent)",
    ],
  },
  {
    name: "client type in lower case",
    toml: plus("evm1", 'client_type = "geth"'),
    expected: [
      'relayer.toml:11: [evm1].client_type: found "geth", expected "Geth" or "Erigon"; did you mean "Geth"?',
    ],
  },
  {
    name: "unknown client type",
    toml: plus("evm1", 'client_type = "Nethermind"'),
    expected: ['relayer.toml:11: [evm1].client_type: found "Nethermind", expected "Geth" or "Erigon"'],
  },
  // substrate entries.
  {
    name: "substrate entry without fields",
    toml: edited([PARA, '[para]\ntype = "substrate"\n']),
    expected: [
      'relayer.toml:22: [para].state_machine: found nothing, expected "POLKADOT-n", "KUSAMA-n" or "SUBSTRATE-xxxx" with 4 characters',
      'relayer.toml:22: [para].hashing: found nothing, expected "Keccak" or "Blake2"',
      "relayer.toml:22: [para].rpc_ws: found nothing, expected a WebSocket URL (ws:// or wss://)",
      'relayer.toml:22: [para].consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
    ],
  },
  {
    name: "substrate entry with an EVM chain",
    toml: edited(['state_machine = "KUSAMA-2000"', 'state_machine = "EVM-2000"'], [', "KUSAMA-2000"', ""]),
    expected: [
      'relayer.toml:24: [para].state_machine: found "EVM-2000", expected "POLKADOT-n", "KUSAMA-n" or "SUBSTRATE-xxxx" with 4 characters',
    ],
  },
  {
    name: "solochain id of 5 characters",
    toml: edited(['state_machine = "KUSAMA-2000"', 'state_machine = "SUBSTRATE-ceres"'], [
      ', "KUSAMA-2000"',
      "",
    ]),
    expected: [
      'relayer.toml:24: [para].state_machine: found "SUBSTRATE-ceres", expected "POLKADOT-n", "KUSAMA-n" or "SUBSTRATE-xxxx" with 4 characters',
    ],
  },
  {
    name: "hashing in lower case",
    toml: edited(["Blake2", "blake2"]),
    expected: [
      'relayer.toml:25: [para].hashing: found "blake2", expected "Keccak" or "Blake2"; did you mean "Blake2"?',
    ],
  },
  {
    name: "unknown hashing",
    toml: edited(["Blake2", "Sha256"]),
    expected: ['relayer.toml:25: [para].hashing: found "Sha256", expected "Keccak" or "Blake2"'],
  },
  {
    name: "substrate over HTTP",
    toml: edited(["ws://127.0.0.1:9944", "https://127.0.0.1:9944"]),
    expected: [
      'relayer.toml:26: [para].rpc_ws: found "https://127.0.0.1:9944" (scheme https), expected a WebSocket URL (ws:// or wss://)',
    ],
  },
  {
    name: "fee token decimals above 18",
    toml: plus("para", "fee_token_decimals = 19"),
    expected: ["relayer.toml:23: [para].fee_token_decimals: found 19, expected an integer from 0 to 18"],
  },
  {
    name: "substrate signer not hex",
    toml: plus("para", 'signer = "0xseed"'),
    expected: [
      "relayer.toml:23: [para].signer: found other characters than hex digits, expected an sr25519 seed (32 bytes as hex), the path of a file that holds one, or keystore:PATH",
    ],
  },
  // Chains of which nothing can be proved.
  ...OTHER_TRIES.map(([chainId, name]) => ({
    name: `EVM-${chainId}, whose fees could never be claimed`,
    toml: edited(['"EVM-31337", ', `"EVM-${chainId}", `], [
      'machine = "EVM-31337"',
      `machine = "EVM-${chainId}"`,
    ]),
    expected: [
      `relayer.toml:12: [evm1].state_machine: found "EVM-${chainId}" (${name}), whose state is neither in Ethereum's trie nor in those of Polkadot Hub, expected a chain whose state this program can prove; fees and rewards for deliveries to it could never be claimed; remove the section`,
    ],
    warnings: liveIdWarning(chainId, 17),
  })),
  ...POLKADOT_HUBS.map(([chainId]) => ({
    name: `EVM-${chainId} as a chain with Ethereum's trie`,
    toml: edited(['state_machine = "EVM-31337"', `state_machine = "EVM-${chainId}"`], [
      '["EVM-31337", "KUSAMA-2000"]',
      "[]",
    ]),
    expected: [
      `relayer.toml:11: [evm1].type: found "evm" for EVM-${chainId} (Polkadot Hub), whose state is not in Ethereum's trie, expected "substrate_evm"; its state is proved by a node with Substrate's RPC: add that as ws_url`,
    ],
    warnings: [
      ...chainId === 420420419
        ? [
          'relayer.toml:12: [evm1].state_machine: found "EVM-420420419" (polkadot-hub), a chain of the mainnet, expected chains of the testnet, as KUSAMA-4009 is the hub of that; each network has a hub and a file of its own',
        ]
        : [],
      ...liveIdWarning(chainId, 17),
    ],
  })),
  {
    name: "a chain with Ethereum's trie as substrate_evm",
    toml: edited([EVM1, SUBSTRATE_EVM.replace("EVM-31337", "EVM-1")], [
      '"EVM-31337", "KUSAMA-2000"',
      '"EVM-1", "KUSAMA-2000"',
    ]),
    expected: [
      'relayer.toml:11: [evm1].type: found "substrate_evm" for EVM-1, whose state is in Ethereum\'s trie, expected "evm"; remove ws_url',
    ],
    warnings: [
      'relayer.toml:13: [evm1].state_machine: found "EVM-1" (ethereum), a chain of the mainnet, expected chains of the testnet, as KUSAMA-4009 is the hub of that; each network has a hub and a file of its own',
    ],
  },
  {
    name: "Pharos as substrate_evm",
    toml: edited([EVM1, SUBSTRATE_EVM.replace("EVM-31337", "EVM-688689")], [
      '"EVM-31337", "KUSAMA-2000"',
      '"EVM-688689", "KUSAMA-2000"',
    ]),
    expected: [
      'relayer.toml:13: [evm1].state_machine: found "EVM-688689" (Pharos), whose state is neither in Ethereum\'s trie nor in those of Polkadot Hub, expected a chain whose state this program can prove; fees and rewards for deliveries to it could never be claimed; remove the section',
    ],
    warnings: liveIdWarning(688689, 18),
  },
  {
    name: "substrate_evm without its Substrate node, with keys of others",
    toml: edited([
      EVM1,
      EVM1.replace('"evm"', '"substrate_evm"\nrpc_ws = "wss://one.example.org"\nhashing = "Blake2"'),
    ]),
    expected: [
      "relayer.toml:10: [evm1].ws_url: found nothing, expected a WebSocket URL (ws:// or wss://)",
    ],
    warnings: [
      'relayer.toml:12: [evm1].rpc_ws: found a key without effect, expected no such key; a key of `type = "substrate"` entries; the node of a substrate_evm entry is its `ws_url`',
      'relayer.toml:13: [evm1].hashing: found a key without effect, expected no such key; a key of `type = "substrate"` entries',
    ],
  },
  {
    name: "a Substrate node of an evm entry",
    toml: edited(
      [EVM1, EVM1.replace('type = "evm"', 'type = "evm"\nws_url = "wss://one.example.org"')],
      ['consensus_state_id = "ETH0"\n', ""],
    ),
    expected: [
      'relayer.toml:10: [evm1].consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0"; other relayers derive it; write it here',
    ],
    warnings: [
      'relayer.toml:12: [evm1].ws_url: found a key without effect, expected no such key; a key of `type = "substrate_evm"` entries',
    ],
  },
  ...(["KUSAMA", "POLKADOT"] as const).map((relay) => ({
    name: `Polkadot Hub as ${relay}-1000`,
    toml: edited(["KUSAMA-4009", `${relay}-4009`], ["KUSAMA-2000", `${relay}-1000`], [
      "KUSAMA-2000",
      `${relay}-1000`,
    ]),
    expected: [
      `relayer.toml:24: [para].state_machine: found "${relay}-1000", which is Polkadot Hub, expected "EVM-${
        relay === "KUSAMA" ? 420420417 : 420420419
      }", as which the hub stores it; write type = "substrate_evm", the keys of an EVM chain, and the node of this section as ws_url`,
    ],
  })),
  // Many at once.
  {
    name: "everything wrong at once",
    toml: `colour = true\n${
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
    expected: [
      "relayer.toml:1: colour: found the boolean true outside of any section, expected a section in single brackets",
      'relayer.toml:4: [hub].state_machine: found "EVM-1", expected "POLKADOT-n" or "KUSAMA-n" with a para id',
      'relayer.toml:5: [hub].rpc_ws: found "https://hub.example.org/..." (scheme https), expected a WebSocket URL (ws:// or wss://)',
      "relayer.toml:7: [relayer].delivery_endpoints: found nothing, expected an array of state machines (empty for all chains)",
      "relayer.toml:8: [relayer].minimum_profit_percentage: found 5.5 (not an integer), expected an integer from 0 to 1000000 (percent)",
      'relayer.toml:19: [evm1].consensus_state_id: found "ETH", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
      "relayer.toml:22: [evm1].signer: found a text that is not hex, and as a path: no file at this path, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL",
      'relayer.toml:27: [para].hashing: found "Blake3", expected "Keccak" or "Blake2"; did you mean "Blake2"?',
      "relayer.toml:28: [para].rpc_ws: found a text that is not a URL, expected a WebSocket URL (ws:// or wss://)",
      'relayer.toml:30: [extra].type: found nothing, expected "evm", "substrate_evm" or "substrate"',
    ],
    warnings: [
      "relayer.toml:9: [relayer].delivery_endpoint: found an unknown key, which is ignored, expected a key of [relayer]; did you mean `delivery_endpoints`?",
      "relayer.toml:10: [relayer].router: found a key without effect, expected no such key; a leftover of old sample files; remove it",
    ],
  },
];
