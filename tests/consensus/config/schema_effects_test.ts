/** Every key that the file may have has an effect in the program, or its reference says that it has none. */
import assert from "node:assert/strict";
import { connectChains } from "../../../src/consensus/connect.ts";
import { parseConsensusConfig } from "../../../src/consensus/config/read.ts";
import { consensusSections } from "../../../src/consensus/config/schema.ts";
import { CHAIN_TYPES, chainClients, HUB_TYPES, hubClients } from "../../../src/consensus/registry.ts";
import { runConsensus } from "../../../src/consensus/run.ts";
import { allKeys, type Section } from "../../../src/core/config/schema.ts";
import { ShutdownRequested } from "../../../src/core/runtime/app.ts";
import { CONSENSUS_SECTIONS } from "../../docs/support/config_files.ts";
import { consensusReference } from "../../docs/support/config_reference.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryTarget } from "../../support/memory_target.ts";
import { ScriptedProver } from "../../support/scripted_prover.ts";
import { recordReads } from "../../support/read_recorder.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";
import { AMOY_SECTION, edited, goodFiles, POLKADOT_HUB_SECTION } from "./wrong_configs.ts";

const WATCHED = edited(
  ["maximum_update_intervals = []", 'maximum_update_intervals = [[["EVM-97", "BSC0"], 500]]'],
  ["enable_hub_consensus = false", "enable_hub_consensus = true\nmaximum_daily_loss = 50"],
) + '\n[relayer.notify]\nwebhook = "https://hooks.example.org"\n';
const SUBSTRATE = `
[solochain]
type = "substrate"
state_machine = "SUBSTRATE-cere"
hashing = "Blake2"
rpc_ws = "wss://cere.example.org"
consensus_state_id = "CERE"
`;
const PROVER = `[hub.prover]
relay_rpc_ws = "wss://relay.example.org"
para_rpc_ws = "wss://other.example.org"
para_ids = [4009]

`;
/** With both types of hubs, every type of chain has something to do. */
const FILES = [
  WATCHED + AMOY_SECTION + POLKADOT_HUB_SECTION + SUBSTRATE,
  WATCHED.replace('"grandpa"', '"beefy"').replace(/\[hub\.grandpa\]\n(?:.+\n)+\n/, PROVER),
];

/** The section of a path: those of chains by the type of the chain. */
const SECTIONS: Readonly<Record<string, string>> = {
  "hub.consensus": "hub",
  "hub.substrate": "hubSubstrate",
  "relayer.notify": "notify",
};

/** Values that are read while adapters are made and a run begins, as `section.name`. */
async function readsOf(toml: string): Promise<readonly string[]> {
  const { config, problems } = parseConsensusConfig(goodFiles, toml);
  assert.deepEqual(problems, []);
  assert.ok(config !== undefined);
  const reads: string[] = [];
  for (const { type } of config.chains) {
    const some = { ...config, chains: config.chains.filter((chain) => chain.type === type) };
    const watched = recordReads(some, (path) => {
      const at = path.lastIndexOf(".");
      const [above, name] = [path.slice(0, at), path.slice(at + 1)];
      const chain = type === "substrate" ? "substrate" : "evm";
      const own = {
        chains: chain,
        "chains.host": `${type}.host`,
        "hub.consensus.values": config.hub.consensus.type,
      };
      const section = { ...SECTIONS, ...own }[above] ?? above;
      reads.push(`${section}.${name}`);
    });
    const clock = new FakeClock();
    const deps = { clock, random: fixedRandomness(0), log: new RecordedLog() };
    const { hub, proved, hubConsensus, hubState } = connectChains(deps, watched);
    const stop = new AbortController();
    const memory = new MemoryTarget({ clock });
    const prover = new ScriptedProver(clock, { id: "EVM-97/BSC0" });
    const run = runConsensus(
      {
        ...deps,
        config: watched,
        connect: () => ({
          hub: memory,
          proved: [prover],
          receiveOnly: [],
          hubConsensus: hubConsensus &&
            { ...hubConsensus, followers: [], hosts: [], shared: [], checks: [] },
          hubState: undefined,
          fetchBase: undefined,
        }),
        webhook: { workers: () => [] },
      },
      { base: undefined },
      stop.signal,
    );
    await clock.settle();
    stop.abort(new ShutdownRequested("SIGTERM"));
    await clock.run(run);
    await Promise.all([hub, ...proved].map((part) => part.close()));
    await hubState?.close();
  }
  return reads;
}

const sections = consensusSections(goodFiles);
const named: Readonly<Record<string, Section<unknown>>> = {
  ...sections,
  ...Object.fromEntries(HUB_TYPES.map((type) => [type, hubClients[type].section])),
  ...Object.fromEntries(CHAIN_TYPES.map((type) => [`${type}.host`, chainClients[type].host])),
};

Deno.test("consensus configuration: every key that is not said to be without effect is used", async () => {
  const reads = new Set((await Promise.all(FILES.map(readsOf))).flat());
  const unused = Object.entries(named).flatMap(([section, { keys }]) =>
    Object.keys(keys as object).map((name) => `${section}.${name}`).filter((path) => !reads.has(path))
  );
  assert.deepEqual(unused, []);
});

Deno.test("consensus configuration: the reference names every key, and says which have no effect", () => {
  const parts = consensusReference().split("\n## ").slice(1);
  const listed = CONSENSUS_SECTIONS.map(({ section }, index) => ({ section, text: parts[index] ?? "" }));
  assert.equal(parts.length, listed.length);
  for (const { section, text } of listed) {
    for (const { name } of allKeys(section)) assert.ok(text.includes(`\`${name}\``), name);
    for (const { name } of section.withoutEffect ?? []) {
      assert.match(text, new RegExp(`^Accepted without effect: .*\`${name}\``, "m"));
    }
  }
  assert.ok(listed.some(({ section }) => section.withoutEffect !== undefined));
});

/** What is made of a file, as far as it shows without a network. */
async function plan(toml: string): Promise<string> {
  const { config, problems } = parseConsensusConfig(goodFiles, toml);
  assert.deepEqual(problems, []);
  assert.ok(config !== undefined);
  const deps = { clock: new FakeClock(), random: fixedRandomness(0), log: new RecordedLog() };
  const { hub, proved, receiveOnly, hubConsensus, hubState } = connectChains(deps, config);
  const provers = [...proved, ...(hubConsensus?.followers ?? []).map(({ prover }) => prover)];
  const shown = {
    hub: hub.id,
    provers: provers.map((
      { chain, consensusStateId, commitmentId, intervalMs },
    ) => [chain, consensusStateId, commitmentId, intervalMs]),
    l1: proved.map(({ l1 }) => l1),
    receiveOnly,
    hosts: hubConsensus?.hosts.map(({ id }) => id),
    followers: hubConsensus?.followers.map(({ target }) => target.id),
    skipped: hubConsensus?.skipped,
    sources: hubConsensus?.shared.length,
    checks: hubConsensus?.checks?.map(({ name }) => name),
    state: [hubState?.chain, hubState?.consensusStateId],
    limits: config.relayer.maximumUpdateIntervals.map(({ id, maxSec }) => [id, String(maxSec)]),
  };
  await Promise.all([hub, ...provers].map((part) => part.close()));
  await hubState?.close();
  return JSON.stringify(shown);
}

const [GRANDPA = "", BEEFY = ""] = FILES;

Deno.test("consensus configuration: no proofs of the hub are sent to a chain that is only a source, and it is proved", async () => {
  const source = BEEFY.replace(/(\[sepolia\]\n[\s\S]*?)signer = .+\n/, "$1inbound_only = true\n");
  const [before, after] = [JSON.parse(await plan(BEEFY)), JSON.parse(await plan(source))];
  const names = (hosts: readonly { readonly stateMachine: string }[]): readonly string[] =>
    hosts.map(({ stateMachine }) => stateMachine);
  assert.deepEqual(names(before.hosts).filter((name) => !names(after.hosts).includes(name)), [
    "EVM-11155111",
  ]);
  assert.deepEqual(after.provers, before.provers);
});

function change(file: string, from: string, to: string): readonly [string, string] {
  assert.ok(file.includes(from), from);
  return [file, file.replace(from, to)];
}

const frequency = "consensus_update_frequency = 7\n";
const changes: Readonly<Record<string, readonly [string, string]>> = {
  "hub type": [GRANDPA, BEEFY],
  "grandpa consensus_update_frequency": change(GRANDPA, "[hub.grandpa]\n", `[hub.grandpa]\n${frequency}`),
  "beefy para_rpc_ws": change(BEEFY, 'para_rpc_ws = "wss://other.example.org"\n', ""),
  "beefy as a whole": change(BEEFY, PROVER, ""),
  "hubSubstrate state_machine": change(GRANDPA, "KUSAMA-4009", "KUSAMA-4010"),
  "hubSubstrate consensus_state_id": change(
    GRANDPA,
    "[hub.substrate]\n",
    '[hub.substrate]\nconsensus_state_id = "PAS1"\n',
  ),
  "relayer maximum_update_intervals": change(GRANDPA, "500", "501"),
  "relayer enable_hub_consensus": change(
    GRANDPA,
    "enable_hub_consensus = true",
    "enable_hub_consensus = false",
  ),
  "evm state_machine": change(GRANDPA, "EVM-421614", "EVM-421615"),
  "evm consensus_state_id": change(GRANDPA, '"ARB0"', '"ARB1"'),
  "evm.host consensus_update_frequency": change(
    GRANDPA,
    "consensus_update_frequency = 60",
    "consensus_update_frequency = 61",
  ),
  "arbitrum_orbit.host consensus_update_frequency": change(
    GRANDPA,
    "[arbitrum.host]\n",
    `[arbitrum.host]\n${frequency}`,
  ),
  "op_stack.host consensus_update_frequency": change(
    GRANDPA,
    "[optimism.host]\n",
    `[optimism.host]\n${frequency}`,
  ),
  "bsc.host consensus_update_frequency": change(
    GRANDPA,
    "consensus_update_frequency = 300",
    "consensus_update_frequency = 30",
  ),
  "arbitrum_orbit.host l1_state_machine": change(
    GRANDPA,
    'l1_state_machine = "EVM-11155111"',
    'l1_state_machine = "EVM-1"',
  ),
  "arbitrum_orbit.host l1_consensus_state_id": change(
    GRANDPA,
    'l1_consensus_state_id = "ETH0"',
    'l1_consensus_state_id = "ETH1"',
  ),
  "evm inbound_only": change(BEEFY, "[sepolia]\n", "[sepolia]\ninbound_only = true\n"),
  "substrate inbound_only": change(GRANDPA, "[solochain]\n", "[solochain]\ninbound_only = true\n"),
  "substrate state_machine": change(GRANDPA, "SUBSTRATE-cere", "SUBSTRATE-cera"),
  "substrate consensus_state_id": change(GRANDPA, '"CERE"', '"CERA"'),
};

for (const [key, [from, to]] of Object.entries(changes)) {
  Deno.test(`consensus configuration: ${key} changes what the program plans`, async () => {
    assert.equal(await plan(from), await plan(from));
    assert.notEqual(await plan(from), await plan(to));
  });
}
