/** Every key that the file may have has an effect in the program, or its reference says that it has none. */
import assert from "node:assert/strict";
import { connectChains } from "../../../src/consensus/connect.ts";
import { parseConsensusConfig } from "../../../src/consensus/config/read.ts";
import { consensusSections } from "../../../src/consensus/config/schema.ts";
import { CHAIN_TYPES, chainClients, HUB_TYPES, hubClients } from "../../../src/consensus/registry.ts";
import { runConsensus } from "../../../src/consensus/run.ts";
import { allKeys, type Key, type Section, UNUSED } from "../../../src/core/config/schema.ts";
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
            { ...hubConsensus, followers: [], shared: [], checks: [] },
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
  for (const [section, { keys }] of Object.entries(named)) {
    for (const [name, { description }] of Object.entries<Key<unknown>>(keys)) {
      const path = `${section}.${name}`;
      assert.equal(reads.has(path), !description.startsWith(UNUSED), path);
    }
  }
});

Deno.test("consensus configuration: the reference names every key, and says which have no effect", () => {
  const parts = consensusReference().split("\n## ").slice(1);
  const listed = CONSENSUS_SECTIONS.map(({ section }, index) => ({ section, text: parts[index] ?? "" }));
  assert.equal(parts.length, listed.length);
  for (const { section, text } of listed) {
    for (const { name, description } of allKeys(section)) {
      const start = description.startsWith(UNUSED) ? "^Accepted without effect: .*" : "";
      assert.match(text, new RegExp(`${start}\`${name}\``, "m"));
    }
  }
});

/** The hosts that follow the hub, and the chains that are proved to it. */
async function plan(toml: string): Promise<readonly [hosts: readonly string[], proved: readonly string[]]> {
  const { config } = parseConsensusConfig(goodFiles, toml);
  assert.ok(config !== undefined);
  const deps = { clock: new FakeClock(), random: fixedRandomness(0), log: new RecordedLog() };
  const { hub, proved, hubConsensus, hubState } = connectChains(deps, config);
  const { followers = [] } = hubConsensus ?? {};
  await Promise.all([hub, ...proved, ...followers].map((part) => part.close()));
  await hubState?.close();
  return [followers.map(({ client }) => client.route.target), proved.map(({ chain }) => chain)];
}

Deno.test("consensus configuration: no proofs of the hub are sent to a chain that is only a source, and it is proved", async () => {
  const [, beefy = ""] = FILES;
  const source = beefy.replace(/(\[sepolia\]\n[\s\S]*?)signer = .+\n/, "$1inbound_only = true\n");
  const [[hosts, proved], [fewer, same]] = [await plan(beefy), await plan(source)];
  assert.deepEqual(hosts.filter((host) => !fewer.includes(host)), ["EVM-11155111"]);
  assert.deepEqual(same, proved);
});
