import assert from "node:assert/strict";
import fc from "fast-check";
import { parseMessagingConfig, readMessagingConfig } from "../../../src/messaging/config/read.ts";
import type {
  EvmChainConfig,
  MessagingConfig,
  SubstrateChainConfig,
} from "../../../src/messaging/config/schema.ts";
import { renderDiagnostic } from "../../../src/core/config/diagnostics.ts";
import type { ConfigFiles } from "../../../src/core/config/toml.ts";
import { FileError, inMemory } from "../../support/wrong_configs.ts";
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

Deno.test("configuration: the good file gives every default of the specification", () => {
  const { config, remarks } = parseMessagingConfig(inMemory(), GOOD_TOML);
  assert.deepEqual(remarks, []);
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

const KEY_64 = "01" + "00".repeat(31) + "ab".repeat(32);

/** Optional keys at the ends of their ranges, and what the program has for them. */
const optional: readonly (readonly [string, (config: MessagingConfig) => unknown, unknown])[] = [
  [plus("hub", "max_rpc_payload_size = 0xffff_ffff"), ({ hub }) => hub.maxRpcPayloadSizeBytes, 4_294_967_295],
  [plus("hub", "max_concurent_queries = 1"), ({ hub }) => hub.maxConcurrentQueries, 1],
  [plus("hub", "initial_height = 18446744073709551615"), ({ hub }) => hub.initialHeight, 2n ** 64n - 1n],
  [plus("hub", "poll_interval = 2147483"), ({ hub }) => hub.pollIntervalSec, 2_147_483],
  [plus("hub", "token_price = 0.035"), ({ hub }) => hub.tokenPrice, 0.035],
  [plus("hub", `signer = "${KEY}"`), ({ hub }) => hub.signer?.reveal(), `0x${KEY}`],
  [plus("hub", `signer = "${KEY_64}"`), ({ hub }) => hub.signer?.reveal(), `0x${KEY_64}`],
  [edited(["[hub]", "[hyperbridge]"]), ({ hub }) => hub.section, "hyperbridge"],
  [edited(["KUSAMA-4009", "POLKADOT-3367"]), ({ hub }) => hub.consensusStateId, "DOT0"],
  [
    edited(["[hub]", '[hub]\nconsensus_state_id = "SOLO"'], ['"KUSAMA-2000"\n', '"SUBSTRATE-cere"\n'], [
      ', "KUSAMA-2000"',
      "",
    ]),
    ({ hub }) => hub.consensusStateId,
    "SOLO",
  ],
  [edited(["percentage = 0", "percentage = 1_000_000"]), profitOf, 1_000_000],
  [plus("relayer", "withdrawal_frequency = 1"), ({ relayer }) => relayer.withdrawalFrequencySec, 1],
  [plus("relayer", "minimum_withdrawal_amount = 12.5"), withdrawalOf, 12.5],
  [plus("relayer", "minimum_withdrawal_amount = 0"), withdrawalOf, 0],
  [plus("relayer", "minimum_withdrawal_amount = 250"), withdrawalOf, 250],
  [plus("relayer", "unprofitable_retry_frequency = 60"), retryOf, 60],
  [plus("relayer", "retry_frequency = 60"), retryOf, 60],
  [plus("relayer", "maximum_daily_loss = 2.5"), ({ relayer }) => relayer.maximumDailyLoss, 2.5],
  [plus("relayer", "disable_fee_accumulation = true"), ({ relayer }) => relayer.disableFeeAccumulation, true],
  [plus("relayer", "module_filter = []"), ({ relayer }) => relayer.moduleFilter, undefined],
  [edited([LISTED, "[]"]), ({ relayer }) => relayer.deliveryEndpoints, undefined],
  [edited([LISTED, '["evm1", "KUSAMA-2000"]']), endpointsOf, ["EVM-31337", "KUSAMA-2000"]],
  [SOURCE_TOML, endpointsOf, ["KUSAMA-2000"]],
  [SOURCE_TOML, (config) => evmOf(config).signer, undefined],
  [plus("evm1", "query_batch_size = 1000"), (config) => evmOf(config).queryBatchSizeBlocks, 1000],
  [plus("evm1", "tracing_batch_size = 1"), (config) => evmOf(config).tracingBatchSize, 1],
  [plus("evm1", "gas_price_buffer = 1000"), (config) => evmOf(config).gasPriceBufferPercent, 1000],
  [plus("evm1", 'client_type = "Erigon"'), (config) => evmOf(config).clientType, "Erigon"],
  [plus("evm1", "initial_height = 0"), (config) => evmOf(config).initialHeight, 0n],
  [plus("evm1", "poll_interval = 1"), (config) => evmOf(config).pollIntervalSec, 1],
  [edited(["ETHERSCANKEY1", ""]), (config) => evmOf(config).etherscanApiKey, undefined],
  [
    edited([`0x${"1".repeat(40)}`, `0x${"aB".repeat(20)}`]),
    (config) => evmOf(config).ismpHost,
    `0x${"ab".repeat(20)}`,
  ],
  [plus("para", "max_rpc_payload_size = 1"), (config) => paraOf(config).maxRpcPayloadSizeBytes, 1],
  [plus("para", "max_concurent_queries = 2"), (config) => paraOf(config).maxConcurrentQueries, 2],
  [plus("para", "poll_interval = 3"), (config) => paraOf(config).pollIntervalSec, 3],
  [plus("para", "initial_height = 4"), (config) => paraOf(config).initialHeight, 4n],
  [plus("para", "fee_token_decimals = 0"), (config) => paraOf(config).feeTokenDecimals, 0],
  [
    plus("para", `signer = "0x${KEY.toUpperCase()}"`),
    (config) => paraOf(config).signer?.reveal(),
    `0x${KEY}`,
  ],
];

function profitOf({ relayer }: MessagingConfig): unknown {
  return relayer.minimumProfitPercent;
}

function withdrawalOf({ relayer }: MessagingConfig): unknown {
  return relayer.minimumWithdrawalAmount;
}

function retryOf({ relayer }: MessagingConfig): unknown {
  return relayer.unprofitableRetryFrequencySec;
}

function endpointsOf({ relayer }: MessagingConfig): unknown {
  return relayer.deliveryEndpoints;
}

function evmOf({ chains: [chain] }: MessagingConfig): EvmChainConfig {
  assert(chain?.type === "evm");
  return chain;
}

function paraOf({ chains: [, chain] }: MessagingConfig): SubstrateChainConfig {
  assert(chain?.type === "substrate");
  return chain;
}

Deno.test("configuration: every optional key is read, at the ends of its range (F26)", () => {
  for (const [toml, read, expected] of optional) assert.deepEqual(read(accept(toml)), expected, toml);
});

Deno.test("configuration: endpoints that name the hub or an unconfigured chain are dropped, never widened to all (F21)", () => {
  assert.deepEqual(endpointsOf(accept(edited([LISTED, '["KUSAMA-4009", "EVM-5"]']))), []);
});

Deno.test("configuration: a signer of a chain that is only a source is neither read nor shown", () => {
  const toml = edited([`"0x${KEY}"`, '"/no/such/file"\ninbound_only = true']);
  const { config, values } = parseMessagingConfig(inMemory(), toml);
  assert.equal(config?.chains[0]?.signer, undefined);
  assert.doesNotMatch(JSON.stringify(values.map(({ shown }) => shown)), /no\/such/);
});

Deno.test("configuration: a signer may be a file with hex and white space (F26)", () => {
  const toml = edited([`"0x${KEY}"`, '"keys/evm.hex"']);
  const files = inMemory({ "keys/evm.hex": `  0x${KEY}\r\n` });
  assert.equal(evmOf(accept(toml, files)).signer?.reveal(), `0x${KEY}`);
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
  const parts = [
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
    "\0",
    "\\",
    '"""',
    "[[a]]\n",
    "a.b",
  ];
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
