/** `config init`: what it writes is what the live networks have, and passes the check of the configuration. */
import assert from "node:assert/strict";
import { renderDiagnostic } from "../../../src/core/config/diagnostics.ts";
import { liveHubs, namedChains } from "../../../src/core/config/live_network.ts";
import { parseMessagingConfig } from "../../../src/messaging/config/read.ts";
import { parseArguments } from "../../../src/messaging/arguments.ts";
import { parseConsensusConfig } from "../../../src/consensus/config/read.ts";
import {
  type CommandResult,
  runConsensusCommand,
  runMessagingCommand,
} from "../../support/standalone_commands.ts";

const KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

/** Runs it; the answers are what is typed at the terminal, in order. */
async function init(
  args: readonly string[],
  answers?: readonly string[],
): Promise<CommandResult & { readonly text: string | undefined; readonly asked: readonly string[] }> {
  const files = new Map<string, string>();
  const asked: string[] = [];
  const left = [...answers ?? []];
  const result = await runMessagingCommand(["config", "init", "--out=r.toml", ...args], {}, {
    writeNewFile: (path, text) => {
      files.set(path, text);
      return true;
    },
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
  return { ...result, text: files.get("r.toml"), asked };
}

/** Keys with a problem, and everything else that is said. */
function check(text: string): { readonly problems: readonly string[]; readonly rest: readonly string[] } {
  const files = { readFile: () => new TextEncoder().encode(KEY) };
  const { problems, remarks } = parseMessagingConfig(files, text);
  return {
    problems: problems.map(({ section, path }) => `[${section}]${path.slice(section.length)}`),
    rest: remarks.map((each) => renderDiagnostic("r", each)),
  };
}

const MAINNET = namedChains.filter(({ network }) => network === "mainnet").map(({ name }) => name);
const TESTNET = namedChains.filter(({ network }) => network === "testnet").map(({ name }) => name);

for (const [network, names] of [["mainnet", MAINNET], ["testnet", TESTNET]] as const) {
  Deno.test(`config init: all chains of the ${network}, filled in, are a configuration without a remark`, async () => {
    const { code, stdout, text } = await init([
      `--chain=${names.join(",")}`,
      "--hub-url=wss://hub.example.org",
      ...names.flatMap((
        name,
      ) => [`--url=${name}=https://${name}.example.org/v1/KEY`, `--signer=${name}=/run/key`]),
      ...names.filter((name) => name.startsWith("polkadot-hub"))
        .map((name) => `--url=${name}=wss://${name}.example.org/KEY`),
    ]);
    assert.deepEqual([code, stdout], [0, "r.toml is written\nThen: causeway --config=r.toml config check\n"]);
    assert.ok(text !== undefined);
    assert.deepEqual(check(text), { problems: [], rest: [] });
    const { config } = parseMessagingConfig({ readFile: () => new TextEncoder().encode(KEY) }, text);
    assert.equal(config?.hub.stateMachine, liveHubs[network]);
    assert.deepEqual(config?.chains.map(({ section }) => section), names);
    for (const chain of config?.chains ?? []) {
      const named = namedChains.find(({ name }) => name === chain.section);
      assert.ok(named !== undefined && chain.type !== "substrate");
      assert.equal(chain.type, named.name.startsWith("polkadot-hub") ? "substrate_evm" : "evm");
      assert.deepEqual([chain.ismpHost, chain.consensusStateId], [named.ismpHost, named.consensusStateId]);
      assert.equal(chain.stateMachine, `EVM-${named.chainId}`);
      assert.ok(text.includes(named.explorer));
    }
  });
}

Deno.test("config init: what is not given is blank, is named, and is all that the check finds", async () => {
  const { code, stdout, text } = await init([
    "--chain=ethereum",
    "--chain=base",
    "--url=base=https://b.example.org",
  ]);
  assert.equal(code, 0);
  const blanks = ["[hub].rpc_ws", "[ethereum].rpc_urls", "[ethereum].signer", "[base].signer"];
  assert.ok(stdout.includes(`To be filled in: ${blanks.join(", ")}\n`), stdout);
  assert.deepEqual(check(text ?? ""), { problems: blanks, rest: [] });
});

Deno.test("config init: of Polkadot Hub the Substrate node is told by its scheme, and named when it is missing", async () => {
  const endpoint = "--url=polkadot-hub=https://eth.example.org";
  const blanks = ["[hub].rpc_ws", "[polkadot-hub].ws_url", "[polkadot-hub].signer"];
  const without = await init(["--chain=polkadot-hub", endpoint]);
  assert.ok(without.stdout.includes(`To be filled in: ${blanks.join(", ")}\n`), without.stdout);
  assert.deepEqual(check(without.text ?? "").problems.toSorted(), blanks.toSorted());
  const given = await init(["--chain=polkadot-hub", endpoint, "--url=polkadot-hub=wss://node.example.org"]);
  assert.match(given.text ?? "", /^ws_url = "wss:\/\/node\.example\.org"$/m);
  assert.match(given.text ?? "", /^rpc_urls = \["https:\/\/eth\.example\.org"\]$/m);
});

Deno.test("config init: at a terminal it asks for what is missing, and an empty answer leaves a blank", async () => {
  const { code, text, asked } = await init(["--url=sepolia=https://s.example.org"], [
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
  assert.deepEqual(check(text ?? "").problems, ["[sepolia].signer"]);
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
  const { stdout, text } = await init([...given, ...signers, `--signer-address=base=${address}`]);
  assert.ok(stdout.includes("To be filled in: [ethereum].signer_address\n"), stdout);
  assert.ok(text?.includes(`signer_address = "${address}"`));
  const typed = await init([...given, "--signer=base=/run/key"], [
    "web3signer:https://signer.example.org:9000",
    address,
  ]);
  assert.deepEqual(typed.asked, [
    "Key file, or keystore: or web3signer: and its place, of the account of ethereum: (empty: later) ",
    "Address of the account of ethereum: (empty: later) ",
  ]);
  assert.deepEqual(check(typed.text ?? ""), { problems: [], rest: [] });
});

Deno.test("config init: what cannot be used is said to be wrong and asked again, and a keystore needs a password", async () => {
  const { code, text, asked, stderr } = await init([], [
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
  assert.match(text ?? "", /^keystore_password_file = "bsc\.password"$/m);
  assert.match(text ?? "", /^rpc_urls = \["https:\/\/bsc\.example\.org"\]$/m);
});

Deno.test("config init: the file to write is asked for, and its schema is written beside it", async () => {
  const written = new Map<string, string>();
  const { code } = await runMessagingCommand(["config", "init", "--chain=bsc"], {}, {
    writeNewFile: (path, text) => {
      written.set(path, text);
      return true;
    },
    terminal: {
      ask: (question) => question === "File to write: " ? "etc/r.toml" : "",
      askHidden: () => assert.fail("nothing is secret"),
    },
  });
  assert.equal(code, 0);
  assert.deepEqual([...written.keys()], ["etc/r.toml", "etc/causeway.schema.json"]);
  assert.match(written.get("etc/r.toml") ?? "", /^#:schema \.\/causeway\.schema\.json\n/);
  assert.equal(JSON.parse(written.get("etc/causeway.schema.json") ?? "").type, "object");
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

for (const [what, args, expected] of refused) {
  Deno.test(`config init: ${what} is refused, and nothing is written`, async () => {
    const { code, stderr, text } = await init(args);
    assert.deepEqual([code, text], [1, undefined]);
    assert.match(stderr, expected);
    assert.ok(!stderr.includes("key@"));
  });
}

Deno.test("config init: an existing file is not overwritten, and a misspelt chain is named", async () => {
  const args = ["config", "init", "--out=r.toml", "--chain=bsc"];
  const { code, stderr } = await runMessagingCommand(args, {}, { writeNewFile: () => false });
  assert.deepEqual([code, stderr], [1, "r.toml exists and is not overwritten; nothing was written\n"]);
  const parsed = parseArguments(["config", "init", "--out=r.toml", "--chain=etherum"], "causeway 0");
  assert.ok(parsed.kind === "exit" && parsed.code === 2);
  assert.match(parsed.stderr, /did you mean ethereum\?/);
});

for (const network of ["mainnet", "testnet"] as const) {
  Deno.test(`config init: the consensus relayer's file of all chains of the ${network} lacks what is named, and no more`, async () => {
    let text = "";
    const names = namedChains.filter((chain) => chain.network === network).map(({ name }) => name);
    const { code, stdout } = await runConsensusCommand(
      [
        "config",
        "init",
        "--out=c.toml",
        `--chain=${names.join(",")}`,
        "--hub-url=wss://hub.example.org",
        ...names.flatMap((
          name,
        ) => [`--url=${name}=https://${name}.example.org`, `--signer=${name}=/run/key`]),
      ],
      {},
      {
        writeNewFile: (path, written) => {
          if (path === "c.toml") text = written;
          return true;
        },
      },
    );
    assert.equal(code, 0);
    const files = { readFile: () => new TextEncoder().encode(KEY) };
    const { problems, remarks } = parseConsensusConfig(files, text);
    const found = problems.map(({ section, path }) => `[${section}]${path.slice(section.length)}`);
    const [, named = ""] = /^To be filled in: (.*)$/m.exec(stdout) ?? [];
    assert.deepEqual(found.toSorted(), named.split(", ").toSorted());
    assert.deepEqual(remarks, []);
    assert.match(stdout, /^Then: causeway-consensus --config=c\.toml config check$/m);
    const filled = text.replaceAll(
      /^(beacon_http_urls|beacon_rpc_url) = \[\]/gm,
      '$1 = ["https://node.example.org"]',
    )
      .replaceAll(/^heimdall_rpc_url = ""/gm, 'heimdall_rpc_url = "https://node.example.org"')
      .replaceAll(/^relay_rpc_ws = ""/gm, 'relay_rpc_ws = "wss://node.example.org"')
      .replaceAll(/^signer = ""/gm, 'signer = "/run/key"');
    const { config } = parseConsensusConfig(files, filled);
    assert.deepEqual(config?.chains.map(({ section }) => section), names);
    // Contracts of rollups are known, and switched on.
    const contracts = text.match(/^(dispute_game_factory|rollup_core) = "0x\w{40}"$/gm);
    assert.equal(
      contracts?.length,
      namedChains.filter((chain) => chain.network === network && chain.isRollup).length,
    );
    assert.equal(config?.hub.substrate.stateMachine, liveHubs[network]);
  });
}
