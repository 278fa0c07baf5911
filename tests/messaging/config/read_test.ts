import assert from "node:assert/strict";
import fc from "fast-check";
import { parseMessagingConfig, readMessagingConfig } from "../../../src/messaging/config/read.ts";
import type { MessagingConfig } from "../../../src/messaging/config/schema.ts";
import { type ConfigResult, renderDiagnostic, renderNote } from "../../../src/core/config/diagnostics.ts";
import type { ConfigFiles } from "../../../src/core/config/toml.ts";
import { FileError, inMemory } from "../../support/wrong_configs.ts";
import { edited, GOOD_TOML, wrongConfigs } from "./wrong_configs.ts";

const KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

function accept(toml: string, files: ConfigFiles = inMemory()): MessagingConfig {
  const { config, problems } = parseMessagingConfig(files, toml);
  assert.deepEqual(problems, []);
  assert(config !== undefined);
  return config;
}

function warningsOf(reading: ConfigResult<unknown>): string[] {
  return reading.warnings.map((warning) => renderDiagnostic("relayer.toml", warning));
}

function plus(section: string, ...lines: string[]): string {
  return edited([`[${section}]\n`, `[${section}]\n${lines.join("\n")}\n`]);
}

Deno.test("configuration: each wrong file is refused, and no line about it shows a key of that file (F26)", () => {
  assert.equal(new Set(wrongConfigs.map(([name]) => name)).size, wrongConfigs.length);
  for (const [name, toml, files] of wrongConfigs) {
    const reading = parseMessagingConfig(inMemory(files), toml);
    assert.equal(reading.config, undefined, name);
    const lines = [...reading.problems.map((each) => renderDiagnostic("r", each)), ...warningsOf(reading)];
    const secret = /[\r\n]|ac0974bec3|hubrpckey|evmrpckey|evmrpcpassword|ETHERSCANKEY|bottom drive/;
    for (const line of lines) assert.doesNotMatch(line, secret, name);
  }
});

Deno.test("configuration: the good file gives every default of the specification", () => {
  const { config, warnings, notes } = parseMessagingConfig(inMemory(), GOOD_TOML);
  assert.deepEqual([warnings, notes], [[], []]);
  assert(config !== undefined);
  const { rpcWs, ...hub } = config.hub;
  assert.deepEqual(hub, {
    section: "hub",
    stateMachine: "KUSAMA-4009",
    maxRpcPayloadSizeBytes: 150_000_000,
    maxConcurrentQueries: 10,
    requestsPerSecond: undefined,
    initialHeight: undefined,
    pollIntervalSec: 10,
    consensusStateId: "PAS0",
    signer: undefined,
    tokenPrice: undefined,
  });
  assert.equal(rpcWs.reveal(), "wss://hub.example.org/ws?key=hubrpckey1");
  assert.deepEqual(config.relayer, {
    minimumProfitPercent: 0,
    fleet: undefined,
    leaveCheckpoints: undefined,
    reconciliationFrequencySec: 21_600,
    withdrawalFrequencySec: 86_400,
    minimumWithdrawalAmount: 100,
    deliveryEndpoints: ["EVM-31337", "KUSAMA-2000"],
    moduleFilter: undefined,
    retryModules: [],
    unprofitableRetryFrequencySec: undefined,
    maximumDailyLoss: undefined,
    disableFeeAccumulation: false,
  });
});

Deno.test("configuration: chain entries keep the order of the file and get their defaults", () => {
  const [evm, para, ...others] = accept(GOOD_TOML).chains;
  assert.equal(others.length, 0);
  assert(evm?.type === "evm" && para?.type === "substrate");
  const { rpcUrls, signer, etherscanApiKey, ...evmRest } = evm;
  assert.deepEqual(evmRest, {
    type: "evm",
    section: "evm1",
    stateMachine: "EVM-31337",
    consensusStateId: "ETH0",
    ismpHost: "0x1111111111111111111111111111111111111111",
    inboundOnly: false,
    queryBatchSizeBlocks: undefined,
    requestsPerSecond: undefined,
    tracingBatchSize: undefined,
    gasPriceBufferPercent: 0,
    maximumGasPriceGwei: undefined,
    clientType: "Geth",
    initialHeight: undefined,
    pollIntervalSec: 10,
  });
  assert.deepEqual(rpcUrls.map((url) => url.reveal()), [
    "https://user:evmrpcpassword@evm1.example.org/v3/evmrpckey1",
    "http://127.0.0.1:8545",
  ]);
  assert.deepEqual(rpcUrls.map((url) => url.host), ["evm1.example.org", "127.0.0.1:8545"]);
  assert.equal(signer?.reveal(), `0x${KEY}`);
  assert.equal(etherscanApiKey?.reveal(), "ETHERSCANKEY1");
  const { rpcWs, ...paraRest } = para;
  assert.equal(rpcWs.reveal(), "ws://127.0.0.1:9944");
  assert.deepEqual(paraRest, {
    type: "substrate",
    section: "para",
    stateMachine: "KUSAMA-2000",
    hashing: "Blake2",
    consensusStateId: "PAS0",
    maxRpcPayloadSizeBytes: 150_000_000,
    maxConcurrentQueries: 10,
    requestsPerSecond: undefined,
    signer: undefined,
    inboundOnly: false,
    pollIntervalSec: 10,
    initialHeight: undefined,
    feeTokenDecimals: 6,
  });
});

Deno.test("configuration: retry_frequency is another name of unprofitable_retry_frequency, and both are too many", () => {
  for (const name of ["unprofitable_retry_frequency", "retry_frequency"]) {
    const { config, warnings } = parseMessagingConfig(inMemory(), plus("relayer", `${name} = 300`));
    assert.deepEqual([config?.relayer.unprofitableRetryFrequencySec, warnings], [300, []]);
  }
  const both = parseMessagingConfig(
    inMemory(),
    plus("relayer", "retry_frequency = 300", "unprofitable_retry_frequency = 300"),
  );
  assert.deepEqual(both.problems.map((problem) => renderDiagnostic("relayer.toml", problem)), [
    "relayer.toml:7: [relayer].retry_frequency: found a second name of `unprofitable_retry_frequency`, which is in " +
    "line 8, expected either `unprofitable_retry_frequency` or `retry_frequency`",
  ]);
});

Deno.test("configuration: percentages above 100 are used as they are, with a word about basis points", () => {
  const rows = [
    ["minimum_profit_percentage = 0", "minimum_profit_percentage = 100", 0],
    ["minimum_profit_percentage = 0", "minimum_profit_percentage = 500", 1],
    ['type = "evm"', 'type = "evm"\ngas_price_buffer = 200', 1],
  ] as const;
  for (const [from, to, count] of rows) {
    const { problems, warnings } = parseMessagingConfig(inMemory(), edited([from, to]));
    assert.deepEqual([problems.length, warnings.length], [0, count], to);
    assert.ok(warnings.every(({ hint }) => /basis points here: .* write (5|2)$/.test(hint ?? "")), to);
  }
  assert.equal(
    accept(edited(["minimum_profit_percentage = 0", "minimum_profit_percentage = 500"])).relayer
      .minimumProfitPercent,
    500,
  );
});

const SIGNER_LINE = `signer = "0x${KEY}"\n`;

Deno.test("configuration: a chain that is only a source needs no signer, and nothing is delivered to it", () => {
  const source = edited([SIGNER_LINE, "inbound_only = true\n"]);
  const [evm] = accept(source).chains;
  assert(evm?.type === "evm");
  assert.deepEqual([evm.inboundOnly, evm.signer], [true, undefined]);
  assert.deepEqual(accept(source).relayer.deliveryEndpoints, ["KUSAMA-2000"]);
  assert.deepEqual(warningsOf(parseMessagingConfig(inMemory(), source)), [
    'relayer.toml:8: [relayer].delivery_endpoints[0]: found "EVM-31337", a chain with inbound_only = true, which is ' +
    "ignored, expected a configured chain other than the hub",
  ]);
  const all = parseMessagingConfig(inMemory(), source.replace('["EVM-31337", "KUSAMA-2000"]', "[]"));
  assert.deepEqual([all.problems, all.warnings], [[], []]);
  // A signer that is named anyway is neither read nor used.
  const named = parseMessagingConfig(
    inMemory(),
    plus("evm1", "inbound_only = true").replace(SIGNER_LINE, 'signer = "/no/such/file"\n'),
  );
  const [first] = named.config?.chains ?? [];
  assert.equal(first?.signer, undefined);
  assert.match(
    warningsOf(named).at(-1) ?? "",
    /evm1\].signer: found a key without effect, .*nothing is signed/,
  );
  assert.doesNotMatch(JSON.stringify(named.values.map(({ shown }) => shown)), /no\/such/);
});

Deno.test("configuration: the error about a missing signer says what to write for a source", () => {
  const { problems } = parseMessagingConfig(inMemory(), edited([SIGNER_LINE, ""]));
  assert.deepEqual(problems.map(({ path, hint }) => [path, hint]), [
    ["evm1.signer", "of a chain that is only a source, write inbound_only = true instead"],
  ]);
});

Deno.test("configuration: a file in the form of the network's newer documents is answered with what to write", () => {
  const newer = `[hyperbridge]
rpc_ws = "wss://hub.example.org"
signer = "0x${KEY}"

[hyperbridge.consensus]
type = "parachain"
relay_rpc_ws = "wss://relay.example.org"

[relayer]
retry_frequency = 300
outbound = true
consensus_chains = ["EVM-1"]
fisherman = true

[ethereum]
type = "evm"
rpc_urls = ["https://one.example.org"]

[ethereum.consensus]
type = "ethereum"
beacon_http_urls = ["https://beacon.example.org"]

[pharos]
type = "pharos_evm"
`;
  const { problems, warnings } = parseMessagingConfig(inMemory(), newer);
  assert.deepEqual(problems.map(({ path }) => path), [
    "hyperbridge.state_machine",
    "relayer.minimum_profit_percentage",
    "relayer.delivery_endpoints",
    "ethereum.state_machine",
    "ethereum.consensus_state_id",
    "ethereum.etherscan_api_key",
    "ethereum.ismp_host",
    "ethereum.signer",
    "pharos.type",
  ]);
  assert.deepEqual(problems.slice(3).filter(({ hint }) => hint === undefined), []);
  assert.deepEqual(warnings.map(({ path }) => path), [
    "hyperbridge.consensus",
    "relayer.outbound",
    "relayer.consensus_chains",
    "relayer.fisherman",
    "ethereum.consensus",
  ]);
  assert.deepEqual(warnings.filter(({ hint }) => hint === undefined), []);
});

Deno.test("configuration: every optional field of the hub is read, at the ends of its range (F26)", () => {
  const { hub } = accept(plus(
    "hub",
    "max_rpc_payload_size = 0xffff_ffff",
    "max_concurent_queries = 1",
    "initial_height = 18446744073709551615",
    "poll_interval = 2147483",
    `signer = "${KEY}"`,
    "token_price = 0.035",
  ));
  assert.equal(hub.tokenPrice, 0.035);
  assert.equal(hub.maxRpcPayloadSizeBytes, 4_294_967_295);
  assert.equal(hub.maxConcurrentQueries, 1);
  assert.equal(hub.initialHeight, 18_446_744_073_709_551_615n);
  assert.equal(hub.pollIntervalSec, 2_147_483);
  assert.equal(hub.signer?.reveal(), `0x${KEY}`);
});

Deno.test("configuration: every optional field of the relayer is read", () => {
  const toml = edited(["minimum_profit_percentage = 0", "minimum_profit_percentage = 1_000_000"], [
    "[relayer]\n",
    `[relayer]
withdrawal_frequency = 1
minimum_withdrawal_amount = 12.5
unprofitable_retry_frequency = 60
maximum_daily_loss = 2.5
disable_fee_accumulation = true
`,
  ]);
  const { relayer } = accept(toml);
  assert.equal(relayer.minimumProfitPercent, 1_000_000);
  assert.equal(relayer.withdrawalFrequencySec, 1);
  assert.equal(relayer.minimumWithdrawalAmount, 12.5);
  assert.equal(relayer.unprofitableRetryFrequencySec, 60);
  assert.equal(relayer.maximumDailyLoss, 2.5);
  assert.equal(relayer.disableFeeAccumulation, true);
});

Deno.test("configuration: the smallest withdrawal may be an integer, with 0 allowed", () => {
  assert.equal(accept(plus("relayer", "minimum_withdrawal_amount = 0")).relayer.minimumWithdrawalAmount, 0);
  assert.equal(
    accept(plus("relayer", "minimum_withdrawal_amount = 250")).relayer.minimumWithdrawalAmount,
    250,
  );
});

Deno.test("configuration: a gas_price_buffer above the profit that is asked for is warned about", () => {
  const warningsAt = (percent: number, buffer: number): string[] =>
    warningsOf(parseMessagingConfig(
      inMemory(),
      plus("evm1", `gas_price_buffer = ${buffer}`).replace("percentage = 0", `percentage = ${percent}`),
    ));
  assert.deepEqual(warningsAt(5, 10), [
    "relayer.toml:11: [evm1].gas_price_buffer: found 10, above minimum_profit_percentage = 5, expected no more than " +
    "minimum_profit_percentage; barely profitable messages are sent with a smaller buffer, since with all of it they " +
    "would be delivered at a loss",
  ]);
  assert.deepEqual([warningsAt(10, 10), warningsAt(0, 10)], [[], []]);
});

Deno.test("configuration: every optional field of an evm entry is read", () => {
  const chain = accept(plus(
    "evm1",
    "query_batch_size = 1000",
    "tracing_batch_size = 1",
    "gas_price_buffer = 1000",
    'client_type = "Erigon"',
    "initial_height = 0",
    "poll_interval = 1",
  )).chains[0];
  assert(chain?.type === "evm");
  assert.deepEqual(
    [chain.queryBatchSizeBlocks, chain.tracingBatchSize, chain.gasPriceBufferPercent, chain.clientType],
    [1000, 1, 1000, "Erigon"],
  );
  assert.deepEqual([chain.initialHeight, chain.pollIntervalSec], [0n, 1]);
});

Deno.test("configuration: every optional field of a substrate entry is read", () => {
  const chain = accept(plus(
    "para",
    "max_rpc_payload_size = 1",
    "max_concurent_queries = 2",
    `signer = "0x${KEY.toUpperCase()}"`,
    "poll_interval = 3",
    "initial_height = 4",
    "fee_token_decimals = 0",
  )).chains[1];
  assert(chain?.type === "substrate");
  assert.deepEqual([chain.maxRpcPayloadSizeBytes, chain.maxConcurrentQueries, chain.pollIntervalSec], [
    1,
    2,
    3,
  ]);
  assert.deepEqual([chain.initialHeight, chain.feeTokenDecimals], [4n, 0]);
  assert.equal(chain.signer?.reveal(), `0x${KEY}`);
});

Deno.test("configuration: [hyperbridge] is read as the hub, and a POLKADOT hub is known as DOT0 (F26)", () => {
  const { hub } = accept(edited(["[hub]", "[hyperbridge]"], ["KUSAMA-4009", "POLKADOT-3367"]));
  assert.equal(hub.section, "hyperbridge");
  assert.equal(hub.consensusStateId, "DOT0");
});

Deno.test("configuration: an id of the hub may be set for solochains", () => {
  const { hub } = accept(edited(
    ["[hub]\n", '[hub]\nconsensus_state_id = "SOLO"\n'],
    ['"KUSAMA-2000"\n', '"SUBSTRATE-cere"\n'],
    [', "KUSAMA-2000"', ""],
  ));
  assert.deepEqual(hub.consensusStateId, "SOLO");
});

Deno.test("configuration: solochain and parachain without an id of the hub is a warning (F26)", () => {
  const solo = `\n[solo]\ntype = "substrate"\nstate_machine = "SUBSTRATE-cere"\nhashing = "Keccak"
rpc_ws = "ws://127.0.0.1:9955"\nconsensus_state_id = "CERE"\n`;
  const reading = parseMessagingConfig(inMemory(), GOOD_TOML + solo);
  assert.equal(reading.config?.chains.length, 3);
  assert.deepEqual(warningsOf(reading), [
    'relayer.toml:31: [solo].state_machine: found the solochain "SUBSTRATE-cere" beside the parachain [para] with ' +
    '"KUSAMA-2000", expected either solochains or parachains in one file; ' +
    "run one relayer for the solochains and one for the parachains",
  ]);
});

Deno.test("configuration: an empty etherscan key means none", () => {
  const chain = accept(edited(["ETHERSCANKEY1", ""])).chains[0];
  assert(chain?.type === "evm");
  assert.equal(chain.etherscanApiKey, undefined);
});

Deno.test("configuration: a signer may be a file with hex and white space (F26)", () => {
  const toml = edited([`"0x${KEY}"`, '"keys/evm.hex"']);
  const chain = accept(toml, inMemory({ "keys/evm.hex": `  0x${KEY}\r\n` })).chains[0];
  assert(chain?.type === "evm");
  assert.equal(chain.signer?.reveal(), `0x${KEY}`);
});

Deno.test("configuration: a substrate signer may be an expanded key of 64 bytes", () => {
  const expanded = "01" + "00".repeat(31) + "ab".repeat(32);
  assert.equal(accept(plus("hub", `signer = "${expanded}"`)).hub.signer?.reveal(), `0x${expanded}`);
});

Deno.test("configuration: an empty list of endpoints means all chains", () => {
  const reading = parseMessagingConfig(inMemory(), edited(['["EVM-31337", "KUSAMA-2000"]', "[]"]));
  assert.equal(reading.config?.relayer.deliveryEndpoints, undefined);
  assert.deepEqual(warningsOf(reading), []);
});

Deno.test("configuration: endpoints that name the hub or an unconfigured chain are dropped, never widened to all (F21)", () => {
  const reading = parseMessagingConfig(
    inMemory(),
    edited(['["EVM-31337", "KUSAMA-2000"]', '["KUSAMA-4009", "EVM-5"]']),
  );
  assert.deepEqual(reading.config?.relayer.deliveryEndpoints, []);
  assert.deepEqual(warningsOf(reading), [
    'relayer.toml:8: [relayer].delivery_endpoints[0]: found "KUSAMA-4009", the hub, which is ignored, ' +
    "expected a configured chain other than the hub",
    'relayer.toml:8: [relayer].delivery_endpoints[1]: found "EVM-5", a chain without a section in this file, ' +
    "which is ignored, expected a configured chain other than the hub",
    "relayer.toml:8: [relayer].delivery_endpoints: found no configured chain, expected at least one of the " +
    "configured chains; nothing is delivered from the hub to any chain",
  ]);
});

Deno.test("configuration: module filters are hex in any case or ASCII, which is noted; repeats are dropped (F21)", () => {
  const address = "AbCdEf0123456789abcdef0123456789ABCDEF01";
  const filter = `module_filter = ["0x${address}", "${address.toLowerCase()}", "ISMP-RLYR", "ISMP-RLYR"]`;
  const reading = parseMessagingConfig(inMemory(), plus("relayer", filter));
  assert.deepEqual(
    reading.config?.relayer.moduleFilter?.map((bytes) => bytes.toHex()),
    [address.toLowerCase(), "49534d502d524c5952"],
  );
  assert.deepEqual(reading.notes.slice(0, 1).map((note) => renderNote("relayer.toml", note)), [
    'relayer.toml:7: [relayer].module_filter[2]: "ISMP-RLYR" is not hex and is read as ASCII: 0x49534d502d524c5952',
  ]);
  assert.deepEqual(warningsOf(reading), [
    "relayer.toml:7: [relayer].module_filter[1]: found a repeat of element 0, which is ignored, expected each element once",
    "relayer.toml:7: [relayer].module_filter[3]: found a repeat of element 2, which is ignored, expected each element once",
  ]);
});

Deno.test("configuration: an empty module filter filters nothing", () => {
  assert.equal(accept(plus("relayer", "module_filter = []")).relayer.moduleFilter, undefined);
});

Deno.test("configuration: a repeated URL is used once and not shown", () => {
  const reading = parseMessagingConfig(
    inMemory(),
    edited(['  "http://127.0.0.1:8545",', '  "https://user:evmrpcpassword@evm1.example.org/v3/evmrpckey1",']),
  );
  const chain = reading.config?.chains[0];
  assert(chain?.type === "evm");
  assert.equal(chain.rpcUrls.length, 1);
  assert.deepEqual(warningsOf(reading), [
    "relayer.toml:15: [evm1].rpc_urls[1]: found a repeat of element 0, which is ignored, expected each element once",
  ]);
});

Deno.test("configuration: an id that the live hub does not use for a known chain is a warning", () => {
  const reading = parseMessagingConfig(
    inMemory(),
    edited(['"ETH0"', '"OPT0"'], ["EVM-31337", "EVM-10"], ["EVM-31337", "EVM-10"]),
  );
  assert.notEqual(reading.config, undefined);
  assert.deepEqual(warningsOf(reading), [
    'relayer.toml:12: [evm1].state_machine: found "EVM-10" (optimism), a chain of the mainnet, expected chains of the testnet, as KUSAMA-4009 is the hub of that; each network has a hub and a file of its own',
    'relayer.toml:17: [evm1].consensus_state_id: found "OPT0", expected "ETH0", which is what the live hub uses for EVM-10',
  ]);
});

const KEY_LINE = 'signer = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"';

Deno.test("configuration: placeholders, variables without braces and ~ are noticed, and no secret is shown", () => {
  const reading = parseMessagingConfig(
    inMemory(),
    edited(["ETHERSCANKEY1", "YOUR-ETHERSCAN-KEY"], ["hubrpckey1", "$HUB_KEY"]),
  );
  const said = warningsOf(reading).join("\n");
  assert.match(said, /found the placeholder YOUR-ETHERSCAN-KEY, expected a value of yours/);
  assert.match(
    said,
    /found \$HUB_KEY, which is not replaced, expected the variable in braces; write \$\{HUB_KEY\}/,
  );
  const home = parseMessagingConfig(inMemory(), edited([KEY_LINE, 'signer = "~/key"']));
  assert.match(
    home.problems.map((problem) => renderDiagnostic("r", problem)).join(),
    /no file at this path.*; ~ is not replaced by a home directory: write the whole path/,
  );
});

Deno.test("configuration: chains to deliver to are named by their sections, too", () => {
  const { config, problems } = parseMessagingConfig(
    inMemory(),
    edited(['["EVM-31337", "KUSAMA-2000"]', '["evm1", "KUSAMA-2000"]']),
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(config?.relayer.deliveryEndpoints, ["EVM-31337", "KUSAMA-2000"]);
});

Deno.test("configuration: the place of a key is shown, the key is not", () => {
  const files = inMemory({ "/run/key": "0x" + "ab".repeat(32) });
  const { values, config } = parseMessagingConfig(files, edited([KEY_LINE, 'signer = "/run/key"']));
  assert.ok(config !== undefined);
  const shown = values.filter(({ key, section }) => key === "signer" && section === "evm1");
  assert.deepEqual(shown.map((value) => value.shown), ["/run/key"]);
  assert.doesNotMatch(JSON.stringify(config.chains), /run\/key|abab/);
});

Deno.test("configuration: a host address in mixed case is checked, and kept in lower case", () => {
  const good = "0x620128E2B19193d6Bd244a3AC8D3bBa0541B19c3";
  const right = parseMessagingConfig(
    inMemory(),
    edited(["0x1111111111111111111111111111111111111111", good]),
  );
  const chain = right.config?.chains[0];
  assert(chain?.type === "evm");
  assert.equal(chain.ismpHost, good.toLowerCase());
  const wrong = parseMessagingConfig(
    inMemory(),
    edited(["0x1111111111111111111111111111111111111111", good.replace("c3", "c4")]),
  );
  const checksum = "relayer.toml:19: [evm1].ismp_host: found an address with a wrong checksum, " +
    "expected the letter case of EIP-55; one digit may be mistyped";
  assert.deepEqual([warningsOf(wrong)[0], warningsOf(right).includes(checksum)], [checksum, false]);
});

Deno.test("configuration: dead and foreign keys are warned about with the reason", () => {
  const toml = edited(
    ["[hub]\n", '[hub]\nhashing = "Keccak"\ntype = "grandpa"\n'],
    [
      "[relayer]\n",
      "[relayer]\nconsensus = true\nmessaging = true\nrouter = {}\ndeliver_failed = true\nfisherman = true\n",
    ],
    ["[evm1]\n", '[evm1]\ntransport = "standard"\nrpc-urls = []\nconstructor = 1\n'],
    ["[para]\n", '[para]\nrpc_urls = ["x"]\nmax_concurrent_queries = 4\n'],
  );
  const reading = parseMessagingConfig(inMemory(), `${toml}[para.host]\nepoch_length = 1\n`);
  assert.notEqual(reading.config, undefined);
  const ignored = "found a key without effect, expected no such key";
  const unknown = "found an unknown key, which is ignored, expected a key of";
  assert.deepEqual(warningsOf(reading), [
    `relayer.toml:3: [hub].hashing: ${ignored}; the hub always hashes with Keccak`,
    `relayer.toml:4: [hub].type: ${ignored}; belongs to the configuration of the consensus relayer`,
    `relayer.toml:9: [relayer].consensus: ${ignored}; a leftover of old sample files; remove it`,
    `relayer.toml:10: [relayer].messaging: ${ignored}; a leftover of old sample files; remove it`,
    `relayer.toml:11: [relayer].router: ${ignored}; a leftover of old sample files; remove it`,
    `relayer.toml:12: [relayer].deliver_failed: ${ignored}; messages that would fail are never sent`,
    `relayer.toml:13: [relayer].fisherman: ${ignored}; this relayer has no fisherman task`,
    `relayer.toml:18: [evm1].transport: ${ignored}; this relayer speaks the standard Ethereum JSON-RPC only`,
    `relayer.toml:19: [evm1].rpc-urls: ${unknown} [evm1]; did you mean \`rpc_urls\`?`,
    `relayer.toml:20: [evm1].constructor: ${unknown} [evm1]`,
    `relayer.toml:33: [para].rpc_urls: ${ignored}; a key of \`type = "evm"\` entries; substrate entries have \`rpc_ws\``,
    `relayer.toml:34: [para].max_concurrent_queries: ${unknown} [para]; did you mean \`max_concurent_queries\`?`,
    `relayer.toml:40: [para].host: ${ignored}; belongs to the configuration of the consensus relayer`,
  ]);
});

Deno.test("configuration: Windows line ends, a byte order mark and quoted section names are fine", () => {
  const toml = `\uFEFF${GOOD_TOML.replace("[evm1]", '["evm.one"]').replaceAll("\n", "\r\n")}`;
  assert.equal(accept(toml).chains[0]?.section, '"evm.one"');
  const reading = parseMessagingConfig(inMemory(), toml.replace('"ETH0"', '"E"'));
  assert.deepEqual(reading.problems.map((problem) => renderDiagnostic("f", problem)), [
    'f:17: ["evm.one"].consensus_state_id: found "E", expected a consensus state id of exactly 4 ASCII characters such as "ETH0"',
  ]);
});

Deno.test("configuration: keys of objects are ordinary section names", () => {
  const toml = GOOD_TOML.replace("[evm1]", "[__proto__]").replace("[para]", "[constructor]");
  assert.deepEqual(accept(toml).chains.map((chain) => chain.section), ["__proto__", "constructor"]);
});

Deno.test("configuration: a file that cannot be read is one problem that says why", () => {
  const said = (files: ConfigFiles): string[] =>
    readMessagingConfig(files, "relayer.toml").problems.map((problem) =>
      renderDiagnostic("relayer.toml", problem)
    );
  const failing = (name: string): ConfigFiles => ({
    readFile: () => {
      throw new FileError(name);
    },
  });
  assert.deepEqual(said(inMemory()), [
    "relayer.toml: found no file at this path, expected a readable TOML file",
  ]);
  assert.deepEqual(said(inMemory({ "relayer.toml/x": "" })), [
    "relayer.toml: found a directory, expected a readable TOML file",
  ]);
  assert.deepEqual(said(failing("PermissionDenied")), [
    "relayer.toml: found a file that this user may not read, expected a readable TOML file",
  ]);
  assert.deepEqual(said(failing("Interrupted")), [
    "relayer.toml: found a file that cannot be read, expected a readable TOML file",
  ]);
  assert.deepEqual(said(inMemory({ "relayer.toml": new Uint8Array([0x5b, 0xff, 0xfe]) })), [
    "relayer.toml:1: found bytes that are not UTF-8, expected a TOML file in UTF-8",
  ]);
});

Deno.test("configuration: the errors of the real file system are distinguished", () => {
  const real: ConfigFiles = { readFile: (path) => Deno.readFileSync(path) };
  const folder = Deno.makeTempDirSync();
  try {
    Deno.writeTextFileSync(`${folder}/relayer.toml`, GOOD_TOML);
    const found = (path: string): string | undefined => readMessagingConfig(real, path).problems[0]?.found;
    assert.equal(found(`${folder}/relayer.toml`), undefined);
    assert.equal(found(`${folder}/missing.toml`), "no file at this path");
    assert.equal(found(folder), "a directory");
    assert.equal(
      found(`${folder}/relayer.toml/x`),
      "a path that leads through something other than a directory",
    );
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("configuration: any damage to a file gives either a configuration or problems, and no exception", () => {
  const damage = fc.tuple(
    fc.nat(GOOD_TOML.length),
    fc.nat(30),
    fc.constantFrom(
      "",
      '"',
      "'",
      "[",
      "]",
      "{",
      "}",
      "=",
      "\n",
      "#",
      ".",
      "0x",
      "-",
      "\u0000",
      "\\",
      '"""',
      "[[a]]\n",
      "a.b",
    ),
  );
  fc.assert(
    fc.property(fc.array(damage, { minLength: 1, maxLength: 3 }), (damages) => {
      const toml = damages.reduce(
        (text, [at, gone, put]) => text.slice(0, at) + put + text.slice(at + gone),
        GOOD_TOML,
      );
      const { config, problems } = parseMessagingConfig(inMemory(), toml);
      assert.equal(config === undefined, problems.length > 0);
      const lineCount = toml.split("\n").length;
      assert(problems.every(({ line }) => line === undefined || (line >= 1 && line <= lineCount)));
    }),
    { numRuns: 1000 },
  );
});
