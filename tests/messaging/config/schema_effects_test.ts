/** Every key that the file may have has an effect in the program that it was read for. */
import assert from "node:assert/strict";
import type { ConfigFiles } from "../../../src/core/config/toml.ts";
import { keepFixed, parseMessagingConfig } from "../../../src/messaging/config/read.ts";
import { type MessagingConfig, messagingSections } from "../../../src/messaging/config/schema.ts";
import { connectChains } from "../../../src/messaging/connect.ts";
import { payingChains } from "../../../src/messaging/fees/fee_context.ts";
import { createGates } from "../../../src/messaging/session.ts";
import { createFeeContext, planFees, planLegs, toRelaySettings } from "../../../src/messaging/legs.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { openMemoryLedger } from "../../support/ledger.ts";
import { recordReads } from "../../support/read_recorder.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";
import { GOOD_TOML } from "./wrong_configs.ts";

const noFiles: ConfigFiles = { readFile: () => assert.fail() };

function parse(toml: string): MessagingConfig {
  const { config, problems } = parseMessagingConfig(noFiles, toml);
  assert.deepEqual(problems, []);
  assert.ok(config !== undefined);
  return config;
}

/** Workers and payouts that are planned for a configuration; all that shows without a network is read on the way. */
async function plan(
  config: MessagingConfig,
): Promise<{ readonly workers: readonly string[]; readonly paysOutOn: readonly string[] }> {
  const clock = new FakeClock();
  const ledger = openMemoryLedger({ clock });
  const deps = { clock, random: fixedRandomness(0), log: new RecordedLog(), ledger };
  const { hub, chains } = connectChains(deps, config);
  const settings = toRelaySettings(config, () => undefined);
  const { hubGate, gated } = createGates(deps, { hub, chains }, "[hub].rpc_ws");
  const parts = { config, settings, hub, hubGate, chains: gated, fetch: () => assert.fail() };
  const { outbound, workers } = planLegs({ ...deps, settings }, parts);
  const context = createFeeContext(deps, { ...parts, outbound });
  const fees = planFees(context, config);
  keepFixed(config, parse(GOOD_TOML));
  for (const { chain } of chains) {
    if (!chain.id.stateMachine.startsWith("EVM-")) {
      await chain.fees.fetchFees([], new AbortController().signal);
    }
  }
  await Promise.all([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
  ledger.close();
  return {
    workers: [...workers, ...fees].map(({ name }) => name),
    paysOutOn: payingChains(context).map(({ name }) => name),
  };
}

const sections = messagingSections(noFiles);

const WITH_CONTRACTS = `${GOOD_TOML}
[relayer.fleet]
index = 0
count = 3

[asset_hub]
${
  GOOD_TOML.slice(GOOD_TOML.indexOf('type = "evm"'), GOOD_TOML.indexOf("[para]"))
    .replace('"evm"', '"substrate_evm"\nws_url = "wss://node.example.org"')
    .replace("EVM-31337", "EVM-31338")
}`;

for (const section of ["hub", "relayer", "fleet", "evm", "substrate_evm", "substrate"] as const) {
  Deno.test(`messaging configuration: every key of a section of ${section} is used`, async () => {
    const config = parse(WITH_CONTRACTS);
    const reads = new Set<string>();
    for (const type of ["evm", "substrate_evm", "substrate"] as const) {
      const some = { ...config, chains: config.chains.filter((chain) => chain.type === type) };
      await plan(recordReads(some, (path) => reads.add(path.replace(/^chains\b/, type))));
    }
    const keys = Object.keys(sections[section].keys);
    assert.deepEqual(
      keys.filter((key) => !reads.has(`${section === "fleet" ? "relayer.fleet" : section}.${key}`)),
      [],
    );
  });
}

Deno.test("messaging configuration: nothing is delivered to a chain that is only a source, nor paid out on it", async () => {
  const listed = GOOD_TOML.replace('["EVM-31337", "KUSAMA-2000"]', "[]");
  const both = await plan(parse(listed));
  assert.deepEqual(both.paysOutOn, ["EVM-31337", "KUSAMA-2000"]);
  for (const [header, name] of [["evm1", "EVM-31337"], ["para", "KUSAMA-2000"]] as const) {
    const source = listed.replace(`[${header}]\n`, `[${header}]\ninbound_only = true\n`);
    const toml = header === "evm1" ? source.replace(/signer = .+\n/, "") : source;
    const { workers, paysOutOn } = await plan(parse(toml));
    assert.deepEqual(both.workers.filter((worker) => !workers.includes(worker)), [`KUSAMA-4009 -> ${name}`]);
    assert.ok(workers.includes(`${name} -> KUSAMA-4009`));
    assert.ok(!paysOutOn.includes(name));
  }
  const chosen = await plan(parse(GOOD_TOML.replace(', "KUSAMA-2000"]', "]")));
  const missing = both.workers.filter((worker) => !chosen.workers.includes(worker));
  assert.deepEqual(missing, ["KUSAMA-4009 -> KUSAMA-2000"], "nor to one left out of delivery_endpoints");
});
