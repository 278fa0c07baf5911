import assert from "node:assert/strict";
import fc from "fast-check";
import type { ChainType, ProvedChainConfig } from "../../../src/consensus/registry.ts";
import { EndpointUrl } from "../../../src/core/config/redact.ts";
import { inspect } from "node:util";
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
  L1_IDS_TOML,
  plus,
  POLKADOT_HUB_SECTION,
  remarkedConsensusConfigs,
  UNPROVABLE_TOML,
  wrongConsensusConfigs,
} from "./wrong_configs.ts";

function read(toml: string): ConfigResult<ConsensusConfig> {
  return parseConsensusConfig(goodFiles, toml);
}

function accept(toml: string): ConsensusConfig {
  const { config, problems } = read(toml);
  assert.deepEqual(problems, []);
  assert.ok(config !== undefined);
  return config;
}

function warningsOf(reading: ConfigResult<unknown>): string[] {
  return reading.remarks.map((warning) => renderDiagnostic("consensus.toml", warning));
}

/** Values of a section with their URLs revealed. */
function plain(values: unknown): unknown {
  if (values instanceof EndpointUrl) return values.reveal();
  if (Array.isArray(values)) return values.map(plain);
  if (typeof values !== "object" || values === null) return values;
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, plain(value)]));
}

function chainOf(config: ConsensusConfig, type: ChainType): ProvedChainConfig {
  const found = config.chains.find((chain) => chain.type === type);
  assert.ok(found !== undefined && isProved(found));
  return found;
}

/** The values of a host section. */
function hostOf(config: ConsensusConfig, type: ChainType): Readonly<Record<string, unknown>> {
  return valuesOf(chainOf(config, type).host);
}

/** The values of a section. */
function valuesOf(section: unknown): Readonly<Record<string, unknown>> {
  return { ...Object(plain(section)) };
}

Deno.test("consensus configuration: wrong files are refused, remarkable ones are not", () => {
  const all = [...wrongConsensusConfigs, ...remarkedConsensusConfigs];
  assert.equal(new Set(all.map(([name]) => name)).size, all.length);
  for (const [index, [name, toml]] of all.entries()) {
    assert.equal(read(toml).config === undefined, index < wrongConsensusConfigs.length, name);
  }
});

Deno.test("consensus configuration: the good file gives every default, without a warning or note", () => {
  const reading = read(GOOD_CONSENSUS_TOML);
  assert.deepEqual([reading.problems, reading.remarks], [[], []]);
  const config = accept(GOOD_CONSENSUS_TOML);
  const { rpcWs, signer, ...substrate } = config.hub.substrate;
  assert.equal(rpcWs.reveal(), "wss://hub.example.org/ws?key=hubrpckey1");
  assert.equal(signer.reveal().length, 66);
  assert.deepEqual(substrate, {
    hashing: "Keccak",
    stateMachine: "KUSAMA-4009",
    maxRpcPayloadSizeBytes: 150_000_000,
    maxConcurrentQueries: 10,
    requestsPerSecond: undefined,
    pollIntervalSec: 10,
    consensusStateId: "PAS0",
  });
  assert.ok(config.hub.consensus.type === "grandpa");
  assert.deepEqual(plain(config.hub.consensus.values), {
    rpc: "wss://relay.example.org/ws?key=relayrpckey1",
    slotDurationMs: 6_000,
    consensusUpdateFrequencySec: 300,
    paraIds: [4009],
    maxBlockRange: 2_400,
  });
  assert.deepEqual(config.relayer, {
    maximumUpdateIntervals: [],
    maximumDailyLoss: undefined,
    enableHubConsensus: false,
  });
  assert.deepEqual(
    config.chains.map(({ section, type, stateMachine, consensusStateId }) => [
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

Deno.test("consensus configuration: the host sections hold what their types need", () => {
  const config = accept(GOOD_CONSENSUS_TOML);
  assert.deepEqual(hostOf(config, "evm"), {
    beaconHttpUrls: ["https://beacon.example.org/beaconkey1"],
    consensusUpdateFrequencySec: 60,
  });
  const l1 = {
    l1RpcUrls: ["https://sepolia.example.org"],
    l1StateMachine: "EVM-11155111",
    l1ConsensusStateId: "ETH0",
    consensusUpdateFrequencySec: 300,
  };
  assert.deepEqual(hostOf(config, "arbitrum_orbit"), {
    ...l1,
    rollupCore: "0x042b2e6c5e99d4c521bd49beed5e99651d9b0cf4",
  });
  assert.deepEqual(hostOf(config, "op_stack"), {
    ...l1,
    disputeGameFactory: "0x05f9613adb30026ffd634f38e5c4dfd30a197fa1",
    respectedGameType: 0,
    messageParser: "0x4200000000000000000000000000000000000016",
    l2Oracle: undefined,
  });
  assert.deepEqual(hostOf(config, "bsc"), { consensusUpdateFrequencySec: 300, epochLength: 1_000 });
});

Deno.test("consensus configuration: a Polygon chain has a Heimdall node, and defaults", () => {
  assert.deepEqual(hostOf(accept(GOOD_CONSENSUS_TOML + AMOY_SECTION), "polygon"), {
    heimdallRpcUrl: "https://heimdall.example.org/heimdallkey1",
    consensusUpdateFrequencySec: 30,
    disable: false,
  });
});

Deno.test("consensus configuration: Polkadot Hub has a node of its relay chain, and defaults", () => {
  assert.deepEqual(hostOf(accept(GOOD_CONSENSUS_TOML + POLKADOT_HUB_SECTION), "substrate_evm"), {
    relayRpcWs: "wss://paseo.example.org/ws?key=paseokey1",
    consensusUpdateFrequencySec: 30,
  });
});

Deno.test("consensus configuration: nothing is proved of a Polygon chain that is switched off", () => {
  const proved = (toml: string): readonly string[] =>
    accept(toml).chains.filter(isProved).map(({ stateMachine }) => stateMachine);
  const toml = GOOD_CONSENSUS_TOML + AMOY_SECTION;
  assert.ok(proved(toml).includes("EVM-80002"));
  assert.deepEqual(
    proved(`${toml}disable = true\n`),
    proved(toml).filter((chain) => chain !== "EVM-80002"),
  );
});

Deno.test("consensus configuration: a type of games need not be respected", () => {
  const config = accept(edited(["respected_game_type = 0\n", ""]));
  assert.equal(hostOf(config, "op_stack")["respectedGameType"], undefined);
});

Deno.test("consensus configuration: optional frequencies and the epoch length of BSC have defaults", () => {
  const config = accept(edited(["consensus_update_frequency = 300\nepoch_length = 1000\n", ""]));
  assert.deepEqual(hostOf(config, "bsc"), { consensusUpdateFrequencySec: 300, epochLength: 1_000 });
  const rollup = accept(plus("arbitrum.host", "consensus_update_frequency = 77"));
  assert.equal(hostOf(rollup, "arbitrum_orbit")["consensusUpdateFrequencySec"], 77);
});

Deno.test("consensus configuration: [relayer] may be missing, and hub consensus is on unless it says otherwise", () => {
  const without = edited(["[relayer]\nmaximum_update_intervals = []\nenable_hub_consensus = false\n", ""]);
  assert.deepEqual(accept(without).relayer, {
    maximumUpdateIntervals: [],
    maximumDailyLoss: undefined,
    enableHubConsensus: true,
  });
  const silent = edited(["enable_hub_consensus = false\n", ""]);
  assert.equal(accept(silent).relayer.enableHubConsensus, true);
  const upstream = edited(["enable_hub_consensus", "enable_hyperbridge_consensus"]);
  assert.deepEqual(read(upstream).remarks, []);
  assert.equal(accept(upstream).relayer.enableHubConsensus, false);
});

Deno.test("consensus configuration: update intervals in both shapes, ids as text or bytes", () => {
  const toml = edited([
    "maximum_update_intervals = []",
    `maximum_update_intervals = [
      [{ state_id = "EVM-11155111", consensus_state_id = "ETH0" }, 500],
      [["EVM-97", "BSC0"], 18446744073709551615],
      [{ state_id = "EVM-421614", consensus_state_id = [69, 84, 72, 48] }, 900],
    ]`,
  ]);
  assert.deepEqual(warningsOf(read(toml)), []);
  assert.deepEqual(accept(toml).relayer.maximumUpdateIntervals, [
    { id: { stateMachine: "EVM-11155111", consensusStateId: "ETH0" }, maxSec: 500n },
    { id: { stateMachine: "EVM-97", consensusStateId: "BSC0" }, maxSec: 18446744073709551615n },
    { id: { stateMachine: "EVM-421614", consensusStateId: "ETH0" }, maxSec: 900n },
  ]);
});

Deno.test("consensus configuration: the L1's id on a rollup is replaced by the rollup's own", () => {
  const config = accept(L1_IDS_TOML);
  assert.equal(chainOf(config, "arbitrum_orbit").consensusStateId, "ARB0");
  assert.equal(chainOf(config, "op_stack").consensusStateId, "OPT0");
});

Deno.test("consensus configuration: an id of the rollup's own is kept, also on a chain that is not known", () => {
  const toml = edited(['"EVM-421614"', '"EVM-4242"'], ['"ARB0"', '"ORB7"']);
  assert.equal(chainOf(accept(toml), "arbitrum_orbit").consensusStateId, "ORB7");
  assert.deepEqual(warningsOf(read(toml)), []);
});

Deno.test("consensus configuration: L1 ids as bytes, L1 endpoints under the other name", () => {
  const toml = edited(
    ['l1_consensus_state_id = "ETH0"', "l1_consensus_state_id = [69, 84, 72, 48]"],
    ["beacon_rpc_url", "ethereum_rpc_url"],
  );
  assert.deepEqual(warningsOf(read(toml)), []);
  const { l1ConsensusStateId, l1RpcUrls } = hostOf(accept(toml), "arbitrum_orbit");
  assert.deepEqual([l1ConsensusStateId, Object(l1RpcUrls).length], ["ETH0", 1]);
});

Deno.test("consensus configuration: periods that no timer holds are cut, 0 queries stand for the default", () => {
  const config = accept(CUT_TOML);
  assert.equal(valuesOf(config.hub.consensus.values)["consensusUpdateFrequencySec"], 2_147_483);
  assert.equal(hostOf(config, "evm")["consensusUpdateFrequencySec"], 2_147_483);
  assert.equal(config.hub.substrate.maxConcurrentQueries, 10);
});

Deno.test("consensus configuration: names of networks are types, too", () => {
  for (const [type, machine, is] of [["sepolia", "EVM-11155111", "evm"], ["bsc_testnet", "EVM-97", "bsc"]]) {
    const written = `type = "${is}"\nstate_machine = "${machine}"`;
    const toml = edited([written, written.replace(`"${is}"`, `"${type}"`)]);
    const config = accept(toml);
    assert.equal(config.chains.find(({ stateMachine }) => stateMachine === machine)?.type, is);
  }
});

Deno.test("consensus configuration: an evm chain without a beacon chain only receives", () => {
  const types = accept(UNPROVABLE_TOML).chains.map(({ type }) => type);
  assert.deepEqual(types, ["receive_only", "arbitrum_orbit", "op_stack", "bsc"]);
});

Deno.test("consensus configuration: a beefy hub takes its proofs from the hub, or makes them with a prover", () => {
  assert.deepEqual(read(BEEFY_TOML).remarks, []);
  assert.deepEqual(accept(BEEFY_TOML).hub.consensus, { type: "beefy", values: undefined });
  const prover = `[hub.prover]
relay_rpc_ws = "wss://relay.example.org"
para_rpc_ws = "wss://hub.example.org"
para_ids = [4009]
`;
  const { consensus } = accept(BEEFY_TOML.replace("[hub.substrate]", `${prover}\n[hub.substrate]`)).hub;
  assert.deepEqual(valuesOf(consensus.values), {
    relayRpcWs: "wss://relay.example.org",
    paraRpcWs: "wss://hub.example.org",
    paraIds: [4009],
    maxRpcPayloadSizeBytes: 15_728_640,
    queryBatchSize: 200,
  });
  const short = prover.replace(/para_rpc_ws.*\n/, "");
  const usual = accept(BEEFY_TOML.replace("[hub.substrate]", `${short}\n[hub.substrate]`)).hub.consensus;
  assert.equal(valuesOf(usual.values)["paraRpcWs"], undefined, "the node of [hub.substrate]");
});

Deno.test("consensus configuration: heads without the hub's own would prove nothing of it, so it is added", () => {
  for (const [listed, taken] of [["[1000, 2000]", [1000, 2000, 4009]], ["[]", [4009]]] as const) {
    const others = edited(["para_ids = [4009]", `para_ids = ${listed}`]);
    const { consensus } = accept(others).hub;
    assert.deepEqual(valuesOf(consensus.values)["paraIds"], taken);
  }
});

Deno.test("consensus configuration: [hyperbridge] is [hub] by its other name", () => {
  const config = accept(GOOD_CONSENSUS_TOML.replaceAll("[hub", "[hyperbridge"));
  assert.equal(config.hub.section, "hyperbridge");
  assert.equal(config.hub.substrate.stateMachine, "KUSAMA-4009");
});

Deno.test("consensus configuration: a file that is missing is a problem, not an exception", () => {
  const { problems } = readConsensusConfig(goodFiles, "missing.toml");
  assert.deepEqual(problems.map((problem) => renderDiagnostic("missing.toml", problem)), [
    "missing.toml: found no file at this path, expected a readable TOML file",
  ]);
});

Deno.test("consensus configuration: no key of the file is ever printed, whether it is good or wrong", () => {
  const secret = fc.stringMatching(/^[0-9a-f]{64}$/).filter((text) =>
    /[0-9]/.test(text) && /[a-f]/.test(text)
  );
  const places = [
    '"keys/hub"',
    '"keys/evm"',
    '"ETHERSCANKEY1"',
    '"https://beacon.example.org/beaconkey1"',
    '"wss://relay.example.org/ws?key=relayrpckey1"',
    '"0x042B2E6C5E99d4c521bd49beeD5E99651D9B0Cf4"',
    '"ARB0"',
    "[4009]",
    "[]",
    "respected_game_type = 0",
  ];
  fc.assert(
    fc.property(secret, fc.constantFrom(...places), fc.boolean(), (key, place, isUrl) => {
      const value = isUrl ? `"https://x.example.org/${key}"` : `"${key}"`;
      const reading = read(edited([place, place.includes(" = ") ? `signer = ${value}` : value]));
      const printed = [
        ...reading.problems.map((problem) => renderDiagnostic("c", problem)),
        ...warningsOf(reading),
        inspect(reading, { depth: 20 }),
        Deno.inspect(reading, { depth: 20 }),
      ].join("\n");
      for (let start = 0; start + 10 <= key.length; start++) {
        assert.ok(!printed.includes(key.slice(start, start + 10)), printed);
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("consensus configuration: a Substrate chain follows the hub; it needs no host section and no signer", () => {
  const chain = accept(FOLLOWER_TOML).chains.at(-1);
  assert.ok(chain?.type === "substrate");
  const { section, stateMachine, hashing, consensusStateId, signer, rpcWs } = chain;
  assert.deepEqual([section, stateMachine, hashing], ["solochain", "SUBSTRATE-cere", "Blake2"]);
  assert.deepEqual([consensusStateId, signer, rpcWs.host], ["CERE", undefined, "cere.example.org"]);
});
