/** Web3Signers as signers of EVM accounts: what a configuration says of them, and all that can be wrong with it. */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import type { Statement } from "../../../src/core/config/diagnostics.ts";
import { findChangedKeys } from "../../../src/core/config/changed_keys.ts";
import { writeEffective } from "../../../src/core/commands/config.ts";
import { signerAddress } from "../../../src/core/config/secrets.ts";
import { RemoteSigner } from "../../../src/core/config/redact.ts";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import { readUrl } from "../../../src/core/config/values.ts";
import { createRedactor } from "../../../src/core/telemetry/redactor.ts";
import { readMessaging } from "../../support/wrong_configs.ts";
import { edited } from "../../messaging/config/wrong_configs.ts";

const KEY_TEXT = '"0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"';
const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const URL_TEXT = "https://operator:opensesame@signer.example.org:9000";
const ADDRESS_LINE = `signer_address = "${ADDRESS}"`;
const REMOTE = `"web3signer:${URL_TEXT}"\n${ADDRESS_LINE}`;

/** Reads a file whose EVM account is signed for like this. */
function readSigner(
  signer: string,
  variables: Readonly<Record<string, string>> = {},
): ReturnType<typeof readMessaging> {
  return readMessaging(edited([KEY_TEXT, signer]), { readVariable: (name) => variables[name] });
}

function remoteOf({ config }: ReturnType<typeof readSigner>): RemoteSigner {
  const [evm] = config?.chains ?? [];
  assert.ok(evm?.type === "evm" && evm.signer instanceof RemoteSigner);
  return evm.signer;
}

Deno.test("remote signer: URL and address are read, and the address is known without a request", () => {
  const reading = readSigner(REMOTE);
  assert.deepEqual([reading.lines, reading.remarkLines], [[], []]);
  const signer = remoteOf(reading);
  assert.deepEqual([signer.reveal(), signer.address], [URL_TEXT, ADDRESS.toLowerCase()]);
  assert.equal(toHex(signerAddress(signer)), ADDRESS.toLowerCase());
});

Deno.test("remote signer: parts of both keys may come from the environment, and its password is filtered", () => {
  const reading = readSigner(
    '"web3signer:https://operator:${PASSWORD}@${HOST}"\nsigner_address = "${ADDRESS}"',
    { PASSWORD: "opensesame", HOST: "signer.example.org:9000", ADDRESS },
  );
  assert.deepEqual(reading.lines, []);
  assert.equal(remoteOf(reading).reveal(), URL_TEXT);
  assert.equal(createRedactor(reading.secrets)("got opensesame"), "got [secret]");
});

Deno.test("endpoints: another machine without encryption is a warning, this one and services beside it are not", () => {
  const warned = [
    "http://rpc.example.org/v2/k3yk3y",
    "ws://10.0.0.1:9944",
    "http://[2001:db8::1]:1",
    " http://127.0.0.1.example.org",
  ];
  const silent = [
    "https://rpc.example.org",
    "wss://10.0.0.1",
    "http://127.0.0.1:8545",
    "ws://localhost:9944",
    "http://[::1]:1",
    "http://geth:8545",
  ];
  const remarksOn = (url: string): readonly Statement[] => {
    const read = readUrl(url, ["http", "https", "ws", "wss"]);
    assert.ok("value" in read, url);
    return read.remarks ?? [];
  };
  assert.deepEqual([...warned, ...silent].filter((url) => remarksOn(url).length === 1), warned);
  const [remark] = remarksOn(warned[0] ?? "");
  assert.ok(remark?.kind === "warning" && remark.found.startsWith('"http://rpc.example.org/..."'));
  const signer = REMOTE.replace("https://operator", "http://operator");
  assert.deepEqual(readSigner(signer).remarkLines.length, 1, signer);
});

Deno.test("remote signer: it is shown with its host, without user, password and path", () => {
  const reading = readSigner(REMOTE.replace(":9000", ":9000/k3ypath"));
  const signer = remoteOf(reading);
  const shown = "web3signer:https://signer.example.org:9000/...";
  assert.deepEqual([String(signer), JSON.stringify(signer)], [shown, `"${shown}"`]);
  assert.ok(inspect(signer).includes(shown));
  const text = writeEffective(reading.values, "toml");
  assert.match(text, /signer = "web3signer:https:\/\/signer\.example\.org:9000\/\.\.\." # line/);
  assert.match(text, new RegExp(`signer_address = "${ADDRESS.toLowerCase()}" # line`));
  for (const secret of ["operator", "opensesame", "k3ypath"]) {
    assert.ok(!`${text} ${inspect(reading.config, { depth: 9 })}`.includes(secret), secret);
  }
});

Deno.test("remote signer: SIGHUP notices another URL, password, address, and a key instead", () => {
  const before = readSigner(REMOTE).values;
  const changedBy = (signer: string): readonly string[] => findChangedKeys(before, readSigner(signer).values);
  assert.deepEqual(changedBy(REMOTE), []);
  assert.deepEqual(changedBy(REMOTE.replace("opensesame", "changed")), ["[evm1].signer"]);
  assert.deepEqual(changedBy(REMOTE.replace(ADDRESS, `0x${"12".repeat(20)}`)), ["[evm1].signer_address"]);
  assert.deepEqual(changedBy(KEY_TEXT), ["[evm1].signer", "[evm1].signer_address"]);
});
