/** Every key that the file may have is used by the program that it was read for. */
import assert from "node:assert/strict";
import { connectChains } from "../../../src/messaging/connect.ts";
import { parseMessagingConfig } from "../../../src/messaging/config/read.ts";
import { messagingSections } from "../../../src/messaging/config/schema.ts";
import { planFees } from "../../../src/messaging/fee_workers.ts";
import { planLegs, settingsOf } from "../../../src/messaging/legs.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { openMemoryLedger } from "../../support/ledger.ts";
import { recordReads } from "../../support/read_recorder.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";
import { GOOD_TOML } from "./wrong_configs.ts";

const noFiles = { readFile: (): Uint8Array => assert.fail() };

/** Paths of the values that are read while adapters are made and work is planned. */
async function readsOf(toml: string): Promise<ReadonlySet<string>> {
  const { config, problems } = parseMessagingConfig(noFiles, toml);
  assert.deepEqual(problems, []);
  assert.ok(config !== undefined);
  const reads = new Set<string>();
  for (const type of ["evm", "substrate"] as const) {
    const some = { ...config, chains: config.chains.filter((chain) => chain.type === type) };
    const watched = recordReads(some, (path) => reads.add(path.replace(/^chains\b/, type)));
    const clock = new FakeClock();
    const deps = {
      clock,
      random: fixedRandomness(0),
      log: new RecordedLog(),
      ledger: openMemoryLedger({ clock }),
    };
    const { hub, chains } = connectChains(deps, watched);
    const settings = settingsOf(watched, () => undefined);
    const gated = chains.map((entry) => ({ entry, passed: Promise.resolve() }));
    const parts = { config: watched, settings, hub, chains: gated, fetch: () => assert.fail() };
    const { outbound } = planLegs(deps, parts);
    planFees(deps, { ...parts, checks: new Map(), outbound });
    await Promise.all([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
    deps.ledger.close();
  }
  return reads;
}

const sections = messagingSections(noFiles);

for (const section of ["hub", "relayer", "evm", "substrate"] as const) {
  Deno.test(`messaging configuration: every key of a section of ${section} is used`, async () => {
    const reads = await readsOf(GOOD_TOML);
    const keys = Object.keys(sections[section].keys);
    assert.deepEqual(keys.filter((key) => !reads.has(`${section}.${key}`)), []);
  });
}
