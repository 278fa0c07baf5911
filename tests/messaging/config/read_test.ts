import assert from "node:assert/strict";
import fc from "fast-check";
import { keepFixed, parseMessagingConfig, readMessagingConfig } from "../../../src/messaging/config/read.ts";
import type { MessagingConfig } from "../../../src/messaging/config/schema.ts";
import { renderDiagnostic } from "../../../src/core/config/diagnostics.ts";
import type { ConfigFiles } from "../../../src/core/config/toml.ts";
import { FileError, inMemory, valueAt } from "../../support/wrong_configs.ts";
import { edited, GOOD_TOML, plus, remarkedConfigs, SOURCE_TOML, wrongConfigs } from "./wrong_configs.ts";

const KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

function accept(toml: string, files: ConfigFiles = inMemory()): MessagingConfig {
  const { config, problems } = parseMessagingConfig(files, toml);
  assert.deepEqual(problems, []);
  assert(config !== undefined);
  return config;
}

const LISTED = '["EVM-31337", "KUSAMA-2000"]';

Deno.test("configuration: wrong files are refused, remarkable ones are not, and no line shows a key of them (F26)", () => {
  const all = [...wrongConfigs, ...remarkedConfigs];
  assert.equal(new Set(all.map(([name]) => name)).size, all.length);
  for (const [index, [name, toml, files]] of all.entries()) {
    const reading = parseMessagingConfig(inMemory(files), toml);
    assert.equal(reading.config === undefined, index < wrongConfigs.length, name);
    const { problems, remarks } = reading;
    const secret = /[\r\n]|ac0974bec3|hubrpckey|evmrpckey|evmrpcpassword|ETHERSCANKEY|bottom drive/;
    for (const each of [...problems, ...remarks]) {
      assert.doesNotMatch(renderDiagnostic("r", each), secret, name);
    }
  }
});

const KEY_64 = "01" + "00".repeat(31) + "ab".repeat(32);
const NO_LIST = edited([LISTED, "[]"]);
const SOLOCHAIN = edited(
  ["[hub]", '[hub]\nconsensus_state_id = "SOLO"'],
  ['"KUSAMA-2000"\n', '"SUBSTRATE-cere"\n'],
  [', "KUSAMA-2000"', ""],
);

/** What the program has for files: every default, and optional keys at the ends of their ranges. */
const values: readonly (readonly [toml: string, path: string, value: unknown])[] = [
  [GOOD_TOML, "hub", {
    section: "hub",
    stateMachine: "KUSAMA-4009",
    rpcWs: "wss://hub.example.org/ws?key=hubrpckey1",
    maxRpcPayloadSizeBytes: 150_000_000,
    maxConcurrentQueries: 10,
    requestsPerSecond: undefined,
    initialHeight: undefined,
    pollIntervalSec: 10,
    consensusStateId: "PAS0",
    signer: undefined,
    tokenPrice: undefined,
  }],
  [GOOD_TOML, "relayer", {
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
  }],
  [GOOD_TOML, "chains", [{
    type: "evm",
    section: "evm1",
    stateMachine: "EVM-31337",
    rpcUrls: ["https://user:evmrpcpassword@evm1.example.org/v3/evmrpckey1", "http://127.0.0.1:8545"],
    consensusStateId: "ETH0",
    etherscanApiKey: "ETHERSCANKEY1",
    ismpHost: "0x1111111111111111111111111111111111111111",
    signer: `0x${KEY}`,
    inboundOnly: false,
    queryBatchSizeBlocks: undefined,
    requestsPerSecond: undefined,
    tracingBatchSize: undefined,
    gasPriceBufferPercent: 0,
    maximumGasPriceGwei: undefined,
    clientType: "Geth",
    initialHeight: undefined,
    pollIntervalSec: 10,
  }, {
    type: "substrate",
    section: "para",
    stateMachine: "KUSAMA-2000",
    hashing: "Blake2",
    rpcWs: "ws://127.0.0.1:9944",
    consensusStateId: "PAS0",
    maxRpcPayloadSizeBytes: 150_000_000,
    maxConcurrentQueries: 10,
    requestsPerSecond: undefined,
    signer: undefined,
    inboundOnly: false,
    pollIntervalSec: 10,
    initialHeight: undefined,
    feeTokenDecimals: 6,
  }]],
  [plus("hub", "max_rpc_payload_size = 0xffff_ffff"), "hub.maxRpcPayloadSizeBytes", 4_294_967_295],
  [plus("hub", "max_concurent_queries = 1"), "hub.maxConcurrentQueries", 1],
  [plus("hub", "initial_height = 18446744073709551615"), "hub.initialHeight", 2n ** 64n - 1n],
  [plus("hub", "poll_interval = 2147483"), "hub.pollIntervalSec", 2_147_483],
  [plus("hub", "token_price = 0.035"), "hub.tokenPrice", 0.035],
  [plus("hub", `signer = "${KEY}"`), "hub.signer", `0x${KEY}`],
  [plus("hub", `signer = "${KEY_64}"`), "hub.signer", `0x${KEY_64}`],
  [edited(["[hub]", "[hyperbridge]"]), "hub.section", "hyperbridge"],
  [edited(["KUSAMA-4009", "POLKADOT-3367"]), "hub.consensusStateId", "DOT0"],
  [SOLOCHAIN, "hub.consensusStateId", "SOLO"],
  [edited(["percentage = 0", "percentage = 1_000_000"]), "relayer.minimumProfitPercent", 1_000_000],
  [plus("relayer", "withdrawal_frequency = 1"), "relayer.withdrawalFrequencySec", 1],
  [plus("relayer", "minimum_withdrawal_amount = 12.5"), "relayer.minimumWithdrawalAmount", 12.5],
  [plus("relayer", "minimum_withdrawal_amount = 0"), "relayer.minimumWithdrawalAmount", 0],
  [plus("relayer", "unprofitable_retry_frequency = 60"), "relayer.unprofitableRetryFrequencySec", 60],
  [plus("relayer", "retry_frequency = 60"), "relayer.unprofitableRetryFrequencySec", 60],
  [plus("relayer", "maximum_daily_loss = 2.5"), "relayer.maximumDailyLoss", 2.5],
  [plus("relayer", "disable_fee_accumulation = true"), "relayer.disableFeeAccumulation", true],
  [plus("relayer", "module_filter = []"), "relayer.moduleFilter", undefined],
  [NO_LIST, "relayer.deliveryEndpoints", undefined],
  [edited([LISTED, '["evm1", "KUSAMA-2000"]']), "relayer.deliveryEndpoints", ["EVM-31337", "KUSAMA-2000"]],
  // Never widened to all.
  [edited([LISTED, '["KUSAMA-4009", "EVM-5"]']), "relayer.deliveryEndpoints", []],
  [SOURCE_TOML, "relayer.deliveryEndpoints", ["KUSAMA-2000"]],
  [SOURCE_TOML, "chains.0.signer", undefined],
  [plus("evm1", "query_batch_size = 1000"), "chains.0.queryBatchSizeBlocks", 1000],
  [plus("evm1", "tracing_batch_size = 1"), "chains.0.tracingBatchSize", 1],
  [plus("evm1", "gas_price_buffer = 1000"), "chains.0.gasPriceBufferPercent", 1000],
  [plus("evm1", 'client_type = "Erigon"'), "chains.0.clientType", "Erigon"],
  [plus("evm1", "initial_height = 0"), "chains.0.initialHeight", 0n],
  [edited(["ETHERSCANKEY1", ""]), "chains.0.etherscanApiKey", undefined],
  [edited([`0x${"1".repeat(40)}`, `0x${"aB".repeat(20)}`]), "chains.0.ismpHost", `0x${"ab".repeat(20)}`],
  [edited([`"0x${KEY}"`, '"keys/evm.hex"']), "chains.0.signer", `0x${KEY}`],
  [plus("para", "fee_token_decimals = 0"), "chains.1.feeTokenDecimals", 0],
  [plus("para", `signer = "0x${KEY.toUpperCase()}"`), "chains.1.signer", `0x${KEY}`],
];

Deno.test("configuration: defaults are those of the specification, and every optional key is read, at the ends of its range (F26)", () => {
  assert.deepEqual(parseMessagingConfig(inMemory(), GOOD_TOML).remarks, []);
  const files = inMemory({ "keys/evm.hex": `  0x${KEY}\r\n` });
  for (const [toml, path, expected] of values) {
    assert.deepEqual(valueAt(accept(toml, files), path), expected, toml);
  }
});

Deno.test("configuration: what the open database depends on stays as it is, and is named", () => {
  const config = accept(NO_LIST);
  const changes = [
    [edited(["KUSAMA-4009", "KUSAMA-4010"]), "[hub].state_machine"],
    [edited(["KUSAMA-4009", "POLKADOT-4009"]), "[hub].state_machine", "[hub].consensus_state_id"],
    [plus("relayer", "leave_checkpoints = true"), "[relayer].leave_checkpoints"],
    [plus("relayer", "withdrawal_frequency = 1")],
  ];
  for (const [toml = "", ...fixed] of changes) {
    const kept = keepFixed(config, accept(toml));
    assert.deepEqual(kept.fixed, fixed);
    const { hub, relayer: { leaveCheckpoints } } = kept.config;
    assert.deepEqual([hub.stateMachine, hub.consensusStateId, leaveCheckpoints], [
      "KUSAMA-4009",
      "PAS0",
      undefined,
    ]);
  }
});

Deno.test("configuration: a signer of a chain that is only a source is neither read nor shown", () => {
  const toml = edited([`"0x${KEY}"`, '"/no/such/file"\ninbound_only = true']);
  const { config, values } = parseMessagingConfig(inMemory(), toml);
  assert.equal(config?.chains[0]?.signer, undefined);
  assert.doesNotMatch(JSON.stringify(values.map(({ shown }) => shown)), /no\/such/);
});

Deno.test("configuration: module filters are hex in any case or ASCII, and repeats are dropped (F21)", () => {
  const [, toml = ""] = remarkedConfigs.find(([name]) => name.startsWith("module filters")) ?? [];
  assert.deepEqual(accept(toml).relayer.moduleFilter?.map((bytes) => bytes.toHex()), [
    "ab".repeat(20),
    "49534d502d524c5952",
  ]);
});

const KEY_LINE = `signer = "0x${KEY}"`;

Deno.test("configuration: the place of a key is shown, the key is not", () => {
  const files = inMemory({ "/run/key": "0x" + "ab".repeat(32) });
  const { values, config } = parseMessagingConfig(files, edited([KEY_LINE, 'signer = "/run/key"']));
  assert.ok(config !== undefined);
  const shown = values.filter(({ key, section }) => key === "signer" && section === "evm1");
  assert.deepEqual(shown.map((value) => value.shown), ["/run/key"]);
  assert.doesNotMatch(JSON.stringify(config.chains), /run\/key|abab/);
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

Deno.test("configuration: a file that cannot be read is one problem that says why, by the errors of the real file system", () => {
  const folder = Deno.makeTempDirSync();
  const foundAt = (path: string, readFile = Deno.readFileSync): readonly string[] =>
    readMessagingConfig({ readFile }, `${folder}${path}`).problems.map((problem) =>
      renderDiagnostic("r.toml", problem)
    );
  const failing = (name: string) => (): never => {
    throw new FileError(name);
  };
  try {
    Deno.writeTextFileSync(`${folder}/relayer.toml`, GOOD_TOML);
    Deno.writeFileSync(`${folder}/binary`, new Uint8Array([0x5b, 0xff, 0xfe]));
    assert.deepEqual(foundAt("/relayer.toml"), []);
    const found = [
      foundAt("/missing.toml"),
      foundAt(""),
      foundAt("/relayer.toml/x"),
      foundAt("", failing("PermissionDenied")),
      foundAt("", failing("Interrupted")),
    ].flat();
    assert.deepEqual(
      found,
      [
        "no file at this path",
        "a directory",
        "a path that leads through something other than a directory",
        "a file that this user may not read",
        "a file that cannot be read",
      ].map((what) => `r.toml: found ${what}, expected a readable TOML file`),
    );
    assert.deepEqual(foundAt("/binary"), [
      "r.toml:1: found bytes that are not UTF-8, expected a TOML file in UTF-8",
    ]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("configuration: any damage to a file gives either a configuration or problems, and no exception", () => {
  const parts = ["", ..."\"'[]{}=\n#.-\0\\", "0x", '"""', "[[a]]\n", "a.b"];
  const damage = fc.tuple(fc.nat(GOOD_TOML.length), fc.nat(30), fc.constantFrom(...parts));
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
