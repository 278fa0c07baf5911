import assert from "node:assert/strict";
import { isProved } from "../../../src/consensus/connect.ts";
import type { ConsensusConfig } from "../../../src/consensus/config/schema.ts";
import { type ConfigResult, renderDiagnostic } from "../../../src/core/config/diagnostics.ts";
import { parseConsensusConfig, readConsensusConfig } from "../../../src/consensus/config/read.ts";
import {
  AMOY_SECTION,
  BEEFY_TOML,
  CUT_TOML,
  edited,
  FOLLOWER_TOML,
  GOOD_CONSENSUS_TOML,
  goodFiles,
  KEY_FILES,
  L1_IDS_TOML,
  plus,
  POLKADOT_HUB_SECTION,
  remarkedConsensusConfigs,
  UNPROVABLE_TOML,
  wrongConsensusConfigs,
} from "./wrong_configs.ts";
import { valueAt } from "../../support/wrong_configs.ts";

function read(toml: string): ConfigResult<ConsensusConfig> {
  return parseConsensusConfig(goodFiles, toml);
}

function accept(toml: string): ConsensusConfig {
  const { config, problems } = read(toml);
  assert.deepEqual(problems, []);
  assert.ok(config !== undefined);
  return config;
}

Deno.test("consensus configuration: wrong files are refused, remarkable ones are not", () => {
  const all = [...wrongConsensusConfigs, ...remarkedConsensusConfigs];
  assert.equal(new Set(all.map(([name]) => name)).size, all.length);
  for (const [index, [name, toml]] of all.entries()) {
    assert.equal(read(toml).config === undefined, index < wrongConsensusConfigs.length, name);
  }
});

const PROVER = `[hub.prover]
relay_rpc_ws = "wss://relay.example.org"
para_rpc_ws = "wss://hub.example.org"
para_ids = [4009]

`;

/** {@link BEEFY_TOML} with lines before the section of the hub's chain. */
function beefyWith(lines: string): string {
  return BEEFY_TOML.replace("[hub.substrate]", `${lines}[hub.substrate]`);
}

const RELAYER = "[relayer]\nmaximum_update_intervals = []\nenable_hub_consensus = false\n";
const INTERVALS = edited([
  "maximum_update_intervals = []",
  `maximum_update_intervals = [
    [{ state_id = "EVM-11155111", consensus_state_id = "ETH0" }, 500],
    [["EVM-97", "BSC0"], 18446744073709551615],
    [{ state_id = "EVM-421614", consensus_state_id = [69, 84, 72, 48] }, 900],
  ]`,
]);
const OWN_IDS = edited(['"EVM-421614"', '"EVM-4242"'], ['"ARB0"', '"ORB7"']);
const L1_OTHERWISE = edited(
  ['l1_consensus_state_id = "ETH0"', "l1_consensus_state_id = [69, 84, 72, 48]"],
  ["beacon_rpc_url", "ethereum_rpc_url"],
);
const L1 = {
  l1RpcUrls: ["https://sepolia.example.org"],
  l1StateMachine: "EVM-11155111",
  l1ConsensusStateId: "ETH0",
  consensusUpdateFrequencySec: 300,
};

/** What the program has for files that can be used. */
const values: readonly (readonly [toml: string, path: string, value: unknown])[] = [
  [GOOD_CONSENSUS_TOML, "hub.substrate", {
    rpcWs: "wss://hub.example.org/ws?key=hubrpckey1",
    hashing: "Keccak",
    stateMachine: "KUSAMA-4009",
    signer: KEY_FILES["keys/hub"]?.trim(),
    maxRpcPayloadSizeBytes: 150_000_000,
    maxConcurrentQueries: 10,
    requestsPerSecond: undefined,
    pollIntervalSec: 10,
    initialHeight: undefined,
    feeTokenDecimals: undefined,
    consensusStateId: "PAS0",
  }],
  [GOOD_CONSENSUS_TOML, "hub.consensus", {
    type: "grandpa",
    values: {
      rpc: "wss://relay.example.org/ws?key=relayrpckey1",
      slotDurationMs: 6_000,
      consensusUpdateFrequencySec: 300,
      paraIds: [4009],
      maxBlockRange: 2_400,
    },
  }],
  [GOOD_CONSENSUS_TOML, "chains.0.host", {
    beaconHttpUrls: ["https://beacon.example.org/beaconkey1"],
    consensusUpdateFrequencySec: 60,
  }],
  [GOOD_CONSENSUS_TOML, "chains.1.host", {
    ...L1,
    rollupCore: "0x042b2e6c5e99d4c521bd49beed5e99651d9b0cf4",
  }],
  [GOOD_CONSENSUS_TOML, "chains.2.host", {
    ...L1,
    disputeGameFactory: "0x05f9613adb30026ffd634f38e5c4dfd30a197fa1",
    respectedGameType: 0,
    messageParser: "0x4200000000000000000000000000000000000016",
    l2Oracle: undefined,
  }],
  [GOOD_CONSENSUS_TOML, "chains.3.host", { consensusUpdateFrequencySec: 300, epochLength: 1_000 }],
  [edited(["consensus_update_frequency = 300\nepoch_length = 1000\n", ""]), "chains.3.host", {
    consensusUpdateFrequencySec: 300,
    epochLength: 1_000,
  }],
  [GOOD_CONSENSUS_TOML + AMOY_SECTION, "chains.4.host", {
    heimdallRpcUrl: "https://heimdall.example.org/heimdallkey1",
    consensusUpdateFrequencySec: 30,
    disable: false,
  }],
  [GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION, "chains.4.host", {
    relayRpcWs: "wss://paseo.example.org/ws?key=paseokey1",
    consensusUpdateFrequencySec: 30,
  }],
  [FOLLOWER_TOML, "chains.4.section", "solochain"],
  [FOLLOWER_TOML, "chains.4.signer", undefined],
  [FOLLOWER_TOML, "chains.4.rpcWs", "wss://cere.example.org"],
  [edited(["respected_game_type = 0\n", ""]), "chains.2.host.respectedGameType", undefined],
  [
    plus("arbitrum.host", "consensus_update_frequency = 77"),
    "chains.1.host.consensusUpdateFrequencySec",
    77,
  ],
  [edited([RELAYER, ""]), "relayer", {
    maximumUpdateIntervals: [],
    maximumDailyLoss: undefined,
    enableHubConsensus: true,
  }],
  [edited(["enable_hub_consensus = false\n", ""]), "relayer.enableHubConsensus", true],
  [
    edited(["enable_hub_consensus", "enable_hyperbridge_consensus"]),
    "relayer.enableHubConsensus",
    false,
  ],
  [INTERVALS, "relayer.maximumUpdateIntervals", [
    { id: { stateMachine: "EVM-11155111", consensusStateId: "ETH0" }, maxSec: 500n },
    { id: { stateMachine: "EVM-97", consensusStateId: "BSC0" }, maxSec: 18446744073709551615n },
    { id: { stateMachine: "EVM-421614", consensusStateId: "ETH0" }, maxSec: 900n },
  ]],
  // The L1's id on a rollup is replaced; one of its own is kept, also on a chain that is not known.
  [L1_IDS_TOML, "chains.1.consensusStateId", "ARB0"],
  [L1_IDS_TOML, "chains.2.consensusStateId", "OPT0"],
  [OWN_IDS, "chains.1.consensusStateId", "ORB7"],
  [L1_OTHERWISE, "chains.1.host.l1ConsensusStateId", "ETH0"],
  [L1_OTHERWISE, "chains.1.host.l1RpcUrls", L1.l1RpcUrls],
  // Periods that no timer holds are cut, 0 queries stand for the default.
  [CUT_TOML, "hub.consensus.values.consensusUpdateFrequencySec", 2_147_483],
  [CUT_TOML, "chains.0.host.consensusUpdateFrequencySec", 2_147_483],
  [CUT_TOML, "hub.substrate.maxConcurrentQueries", 10],
  // Names of networks are types.
  [edited(['type = "evm"\n', 'type = "sepolia"\n']), "chains.0.type", "evm"],
  [edited(['type = "bsc"', 'type = "bsc_testnet"']), "chains.3.type", "bsc"],
  // A chain without a beacon chain only receives.
  [UNPROVABLE_TOML, "chains.0.type", "receive_only"],
  [BEEFY_TOML, "hub.consensus", { type: "beefy", values: undefined }],
  [beefyWith(PROVER), "hub.consensus.values", {
    relayRpcWs: "wss://relay.example.org",
    paraRpcWs: "wss://hub.example.org",
    paraIds: [4009],
    maxRpcPayloadSizeBytes: 15_728_640,
    queryBatchSize: 200,
  }],
  [beefyWith(PROVER.replace(/para_rpc_ws.*\n/, "")), "hub.consensus.values.paraRpcWs", undefined],
  // Heads without the hub's own would prove nothing of it, so it is added.
  [
    edited(["para_ids = [4009]", "para_ids = [1000, 2000]"]),
    "hub.consensus.values.paraIds",
    [1000, 2000, 4009],
  ],
  [edited(["para_ids = [4009]", "para_ids = []"]), "hub.consensus.values.paraIds", [4009]],
  [GOOD_CONSENSUS_TOML.replaceAll("[hub", "[hyperbridge"), "hub.section", "hyperbridge"],
  [GOOD_CONSENSUS_TOML.replaceAll("[hub", "[hyperbridge"), "hub.substrate.stateMachine", "KUSAMA-4009"],
];

Deno.test("consensus configuration: values and defaults are those of the file, and only some files are remarked upon", () => {
  const remarked = new Set(remarkedConsensusConfigs.map(([, toml]) => toml));
  for (const [toml, path, expected] of values) {
    assert.deepEqual(valueAt(accept(toml), path), expected, `${path} of\n${toml}`);
    assert.equal(read(toml).remarks.length > 0, remarked.has(toml), `${path} of\n${toml}`);
  }
});

Deno.test("consensus configuration: chains keep the order of the file", () => {
  const { chains } = accept(GOOD_CONSENSUS_TOML);
  assert.deepEqual(
    chains.map(({ section, type, stateMachine, consensusStateId }) => [
      section,
      type,
      stateMachine,
      consensusStateId,
    ]),
    [
      ["sepolia", "evm", "EVM-11155111", "ETH0"],
      ["arbitrum", "arbitrum_orbit", "EVM-421614", "ARB0"],
      ["optimism", "op_stack", "EVM-11155420", "OPT0"],
      ["chapel", "bsc", "EVM-97", "BSC0"],
    ],
  );
});

Deno.test("consensus configuration: nothing is proved of a Polygon chain that is switched off", () => {
  const proved = (toml: string): readonly string[] =>
    accept(toml).chains.filter(isProved).map(({ stateMachine }) => stateMachine);
  const toml = GOOD_CONSENSUS_TOML + AMOY_SECTION;
  assert.deepEqual(
    proved(toml).filter((chain) => !proved(`${toml}disable = true\n`).includes(chain)),
    ["EVM-80002"],
  );
});

Deno.test("consensus configuration: a file that is missing is a problem, not an exception", () => {
  const { problems } = readConsensusConfig(goodFiles, "missing.toml");
  assert.deepEqual(problems.map((problem) => renderDiagnostic("missing.toml", problem)), [
    "missing.toml: found no file at this path, expected a readable TOML file",
  ]);
});
