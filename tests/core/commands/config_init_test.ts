/** `config init`: what it writes is what the live networks have, and passes the check of the configuration. */
import assert from "node:assert/strict";
import { type ConfigResult, renderDiagnostic } from "../../../src/core/config/diagnostics.ts";
import { liveHubs, namedChains } from "../../../src/core/config/live_network.ts";
import type { ConfigFiles } from "../../../src/core/config/toml.ts";
import { parseMessagingConfig } from "../../../src/messaging/config/read.ts";
import { parseArguments } from "../../../src/messaging/arguments.ts";
import { parseConsensusConfig } from "../../../src/consensus/config/read.ts";
import {
  type CommandResult,
  runConsensusCommand,
  runMessagingCommand,
} from "../../support/standalone_commands.ts";

const KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

interface Init extends CommandResult {
  readonly text: string;
  readonly schema: string;
  readonly asked: readonly string[];
}

/** Runs it; the answers are what is typed at the terminal, in order. */
async function init(
  args: readonly string[],
  answers?: readonly string[],
  run = runMessagingCommand,
): Promise<Init> {
  const files = new Map<string, string>();
  const asked: string[] = [];
  const left = [...answers ?? []];
  const result = await run(["config", "init", ...args], {}, {
    writeNewFile: (path, text) => files.set(path, text).size > 0,
    ...answers !== undefined && {
      terminal: {
        ask: (question) => {
          asked.push(question);
          return left.shift();
        },
        askHidden: () => assert.fail("nothing is secret"),
      },
    },
  });
  const [text = "", schema = ""] = files.values();
  return { ...result, text, schema, asked };
}

const OUT = "--out=r.toml";
const keyFiles = { readFile: () => new TextEncoder().encode(KEY) };

/** Keys with a problem, and everything else that is said. */
function check(
  text: string,
  parse: (files: ConfigFiles, text: string) => ConfigResult<unknown> = parseMessagingConfig,
): { readonly problems: readonly string[]; readonly rest: readonly string[] } {
  const { problems, remarks } = parse(keyFiles, text);
  return {
    problems: problems.map(({ place }) => place),
    rest: remarks.map((each) => renderDiagnostic("r", each)),
  };
}

/** Keys that are named as left blank. */
function blanksOf({ stdout }: CommandResult): readonly string[] {
  const [, named] = /^To be filled in: (.*)$/m.exec(stdout) ?? [];
  return named?.split(", ") ?? [];
}

for (const network of ["mainnet", "testnet"] as const) {
  const chains = namedChains.filter((chain) => chain.network === network);
  const names = chains.map(({ name }) => name);
  const args = [
    OUT,
    `--chain=${names.join(",")}`,
    "--hub-url=wss://hub.example.org",
    ...names.flatMap((
      name,
    ) => [`--url=${name}=https://${name}.example.org/v1/KEY`, `--signer=${name}=/run/key`]),
  ];

  Deno.test(`config init: all chains of the ${network}, filled in, are a configuration without a remark`, async () => {
    const hubs = names.filter((name) => name.startsWith("polkadot-hub"));
    const result = await init([
      ...args,
      ...hubs.map((name) => `--url=${name}=wss://${name}.example.org/KEY`),
    ]);
    assert.equal(result.stdout, "r.toml is written\nThen: causeway --config=r.toml config check\n");
    assert.deepEqual(check(result.text), { problems: [], rest: [] });
    const { config } = parseMessagingConfig(keyFiles, result.text);
    assert.equal(config?.hub.stateMachine, liveHubs[network]);
    assert.deepEqual(
      config?.chains.map((chain) => [chain.section, chain.type, chain.stateMachine, chain.consensusStateId]),
      chains.map(({ name, chainId, consensusStateId }) => [
        name,
        hubs.includes(name) ? "substrate_evm" : "evm",
        `EVM-${chainId}`,
        consensusStateId,
      ]),
    );
    for (const { explorer, ismpHost } of chains) {
      assert.ok(result.text.includes(explorer) && result.text.includes(`ismp_host = "${ismpHost}"`));
    }
  });

  Deno.test(`config init: the consensus relayer's file of all chains of the ${network} lacks what is named, and no more`, async () => {
    const result = await init(args, undefined, runConsensusCommand);
    const { problems, rest } = check(result.text, parseConsensusConfig);
    assert.deepEqual([problems.toSorted(), rest], [blanksOf(result).toSorted(), []]);
    assert.match(result.stdout, /^Then: causeway-consensus --config=r\.toml config check$/m);
    const filled = result.text
      .replaceAll(/^(beacon_http_urls|beacon_rpc_url) = \[\]/gm, '$1 = ["https://node.example.org"]')
      .replaceAll(/^heimdall_rpc_url = ""/gm, 'heimdall_rpc_url = "https://node.example.org"')
      .replaceAll(/^relay_rpc_ws = ""/gm, 'relay_rpc_ws = "wss://node.example.org"')
      .replaceAll(/^signer = ""/gm, 'signer = "/run/key"');
    const { config } = parseConsensusConfig(keyFiles, filled);
    assert.deepEqual(config?.chains.map(({ section }) => section), names);
    assert.equal(config?.hub.substrate.stateMachine, liveHubs[network]);
    // Contracts of rollups are known, and switched on.
    const contracts = result.text.match(/^(dispute_game_factory|rollup_core) = "0x\w{40}"$/gm);
    assert.equal(contracts?.length, chains.filter(({ isRollup }) => isRollup).length);
  });
}

Deno.test("config init: what is not given is blank, is named, and is all that the check finds", async () => {
  const cases = [
    [
      ["--chain=ethereum", "--chain=base", "--url=base=https://b.example.org"],
      ["[hub].rpc_ws", "[ethereum].rpc_urls", "[ethereum].signer", "[base].signer"],
    ],
    // Of Polkadot Hub the Substrate node is recognized by its scheme.
    [
      ["--chain=polkadot-hub", "--url=polkadot-hub=https://eth.example.org"],
      ["[hub].rpc_ws", "[polkadot-hub].ws_url", "[polkadot-hub].signer"],
    ],
    [
      ["--chain=polkadot-hub", "--url=polkadot-hub=wss://node.example.org"],
      ["[hub].rpc_ws", "[polkadot-hub].rpc_urls", "[polkadot-hub].signer"],
    ],
  ] as const;
  for (const [args, blanks] of cases) {
    const result = await init([OUT, ...args]);
    assert.deepEqual(blanksOf(result), blanks);
    const { problems, rest } = check(result.text);
    assert.deepEqual([problems.toSorted(), rest], [blanks.toSorted(), []]);
  }
});

Deno.test("config init: at a terminal it asks for what is missing, and an empty answer leaves a blank", async () => {
  const { code, text, asked } = await init([OUT, "--url=sepolia=https://s.example.org"], [
    "sepolia",
    "wss://hub.example.org",
    "",
  ]);
  assert.equal(code, 0);
  assert.deepEqual(asked.map((question) => question.split("\n").at(-1)), [
    "Which ones, with commas between them? ",
    "WebSocket URL of a node of the hub: (empty: later) ",
    "Key file, or keystore: or web3signer: and its place, of the account of sepolia: (empty: later) ",
  ]);
  assert.deepEqual(check(text).problems, ["[sepolia].signer"]);
});

Deno.test("config init: the account of a Web3Signer is asked for by its address, or named as missing", async () => {
  const given = [
    "--chain=ethereum,base",
    "--hub-url=wss://h",
    "--url=ethereum=https://e",
    "--url=base=https://b",
  ];
  const signers = ["ethereum", "base"].map((name) =>
    `--signer=${name}=web3signer:https://signer.example.org:9000`
  );
  const address = `0x${"5a".repeat(20)}`;
  const { stdout, text } = await init([OUT, ...given, ...signers, `--signer-address=base=${address}`]);
  assert.ok(stdout.includes("To be filled in: [ethereum].signer_address\n"), stdout);
  assert.ok(text.includes(`signer_address = "${address}"`));
  const typed = await init([OUT, ...given, "--signer=base=/run/key"], [
    "web3signer:https://signer.example.org:9000",
    address,
  ]);
  assert.deepEqual(typed.asked, [
    "Key file, or keystore: or web3signer: and its place, of the account of ethereum: (empty: later) ",
    "Address of the account of ethereum: (empty: later) ",
  ]);
  assert.deepEqual(check(typed.text), { problems: [], rest: [] });
});

Deno.test("config init: what cannot be used is said to be wrong and asked again, and a keystore needs a password", async () => {
  const { code, text, asked, stderr } = await init([OUT], [
    "bsc_testnet",
    "97",
    "https://hub.example.org",
    "wss://hub.example.org",
    "bsc.example.org",
    "https://bsc.example.org",
    "keystore:bsc.json",
    "bsc.password",
  ]);
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /"bsc_testnet", which is no chain that is known here: did you mean bsc or bsc-chapel\?/,
  );
  assert.match(stderr, /\(scheme https\), where ws or wss is expected/);
  assert.match(stderr, /a text that is not a URL, where http or https or ws or wss is expected/);
  assert.equal(asked.length, 8);
  assert.match(text, /^keystore_password_file = "bsc\.password"$/m);
  assert.match(text, /^rpc_urls = \["https:\/\/bsc\.example\.org"\]$/m);
});

Deno.test("config init: the file to write is asked for, and its schema is written beside it", async () => {
  const { asked, stdout, text, schema } = await init(["--chain=bsc"], ["etc/r.toml"]);
  assert.equal(asked[0], "File to write: ");
  assert.match(stdout, /^etc\/r\.toml is written$/m);
  assert.match(text, /^#:schema \.\/causeway\.schema\.json\n/);
  assert.equal(JSON.parse(schema).type, "object");
});

const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
  ["no chain", [], /No chain is named: give --chain/],
  ["a URL of the hub that is none", ["--chain=base", "--hub-url=https://h"], /--hub-url: .*scheme https/],
  ["chains of two networks", ["--chain=ethereum,sepolia"], /ethereum and sepolia belong to different hubs/],
  ["an endpoint of another chain", ["--chain=base", "--url=bsc=https://x"], /bsc is not among the chains/],
  [
    "an endpoint of none",
    ["--chain=base", "--url=https://key@x"],
    /--url, --signer and the other options of a chain need its name/,
  ],
];

Deno.test("config init: what does not fit together is refused, and nothing is written", async () => {
  for (const [what, args, expected] of refused) {
    const { code, stderr, text } = await init([OUT, ...args]);
    assert.deepEqual([code, text], [1, ""], what);
    assert.match(stderr, expected);
    assert.ok(!stderr.includes("key@"));
  }
});

Deno.test("config init: an existing file is not overwritten, and a misspelt chain is named", async () => {
  const args = ["config", "init", "--out=r.toml", "--chain=bsc"];
  const { code, stderr } = await runMessagingCommand(args, {}, { writeNewFile: () => false });
  assert.deepEqual([code, stderr], [1, "r.toml exists and is not overwritten; nothing was written\n"]);
  const noSchema = await runMessagingCommand(args, {}, {
    writeNewFile: (path) => !path.endsWith(".json") || assert.fail("a full disk"),
  });
  assert.equal(noSchema.code, 0);
  assert.match(noSchema.stdout, /^r\.toml is written\n/);
  assert.match(noSchema.stderr, /causeway\.schema\.json cannot be written/);
  const parsed = parseArguments(["config", "init", "--out=r.toml", "--chain=etherum"], "causeway 0");
  assert.ok(parsed.kind === "exit" && parsed.code === 2);
  assert.match(parsed.stderr, /did you mean ethereum\?/);
});
