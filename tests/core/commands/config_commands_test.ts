/** `config check`, `config show` and `config schema` of both programs, over files in memory. */
import assert from "node:assert/strict";
import { parseArguments as parseConsensus } from "../../../src/consensus/arguments.ts";
import { parseArguments as parseMessaging } from "../../../src/messaging/arguments.ts";
import { describeProblems } from "../../../src/core/config/diagnostics.ts";
import { parseMessagingConfig } from "../../../src/messaging/config/read.ts";
import { parseToml } from "../../../src/core/config/toml.ts";
import { GOOD_CONSENSUS_TOML, goodFiles } from "../../consensus/config/wrong_configs.ts";
import { edited, GOOD_TOML, wrongConfigs } from "../../messaging/config/wrong_configs.ts";
import { inMemory } from "../../support/wrong_configs.ts";
import { runConsensusCommand, runMessagingCommand } from "../../support/standalone_commands.ts";

const files = { "relayer.toml": GOOD_TOML };

Deno.test("config check: a good file is said to be good, with status 0, by a command line without --db", async () => {
  assert.deepEqual(await runMessagingCommand(["-c", "relayer.toml", "config", "check"], files), {
    code: 0,
    stdout: "relayer.toml: no problems\n",
    stderr: "",
  });
});

Deno.test("config check: warnings and notes are said and do not fail", async () => {
  const toml = edited([
    "delivery_endpoints = [",
    'module_filter = ["ISMP-RLYR"]\nwhat = 1\ndelivery_endpoints = [',
  ]);
  const { code, stdout, stderr } = await runMessagingCommand(["config", "check", "--config=relayer.toml"], {
    "relayer.toml": toml,
  });
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^warning: relayer\.toml:\d+: \[relayer\]\.what: an unknown key/m);
  assert.match(stdout, /^note: relayer\.toml:\d+: \[relayer\]\.module_filter\[0\]: "ISMP-RLYR" is not hex/m);
  assert.match(stdout, /^relayer\.toml: no problems, 1 warning$/m);
});

Deno.test("config check: every problem of a wrong file is said as at the start, with status 1", async () => {
  for (const [name, toml, others] of wrongConfigs.filter((_, index) => index % 7 === 0)) {
    const memory = { "relayer.toml": toml, ...others };
    const result = await runMessagingCommand(["-c", "relayer.toml", "config", "check"], memory);
    const reading = parseMessagingConfig(inMemory(others), toml);
    const stderr = describeProblems("relayer.toml", reading, "the file cannot be used");
    assert.deepEqual(result, { code: 1, stdout: "", stderr }, name);
  }
});

Deno.test("config check: a file that is not there is a problem of both programs", async () => {
  for (const run of [runMessagingCommand, runConsensusCommand]) {
    const { code, stderr } = await run(["-c", "none.toml", "config", "check"], {});
    assert.equal(code, 1);
    assert.match(stderr, /^none\.toml: found no file at this path/);
  }
});

Deno.test("config show: every key with its value and line, or default, as TOML that says the same", async () => {
  const { code, stdout } = await runMessagingCommand(["-c", "relayer.toml", "config", "show"], files);
  assert.equal(code, 0);
  const lines = stdout.split("\n");
  const lineOf = (text: string): number =>
    GOOD_TOML.split("\n").findIndex((line) => line.startsWith(text)) + 1;
  for (
    const expected of [
      `state_machine = "KUSAMA-4009" # line ${lineOf('state_machine = "KUSAMA-4009"')}`,
      "max_concurent_queries = 10 # default",
      "#initial_height # not set",
      'consensus_state_id = "PAS0" # derived',
      `minimum_profit_percentage = 0 # line ${lineOf("minimum_profit")}`,
      "module_filter = [] # default",
      `rpc_urls = ["https://evm1.example.org/...", "http://127.0.0.1:8545"] # line ${lineOf("rpc_urls")}`,
      `etherscan_api_key = "[secret]" # line ${lineOf("etherscan")}`,
      `signer = "[secret]" # line ${lineOf("signer")}`,
      `ismp_host = "0x1111111111111111111111111111111111111111" # line ${lineOf("ismp_host")}`,
    ]
  ) assert.ok(lines.includes(expected), `${expected}\n${stdout}`);
  const document = parseToml(stdout);
  assert.ok(!("problem" in document), stdout);
  assert.deepEqual(Object.keys(document.table), ["hub", "relayer", "evm1", "para"]);
});

Deno.test("config show: --json has one object per key", async () => {
  const { stdout } = await runMessagingCommand(["-c", "relayer.toml", "config", "show", "--json"], files);
  const values = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assert.ok(values.length > 30);
  assert.deepEqual(values[0], {
    section: "hub",
    key: "state_machine",
    value: "KUSAMA-4009",
    origin: "file",
    line: 3,
    variables: [],
  });
});

Deno.test("config show: no secret of the file is shown, and the consensus program shows inner sections", async () => {
  const { stdout: messaging } = await runMessagingCommand(["-c", "relayer.toml", "config", "show"], files);
  for (const secret of ["hubrpckey1", "evmrpcpassword", "evmrpckey1", "ETHERSCANKEY1", "ac0974bec39a17e3"]) {
    assert.ok(!messaging.includes(secret), secret);
  }
  const { code, stdout } = await runConsensusCommand(["-c", "consensus.toml", "config", "show"], {
    "consensus.toml": GOOD_CONSENSUS_TOML,
  }, goodFiles);
  assert.equal(code, 0);
  assert.match(stdout, /^\[hub\.substrate\]$/m);
  assert.match(stdout, /^consensus_state_id = "[A-Z0-9]{4}" # /m);
});

Deno.test("config schema: prints the schema of each program, without a file", async () => {
  const root = new URL("../../../docs/configuration/", import.meta.url);
  for (
    const [run, name] of [[runMessagingCommand, "messaging"], [runConsensusCommand, "consensus"]] as const
  ) {
    const { code, stdout, stderr } = await run(["config", "schema"], {});
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(stdout, Deno.readTextFileSync(new URL(`${name}.schema.json`, root)));
  }
});

Deno.test("config: output that is lost fails, and what is wrong with the command line is status 2", async () => {
  const lost = await runMessagingCommand(["config", "schema"], {}, { isOutputLost: true });
  assert.equal(lost.code, 1);
  for (
    const [parse, name] of [[parseMessaging, "causeway"], [parseConsensus, "causeway-consensus"]] as const
  ) {
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [["config"], /Usage: .* config/],
      [["config", "chek"], /unknown command 'chek'/],
      [["config", "check"], /'-c, --config <path>' not specified/],
      [
        ["config", "check", "-c", "x", "--wat"],
        new RegExp(`\\(${name} config check --help lists the options\\)`),
      ],
    ];
    for (const [args, expected] of cases) {
      const parsed = parse(args, "x 0");
      assert.ok(parsed.kind === "exit" && parsed.code === 2, args.join(" "));
      assert.match(parsed.stderr, expected);
    }
  }
});

Deno.test("config check: a start says of the same file that nothing was started", () => {
  const reading = parseMessagingConfig({ readFile: () => new Uint8Array() }, "");
  assert.match(describeProblems("a.toml", reading), /; nothing was started\n$/);
});
