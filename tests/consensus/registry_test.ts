/** What every light client of the registry has: a folder, sections, documents, a prover, an initial state, tests. */
import type { ConsensusClientView } from "../../src/core/chains/consensus_target.ts";
import { toConsensusClientId } from "../../src/core/ismp/state_machine.ts";
import { MemoryTarget } from "../support/memory_target.ts";
import { catchProverFault } from "./findings.ts";
import assert from "node:assert/strict";
import { connectChains, isProved } from "../../src/consensus/connect.ts";
import { parseConsensusConfig } from "../../src/consensus/config/read.ts";
import type { ConsensusConfig } from "../../src/consensus/config/schema.ts";
import {
  CHAIN_TYPES,
  chainClients,
  HUB_TYPES,
  hubClients,
  type HubType,
} from "../../src/consensus/registry.ts";
import type { Connections } from "../../src/consensus/session.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { fixedRandomness } from "../support/seeded_randomness.ts";

const root = new URL("../../", import.meta.url);

function read(path: string): string {
  return Deno.readTextFileSync(new URL(path, root));
}

function list(path: string): readonly string[] {
  return [...Deno.readDirSync(new URL(path, root))].map(({ name }) => name);
}

const EXAMPLE = read("consensus.example.toml");
/** The example file with a hub of this type: its section is no comment, and those of other types have no effect. */
function exampleWith(type: HubType): string {
  const text = EXAMPLE.replace('type = "grandpa"', `type = "${type}"`);
  const isComment = EXAMPLE.includes(`\n# [hub.${hubClients[type].sectionName}]\n`);
  return isComment ? text.replaceAll(/^# (\[hub\.\w+\]|[a-z_]+ = )/gm, "$1") : text;
}

function accept(toml: string): ConsensusConfig {
  const { config, problems } = parseConsensusConfig({ readFile: () => key }, toml);
  assert.deepEqual(problems, []);
  assert.ok(config !== undefined);
  return config;
}

const key = new TextEncoder().encode(`0x${"11".repeat(32)}`);

/** Connects the file and closes everything. */
async function connect<T>(config: ConsensusConfig, look: (connections: Connections) => T): Promise<T> {
  const deps = { clock: new FakeClock(), random: fixedRandomness(0), log: new RecordedLog() };
  const connections = connectChains(deps, config);
  const { hub, proved, hubConsensus, hubState } = connections;
  const parts = [
    hub,
    ...proved,
    ...hubConsensus?.shared ?? [],
    ...hubConsensus?.followers ?? [],
    ...hubState === undefined ? [] : [hubState],
  ];
  try {
    return look(connections);
  } finally {
    await Promise.all(parts.map((part) => part.close()));
  }
}

Deno.test("registry: every folder of a light client has definitions, which the registry imports in one line", () => {
  const lines = read("src/consensus/registry.ts").split("\n");
  const imported = lines.flatMap((line) => {
    const [, names, folder] = /^import \{ ([\w, ]+) \} from "\.\/clients\/(\w+)\/client\.ts";$/.exec(line) ??
      [];
    return names === undefined || folder === undefined ? [] : [{ names: names.split(", "), folder }];
  });
  assert.deepEqual(imported.map(({ folder }) => folder).toSorted(), list("src/consensus/clients").toSorted());
  const definitions = imported.flatMap(({ names }) => names);
  assert.equal(definitions.length, CHAIN_TYPES.length + HUB_TYPES.length + 1, "and siblings, without a type");
});

for (const folder of list("src/consensus/clients")) {
  Deno.test(`registry: ${folder} has rules without I/O, and tests of them and of its prover`, () => {
    assert.ok(list(`src/consensus/clients/${folder}/spec`).length > 0);
    for (const tests of [`tests/consensus/clients/${folder}`, `tests/consensus/clients/${folder}/spec`]) {
      assert.ok(list(tests).some((name) => name.endsWith("_test.ts")), tests);
    }
  });
}

for (const type of CHAIN_TYPES) {
  Deno.test(`registry: type ${type} has a section in the example, and a prover with an initial state`, async () => {
    const config = accept(EXAMPLE);
    const chain = config.chains.find((each) => each.type === type);
    assert.ok(EXAMPLE.includes(`\n[${chain?.section}.host]\n`));
    await connect(config, ({ proved }) => {
      const prover = proved.find((each) => each.chain === chain?.stateMachine);
      assert.equal(prover?.consensusStateId, chain?.consensusStateId);
      assert.equal(typeof prover?.fetchInitialState, "function");
    });
  });
}

// That of parachains has no state, and is found by what governance does.
for (const type of CHAIN_TYPES.filter((each) => each !== "substrate_evm")) {
  Deno.test(`registry: of type ${type}, a client of no use is named, and no node is asked`, async () => {
    const chain = accept(EXAMPLE).chains.find((each) => each.type === type);
    assert.ok(chain !== undefined && isProved(chain));
    const id = chain.consensusStateId;
    const hub = new MemoryTarget();
    const refuse = (): never => assert.fail("No node is asked");
    const prover = chainClients[type].createProver({
      clock: new FakeClock(),
      log: new RecordedLog(),
      hub,
      randomness: fixedRandomness(0),
      fetch: refuse,
      openSocket: refuse,
    }, chain);
    const problem = async (change?: Partial<ConsensusClientView>): Promise<string> => {
      if (change !== undefined) hub.clients.set(id, { ...view, ...change });
      const { code, detail } = await catchProverFault(prover.next(AbortSignal.timeout(1_000)));
      return `${code}: ${detail}`;
    };
    const where = `client ${id} of the hub`;
    const view = {
      clientId: toConsensusClientId("NONE"),
      state: Uint8Array.of(1),
      updatedSec: 0n,
      unbondingSec: 60n,
      isFrozen: false,
    };
    assert.equal(
      await problem(),
      `hub_state: the hub has no client ${id}: its governance creates it (log-consensus-state)`,
    );
    assert.equal(
      await problem({ isFrozen: true }),
      `frozen: ${where} is frozen: its governance must thaw it`,
    );
    const other = /^hub_state: client \w+ of the hub is NONE, not (\w+)$/.exec(await problem({}))?.[1] ?? "";
    const clientId = toConsensusClientId(other);
    assert.equal(await problem({ clientId }), `hub_state: the state of ${where} is unreadable`);
    hub.nowSec = 59n;
    assert.equal(await problem({ clientId }), `hub_state: the state of ${where} is unreadable`);
    hub.nowSec = 60n;
    assert.match(
      await problem({ clientId }),
      /^expired: client \w+ of the hub has expired: its last update was 60 s ago and 60 s are allowed; .* must create it again$/,
    );
    await prover.close();
  });
}

for (const type of HUB_TYPES) {
  Deno.test(`registry: a hub of type ${type} has a section in the example, followers and an initial state`, async () => {
    const { sectionName } = hubClients[type];
    assert.match(EXAMPLE, new RegExp(`^(?:# )?\\[hub\\.${sectionName}\\]$`, "m"));
    const config = accept(exampleWith(type));
    assert.equal(config.hub.consensus.type, type);
    await connect(config, ({ hubConsensus, hubState }) => {
      assert.ok(hubConsensus !== undefined);
      const { followers, skipped } = hubConsensus;
      assert.ok(followers.length > 0);
      assert.equal(followers.length + skipped.length, config.chains.length);
      assert.equal(hubState?.chain, config.hub.substrate.stateMachine);
    });
  });
}
