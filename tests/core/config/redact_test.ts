import assert from "node:assert/strict";
import { inspect } from "node:util";
import {
  endpointHost,
  EndpointUrl,
  escapeControls,
  listSecrets,
  looksSecret,
  quoted,
  redactUrl,
  Secret,
  secretParts,
  shownText,
} from "../../../src/core/config/redact.ts";
import { writeText } from "../../../src/core/runtime/terminal.ts";
import { openOutput } from "../../../src/core/telemetry/output.ts";
import { createRedactor } from "../../../src/core/telemetry/redactor.ts";

Deno.test("redaction: a secret gives its value to reveal() only", () => {
  const secret = new Secret("hunter22");
  assert.equal(secret.reveal(), "hunter22");
  const seen = [`${secret}`, JSON.stringify({ secret }), inspect({ secret }), Deno.inspect([secret])];
  assert.deepEqual(seen, ["[secret]", '{"secret":"[secret]"}', "{ secret: [secret] }", "[ [secret] ]"]);
  assert.deepEqual(Object.entries({ ...secret }), []);
});

Deno.test("redaction: the secrets of a configuration are found at any depth, and nothing else", () => {
  const chains = [{ signer: new Secret("one"), etherscanApiKey: undefined }, { signer: new Secret("two") }];
  const hub = {
    signer: new Secret("three"),
    endpoints: [new EndpointUrl("wss://hub.example.org/v2/s3cret-part")],
  };
  const found = listSecrets({ hub, chains, relayer: { percent: 1, hosts: null, since: 5n } });
  assert.deepEqual(found, ["three", "s3cret-part", "one", "two"]);
  assert.deepEqual([listSecrets("one"), listSecrets(undefined)], [[], []]);
});

Deno.test("redaction: an endpoint shows scheme, host and port only", () => {
  const url = new EndpointUrl("https://user:pass@rpc.example.org:8443/v3/key?token=x#y");
  assert.equal(url.host, "rpc.example.org:8443");
  assert.equal(url.reveal(), "https://user:pass@rpc.example.org:8443/v3/key?token=x#y");
  const shown = "https://rpc.example.org:8443/...";
  assert.deepEqual([`${url}`, JSON.stringify(url), inspect(url), Deno.inspect(url)], [
    shown,
    `"${shown}"`,
    shown,
    shown,
  ]);
});

Deno.test("redaction: URLs without anything to hide are shown whole, others never", () => {
  assert.equal(redactUrl("wss://hub.example.org"), "wss://hub.example.org");
  assert.equal(redactUrl("http://127.0.0.1:8545/"), "http://127.0.0.1:8545");
  assert.equal(redactUrl("http://[::1]:8545/?k=1"), "http://[::1]:8545/...");
  assert.equal(redactUrl("not a url"), "[not a URL]");
  assert.equal(endpointHost("file:///etc/passwd"), "[not a URL]");
  assert.equal(
    endpointHost("https://0123456789abcdef0123456789abcdef.eth.example.org/"),
    "hidden.eth.example.org",
  );
});

Deno.test("redaction: every part of a URL that may be a key is hidden in whatever form it is repeated, words are not", () => {
  const url =
    "https://al1ce:p%40ssword@k3yk3yk3yk3yk3yk3yk3y.rpc.example.org/v2/eth-mainnet/s3cret-path/lettersonly/" +
    "a%2Fkeys1?apikey=queryKEY1&flag&onlyvalue&net=base#fragment1";
  const redact = createRedactor(secretParts(url));
  const hidden = [
    "al1ce",
    "p@ssword",
    "p%40ssword",
    "K3YK3YK3YK3YK3YK3YK3Y",
    "s3cret-path",
    "lettersonly",
    "a/keys1",
    "a%2fkeys1",
  ];
  const more = ["queryKEY1", "onlyvalue", "fragment1", "fragment1", btoa("al1ce:p@ssword")];
  for (const key of [...hidden, ...more]) {
    assert.equal(redact(`bad key ${key}, please`), "bad key [secret], please", key);
    assert.equal(redact(JSON.stringify({ key })), '{"key":"[secret]"}', key);
  }
  const words = "v2 eth-mainnet flag net=base api key rpc.example.org Ethereum EVM-1 latest";
  assert.equal(redact(words), words);
  for (const plain of "v1 rpc eth ext bc C json-rpc arbitrum-sepolia base_mainnet 1337".split(" ")) {
    assert.deepEqual(secretParts(`https://host.example/${plain}`), [], plain);
  }
  const keys = "k3yk3y qwertyui 12345678 a1b2-c3d4-e5f6 ABCDEFGH correct-horse-battery-staple";
  for (const key of keys.split(" ")) {
    assert.deepEqual(secretParts(`https://host.example/v1/${key}`), [key]);
  }
  assert.deepEqual([secretParts("no URL"), secretParts("https://host.example")], [[], []]);
});

Deno.test("redaction: keys look secret and names do not", () => {
  for (const key of ["ac0974bec39a17e36ba4a6b4d238ff94", "YourApiKeyToken12345X", "x/0123456789abcdefghij"]) {
    assert(looksSecret(key), key);
  }
  const words = "EVM-11155111 minimum_profit_percentage SUBSTRATE-cere arbitrum_sepolia_testnet_2";
  for (const word of words.split(" ")) {
    assert(!looksSecret(word), word);
  }
});

Deno.test("redaction: what hides or turns text is escaped in all that is printed, and JSON stays the same JSON", () => {
  const hostile = "a\u202eb\u0085c\u009b31md\u2066e\u{e0041}f\u2028g\u200bh\ufeff";
  const shown = escapeControls(JSON.stringify({ hostile }));
  assert.doesNotMatch(shown, /[^ -~]/);
  assert.deepEqual(JSON.parse(shown), { hostile });
  const lines: string[] = [];
  const target = {
    writeSync: (bytes: Uint8Array) => lines.push(new TextDecoder().decode(bytes)) && bytes.length,
    isTerminal: () => false,
  };
  const output = openOutput(target);
  output.write(`\x1b[31mred\x1b[0m ${hostile}`);
  writeText(target, `two\nlines\t\x1b]0;owned\x07 ${hostile}`);
  const escaped = String.raw`a\u202eb\u0085c\u009b31md\u2066e\udb40\udc41f\u2028g\u200bh\ufeff`;
  assert.deepEqual(lines, [
    `\x1b[31mred\x1b[0m ${escaped}\n`,
    `two\nlines\t\\u001b]0;owned\\u0007 ${escaped}`,
  ]);
});

Deno.test("redaction: shown text stays on one line", () => {
  assert.equal(quoted("a\nb\u2028c\u202ed\u0085"), '"a\\nb\\u2028c\\u202ed\\u0085"');
  assert.equal(shownText("x".repeat(61)), "a text of 61 characters");
  assert.equal(shownText("https://a/b"), "a text of 11 characters");
  assert.equal(shownText(""), "an empty text");
  assert.equal(shownText("EVM-1"), '"EVM-1"');
});
