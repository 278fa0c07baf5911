/** The examples are what they tell: complete, correct, and true about the defaults. */
import assert from "node:assert/strict";
import type { ConsensusConfig } from "../../src/consensus/config/schema.ts";
import { parseConsensusConfig } from "../../src/consensus/config/read.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import type { MessagingConfig } from "../../src/messaging/config/schema.ts";
import type { ConfigResult } from "../../src/core/config/diagnostics.ts";
import { readBlocks } from "./support/markdown.ts";

const root = new URL("../../", import.meta.url);
/** An example with its placeholders filled in, which are warned about. */
const example = (file: string): string =>
  Deno.readTextFileSync(new URL(file, root)).replaceAll("YOUR-", "MY-");
const messaging = example("config.example.toml");
const consensus = example("consensus.example.toml");
const key = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

/** An optional setting that is commented out. */
interface Optional {
  readonly section: string;
  readonly key: string;
  readonly isDefault: boolean;
  /** The comment above says that the program does nothing with it. */
  readonly isWithoutEffect: boolean;
  /** It serves another kind of signer than the examples have. */
  readonly isIdle: boolean;
  /** The file with this setting switched on. */
  readonly switchedOn: string;
}

const secrets = {
  readFile: (path: string): Uint8Array => {
    assert.match(path, /^\/run\/secrets\/[a-z-]+?(-consensus)?-(key|seed|password)$/);
    return new TextEncoder().encode(key);
  },
};

function read(text: string): ConfigResult<MessagingConfig> {
  return parseMessagingConfig(secrets, text);
}

function acceptConsensus(text: string): ConsensusConfig {
  const { config, problems, remarks } = parseConsensusConfig(secrets, text);
  assert.deepEqual([problems, remarks], [[], []]);
  assert.ok(config !== undefined);
  return config;
}

function accept(text: string): MessagingConfig {
  const { config, problems, remarks } = read(text);
  assert.deepEqual([problems, remarks], [[], []]);
  assert.ok(config !== undefined);
  return config;
}

/** Keys for kinds of signers that the examples do not have. */
const OTHER_SIGNERS: ReadonlySet<string> = new Set(["keystore_password_file", "signer_address"]);

/** The configuration, of which nothing but one key is warned about. */
function acceptIdle<C>({ config, problems, remarks }: ConfigResult<C>, path: string): C {
  assert.deepEqual([problems, remarks.map((remark) => remark.path)], [[], [path]]);
  assert.ok(config !== undefined);
  return config;
}

/** Comments that are settings: `#key = value`, without a space, so that prose is none. */
function optionals(text: string): Optional[] {
  const lines = text.split("\n");
  let section = "";
  return lines.flatMap((line, at) => {
    section = /^\[(.+)\]/.exec(line)?.[1] ?? section;
    const name = /^#([a-z0-9_]+) = /.exec(line)?.[1];
    if (name === undefined) return [];
    const switchedOn = lines.toSpliced(at, 1, line.slice(1)).join("\n");
    const above = lines.slice(lines.lastIndexOf("", at), at).join(" ");
    const isWithoutEffect = above.includes("# Has no effect in this program: ");
    const isIdle = OTHER_SIGNERS.has(name);
    const isDefault = line.endsWith("# default");
    return [{ section, key: name, isDefault, isWithoutEffect, isIdle, switchedOn }];
  });
}

/** Keys by section, those that are commented out included. */
function keysOf(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  let section = "";
  for (const line of text.split("\n")) {
    section = /^\[(.+)\]/.exec(line)?.[1] ?? section;
    const name = /^#?([a-z0-9_]+) = /.exec(line)?.[1];
    if (name !== undefined) found.set(section, [...found.get(section) ?? [], name]);
  }
  return found;
}

/** Names of the fields as docs/specification.md lists them. */
function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

const messagingFields: Readonly<Record<string, readonly string[]>> = {
  hub: words("state_machine rpc_ws max_rpc_payload_size initial_height poll_interval consensus_state_id"),
  relayer: words(`minimum_profit_percentage withdrawal_frequency minimum_withdrawal_amount delivery_endpoints
    module_filter unprofitable_retry_frequency maximum_daily_loss disable_fee_accumulation`),
  ethereum: words(`type state_machine rpc_urls consensus_state_id etherscan_api_key ismp_host signer
    query_batch_size tracing_batch_size gas_price_buffer client_type initial_height poll_interval`),
  parachain: words(
    `type state_machine hashing rpc_ws consensus_state_id max_rpc_payload_size signer poll_interval
    initial_height fee_token_decimals`,
  ),
};

const evmFields = words(`type state_machine rpc_urls consensus_state_id etherscan_api_key ismp_host signer
  gas_price_buffer tracing_batch_size query_batch_size poll_interval client_type initial_height`);

const requiredFields = words(
  `type state_machine rpc_urls consensus_state_id etherscan_api_key ismp_host signer`,
);

const consensusFields: Readonly<Record<string, readonly string[]>> = {
  hub: ["type"],
  "hub.grandpa": words("rpc slot_duration consensus_update_frequency para_ids max_block_range"),
  "hub.substrate": words(`rpc_ws hashing consensus_state_id state_machine max_rpc_payload_size signer
    initial_height max_concurent_queries poll_interval fee_token_decimals`),
  relayer: words("maximum_update_intervals enable_hub_consensus"),
  ethereum: evmFields,
  "ethereum.host": words("beacon_http_urls consensus_update_frequency"),
  arbitrum: requiredFields,
  "arbitrum.host": words("beacon_rpc_url rollup_core l1_state_machine l1_consensus_state_id"),
  optimism: requiredFields,
  "optimism.host": words(`dispute_game_factory respected_game_type message_parser beacon_rpc_url
    l1_state_machine l1_consensus_state_id`),
  bsc: requiredFields,
  "bsc.host": words("consensus_update_frequency epoch_length"),
  polygon: requiredFields,
  "polygon.host": words("heimdall_rpc_url consensus_update_frequency disable"),
  "polkadot-hub": requiredFields,
  "polkadot-hub.host": words("relay_rpc_ws consensus_update_frequency"),
  // Beyond the specification: keys of a hub of type "grandpa".
  solochain: words(`type state_machine hashing rpc_ws consensus_state_id max_rpc_payload_size
    max_concurent_queries`),
};

Deno.test("config.example.toml: the relayer takes it as it is, without a problem, warning or note", () => {
  const { hub, relayer, chains } = accept(messaging);
  assert.equal(hub.stateMachine, "POLKADOT-3367");
  assert.deepEqual(relayer.deliveryEndpoints, chains.map(({ stateMachine }) => stateMachine));
  assert.deepEqual(chains.map(({ type }) => type), ["evm", "evm", "evm", "substrate_evm", "substrate"]);
});

Deno.test("config.example.toml: every field of the specification is there", () => {
  const found = keysOf(messaging);
  for (const [section, fields] of Object.entries(messagingFields)) {
    const missing = fields.filter((field) => !found.get(section)?.includes(field));
    assert.deepEqual(missing, [], section);
  }
});

for (const { section, key, isDefault, isWithoutEffect, isIdle, switchedOn } of optionals(messaging)) {
  const isSameThen = isDefault || isWithoutEffect || isIdle;
  const effect = isSameThen ? "changes nothing" : "is taken";
  Deno.test(`config.example.toml: [${section}].${key} ${effect} when it is switched on`, () => {
    const asItIs = accept(messaging);
    if (section === "hub" && key === "consensus_state_id") {
      const beside = read(switchedOn).problems.map(({ path }) => path);
      assert.deepEqual(beside, ["hub.consensus_state_id"]);
      const solochain = switchedOn.replaceAll("POLKADOT-2030", "SUBSTRATE-cere");
      assert.equal(accept(solochain).hub.consensusStateId, "DOT0");
      return;
    }
    const changed = isIdle ? acceptIdle(read(switchedOn), `${section}.${key}`) : accept(switchedOn);
    assert.equal(isSame(changed, asItIs), isSameThen);
  });
}

function isSame<C>(a: C, b: C): boolean {
  return asText(a) === asText(b);
}

/** Secrets show as such, present or not; that is enough here. */
function asText(config: unknown): string {
  return JSON.stringify(config, (_, value: unknown) => typeof value === "bigint" ? `${value}n` : value);
}

Deno.test("README: its shortest configuration works without a warning", () => {
  const readme = Deno.readTextFileSync(new URL("README.md", root));
  const block = readBlocks(readme).find(({ language }) => language === "toml");
  const { config, problems, remarks } = read(block?.text ?? "");
  assert.deepEqual(problems, []);
  assert.deepEqual(remarks.map(({ path }) => path), []);
  assert.equal(config?.chains.length, 1);
});

Deno.test("getting started: the shortest configuration of the consensus relayer works, without a problem, warning or note", () => {
  const text = Deno.readTextFileSync(new URL("docs/getting-started.md", root));
  const { chains } = acceptConsensus(
    readBlocks(text).find(({ language }) => language === "toml")?.text ?? "",
  );
  assert.deepEqual(chains.map(({ type }) => type), ["evm"]);
});

Deno.test("config.example.toml: it has optional settings of both kinds", () => {
  const found = optionals(messaging);
  assert.ok(found.filter(({ isDefault }) => isDefault).length >= 10);
  assert.ok(found.filter(({ isDefault }) => !isDefault).length >= 8);
});

Deno.test("consensus.example.toml: every field of the specification is there, and those of Substrate chains", () => {
  const found = keysOf(consensus);
  assert.deepEqual([...found.keys()].toSorted(), Object.keys(consensusFields).toSorted());
  for (const [section, fields] of Object.entries(consensusFields)) {
    const missing = fields.filter((field) => !found.get(section)?.includes(field));
    assert.deepEqual(missing, [], section);
  }
});

Deno.test("consensus.example.toml: the relayer takes it as it is, without a problem, warning or note", () => {
  const { hub, relayer, chains } = acceptConsensus(consensus);
  assert.deepEqual([hub.consensus.type, hub.substrate.stateMachine], ["grandpa", "POLKADOT-3367"]);
  assert.deepEqual(relayer, {
    maximumUpdateIntervals: [],
    maximumDailyLoss: undefined,
    enableHubConsensus: true,
  });
  assert.deepEqual(chains.map(({ type, consensusStateId }) => `${type} ${consensusStateId}`), [
    "evm ETH0",
    "op_stack OPT0",
    "arbitrum_orbit ARB0",
    "bsc BSC0",
    "polygon POLY",
    "substrate_evm DOT0",
    "substrate CERE",
  ]);
});

for (const { section, key, isDefault, isWithoutEffect, isIdle, switchedOn } of optionals(consensus)) {
  const isSameThen = isDefault || isWithoutEffect || isIdle;
  const effect = isSameThen ? "changes nothing" : "is taken";
  Deno.test(`consensus.example.toml: [${section}].${key} ${effect} when it is switched on`, () => {
    const changed = isIdle
      ? acceptIdle(parseConsensusConfig(secrets, switchedOn), `${section}.${key}`)
      : acceptConsensus(switchedOn);
    assert.equal(isSame(changed, acceptConsensus(consensus)), isSameThen);
  });
}

Deno.test("consensus.example.toml: the list of watched chains that it explains is taken, too", () => {
  const list = /^# {3}(\[\[\{ state_id = .+\]\])$/m.exec(consensus)?.[1];
  assert.ok(list !== undefined);
  const watching = consensus.replace("maximum_update_intervals = []", `maximum_update_intervals = ${list}`);
  assert.deepEqual(acceptConsensus(watching).relayer.maximumUpdateIntervals.map(({ maxSec }) => maxSec), [
    3_600n,
    14_400n,
  ]);
});

Deno.test("consensus.example.toml: the messaging relayer refuses it and says whose file it is", () => {
  const { config, problems, remarks } = read(consensus);
  assert.equal(config, undefined);
  assert.ok(problems.some(({ hint }) => hint?.includes("consensus relayer")));
  assert.ok(remarks.some(({ hint }) => hint?.includes("consensus relayer")));
});
