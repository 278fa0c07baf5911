import assert from "node:assert/strict";
import fc from "fast-check";
import type { ChainType, ProvedChainConfig } from "../../../src/consensus/registry.ts";
import { EndpointUrl } from "../../../src/core/config/redact.ts";
import { inspect } from "node:util";
import { isProved } from "../../../src/consensus/connect.ts";
import type { ConsensusConfig } from "../../../src/consensus/config/schema.ts";
import { type ConfigResult, renderDiagnostic, renderNote } from "../../../src/core/config/diagnostics.ts";
import { parseConsensusConfig, readConsensusConfig } from "../../../src/consensus/config/read.ts";
import { GOOD_TOML } from "../../messaging/config/wrong_configs.ts";
import {
  AMOY_SECTION,
  edited,
  GOOD_CONSENSUS_TOML,
  goodFiles,
  plus,
  POLKADOT_HUB_SECTION,
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
  return reading.warnings.map((warning) => renderDiagnostic("consensus.toml", warning));
}

function notesOf(reading: ConfigResult<unknown>): string[] {
  return reading.notes.map((note) => renderNote("consensus.toml", note));
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

Deno.test("consensus configuration: each wrong file is refused", () => {
  assert.equal(new Set(wrongConsensusConfigs.map(([name]) => name)).size, wrongConsensusConfigs.length);
  for (const [name, toml] of wrongConsensusConfigs) assert.equal(read(toml).config, undefined, name);
});

Deno.test("consensus configuration: the good file gives every default, without a warning or note", () => {
  const reading = read(GOOD_CONSENSUS_TOML);
  assert.deepEqual([reading.problems, reading.warnings, reading.notes], [[], [], []]);
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
  assert.deepEqual(read(upstream).warnings, []);
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

Deno.test("consensus configuration: watched chains under names that never get updates are warned about", () => {
  const toml = edited([
    "maximum_update_intervals = []",
    `maximum_update_intervals = [
      [["EVM-421614", "ARB0"], 500], [["EVM-5", "ETH0"], 500], [["KUSAMA-4009", "PAS0"], 500],
      [["EVM-97", "BSC0"], 500], [["EVM-97", "BSC0"], 600],
    ]`,
  ]);
  const place = "consensus.toml:16: [relayer].maximum_update_intervals: found";
  assert.deepEqual(warningsOf(read(toml)), [
    `${place} "EVM-421614/ARB0", expected "EVM-421614/ETH0", under which its heights are stored`,
    `${place} "EVM-5/ETH0", a chain without a section in this file, expected configured chains; it is watched`,
    `${place} "KUSAMA-4009/PAS0", the hub, expected chains other than the hub; it is not watched`,
    "consensus.toml:18: [relayer].maximum_update_intervals[4]: found a repeat of element 3, which is ignored, expected each element once",
  ]);
  assert.equal(accept(toml).relayer.maximumUpdateIntervals.length, 4);
});

Deno.test("consensus configuration: the L1's id on a rollup is replaced by the rollup's own, with a warning", () => {
  const toml = edited(['"ARB0"', '"ETH0"'], ['"OPT0"', '"ETH0"']);
  const config = accept(toml);
  assert.equal(chainOf(config, "arbitrum_orbit").consensusStateId, "ARB0");
  assert.equal(chainOf(config, "op_stack").consensusStateId, "OPT0");
  assert.deepEqual(warningsOf(read(toml)), [
    'consensus.toml:36: [arbitrum].consensus_state_id: found "ETH0", the L1\'s, expected "ARB0", the rollup\'s own; "ARB0" is used',
    'consensus.toml:51: [optimism].consensus_state_id: found "ETH0", the L1\'s, expected "OPT0", the rollup\'s own; "OPT0" is used',
  ]);
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

Deno.test("consensus configuration: an L1 without a section is noted", () => {
  const start = GOOD_CONSENSUS_TOML.indexOf("[sepolia]");
  const end = GOOD_CONSENSUS_TOML.indexOf("[arbitrum]");
  const toml = GOOD_CONSENSUS_TOML.slice(0, start) + GOOD_CONSENSUS_TOML.slice(end);
  const text = '"EVM-11155111" has no section: the hub must get its updates from another relayer';
  assert.deepEqual(notesOf(read(toml)), [
    `consensus.toml:31: [arbitrum.host].l1_state_machine: ${text}`,
    `consensus.toml:48: [optimism.host].l1_state_machine: ${text}`,
  ]);
});

Deno.test("consensus configuration: periods that no timer holds are cut, 0 queries stand for the default", () => {
  const toml = edited(
    ["slot_duration = 6000", "slot_duration = 6000\nconsensus_update_frequency = 6000000000000000"],
    ["consensus_update_frequency = 60\n", "consensus_update_frequency = 2147484\n"],
    ['signer = "keys/hub"', 'signer = "keys/hub"\nmax_concurent_queries = 0'],
  );
  const config = accept(toml);
  assert.ok(config.hub.consensus.type === "grandpa");
  assert.equal(valuesOf(config.hub.consensus.values)["consensusUpdateFrequencySec"], 2_147_483);
  assert.equal(hostOf(config, "evm")["consensusUpdateFrequencySec"], 2_147_483);
  assert.equal(config.hub.substrate.maxConcurrentQueries, 10);
  const cut = "seconds are more than a timer can hold: 2147483 (24 days) are used";
  assert.deepEqual(notesOf(read(toml)), [
    `consensus.toml:8: [hub.grandpa].consensus_update_frequency: 6000000000000000 ${cut}`,
    "consensus.toml:15: [hub.substrate].max_concurent_queries: 0 stands for the default, 10",
    `consensus.toml:32: [sepolia.host].consensus_update_frequency: 2147484 ${cut}`,
  ]);
});

Deno.test("consensus configuration: names of networks are types, too", () => {
  for (const [type, machine, is] of [["sepolia", "EVM-11155111", "evm"], ["bsc_testnet", "EVM-97", "bsc"]]) {
    const written = `type = "${is}"\nstate_machine = "${machine}"`;
    const toml = edited([written, written.replace(`"${is}"`, `"${type}"`)]);
    const config = accept(toml);
    assert.equal(config.chains.find(({ stateMachine }) => stateMachine === machine)?.type, is);
  }
});

Deno.test("consensus configuration: an evm chain without a beacon chain is held, its host section has no effect", () => {
  const machine = 'state_machine = "EVM-11155111"\nrpc_urls';
  const toml = edited([machine, machine.replace("EVM-11155111", "EVM-137")], ['"ETH0"', '"POLY"']);
  const reading = read(toml);
  const config = accept(toml);
  assert.deepEqual(config.chains.map(({ type }) => type), [
    "receive_only",
    "arbitrum_orbit",
    "op_stack",
    "bsc",
  ]);
  assert.deepEqual(reading.warnings.map(({ path }) => path), [
    "sepolia.state_machine",
    "sepolia.ismp_host",
    "sepolia.host",
  ]);
  const host = /\[sepolia\.host\]\n(?:.+\n)+/;
  assert.ok(host.test(toml));
  assert.deepEqual(read(toml.replace(host, "")).warnings.map(({ path }) => path), [
    "sepolia.state_machine",
    "sepolia.ismp_host",
  ]);
});

Deno.test("consensus configuration: ids that differ from those of the live hub are warned about", () => {
  const toml = edited(['"BSC0"', '"BSC1"'], [
    'l1_consensus_state_id = "ETH0"',
    'l1_consensus_state_id = "ETH1"',
  ]);
  assert.deepEqual(read(toml).warnings.map(({ path }) => path), [
    "arbitrum.host.l1_consensus_state_id",
    "chapel.consensus_state_id",
  ]);
});

Deno.test("consensus configuration: a beefy hub takes its proofs from the hub, or makes them with a prover", () => {
  const grandpa = /\[hub\.grandpa\]\n(?:.+\n)+/;
  const beefy = edited(['"grandpa"', '"beefy"']).replace(grandpa, "");
  assert.deepEqual(read(beefy).warnings, []);
  assert.deepEqual(accept(beefy).hub.consensus, { type: "beefy", values: undefined });
  const prover = `[hub.prover]
relay_rpc_ws = "wss://relay.example.org"
para_rpc_ws = "wss://hub.example.org"
para_ids = [4009]
`;
  const { consensus } = accept(beefy.replace("[hub.substrate]", `${prover}\n[hub.substrate]`)).hub;
  assert.deepEqual(valuesOf(consensus.values), {
    relayRpcWs: "wss://relay.example.org",
    paraRpcWs: "wss://hub.example.org",
    paraIds: [4009],
    maxRpcPayloadSizeBytes: 15_728_640,
    queryBatchSize: 200,
  });
  const short = prover.replace(/para_rpc_ws.*\n/, "");
  const usual = accept(beefy.replace("[hub.substrate]", `${short}\n[hub.substrate]`)).hub.consensus;
  assert.equal(valuesOf(usual.values)["paraRpcWs"], undefined, "the node of [hub.substrate]");
  const queue = beefy.replace("[hub.substrate]", '[hub.redis]\nurl = "localhost"\n\n[hub.substrate]');
  assert.deepEqual(warningsOf(read(queue)), [
    "consensus.toml:6: [hub].redis: found a key without effect, expected no such key; this relayer reads accepted proofs from the hub, not from a queue",
  ]);
});

Deno.test("consensus configuration: heads without the hub's own would prove nothing of it, so it is added", () => {
  for (const [listed, taken] of [["[1000, 2000]", [1000, 2000, 4009]], ["[]", [4009]]] as const) {
    const others = edited(["para_ids = [4009]", `para_ids = ${listed}`]);
    const { consensus } = accept(others).hub;
    assert.deepEqual(valuesOf(consensus.values)["paraIds"], taken);
    assert.deepEqual(warningsOf(read(others)), [
      "consensus.toml:8: [hub.grandpa].para_ids: found a list without 4009, expected 4009, the hub's own id, among them; it is added",
    ]);
  }
});

Deno.test("consensus configuration: [hyperbridge] is [hub] by its other name", () => {
  const config = accept(GOOD_CONSENSUS_TOML.replaceAll("[hub", "[hyperbridge"));
  assert.equal(config.hub.section, "hyperbridge");
  assert.equal(config.hub.substrate.stateMachine, "KUSAMA-4009");
});

Deno.test("consensus configuration: known keys without effect are reported with the reason, unknown ones with a guess", () => {
  const toml = edited(
    ["[relayer]\n", "[relayer]\nchallenge_period = 300\nminimum_profit_percentage = 0\n"],
    ["[arbitrum.host]\n", '[arbitrum.host]\nstate_machine = "EVM-421614"\n'],
    ["[optimism.host]\n", "[optimism.host]\nproposer_config = {}\n"],
    ["[chapel.host]\n", "[chapel.host]\nepoch_lenght = 5\n"],
  );
  assert.deepEqual(read(toml).warnings.map(({ path, hint }) => [path, hint]), [
    ["relayer.challenge_period", "challenge periods are set on the hub"],
    ["relayer.minimum_profit_percentage", "belongs to the configuration of the messaging relayer"],
    ["arbitrum.host.state_machine", "given in the chain's own section already"],
    ["optimism.host.proposer_config", "this relayer proposes no dispute games"],
    ["chapel.host.epoch_lenght", "did you mean `epoch_length`?"],
  ]);
});

Deno.test("consensus configuration: the file of the messaging relayer is refused, and it is said whose it is", () => {
  const { config, problems, warnings } = read(GOOD_TOML);
  assert.equal(config, undefined);
  assert.ok(problems.some(({ path }) => path === "hub.type"));
  assert.ok(warnings.some(({ hint }) => hint?.includes("messaging relayer")));
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
        ...notesOf(reading),
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
  const told = `
[solochain]
type = "substrate"
state_machine = "SUBSTRATE-cere"
hashing = "Blake2"
rpc_ws = "wss://cere.example.org"
consensus_state_id = "CERE"
`;
  const chain = accept(GOOD_CONSENSUS_TOML + told).chains.at(-1);
  assert.ok(chain?.type === "substrate");
  const { type, section, stateMachine, hashing, consensusStateId, signer, rpcWs } = chain;
  assert.deepEqual([type, section, stateMachine, hashing, consensusStateId, signer], [
    "substrate",
    "solochain",
    "SUBSTRATE-cere",
    "Blake2",
    "CERE",
    undefined,
  ]);
  assert.equal(rpcWs.host, "cere.example.org");
  const host = read(`${GOOD_CONSENSUS_TOML}${told}\n[solochain.host]\nepoch_length = 5\n`);
  assert.deepEqual(host.warnings.map(({ path, hint }) => [path, hint]), [
    ["solochain.host", "nothing is proved of Substrate chains"],
  ]);
});
