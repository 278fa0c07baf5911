/** `keys` and the commands that write keystores, over files in memory; balances come from a server on loopback. */
import assert from "node:assert/strict";
import vectors from "../../vectors/keystores.json" with { type: "json" };
import { listAccounts } from "../../../src/core/commands/list_accounts.ts";
import { openEthereumKeystore } from "../../../src/core/config/keystores/ethereum_keystore.ts";
import type { OpenedKeystore } from "../../../src/core/config/keystores/opened_keystore.ts";
import { openPolkadotKeystore } from "../../../src/core/config/keystores/polkadot_keystore.ts";
import { fromHex, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { startHub } from "../../../devnet/hub/hub.ts";
import { EndpointUrl, RemoteSigner, Secret } from "../../../src/core/config/redact.ts";
import { parseStateMachine, toConsensusStateId } from "../../../src/core/ismp/state_machine.ts";
import { systemClock } from "../../../src/core/runtime/system_clock.ts";
import { sr25519PublicKey, toEvmAddress } from "../../../src/core/ismp/signed_messages.ts";
import type { Terminal } from "../../../src/core/runtime/terminal.ts";
import { messagingFile } from "../../../src/messaging/config/config_file.ts";
import { edited, ZERO_ADDRESS_KEY } from "../../messaging/config/wrong_configs.ts";
import { fastClock } from "../../support/fast_clock.ts";
import { serveLocally } from "../../support/test_server.ts";
import {
  type CommandResult,
  runConsensusCommand,
  runMessagingCommand,
} from "../../support/standalone_commands.ts";

const KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
/** As operators see it (EIP-55). */
const SHOWN = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const FILES = {
  "key.hex": `0x${KEY}\n`,
  "password": "a passphrase\nnot this\n",
  "empty": "\n",
  "store.json": "{}",
};

interface Written extends CommandResult {
  readonly files: ReadonlyMap<string, string>;
}

/** Runs a command that writes; answers are what the person at the terminal types, in order. */
async function write(
  args: readonly string[],
  { answers, existing = [], run = runMessagingCommand }: {
    readonly answers?: readonly (string | undefined)[];
    readonly existing?: readonly string[];
    readonly run?: typeof runMessagingCommand;
  } = {},
): Promise<Written> {
  const files = new Map<string, string>();
  const left = [...answers ?? []];
  const terminal: Terminal = {
    ask: () => assert.fail("a secret was asked for openly"),
    askHidden: () => left.shift(),
  };
  const result = await run(args, FILES, {
    writeNewFile: (path, text) => {
      if (existing.includes(path) || files.has(path)) return false;
      files.set(path, text);
      return true;
    },
    ...answers !== undefined && { terminal },
  });
  return { ...result, files };
}

function keyOf(opened: OpenedKeystore): Uint8Array {
  assert.ok("value" in opened, JSON.stringify(opened));
  return opened.value;
}

Deno.test("keys encrypt: an EVM key file becomes a keystore that its password opens, the address is printed", async () => {
  const args = ["keys", "encrypt", "key.hex", "--type=evm", "--out=a.json", "--password-file=password"];
  const { code, stdout, stderr, files } = await write(args);
  assert.deepEqual([code, stdout, stderr], [0, `a.json: ${SHOWN}\n`, ""]);
  const json = JSON.parse(files.get("a.json") ?? "");
  assert.equal(toHex(keyOf(openEthereumKeystore(json, "a passphrase"))), `0x${KEY}`);
  assert.equal(json.address, ADDRESS.slice(2));
  assert.match(json.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

Deno.test("keys encrypt: a Substrate seed becomes a keystore of polkadot-js's form, by either program", async () => {
  const args = ["keys", "encrypt", "key.hex", "--type=substrate", "--out=s.json", "--password-file=password"];
  const { code, stdout, files } = await write(args, { run: runConsensusCommand });
  const publicKey = sr25519PublicKey(fromHex(KEY));
  assert.equal(code, 0);
  assert.ok(stdout.includes(toHex(publicKey)), stdout);
  const json = JSON.parse(files.get("s.json") ?? "");
  assert.deepEqual(json.encoding, vectors.polkadotJs.sr25519.json.encoding);
  assert.equal(toHex(sr25519PublicKey(keyOf(openPolkadotKeystore(json, "a passphrase")))), toHex(publicKey));
});

Deno.test("keys new: makes another key each time, and asks for the password twice", async () => {
  const run = async (): Promise<string> => {
    const { code, stdout, files } = await write(["keys", "new", "--type=evm", "--out=n.json"], {
      answers: ["typed", "typed"],
    });
    assert.equal(code, 0);
    const address = toHex(
      toEvmAddress(keyOf(openEthereumKeystore(JSON.parse(files.get("n.json") ?? ""), "typed"))),
    );
    assert.equal(stdout.toLowerCase(), `n.json: ${address}\n`);
    return address;
  };
  assert.notEqual(await run(), await run());
});

Deno.test("keys import: takes a key that is typed and not shown", async () => {
  const args = ["keys", "import", "--type=evm", "--out=i.json", "--password-file=password"];
  const { code, stdout, files } = await write(args, { answers: [`0x${KEY}`] });
  assert.deepEqual([code, stdout], [0, `i.json: ${SHOWN}\n`]);
  assert.equal(
    toHex(keyOf(openEthereumKeystore(JSON.parse(files.get("i.json") ?? ""), "a passphrase"))),
    `0x${KEY}`,
  );
});

const file = "--password-file=password";
const evm = ["--type=evm", "--out=x.json"];
const refused: readonly (readonly [string, readonly string[], RegExp, Parameters<typeof write>[1]?])[] = [
  ["an existing file", ["keys", "new", ...evm, file], /x\.json exists and is not overwritten/, {
    existing: ["x.json"],
  }],
  ["no terminal", ["keys", "new", ...evm], /no terminal to ask for a password; give --password-file/],
  [
    "no terminal for a key",
    ["keys", "import", ...evm, file],
    /no terminal to ask for a key; use keys encrypt/,
  ],
  ["two passwords", ["keys", "new", ...evm], /the two passwords differ/, { answers: ["a", "b"] }],
  ["no password", ["keys", "new", ...evm], /no password was given/, { answers: [undefined] }],
  ["an empty password", ["keys", "new", ...evm, "--password-file=empty"], /empty: an empty password/],
  ["a missing password", ["keys", "new", ...evm, "--password-file=none"], /none: no file at this path/],
  ["a missing key", ["keys", "encrypt", "none", ...evm, file], /none: no file at this path/],
  [
    "a key that is none",
    ["keys", "encrypt", "password", ...evm, file],
    /password: other characters than hex digits/,
  ],
  ["a keystore", ["keys", "encrypt", "store.json", ...evm, file], /store\.json: it is a keystore already/],
  ["half a key", ["keys", "import", ...evm, file], /31 bytes of hex, where 32 bytes of hex are expected/, {
    answers: [KEY.slice(2)],
  }],
  ["a key that could never be paid", ["keys", "import", ...evm, file], /begins with a zero byte/, {
    answers: [ZERO_ADDRESS_KEY],
  }],
];

for (const [what, args, expected, surroundings] of refused) {
  Deno.test(`keys: ${what} is refused, and nothing is written`, async () => {
    const { code, stdout, stderr, files } = await write(args, surroundings);
    assert.deepEqual([code, stdout, files.size], [1, "", 0]);
    assert.match(stderr, expected);
    assert.match(stderr, /; nothing was written\n$/);
    assert.ok(!stderr.includes(KEY.slice(2, 20)));
  });
}

Deno.test("keys: shows every account and its balance, one of a chain that does not answer, too, and no secret", async () => {
  await using server = serveLocally({}, async (request) => {
    const asked: unknown = await request.json();
    const answer = (call: unknown): unknown => {
      const { id, method, params } = Object(call);
      if (method === "eth_chainId") return { jsonrpc: "2.0", id, result: "0x7a69" };
      assert.deepEqual([method, params[0]], ["eth_getBalance", ADDRESS]);
      return { jsonrpc: "2.0", id, result: "0x14d1120d7b160000" };
    };
    return Response.json(Array.isArray(asked) ? asked.map(answer) : answer(asked));
  });
  const toml = edited(
    ['  "https://user:evmrpcpassword@evm1.example.org/v3/evmrpckey1",\n', ""],
    ["http://127.0.0.1:8545", `http://127.0.0.1:${server.port}`],
    ["ws://127.0.0.1:9944", "ws://127.0.0.1:9"],
    ['consensus_state_id = "PAS0"', `consensus_state_id = "PAS0"\nsigner = "${KEY}"`],
  );
  const files = { readFile: () => new TextEncoder().encode(toml) };
  const { config } = messagingFile.readAccounts(files, "relayer.toml");
  assert.ok(config !== undefined);
  const [hub, chain, para] = (await listAccounts(config, fastClock(4))).split("\n");
  const remote = new RemoteSigner("https://operator:opensesame@signer.example.org:9000", ADDRESS);
  const held = config.map((account) => "rpcUrls" in account ? { ...account, signer: remote } : account);
  const [, heldElsewhere] = (await listAccounts(held, fastClock(4))).split("\n");
  // The signer is not asked.
  assert.match(
    heldElsewhere ?? "",
    new RegExp(`^\\[evm1\\] +EVM-31337 +${SHOWN} at signer\\.example\\.org:9000 +1\\.5 native tokens$`),
  );
  assert.match(hub ?? "", /^\[hub\] +KUSAMA-4009 +no signer$/);
  assert.match(chain ?? "", new RegExp(`^\\[evm1\\] +EVM-31337 +${SHOWN} +1\\.5 native tokens$`));
  assert.match(
    para ?? "",
    /^\[para\] +KUSAMA-2000 +5\w+ \(0x[0-9a-f]{64}\) +no answer from 127\.0\.0\.1:9$/,
  );
  assert.ok(![hub, chain, para].join().includes(KEY.slice(0, 12)));
});

Deno.test("keys: the free balance of a Substrate account is what a node has in its state, 0 of one without funds", async () => {
  const funded = sr25519PublicKey(fromHex(KEY));
  const stateMachine = parseStateMachine("KUSAMA-2000");
  const consensusStateId = toConsensusStateId("PAS0");
  const coprocessor = parseStateMachine("KUSAMA-4009");
  await using node = await startHub({
    chain: { stateMachine, consensusStateId, coprocessor, hashing: "Blake2" },
    blockTimeMs: "manual",
    balances: new Map([[toHash256(funded), 12_345_678_901_234_567_890n]]),
  });
  node.produceBlock();
  const account = {
    section: "para",
    stateMachine,
    consensusStateId,
    hashing: "Blake2",
    rpcWs: new EndpointUrl(node.wsUrl),
    maxRpcPayloadSizeBytes: 150_000_000,
    maxConcurrentQueries: 10,
  } as const;
  const text = await listAccounts([
    { ...account, signer: new Secret(`0x${KEY}`) },
    { ...account, signer: new Secret(toHex(new Uint8Array(32).fill(17))) },
  ], systemClock);
  const [rich = "", poor = ""] = text.split("\n");
  assert.match(rich, / {2}12345678901234567890 of the smallest unit$/);
  assert.ok(rich.includes(toHex(funded)), rich);
  assert.match(poor, / {2}0 of the smallest unit$/);
});

Deno.test("keys: without a word it lists, and a wrong configuration is said to be wrong", async () => {
  for (const args of [["keys"], ["keys", "list"]]) {
    const { code, stderr } = await runMessagingCommand([...args, "-c", "none.toml"], {});
    assert.equal(code, 1);
    assert.match(stderr, /no file at this path.*no account is shown/s);
  }
});
