/** Encrypted keystores as signers: known ones of other programs, and everything that can be wrong with them. */
import assert from "node:assert/strict";
import vectors from "../../vectors/keystores.json" with { type: "json" };
import { renderDiagnostic } from "../../../src/core/config/diagnostics.ts";
import { openEthereumKeystore } from "../../../src/core/config/keystores/ethereum_keystore.ts";
import { openPolkadotKeystore } from "../../../src/core/config/keystores/polkadot_keystore.ts";
import type { OpenedKeystore } from "../../../src/core/config/keystores/opened_keystore.ts";
import type { ConfigFiles } from "../../../src/core/config/toml.ts";
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import { sr25519PublicKey, toEvmAddress } from "../../../src/core/ismp/signed_messages.ts";
import { ss58PublicKey } from "../../../src/core/substrate/ss58.ts";
import { readMessagingConfig } from "../../../src/messaging/config/read.ts";
import { edited } from "../../messaging/config/wrong_configs.ts";
import { inMemory, readMessaging } from "../../support/wrong_configs.ts";

const { web3SecretStorage, geth, polkadotJs } = vectors;
const PASSWORD = "correct horse";
const KEY_TEXT = '"0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"';

function keyOf(opened: OpenedKeystore): string {
  assert.ok("value" in opened, JSON.stringify(opened));
  return toHex(opened.value).slice(2);
}

function foundIn(opened: OpenedKeystore): string {
  assert.ok("found" in opened);
  return opened.found;
}

for (const kdf of ["pbkdf2", "scrypt"] as const) {
  Deno.test(`keystores: Web3 Secret Storage Definition, test vector of ${kdf}`, () => {
    const { password, secret } = web3SecretStorage;
    assert.equal(keyOf(openEthereumKeystore(web3SecretStorage[kdf], password)), secret);
    assert.match(
      foundIn(openEthereumKeystore(web3SecretStorage[kdf], "testpasswort")),
      /password does not open/,
    );
  });
}

for (const kind of ["standard", "light"] as const) {
  Deno.test(`keystores: an account that geth made (${kind} scrypt) has the address that geth names`, () => {
    const opened = openEthereumKeystore(geth[kind], geth.password);
    assert.equal(toHex(toEvmAddress(fromHex(keyOf(opened)))), `0x${geth[kind].address}`);
  });
}

Deno.test("keystores: a key that polkadot-js exported has the public key that polkadot-js names", () => {
  const { publicKey, json } = polkadotJs.sr25519;
  const opened = openPolkadotKeystore(json, polkadotJs.password);
  assert.equal(toHex(sr25519PublicKey(fromHex(keyOf(opened)))), publicKey);
});

Deno.test("keystores: addresses of any network hold the same public key, and a mistyped one none", () => {
  const { publicKey, json } = polkadotJs.sr25519;
  for (const address of [json.address, polkadotJs.twoByteAddress]) {
    assert.equal(toHex(ss58PublicKey(address) ?? new Uint8Array()), publicKey);
  }
  for (const wrong of [json.address.replace("5GZ", "5GY"), json.address.slice(1), "0OIl", "", "5"]) {
    assert.equal(ss58PublicKey(wrong), undefined, wrong);
  }
});

/** A light keystore of geth, with changes. */
function lightWith(change: (json: typeof geth.light) => void): object {
  const json = structuredClone(geth.light);
  change(json);
  return json;
}

const broken: readonly (readonly [string, object, RegExp])[] = [
  ["another version", { ...geth.light, version: 4 }, /another kind than version 3 \(version\)/],
  ["another cipher", lightWith(({ crypto }) => crypto.cipher = "aes-256-gcm"), /\(crypto\.cipher\)/],
  ["another kdf", lightWith(({ crypto }) => crypto.kdf = "argon2id"), /\(crypto\.kdf\)/],
  ["no hex", lightWith(({ crypto }) => crypto.mac = "xyz"), /\(crypto\.mac\)/],
  ["a short iv", lightWith(({ crypto }) => crypto.cipherparams.iv = "00"), /\(crypto\.cipherparams\.iv\)/],
  ...[
    { n: 2 ** 30, r: 8, p: 1 },
    { n: 2, r: 2 ** 21, p: 1 },
    { n: 2, r: 1, p: 2 ** 22 },
    { n: 2 ** 18, r: 8, p: 16 }, // little memory, half a minute
  ].map((costs) =>
    [
      `costs without end (N ${costs.n}, r ${costs.r}, p ${costs.p})`,
      lightWith(({ crypto }) => Object.assign(crypto.kdfparams, costs)),
      /out of bounds/,
    ] as const
  ),
  [
    "rounds without end",
    {
      ...web3SecretStorage.pbkdf2,
      crypto: {
        ...web3SecretStorage.pbkdf2.crypto,
        kdfparams: { ...web3SecretStorage.pbkdf2.crypto.kdfparams, c: 5_000_001 },
      },
    },
    /out of bounds/,
  ],
  ["costs that are no power of two", lightWith(({ crypto }) => crypto.kdfparams.n = 4095), /out of bounds/],
  ["a short key", lightWith(({ crypto }) => crypto.kdfparams.dklen = 16), /out of bounds/],
  [
    "a changed byte",
    lightWith(({ crypto }) => crypto.ciphertext = "00" + crypto.ciphertext.slice(2)),
    /does not open/,
  ],
  [
    "another address",
    lightWith((json) => json.address = "11".repeat(20)),
    /names the address of another key/,
  ],
];

Deno.test("keystores: one of Ethereum that is damaged, of another kind, or costs without end is refused", () => {
  for (const [what, json, expected] of broken) {
    assert.match(foundIn(openEthereumKeystore(json, geth.password)), expected, what);
  }
});

const { json: exported } = polkadotJs.sr25519;
const brokenExports: readonly (readonly [string, object, RegExp])[] = [
  ["an ed25519 key", polkadotJs.ed25519.json, /^a keystore of a key of type ed25519$/],
  ["no encryption", polkadotJs.plain, /without encryption/],
  [
    "another version",
    { ...exported, encoding: { ...exported.encoding, version: "2" } },
    /another version than 3/,
  ],
  ["no base64", { ...exported, encoded: "?" }, /a damaged keystore \(encoded\)/],
  [
    "too few bytes",
    { ...exported, encoded: exported.encoded.slice(0, 40) },
    /a damaged keystore \(encoded\)/,
  ],
  [
    "costs of its own",
    { ...exported, encoded: `AAAA${"A".repeat(100)}` },
    /scrypt that polkadot-js does not use/,
  ],
  [
    "a changed byte",
    { ...exported, encoded: exported.encoded.replace("yOCOCOEjDvWP", "yOCOCOEjDvWQ") },
    /not open/,
  ],
  [
    "another address",
    { ...exported, address: polkadotJs.ed25519.json.address },
    /names the address of another key/,
  ],
  ["no address", { ...exported, address: "5GZD" }, /a damaged keystore \(address\)/],
];

Deno.test("keystores: one of polkadot-js that is damaged or of another kind is refused", () => {
  for (const [what, json, expected] of brokenExports) {
    assert.match(foundIn(openPolkadotKeystore(json, PASSWORD)), expected, what);
  }
});

/** A configuration whose accounts are keystores. */
const TOML = edited(
  [KEY_TEXT, '"keystore:evm.json"\nkeystore_password_file = "evm.password"'],
  [
    `consensus_state_id = "PAS0"`,
    `consensus_state_id = "PAS0"\nsigner = "keystore:para.json"\nkeystore_password_file = "para.password"`,
  ],
);

const FILES = {
  "evm.json": JSON.stringify(geth.light),
  "evm.password": `${geth.password}\nsecond line\n`,
  "para.json": JSON.stringify(exported),
  "para.password": PASSWORD,
};

/** Reads with files in memory, some of them changed or (`undefined`) missing. */
function readWith(
  changes: Readonly<Record<string, string | undefined>> = {},
  { toml = TOML, ...more }: Partial<ConfigFiles> & { readonly toml?: string } = {},
): ReturnType<typeof readMessaging> {
  return readMessaging(toml, { ...inMemory({ ...FILES, ...changes }), ...more });
}

Deno.test("keystores: a signer may be one, with the first line of a file as its password", () => {
  const { config, problems } = readWith();
  assert.deepEqual(problems, []);
  const [evm, para] = config?.chains ?? [];
  assert.ok(evm?.type === "evm" && para?.type === "substrate" && para.signer !== undefined);
  assert.equal(toHex(toEvmAddress(fromHex(evm.signer?.reveal() ?? "0x"))), `0x${geth.light.address}`);
  assert.equal(toHex(sr25519PublicKey(fromHex(para.signer.reveal()))), polkadotJs.sr25519.publicKey);
});

const refused:
  readonly (readonly [string, Readonly<Record<string, string | undefined>>, readonly string[]])[] = [
    ["a wrong password", { "evm.password": "wrongpassword" }, [
      '[evm1].signer: found a keystore that its password does not open ("evm.json")',
    ]],
    ["a missing file", { "evm.json": undefined }, [
      "[evm1].signer: found a keystore at a path with no file at this path",
    ]],
    ["a missing password", { "para.password": undefined }, [
      "[para].signer: found a keystore whose password cannot be read",
      "[para].keystore_password_file: found no file at this path",
    ]],
    ["a file that is no JSON", { "evm.json": "{" }, [
      '[evm1].signer: found a keystore that is not JSON ("evm.json")',
    ]],
    ["other JSON", { "evm.json": "{}" }, ['[evm1].signer: found a file that is no keystore ("evm.json")']],
    ["those of each other", { "evm.json": FILES["para.json"], "para.json": FILES["evm.json"] }, [
      '[evm1].signer: found a keystore of polkadot-js ("evm.json")',
      '[para].signer: found a keystore of an Ethereum account ("para.json")',
    ]],
  ];

for (const [what, changes, expected] of refused) {
  Deno.test(`keystores: ${what} is a problem at its place, without the password`, () => {
    const { config, lines } = readWith(changes);
    assert.equal(config, undefined);
    assert.deepEqual(
      lines.map((line) => line.replace(/, expected.*/, "")),
      expected,
    );
    for (const secret of ["wrongpassword", PASSWORD, geth.password]) {
      assert.ok(!lines.join().includes(secret));
    }
  });
}

Deno.test("keystores: one without keystore_password_file, and one without its prefix, are told what to write", () => {
  const noPassword = readWith({}, { toml: TOML.replace('keystore_password_file = "evm.password"\n', "") });
  assert.match(
    noPassword.lines.join(),
    /\[evm1\]\.signer: found a keystore without a password,.*name the file of its password in keystore_password_file/,
  );
  const noPrefix = readWith({}, { toml: TOML.replace("keystore:evm", "evm") });
  assert.match(
    noPrefix.lines.join(),
    /\[evm1\]\.signer: found a file that holds no hex,.*write "keystore:" before the path/,
  );
});

Deno.test("keystores: a password file of a signer that is no keystore, or of none, is a warning", () => {
  const warningsOf = (toml: string): readonly string[] => readWith({}, { toml }).remarkLines;
  assert.deepEqual(warningsOf(TOML), []);
  assert.deepEqual(warningsOf(TOML.replace('"keystore:evm.json"', KEY_TEXT)), [
    "[evm1].keystore_password_file: a key without effect; the signer is no " +
    'keystore: write "keystore:" before its path, or remove this key',
  ]);
  assert.deepEqual(warningsOf(TOML.replace('signer = "keystore:para.json"\n', "")), [
    "[para].keystore_password_file: a key without effect; the section has no " +
    "signer",
  ]);
});

Deno.test("keystores: one of an address that begins with a zero byte is refused like its plain key", () => {
  const { lines } = readWith({
    "evm.json": JSON.stringify(web3SecretStorage.scrypt),
    "evm.password": "testpassword",
  });
  assert.match(lines.join(), /\[evm1\]\.signer: found the key of an address that begins with a zero byte/);
});

Deno.test("keystores: one that was opened is not opened again, unless file or password changed", () => {
  const openedKeystores = new Map<string, Uint8Array>();
  readWith({}, { openedKeystores });
  assert.equal(openedKeystores.size, 2);
  const [[name] = []] = openedKeystores;
  assert.ok(name !== undefined);
  openedKeystores.set(name, new Uint8Array(32).fill(1));
  const evm = readWith({}, { openedKeystores }).config?.chains[0];
  assert.ok(evm?.type === "evm");
  assert.equal(evm.signer?.reveal(), `0x${"01".repeat(32)}`);
  assert.equal(readWith({ "evm.password": "x" }, { openedKeystores }).config, undefined);
});

Deno.test("keys: a file with a key or a password that every user can read is a warning", () => {
  const warningsWith = (modes: Readonly<Record<string, number>>): readonly string[] =>
    readWith({}, { readMode: (path) => modes[path] }).remarkLines;
  assert.deepEqual(warningsWith({ "evm.json": 0o100600, "evm.password": 0o100440, "para.json": 0o640 }), []);
  assert.match(
    warningsWith({ "evm.json": 0o602 }).join(),
    /every user of this machine can change \(mode 602\)/,
  );
  assert.deepEqual(warningsWith({ "evm.json": 0o100644, "para.password": 0o604 }), [
    "[evm1].signer: found a file that every user of this machine can read (mode 644), expected mode 600 or 640; chmod 600",
    "[para].keystore_password_file: found a file that every user of this machine can read (mode 604), expected mode 600 or 640; chmod 600",
  ]);
});

Deno.test("keys: a configuration with a private key that every user can read is one warning", () => {
  const read = (toml: string, mode: number): readonly string[] =>
    readMessagingConfig({
      readFile: (path) => new TextEncoder().encode(path === "r.toml" ? toml : KEY_TEXT.slice(1, -1)),
      readMode: (path) => path === "r.toml" ? mode : 0o600,
    }, "r.toml").remarks.map((warning) => renderDiagnostic("r.toml", warning));
  const inline = edited(["[hub]\n", `[hub]\nsigner = ${KEY_TEXT}\n`]);
  assert.deepEqual(read(inline, 0o644), [
    "r.toml: found a private key in a file that every user of this machine can read (mode 644), expected mode 600 or 640; chmod 600",
  ]);
  assert.deepEqual(read(inline, 0o600), []);
  const byPath = edited([KEY_TEXT, '"evm.hex"']);
  assert.deepEqual(read(byPath, 0o644), []);
  assert.deepEqual(read(byPath, 0o646), [
    "r.toml: found a file that every user of this machine can change (mode 646), expected mode 600 or 640; chmod 600",
  ]);
});
