/** Every key that the file may have has an effect in the program that it was read for. */
import assert from "node:assert/strict";
import type { ConfigFiles } from "../../../src/core/config/toml.ts";
import { toHex } from "../../../src/core/encoding/bytes.ts";
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
import { edited, GOOD_TOML, plus } from "./wrong_configs.ts";

const noFiles: ConfigFiles = { readFile: () => assert.fail() };

function parse(toml: string): MessagingConfig {
  const { config, problems } = parseMessagingConfig(noFiles, toml);
  assert.deepEqual(problems, []);
  assert.ok(config !== undefined);
  return config;
}

/** What is made of a configuration, as far as it shows without a network. */
async function plan(config: MessagingConfig): Promise<string> {
  const clock = new FakeClock();
  const deps = {
    clock,
    random: fixedRandomness(0),
    log: new RecordedLog(),
    ledger: openMemoryLedger({ clock }),
  };
  const { hub, chains } = connectChains(deps, config);
  const settings = toRelaySettings(config, () => undefined);
  const { hubGate, gated } = createGates(deps, { hub, chains }, "[hub].rpc_ws");
  const parts = { config, settings, hub, hubGate, chains: gated, fetch: () => assert.fail() };
  const { outbound, workers } = planLegs({ ...deps, settings }, parts);
  const feeParts = { ...parts, outbound };
  const fees = planFees(createFeeContext(deps, feeParts), config);
  const { withdrawals, hostOf } = createFeeContext(deps, feeParts);
  const shown = {
    settings,
    fixed: keepFixed(config, parse(GOOD_TOML)).fixed,
    workers: [...workers, ...fees].map(({ name }) => name),
    legs: [...outbound.values()].map(({ initialHeight, pollIntervalMs, profit, rewards }) => [
      initialHeight,
      pollIntervalMs,
      profit?.minimumPercent,
      rewards !== undefined,
    ]),
    withdrawals,
    paysOutOn: payingChains(createFeeContext(deps, feeParts)).map(({ name }) => name),
    chains: await Promise.all([hub, ...chains.map(({ chain }) => chain)].map(async (chain) => [
      chain.id,
      chain.limits,
      "relayer" in chain && chain.relayer instanceof Uint8Array ? toHex(chain.relayer) : undefined,
      hostOf(chain.id.stateMachine)?.toHex(),
      chain.id.stateMachine.startsWith("EVM-")
        ? undefined
        : await chain.fees.fetchFeeTokenDecimals(new AbortController().signal),
    ])),
  };
  await Promise.all([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
  deps.ledger.close();
  return JSON.stringify(shown, (_, value: unknown) => {
    if (typeof value === "bigint") return `${value}`;
    return value instanceof Set ? [...value] : value;
  });
}

const sections = messagingSections(noFiles);

const WITH_CONTRACTS = `${GOOD_TOML}
[asset_hub]
${
  GOOD_TOML.slice(GOOD_TOML.indexOf('type = "evm"'), GOOD_TOML.indexOf("[para]"))
    .replace('"evm"', '"substrate_evm"\nws_url = "wss://node.example.org"')
    .replace("EVM-31337", "EVM-31338")
}`;

for (const section of ["hub", "relayer", "evm", "substrate_evm", "substrate"] as const) {
  Deno.test(`messaging configuration: every key of a section of ${section} is used`, async () => {
    const config = parse(WITH_CONTRACTS);
    const reads = new Set<string>();
    for (const type of ["evm", "substrate_evm", "substrate"] as const) {
      const some = { ...config, chains: config.chains.filter((chain) => chain.type === type) };
      await plan(recordReads(some, (path) => reads.add(path.replace(/^chains\b/, type))));
    }
    const keys = Object.keys(sections[section].keys);
    assert.deepEqual(keys.filter((key) => !reads.has(`${section}.${key}`)), []);
  });
}

function withFleet(lines: string): string {
  return edited(["[evm1]\n", `[relayer.fleet]\n${lines}\n\n[evm1]\n`]);
}

const OTHER_KEY = `"0x${"42".repeat(32)}"`;
const changes: Readonly<Record<string, string>> = {
  "hub state_machine": edited(["KUSAMA-4009", "KUSAMA-4010"]),
  "hub initial_height": plus("hub", "initial_height = 7"),
  "hub signer": plus("hub", `signer = ${OTHER_KEY}`),
  "hub token_price": plus("hub", "token_price = 0.5"),
  "relayer minimum_profit_percentage": edited(["percentage = 0", "percentage = 5"]),
  "relayer delivery_endpoints": edited(['["EVM-31337", "KUSAMA-2000"]', '["EVM-31337"]']),
  "relayer module_filter": plus("relayer", 'module_filter = ["ISMP-RLYR"]'),
  "relayer unprofitable_retry_frequency": plus("relayer", "unprofitable_retry_frequency = 60"),
  "relayer maximum_daily_loss": plus("relayer", "maximum_daily_loss = 5"),
  "relayer withdrawal_frequency": plus("relayer", "withdrawal_frequency = 60"),
  "relayer reconciliation_frequency": plus("relayer", "reconciliation_frequency = 60"),
  "relayer minimum_withdrawal_amount": plus("relayer", "minimum_withdrawal_amount = 60"),
  "relayer leave_checkpoints": plus("relayer", "leave_checkpoints = true"),
  "relayer disable_fee_accumulation": plus("relayer", "disable_fee_accumulation = true"),
  "fleet index": withFleet("index = 1\ncount = 3"),
  "fleet count": withFleet("index = 0\ncount = 2"),
  "fleet take_over_after": withFleet("index = 0\ncount = 3\ntake_over_after = 5"),
  "evm state_machine": edited(['state_machine = "EVM-31337"', 'state_machine = "EVM-31338"']),
  "evm consensus_state_id": edited(['"ETH0"', '"ETH1"']),
  "evm ismp_host": edited(["0x1111111111111111111111111111111111111111", `0x${"22".repeat(20)}`]),
  "evm signer": edited([/"0x[0-9a-f]{64}"/.exec(GOOD_TOML)?.[0] ?? "", OTHER_KEY]),
  "evm inbound_only": plus("evm1", "inbound_only = true").replace(/signer = .+\n/, ""),
  "evm query_batch_size": plus("evm1", "query_batch_size = 7"),
  "evm poll_interval": plus("evm1", "poll_interval = 7"),
  "substrate state_machine": edited(['state_machine = "KUSAMA-2000"', 'state_machine = "KUSAMA-2001"']),
  "substrate consensus_state_id": edited(['"PAS0"', '"PAS1"']),
  "substrate inbound_only": plus("para", "inbound_only = true"),
  "substrate poll_interval": plus("para", "poll_interval = 7"),
  "substrate fee_token_decimals": plus("para", "fee_token_decimals = 7"),
};

for (const [key, toml] of Object.entries(changes)) {
  Deno.test(`messaging configuration: ${key} changes what the program plans`, async () => {
    const before = key.startsWith("fleet ") ? withFleet("index = 0\ncount = 3") : GOOD_TOML;
    assert.notEqual(await plan(parse(toml)), await plan(parse(before)));
  });
}

Deno.test("messaging configuration: the same file makes the same plan", async () => {
  assert.equal(await plan(parse(GOOD_TOML)), await plan(parse(GOOD_TOML)));
});

Deno.test("messaging configuration: nothing is delivered to a chain that is only a source, nor paid out on it", async () => {
  const planned = async (
    toml: string,
  ): Promise<{ readonly workers: string[]; readonly paysOutOn: string[] }> =>
    JSON.parse(await plan(parse(toml)));
  const listed = GOOD_TOML.replace('["EVM-31337", "KUSAMA-2000"]', "[]");
  const both = await planned(listed);
  assert.deepEqual(both.paysOutOn, ["EVM-31337", "KUSAMA-2000"]);
  for (const [header, name] of [["evm1", "EVM-31337"], ["para", "KUSAMA-2000"]] as const) {
    const source = listed.replace(`[${header}]\n`, `[${header}]\ninbound_only = true\n`);
    const { workers, paysOutOn } = await planned(
      header === "evm1" ? source.replace(/signer = .+\n/, "") : source,
    );
    assert.deepEqual(both.workers.filter((worker) => !workers.includes(worker)), [`KUSAMA-4009 -> ${name}`]);
    assert.ok(workers.includes(`${name} -> KUSAMA-4009`));
    assert.ok(!paysOutOn.includes(name));
  }
});
