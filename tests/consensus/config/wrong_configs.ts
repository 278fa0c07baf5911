/**
 * Wrong configuration files of the consensus relayer and the exact lines that must be said about them, as data:
 * the unit test reads them with the library, the scenario test with the compiled program.
 *
 * The lines begin with `consensus.toml`, so the file must be given under that relative path.
 */
import type { ConfigFiles } from "../../../src/core/config/toml.ts";
import { OTHER_TRIES, type WrongConfig, ZERO_ADDRESS_KEY } from "../../messaging/config/wrong_configs.ts";

/** A file without any fault, on which most of the wrong ones are based. */
export const GOOD_CONSENSUS_TOML = `# consensus relayer of the devnet
[hub]
type = "grandpa"

[hub.grandpa]
rpc = "wss://relay.example.org/ws?key=relayrpckey1"
slot_duration = 6000
para_ids = [4009]

[hub.substrate]
rpc_ws = "wss://hub.example.org/ws?key=hubrpckey1"
state_machine = "KUSAMA-4009"
signer = "keys/hub"

[relayer]
maximum_update_intervals = []
enable_hub_consensus = false

[sepolia]
type = "evm"
state_machine = "EVM-11155111"
rpc_urls = ["https://user:evmrpcpassword@sepolia.example.org/v3/evmrpckey1"]
consensus_state_id = "ETH0"
etherscan_api_key = "ETHERSCANKEY1"
ismp_host = "0x9AA003594d59C62EE17A73A569Fd7B1DbdBd71E1"
signer = "keys/evm"

[sepolia.host]
beacon_http_urls = ["https://beacon.example.org/beaconkey1"]
consensus_update_frequency = 60

[arbitrum]
type = "arbitrum_orbit"
state_machine = "EVM-421614"
rpc_urls = ["https://arbitrum.example.org"]
consensus_state_id = "ARB0"
etherscan_api_key = "ETHERSCANKEY1"
ismp_host = "0x9AA003594d59C62EE17A73A569Fd7B1DbdBd71E1"
signer = "keys/evm"

[arbitrum.host]
beacon_rpc_url = ["https://sepolia.example.org"]
rollup_core = "0x042B2E6C5E99d4c521bd49beeD5E99651D9B0Cf4"
l1_state_machine = "EVM-11155111"
l1_consensus_state_id = "ETH0"

[optimism]
type = "op_stack"
state_machine = "EVM-11155420"
rpc_urls = ["https://optimism.example.org"]
consensus_state_id = "OPT0"
etherscan_api_key = "ETHERSCANKEY1"
ismp_host = "0x9AA003594d59C62EE17A73A569Fd7B1DbdBd71E1"
signer = "keys/evm"

[optimism.host]
beacon_rpc_url = ["https://sepolia.example.org"]
dispute_game_factory = "0x05F9613aDB30026FFd634f38e5C4dFd30a197Fa1"
respected_game_type = 0
message_parser = "0x4200000000000000000000000000000000000016"
l1_state_machine = "EVM-11155111"
l1_consensus_state_id = "ETH0"

[chapel]
type = "bsc"
state_machine = "EVM-97"
rpc_urls = ["https://chapel.example.org"]
consensus_state_id = "BSC0"
etherscan_api_key = ""
ismp_host = "0x9AA003594d59C62EE17A73A569Fd7B1DbdBd71E1"
signer = "keys/evm"

[chapel.host]
consensus_update_frequency = 300
epoch_length = 1000
`;

/** A section that may follow the good file: it begins at line 77. */
export const AMOY_SECTION = `
[amoy]
type = "polygon"
state_machine = "EVM-80002"
rpc_urls = ["https://amoy.example.org"]
consensus_state_id = "POLY"
etherscan_api_key = ""
ismp_host = "0x9AA003594d59C62EE17A73A569Fd7B1DbdBd71E1"
signer = "keys/evm"

[amoy.host]
heimdall_rpc_url = "https://heimdall.example.org/heimdallkey1"
`;

/** A section that may follow the good file: it begins at line 77. */
export const POLKADOT_HUB_SECTION = `
[paseo-hub]
type = "substrate_evm"
state_machine = "EVM-420420417"
rpc_urls = ["https://paseo-hub.example.org"]
ws_url = "wss://paseo-hub.example.org/ws?key=paseohubkey1"
consensus_state_id = "PAS0"
etherscan_api_key = ""
ismp_host = "0x9AA003594d59C62EE17A73A569Fd7B1DbdBd71E1"
signer = "keys/evm"

[paseo-hub.host]
relay_rpc_ws = "wss://paseo.example.org/ws?key=paseokey1"
`;

/** The files that the good file names. */
export const KEY_FILES: Readonly<Record<string, string>> = {
  "keys/hub": "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80\n",
  "keys/evm": "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80\n",
};

/** {@link KEY_FILES} as the readers ask for them. */
export const goodFiles: ConfigFiles = {
  readFile: (path) => {
    const content = KEY_FILES[path];
    if (content !== undefined) return new TextEncoder().encode(content);
    throw Object.assign(new Error("not shown"), { code: "ENOENT" });
  },
};

/** {@link GOOD_CONSENSUS_TOML} with each first text, which must occur, replaced by the second. */
export function edited(...changes: readonly (readonly [string, string])[]): string {
  return changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`Not in the good file: ${from}`);
    return text.replace(from, () => to);
  }, GOOD_CONSENSUS_TOML);
}

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
  {
    name: "empty file",
    toml: "",
    expected: [
      "consensus.toml: [hub]: found no such section, expected a section [hub]",
      'consensus.toml: found no chain, expected at least one section of a chain (type = "evm", "op_stack", "arbitrum_orbit", "bsc", "polygon", "substrate_evm" or "substrate")',
    ],
  },
  {
    name: "chains in the layout of the network's newer documents",
    toml: edited([
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
    expected: [
      'consensus.toml:24: [ethereum].consensus: found a section of the layout in the network\'s newer documents, expected type = "ethereum" in [ethereum], and the other keys of this section in [ethereum.host]; also write state_machine, consensus_state_id, ismp_host, etherscan_api_key and signer into [ethereum]: nothing is derived',
      'consensus.toml:30: [polygon].consensus: found a section of the layout in the network\'s newer documents, expected type = "polygon" in [polygon], and the other keys of this section in [polygon.host]; also write state_machine, consensus_state_id, ismp_host, etherscan_api_key and signer into [polygon]: nothing is derived',
    ],
  },
  {
    name: "no chains",
    toml: edited([CHAINS, ""]),
    expected: [
      'consensus.toml: found no chain, expected at least one section of a chain (type = "evm", "op_stack", "arbitrum_orbit", "bsc", "polygon", "substrate_evm" or "substrate")',
    ],
  },
  {
    name: "no hub",
    toml: edited([HUB, ""]),
    expected: ["consensus.toml: [hub]: found no such section, expected a section [hub]"],
  },
  {
    name: "hub twice under both names",
    toml: edited(["[relayer]", `${HUB.replaceAll("hub", "hyperbridge")}\n[relayer]`]),
    expected: [
      "consensus.toml:15: [hyperbridge]: found a second section for the hub beside [hub], expected either [hub] or [hyperbridge]",
    ],
  },
  {
    name: "relayer section that is no table",
    toml: `relayer = 3\n${edited([RELAYER, ""])}`,
    expected: [
      "consensus.toml:1: relayer: found an integer outside of any section, expected a section in single brackets",
    ],
  },
  {
    name: "misspelt relayer section",
    toml: edited(["[relayer]", "[relayr]"]),
    expected: [
      'consensus.toml:15: [relayr].type: found nothing, expected "evm", "op_stack", "arbitrum_orbit", "bsc", "polygon", "substrate_evm" or "substrate"',
    ],
  },
  {
    name: "syntax",
    toml: edited(['type = "grandpa"', "type = grandpa"]),
    expected: [
      "consensus.toml:3: found a syntax error at column 8 of `type = ...`: unexpected character, expected TOML; text values need quotes",
    ],
  },
  {
    name: "chain twice",
    toml: edited(['"EVM-97"', '"EVM-11155111"']),
    expected: [
      'consensus.toml:66: [chapel].state_machine: found "EVM-11155111", which the hub has no BSC client for, expected "EVM-56" or "EVM-97"',
      'consensus.toml:66: [chapel].state_machine: found "EVM-11155111", which [sepolia] (line 19) has already, expected each chain in one section only',
    ],
    warnings: [
      'consensus.toml:68: [chapel].consensus_state_id: found "BSC0", expected "ETH0", which is what the live hub uses for EVM-11155111',
    ],
  },
  {
    name: "chain that is the hub",
    toml: edited(["KUSAMA-4009", "KUSAMA-4009"], ['"EVM-97"', '"KUSAMA-4009"']),
    expected: [
      'consensus.toml:66: [chapel].state_machine: found "KUSAMA-4009", expected "EVM-n" with a chain id',
    ],
  },
  // The hub.
  {
    name: "no type of hub",
    toml: edited(['type = "grandpa"\n', ""]),
    expected: ['consensus.toml:2: [hub].type: found nothing, expected "grandpa" or "beefy"'],
  },
  {
    name: "unknown type of hub",
    toml: edited(['"grandpa"', '"grandpas"']),
    expected: [
      'consensus.toml:3: [hub].type: found "grandpas", expected "grandpa" or "beefy"; did you mean "grandpa"?',
    ],
  },
  {
    name: "no grandpa section",
    toml: edited([part("hub.grandpa", "hub.substrate"), ""]),
    expected: ["consensus.toml:2: [hub.grandpa]: found no such section, expected a section [hub.grandpa]"],
  },
  {
    name: "no substrate section",
    toml: edited([part("hub.substrate", "relayer"), ""]),
    expected: [
      "consensus.toml:2: [hub.substrate]: found no such section, expected a section [hub.substrate]",
    ],
  },
  {
    name: "substrate as a text",
    toml: edited([part("hub.substrate", "relayer"), ""], [
      'type = "grandpa"',
      'type = "grandpa"\nsubstrate = "wss://hub.example.org"',
    ]),
    expected: ["consensus.toml:4: [hub.substrate]: found a text, expected a section [hub.substrate]"],
  },
  {
    name: "beefy hub with grandpa section only",
    toml: edited(['"grandpa"', '"beefy"'], ['\nsigner = "keys/hub"', ""]),
    expected: [
      "consensus.toml:10: [hub.substrate].signer: found nothing, expected an sr25519 seed (32 bytes as hex), the path of a file that holds one, or keystore:PATH",
    ],
    warnings: [
      'consensus.toml:5: [hub].grandpa: found a key without effect, expected no such key; only used with type = "grandpa"',
    ],
  },
  {
    name: "beefy prover without its nodes",
    toml: edited(['"grandpa"', '"beefy"'], [
      "[hub.grandpa]",
      '[hub.prover]\nproof_variant = "sp1"\n[hub.grandpa]',
    ]),
    expected: [
      "consensus.toml:5: [hub.prover].relay_rpc_ws: found nothing, expected a WebSocket URL (ws:// or wss://)",
      "consensus.toml:5: [hub.prover].para_ids: found nothing, expected an array of at least one parachain id",
    ],
    warnings: [
      "consensus.toml:6: [hub.prover].proof_variant: found a key without effect, expected no such key; this relayer makes ECDSA proofs only",
      'consensus.toml:7: [hub].grandpa: found a key without effect, expected no such key; only used with type = "grandpa"',
    ],
  },
  {
    name: "beefy prover with a hub over http",
    toml: edited(['"grandpa"', '"beefy"'], [
      "[hub.grandpa]",
      '[hub.prover]\nrelay_rpc_ws = "wss://relay.example.org"\npara_rpc_ws = "https://hub.example.org"\npara_ids = [1]\n[hub.grandpa]',
    ]),
    expected: [
      'consensus.toml:7: [hub.prover].para_rpc_ws: found "https://hub.example.org" (scheme https), expected a WebSocket URL (ws:// or wss://)',
    ],
    warnings: [
      'consensus.toml:9: [hub].grandpa: found a key without effect, expected no such key; only used with type = "grandpa"',
    ],
  },
  {
    name: "grandpa over http",
    toml: edited(["wss://relay.example.org/ws?key=relayrpckey1", "https://relay.example.org"]),
    expected: [
      'consensus.toml:6: [hub.grandpa].rpc: found "https://relay.example.org" (scheme https), expected a WebSocket URL (ws:// or wss://)',
    ],
  },
  {
    name: "grandpa without values",
    toml: edited([
      'rpc = "wss://relay.example.org/ws?key=relayrpckey1"\nslot_duration = 6000\npara_ids = [4009]\n',
      "",
    ]),
    expected: [
      "consensus.toml:5: [hub.grandpa].rpc: found nothing, expected a WebSocket URL (ws:// or wss://)",
      "consensus.toml:5: [hub.grandpa].slot_duration: found nothing, expected an integer from 1 to 4294967295 (milliseconds)",
      "consensus.toml:5: [hub.grandpa].para_ids: found nothing, expected an array of parachain ids",
    ],
  },
  {
    name: "slot duration of nothing",
    toml: edited(["slot_duration = 6000", "slot_duration = 0"]),
    expected: [
      "consensus.toml:7: [hub.grandpa].slot_duration: found 0, expected an integer from 1 to 4294967295 (milliseconds)",
    ],
  },
  {
    name: "slot duration as a text",
    toml: edited(["slot_duration = 6000", 'slot_duration = "6000"']),
    expected: [
      'consensus.toml:7: [hub.grandpa].slot_duration: found the text "6000" (in quotes), expected an integer from 1 to 4294967295 (milliseconds)',
    ],
  },
  {
    name: "para ids as one number",
    toml: edited(["[4009]", "4009"]),
    expected: [
      "consensus.toml:8: [hub.grandpa].para_ids: found an integer, expected an array of parachain ids",
    ],
  },
  {
    name: "para ids that are no ids",
    toml: edited(["[4009]", '[-1, "4009", 4294967296]']),
    expected: [
      "consensus.toml:8: [hub.grandpa].para_ids[0]: found -1, expected an integer from 0 to 4294967295",
      'consensus.toml:8: [hub.grandpa].para_ids[1]: found the text "4009" (in quotes), expected an integer from 0 to 4294967295',
      "consensus.toml:8: [hub.grandpa].para_ids[2]: found 4294967296, expected an integer from 0 to 4294967295",
    ],
  },
  {
    name: "block range of nothing",
    toml: plus("hub.grandpa", "max_block_range = 0"),
    expected: [
      "consensus.toml:6: [hub.grandpa].max_block_range: found 0, expected an integer from 1 to 4294967295 (blocks)",
    ],
  },
  {
    name: "frequency of nothing",
    toml: plus("hub.grandpa", "consensus_update_frequency = 0"),
    expected: [
      "consensus.toml:6: [hub.grandpa].consensus_update_frequency: found 0, expected an integer from 1 (seconds)",
    ],
  },
  {
    name: "hub that is an EVM chain",
    toml: edited(['"KUSAMA-4009"', '"EVM-4009"']),
    expected: [
      'consensus.toml:12: [hub.substrate].state_machine: found "EVM-4009", expected "POLKADOT-n" or "KUSAMA-n" with a para id',
    ],
  },
  {
    name: "hub without a key",
    toml: edited(['signer = "keys/hub"\n', ""]),
    expected: [
      "consensus.toml:10: [hub.substrate].signer: found nothing, expected an sr25519 seed (32 bytes as hex), the path of a file that holds one, or keystore:PATH",
    ],
  },
  {
    name: "hub key in a file that is missing",
    toml: edited(["keys/hub", "keys/nothing"]),
    expected: [
      "consensus.toml:13: [hub.substrate].signer: found a text that is not hex, and as a path: no file at this path, expected an sr25519 seed (32 bytes as hex), the path of a file that holds one, or keystore:PATH",
    ],
  },
  {
    name: "hub id of five characters",
    toml: plus("hub.substrate", 'consensus_state_id = "PAS00"'),
    expected: [
      'consensus.toml:11: [hub.substrate].consensus_state_id: found "PAS00", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
    ],
  },
  {
    name: "hub id of four bytes that are not ASCII",
    toml: plus("hub.substrate", 'consensus_state_id = "PÄS"'),
    expected: [
      'consensus.toml:11: [hub.substrate].consensus_state_id: found "PÄS", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
    ],
  },
  {
    name: "negative number of queries",
    toml: plus("hub.substrate", "max_concurent_queries = -1"),
    expected: [
      "consensus.toml:11: [hub.substrate].max_concurent_queries: found -1, expected an integer from 1 to 4294967295",
    ],
  },
  {
    name: "unknown hash",
    toml: plus("hub.substrate", 'hashing = "Keccak256"'),
    expected: [
      'consensus.toml:11: [hub.substrate].hashing: found "Keccak256", expected "Keccak" or "Blake2"',
    ],
  },
  {
    name: "poll interval beyond a timer",
    toml: plus("hub.substrate", "poll_interval = 6000000000000000"),
    expected: [
      "consensus.toml:11: [hub.substrate].poll_interval: found 6000000000000000, expected an integer from 1 to 2147483 (seconds)",
    ],
  },
  // The relayer.
  {
    name: "hub consensus as a text",
    toml: edited(["enable_hub_consensus = false", 'enable_hub_consensus = "no"']),
    expected: ['consensus.toml:17: [relayer].enable_hub_consensus: found "no", expected true or false'],
  },
  {
    name: "hub consensus under both names",
    toml: plus("relayer", "enable_hyperbridge_consensus = true"),
    expected: [
      "consensus.toml:16: [relayer].enable_hyperbridge_consensus: found a second name of `enable_hub_consensus`, which is in line 18, expected either `enable_hub_consensus` or `enable_hyperbridge_consensus`",
    ],
  },
  {
    name: "intervals as a number",
    toml: watching("500"),
    expected: [
      "consensus.toml:16: [relayer].maximum_update_intervals: found an integer, expected an array of pairs (empty: no chain is watched)",
    ],
  },
  {
    name: "interval without a period",
    toml: watching('[[["EVM-97", "BSC0"]]]'),
    expected: [
      'consensus.toml:16: [relayer].maximum_update_intervals[0]: found an array of 1, expected a pair such as [{ state_id = "EVM-1", consensus_state_id = "ETH0" }, 500] or [["EVM-1", "ETH0"], 500]',
    ],
  },
  {
    name: "interval of three",
    toml: watching('[[["EVM-97", "BSC0"], 500, 600]]'),
    expected: [
      'consensus.toml:16: [relayer].maximum_update_intervals[0]: found an array of 3, expected a pair such as [{ state_id = "EVM-1", consensus_state_id = "ETH0" }, 500] or [["EVM-1", "ETH0"], 500]',
    ],
  },
  {
    name: "interval that is no pair",
    toml: watching('["EVM-97"]'),
    expected: [
      'consensus.toml:16: [relayer].maximum_update_intervals[0]: found a text, expected a pair such as [{ state_id = "EVM-1", consensus_state_id = "ETH0" }, 500] or [["EVM-1", "ETH0"], 500]',
    ],
  },
  {
    name: "interval without an id",
    toml: watching('[[{ state_id = "EVM-97" }, 500]]'),
    expected: [
      'consensus.toml:16: [relayer].maximum_update_intervals[0][0].consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0", or an array of its 4 bytes',
    ],
  },
  {
    name: "interval with a wrong chain and a wrong id",
    toml: watching('[[{ state_id = "97", consensus_state_id = "BSC" }, 500]]'),
    expected: [
      'consensus.toml:16: [relayer].maximum_update_intervals[0][0].state_id: found "97", expected a state machine such as "EVM-1" or "POLKADOT-3367"',
      'consensus.toml:16: [relayer].maximum_update_intervals[0][0].consensus_state_id: found "BSC", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
    ],
  },
  {
    name: "interval in the short form with a wrong id",
    toml: watching('[[["EVM-97", "BSC"], 500]]'),
    expected: [
      'consensus.toml:16: [relayer].maximum_update_intervals[0][0][1]: found "BSC", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
    ],
  },
  {
    name: "interval with half an id",
    toml: watching('[[["EVM-97"], 500]]'),
    expected: [
      'consensus.toml:16: [relayer].maximum_update_intervals[0][0]: found an array of 1, expected a chain and its consensus state id such as ["EVM-1", "ETH0"]',
    ],
  },
  {
    name: "interval with a number for an id",
    toml: watching("[[97, 500]]"),
    expected: [
      'consensus.toml:16: [relayer].maximum_update_intervals[0][0]: found an integer, expected a pair such as [{ state_id = "EVM-1", consensus_state_id = "ETH0" }, 500] or [["EVM-1", "ETH0"], 500]',
    ],
  },
  {
    name: "interval of nothing",
    toml: watching('[[["EVM-97", "BSC0"], 0]]'),
    expected: [
      "consensus.toml:16: [relayer].maximum_update_intervals[0][1]: found 0, expected an integer from 1 (seconds)",
    ],
  },
  {
    name: "interval as a text",
    toml: watching('[[["EVM-97", "BSC0"], "500"]]'),
    expected: [
      'consensus.toml:16: [relayer].maximum_update_intervals[0][1]: found the text "500" (in quotes), expected an integer from 1 (seconds)',
    ],
  },
  {
    name: "interval beyond 64 bits",
    toml: watching('[[["EVM-97", "BSC0"], 18446744073709551616]]'),
    expected: [
      "consensus.toml:16: [relayer].maximum_update_intervals[0][1]: found an integer of more than 64 bits, expected an integer from 1 (seconds)",
    ],
  },
  // Chains of any type.
  {
    name: "no type",
    toml: edited(['type = "bsc"\n', ""]),
    expected: [
      'consensus.toml:64: [chapel].type: found nothing, expected "evm", "op_stack", "arbitrum_orbit", "bsc", "polygon", "substrate_evm" or "substrate"',
    ],
  },
  {
    name: "substrate entry with the keys of an EVM chain",
    toml: edited(['type = "bsc"', 'type = "substrate"']),
    expected: [
      'consensus.toml:64: [chapel].hashing: found nothing, expected "Keccak" or "Blake2"',
      "consensus.toml:64: [chapel].rpc_ws: found nothing, expected a WebSocket URL (ws:// or wss://)",
      'consensus.toml:66: [chapel].state_machine: found "EVM-97", expected "POLKADOT-n", "KUSAMA-n" or "SUBSTRATE-xxxx" with 4 characters',
    ],
    warnings: [
      "consensus.toml:67: [chapel].rpc_urls: found a key without effect, expected no such key; a key of EVM entries; substrate entries have `rpc_ws`",
      "consensus.toml:69: [chapel].etherscan_api_key: found a key without effect, expected no such key; a key of EVM entries",
      "consensus.toml:70: [chapel].ismp_host: found a key without effect, expected no such key; a key of EVM entries",
      "consensus.toml:73: [chapel].host: found a key without effect, expected no such key; nothing is proved of Substrate chains",
    ],
  },
  {
    name: "type of old files",
    toml: edited(['type = "bsc"', 'type = "evm_host"']),
    expected: [
      'consensus.toml:65: [chapel].type: found the unsupported type "evm_host", expected "evm", "op_stack", "arbitrum_orbit", "bsc", "polygon", "substrate_evm" or "substrate"; write type = "evm": nothing is proved of chains without a beacon chain',
    ],
  },
  {
    name: "misspelt type",
    toml: edited(['"op_stack"', '"opstack"']),
    expected: [
      'consensus.toml:48: [optimism].type: found "opstack", expected "evm", "op_stack", "arbitrum_orbit", "bsc", "polygon", "substrate_evm" or "substrate"; did you mean "op_stack"?',
    ],
  },
  {
    name: "type that is a number",
    toml: edited(['type = "bsc"', "type = 97"]),
    expected: [
      'consensus.toml:65: [chapel].type: found an integer, expected "evm", "op_stack", "arbitrum_orbit", "bsc", "polygon", "substrate_evm" or "substrate"',
    ],
  },
  {
    name: "chain without any value",
    toml: edited([part("chapel", "chapel.host"), '[chapel]\ntype = "bsc"\n\n']),
    expected: [
      'consensus.toml:64: [chapel].state_machine: found nothing, expected "EVM-n" with a chain id; other relayers derive it; write it here',
      "consensus.toml:64: [chapel].rpc_urls: found nothing, expected an array of at least one HTTP URL (http:// or https://)",
      'consensus.toml:64: [chapel].consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0"; other relayers derive it; write it here',
      'consensus.toml:64: [chapel].etherscan_api_key: found nothing, expected an API key (may be an empty text); write "" to use prices of the chain alone',
      "consensus.toml:64: [chapel].ismp_host: found nothing, expected a contract address of 20 bytes (0x and 40 hex digits); other relayers derive it; write it here",
      "consensus.toml:64: [chapel].signer: found nothing, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL; of a chain that is only a source, write inbound_only = true instead",
    ],
  },
  {
    name: "wrong values of a chain",
    toml: changed(
      "chapel",
      '"EVM-97"\nrpc_urls = ["https://chapel.example.org"]\nconsensus_state_id = "BSC0"',
      '"EVM-097"\nrpc_urls = []\nconsensus_state_id = "BSC"',
    ),
    expected: [
      'consensus.toml:66: [chapel].state_machine: found "EVM-097", expected "EVM-n" with a chain id; write "EVM-97"',
      "consensus.toml:67: [chapel].rpc_urls: found an empty array, expected an array of at least one HTTP URL (http:// or https://)",
      'consensus.toml:68: [chapel].consensus_state_id: found "BSC", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"; the live hub uses "BSC0" for this chain',
    ],
  },
  {
    name: "no host section",
    toml: edited([part("chapel.host"), ""]),
    expected: ["consensus.toml:64: [chapel.host]: found no such section, expected a section [chapel.host]"],
  },
  {
    name: "host that is no section",
    toml: edited([part("chapel.host"), ""], ['type = "bsc"', 'type = "bsc"\nhost = "https://x.example.org"']),
    expected: ["consensus.toml:66: [chapel.host]: found a text, expected a section [chapel.host]"],
  },
  // evm.
  {
    name: "no beacon nodes",
    toml: edited(['beacon_http_urls = ["https://beacon.example.org/beaconkey1"]\n', ""]),
    expected: [
      "consensus.toml:28: [sepolia.host].beacon_http_urls: found nothing, expected an array of at least one HTTP URL (http:// or https://)",
    ],
  },
  {
    name: "empty list of beacon nodes",
    toml: edited(['["https://beacon.example.org/beaconkey1"]', "[]"]),
    expected: [
      "consensus.toml:29: [sepolia.host].beacon_http_urls: found an empty array, expected an array of at least one HTTP URL (http:// or https://)",
    ],
  },
  {
    name: "beacon nodes as a text",
    toml: edited(['["https://beacon.example.org/beaconkey1"]', '"https://beacon.example.org/beaconkey1"']),
    expected: [
      "consensus.toml:29: [sepolia.host].beacon_http_urls: found a text, expected an array of at least one HTTP URL (http:// or https://); put it in square brackets",
    ],
  },
  {
    name: "beacon node over a socket",
    toml: edited(["https://beacon.example.org/beaconkey1", "wss://beacon.example.org/beaconkey1"]),
    expected: [
      'consensus.toml:29: [sepolia.host].beacon_http_urls[0]: found "wss://beacon.example.org/..." (scheme wss), expected an HTTP URL (http:// or https://)',
    ],
  },
  {
    name: "no frequency",
    toml: edited(["consensus_update_frequency = 60\n", ""]),
    expected: [
      "consensus.toml:28: [sepolia.host].consensus_update_frequency: found nothing, expected an integer from 1 (seconds)",
    ],
  },
  {
    name: "frequency with decimals",
    toml: edited(["consensus_update_frequency = 60", "consensus_update_frequency = 0.5"]),
    expected: [
      "consensus.toml:30: [sepolia.host].consensus_update_frequency: found 0.5 (not an integer), expected an integer from 1 (seconds)",
    ],
  },
  {
    name: "network name of another chain",
    toml: edited(['type = "evm"', 'type = "ethereum"']),
    expected: [
      'consensus.toml:21: [sepolia].state_machine: found "EVM-11155111", which is not the chain of type "ethereum", expected "EVM-1"',
    ],
  },
  // Rollups.
  {
    name: "rollup with the L1's id on a chain that is not known",
    toml: changed(
      "arbitrum",
      '"EVM-421614"\nrpc_urls = ["https://arbitrum.example.org"]\nconsensus_state_id = "ARB0"',
      '"EVM-5"\nrpc_urls = ["https://arbitrum.example.org"]\nconsensus_state_id = "ETH0"',
    ),
    expected: [
      "consensus.toml:36: [arbitrum].consensus_state_id: found \"ETH0\", the L1's, expected the id of the rollup's own client on the hub",
    ],
  },
  {
    name: "rollup that is its own L1",
    toml: changed("arbitrum.host", 'l1_state_machine = "EVM-11155111"', 'l1_state_machine = "EVM-421614"'),
    expected: [
      'consensus.toml:44: [arbitrum.host].l1_state_machine: found "EVM-421614", the rollup itself, expected its L1',
    ],
  },
  {
    name: "rollup without L1 values",
    toml: changed("arbitrum.host", part("arbitrum.host", "optimism"), "[arbitrum.host]\n\n"),
    expected: [
      "consensus.toml:41: [arbitrum.host].beacon_rpc_url: found nothing, expected an array of at least one HTTP URL (http:// or https://)",
      'consensus.toml:41: [arbitrum.host].l1_state_machine: found nothing, expected "EVM-n" with a chain id',
      'consensus.toml:41: [arbitrum.host].l1_consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0", or an array of its 4 bytes',
    ],
  },
  {
    name: "dispute games without values",
    toml: changed("optimism.host", part("optimism.host", "chapel"), "[optimism.host]\n\n"),
    expected: [
      "consensus.toml:56: [optimism.host].beacon_rpc_url: found nothing, expected an array of at least one HTTP URL (http:// or https://)",
      'consensus.toml:56: [optimism.host].l1_state_machine: found nothing, expected "EVM-n" with a chain id',
      'consensus.toml:56: [optimism.host].l1_consensus_state_id: found nothing, expected a consensus state id of exactly 4 ASCII characters such as "ETH0", or an array of its 4 bytes',
      "consensus.toml:56: [optimism.host].message_parser: found nothing, expected a contract address of 20 bytes (0x and 40 hex digits)",
    ],
  },
  {
    name: "L1 endpoints under both names",
    toml: plus("arbitrum.host", 'ethereum_rpc_url = ["https://sepolia.example.org"]'),
    expected: [
      "consensus.toml:42: [arbitrum.host].ethereum_rpc_url: found a second name of `beacon_rpc_url`, which is in line 43, expected either `beacon_rpc_url` or `ethereum_rpc_url`",
    ],
  },
  {
    name: "L1 id of three bytes",
    toml: changed("arbitrum.host", '"ETH0"', "[69, 84, 72]"),
    expected: [
      "consensus.toml:45: [arbitrum.host].l1_consensus_state_id: found an array of 3 elements that are not such bytes, expected an array of 4 bytes that are ASCII characters",
    ],
  },
  {
    name: "L1 id of bytes that are no text",
    toml: changed("arbitrum.host", '"ETH0"', "[69, 84, 72, 7]"),
    expected: [
      "consensus.toml:45: [arbitrum.host].l1_consensus_state_id: found an array of 4 elements that are not such bytes, expected an array of 4 bytes that are ASCII characters",
    ],
  },
  {
    name: "L1 id as a number",
    toml: changed("arbitrum.host", '"ETH0"', "0"),
    expected: [
      'consensus.toml:45: [arbitrum.host].l1_consensus_state_id: found an integer, expected a consensus state id of exactly 4 ASCII characters such as "ETH0", or an array of its 4 bytes; put it in quotes',
    ],
  },
  {
    name: "L1 that is no EVM chain",
    toml: changed("optimism.host", '"EVM-11155111"', '"KUSAMA-2000"'),
    expected: [
      'consensus.toml:61: [optimism.host].l1_state_machine: found "KUSAMA-2000", expected "EVM-n" with a chain id',
    ],
  },
  {
    name: "rollup core that is no address",
    toml: changed("arbitrum.host", "0x042B2E6C5E99d4c521bd49beeD5E99651D9B0Cf4", "0x042B"),
    expected: [
      "consensus.toml:43: [arbitrum.host].rollup_core: found 4 hex digits, expected a contract address of 20 bytes (0x and 40 hex digits)",
    ],
  },
  {
    name: "message parser that is zero",
    toml: changed(
      "optimism.host",
      "0x4200000000000000000000000000000000000016",
      "0x0000000000000000000000000000000000000000",
    ),
    expected: [
      "consensus.toml:60: [optimism.host].message_parser: found the zero address, expected a contract address of 20 bytes (0x and 40 hex digits)",
    ],
  },
  {
    name: "game type as a text",
    toml: changed("optimism.host", "respected_game_type = 0", 'respected_game_type = "cannon"'),
    expected: [
      "consensus.toml:59: [optimism.host].respected_game_type: found a text, expected an integer from 0 to 4294967295",
    ],
  },
  {
    name: "negative game type",
    toml: changed("optimism.host", "respected_game_type = 0", "respected_game_type = -1"),
    expected: [
      "consensus.toml:59: [optimism.host].respected_game_type: found -1, expected an integer from 0 to 4294967295",
    ],
  },
  // bsc.
  {
    name: "BSC on another chain",
    toml: edited(['"EVM-97"', '"EVM-204"']),
    expected: [
      'consensus.toml:66: [chapel].state_machine: found "EVM-204", which the hub has no BSC client for, expected "EVM-56" or "EVM-97"',
    ],
  },
  {
    name: "testnet name on the main network",
    toml: edited([
      'type = "bsc"\nstate_machine = "EVM-97"',
      'type = "bsc_testnet"\nstate_machine = "EVM-56"',
    ]),
    expected: [
      'consensus.toml:66: [chapel].state_machine: found "EVM-56", which is not the chain of type "bsc_testnet", expected "EVM-97"',
    ],
    warnings: [
      'consensus.toml:66: [chapel].state_machine: found "EVM-56" (bsc), a chain of the mainnet, expected chains of the testnet, as KUSAMA-4009 is the hub of that; each network has a hub and a file of its own',
      "consensus.toml:70: [chapel].ismp_host: found the host of another network, expected 0x620128e2b19193d6bd244a3ac8d3bba0541b19c3, the live host of this chain",
    ],
  },
  {
    name: "epochs of nothing",
    toml: edited(["epoch_length = 1000", "epoch_length = 0"]),
    expected: [
      "consensus.toml:75: [chapel.host].epoch_length: found 0, expected an integer from 1 to 4294967295 (blocks)",
    ],
  },
  {
    name: "epochs with decimals",
    toml: edited(["epoch_length = 1000", "epoch_length = 1e3"]),
    expected: [
      "consensus.toml:75: [chapel.host].epoch_length: found 1000.0 (not an integer), expected an integer from 1 to 4294967295 (blocks)",
    ],
  },
  // polygon.
  {
    name: "Polygon on another chain",
    toml: GOOD_CONSENSUS_TOML + AMOY_SECTION.replace('"EVM-80002"', '"EVM-2442"'),
    expected: [
      'consensus.toml:79: [amoy].state_machine: found "EVM-2442", which the hub has no Polygon client for, expected "EVM-137" or "EVM-80002"',
    ],
  },
  {
    name: "Polygon without a Heimdall node",
    toml: GOOD_CONSENSUS_TOML + AMOY_SECTION.replace(/heimdall_rpc_url = .*/, "disable = 1"),
    expected: [
      "consensus.toml:86: [amoy.host].heimdall_rpc_url: found nothing, expected an HTTP URL (http:// or https://)",
      "consensus.toml:87: [amoy.host].disable: found an integer, expected true or false",
    ],
  },
  {
    name: "Heimdall over a socket",
    toml: GOOD_CONSENSUS_TOML + AMOY_SECTION.replace("https://heimdall", "wss://heimdall"),
    expected: [
      'consensus.toml:87: [amoy.host].heimdall_rpc_url: found "wss://heimdall.example.org/..." (scheme wss), expected an HTTP URL (http:// or https://)',
    ],
  },
  // Keys and chains that earn nothing.
  {
    name: "signer of an address with a leading zero byte",
    toml: edited([
      'ismp_host = "0x9AA003594d59C62EE17A73A569Fd7B1DbdBd71E1"\nsigner = "keys/evm"',
      `ismp_host = "0x9AA003594d59C62EE17A73A569Fd7B1DbdBd71E1"\nsigner = "${ZERO_ADDRESS_KEY}"`,
    ]),
    expected: [
      "consensus.toml:26: [sepolia].signer: found the key of an address that begins with a zero byte, expected a secp256k1 private key (32 bytes as hex), the path of a file that holds one, keystore:PATH, or web3signer:URL; the hub cannot read such an address in a proof, so no fee and no reward could ever be claimed with it; make another key (one in 256 is like this)",
    ],
  },
  ...OTHER_TRIES.filter(([chainId]) => ![420420417, 420420419, 688689].includes(chainId)).map((
    [chainId, name],
  ) => ({
    name: `EVM-${chainId}, whose rewards could never be claimed`,
    toml: edited(
      ['type = "bsc"\nstate_machine = "EVM-97"', `type = "evm"\nstate_machine = "EVM-${chainId}"`],
      ["\n[chapel.host]\nconsensus_update_frequency = 300\nepoch_length = 1000\n", ""],
    ),
    expected: [
      `consensus.toml:66: [chapel].state_machine: found "EVM-${chainId}" (${name}), whose state is not in Ethereum's trie, expected a chain whose state can be proved with eth_getProof; fees and rewards for deliveries to it could never be claimed; remove the section`,
    ],
  })),
  // Polkadot Hub.
  ...[["KUSAMA", "420420417"], ["POLKADOT", "420420419"]].map(([relay, chainId]) => ({
    name: `Polkadot Hub as ${relay}-1000`,
    toml: `${GOOD_CONSENSUS_TOML}
[asset_hub]
type = "substrate"
state_machine = "${relay}-1000"
hashing = "Blake2"
rpc_ws = "ws://127.0.0.1:9944"
consensus_state_id = "PAS0"
`,
    expected: [
      `consensus.toml:78: [asset_hub].type: found a type that Polkadot Hub ("${relay}-1000") does not have, expected type = "substrate_evm" with state_machine = "EVM-${chainId}"`,
    ],
  })),
  {
    name: "Polkadot Hub as a chain with an Ethereum trie",
    toml: GOOD_CONSENSUS_TOML +
      POLKADOT_HUB_SECTION.replace("substrate_evm", "evm").replace(/ws_url.*\n/, "")
        .replace(/\n\[paseo-hub\.host\]\n.*\n/, ""),
    expected: [
      'consensus.toml:78: [paseo-hub].type: found a type that Polkadot Hub ("EVM-420420417") does not have, expected type = "substrate_evm" with state_machine = "EVM-420420417"',
    ],
  },
  {
    name: "Polkadot Hub of another relay chain than the hub's",
    toml: GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION.replaceAll("420420417", "420420419"),
    expected: [
      'consensus.toml:79: [paseo-hub].state_machine: found "EVM-420420419", which is on another relay chain than KUSAMA-4009, expected "EVM-420420417"',
    ],
    warnings: [
      'consensus.toml:79: [paseo-hub].state_machine: found "EVM-420420419" (polkadot-hub), a chain of the mainnet, expected chains of the testnet, as KUSAMA-4009 is the hub of that; each network has a hub and a file of its own',
      'consensus.toml:82: [paseo-hub].consensus_state_id: found "PAS0", expected "DOT0", which is what the live hub uses for EVM-420420419',
      "consensus.toml:84: [paseo-hub].ismp_host: found the host of another network, expected 0x620128e2b19193d6bd244a3ac8d3bba0541b19c3, the live host of this chain",
    ],
  },
  {
    name: "Polkadot Hub's type for another chain",
    toml: GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION.replaceAll("420420417", "1284"),
    expected: [
      'consensus.toml:79: [paseo-hub].state_machine: found "EVM-1284", which is not Polkadot Hub, expected "EVM-420420417"',
    ],
  },
  {
    name: "Polkadot Hub without the relay chain's node",
    toml: GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION.replace(/relay_rpc_ws = .*\n/, ""),
    expected: [
      "consensus.toml:87: [paseo-hub.host].relay_rpc_ws: found nothing, expected a WebSocket URL (ws:// or wss://)",
    ],
  },
  {
    name: "Polkadot Hub in the layout of newer documents",
    toml: GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION
      .replace("[paseo-hub.host]", '[paseo-hub.consensus]\ntype = "parachain"'),
    expected: [
      'consensus.toml:87: [paseo-hub].consensus: found a section of the layout in the network\'s newer documents, expected type = "substrate_evm" in [paseo-hub], and the other keys of this section in [paseo-hub.host]; also write state_machine, consensus_state_id, ismp_host, etherscan_api_key and signer into [paseo-hub]: nothing is derived',
    ],
  },
];
