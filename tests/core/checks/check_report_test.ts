import assert from "node:assert/strict";
import { DEVNET_KEYS } from "../../../devnet/evm/accounts.ts";
import { printReport } from "../../../src/core/checks/print_report.ts";
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import { type CheckRow, checkSubjects, judgeConfiguration } from "../../../src/core/checks/check_row.ts";
import { Secret } from "../../../src/core/config/redact.ts";
import { readMessagingConfig } from "../../../src/messaging/config/read.ts";
import { edited } from "../../messaging/config/wrong_configs.ts";
import { modeOf } from "../../../src/core/runtime/file_access.ts";

/** The EVM key of the example. */
const INLINE_KEY = '"0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"';

const ok: CheckRow = {
  chain: "EVM-1",
  endpoint: "one.example",
  check: "head",
  result: "ok",
  found: "block 7",
};
const warning: CheckRow = {
  chain: "EVM-11155111",
  check: "balance",
  result: "warning",
  found: "0x12 has 0.1",
  advice: "send it funds",
};
const failed: CheckRow = { ...warning, chain: "EVM-1", result: "failed" };

const names = new ChainNames([{ section: "ethereum", stateMachine: "EVM-1" }]);

/** Prints rows; returns the text and the exit status. */
function report(
  rows: readonly CheckRow[],
  { isJson = false, hasColour = false, config = {} as unknown } = {},
): readonly [text: string, code: number] {
  let text = "";
  const output = { print: (given: string) => void (text += given), isJson, hasColour, names };
  const code = printReport(rows, config, output);
  return [text, code];
}

Deno.test("check report: the table has a row for each check under the operator's names, its cure below it, and the counts", () => {
  const found = { ...ok, found: "block 7 of EVM-1" };
  assert.deepEqual(report([found, warning])[0].split("\n"), [
    "CHAIN              CHECK     RESULT    FOUND",
    "ethereum (EVM-1)   head      ok        one.example: block 7 of ethereum",
    "EVM-11155111       balance   warning   0x12 has 0.1",
    "                                       -> send it funds",
    "",
    "2 checks of 2 chains: 0 failed, 1 warning, 1 ok",
  ]);
  const [coloured] = report([failed, warning], { hasColour: true });
  for (const result of ["\x1b[31mfailed\x1b[0m", "\x1b[33mwarning\x1b[0m"]) {
    assert.ok(coloured.includes(result));
  }
});

Deno.test("check report: words of a node neither move the cursor nor start a line", () => {
  const hostile = "x\x1b[2J\r\nEVM-1  head  ok\u202e";
  const [table] = report([{ ...ok, found: hostile, advice: hostile, endpoint: hostile, chain: hostile }]);
  assert.doesNotMatch(table.replaceAll("\n", ""), /[\p{C}]/u);
  assert.equal(table.split("\n").length, 5);
});

Deno.test("check report: one JSON object with every field in every row", () => {
  assert.deepEqual(JSON.parse(report([ok, failed], { isJson: true })[0]), {
    result: "failed",
    counts: { ok: 1, warning: 0, failed: 1 },
    checks: [{ ...ok, advice: null }, { ...failed, endpoint: null }],
  });
});

Deno.test("check report: 0 when all is in order, 3 with warnings only, 1 with a failure", () => {
  const statuses = [[], [ok, ok], [ok, warning], [failed, warning]].map((rows) => report(rows)[1]);
  assert.deepEqual(statuses, [0, 0, 3, 1]);
});

Deno.test("check report: no secret of the configuration is printed, whoever said it", () => {
  const key = `0x${"5e".repeat(32)}`;
  const rows = [{ ...failed, found: `refused ${key} at https://user:pass@one.example/v3/abcdefabcdef` }];
  for (const isJson of [true, false]) {
    const [text] = report(rows, { isJson, config: { signer: new Secret(key) } });
    assert.match(text, /refused \[secret\] at https:\/\/one\.example/);
    assert.doesNotMatch(text, /5e5e|abcdef|user|pass/);
  }
});

Deno.test("check report: docs/operations/check.md explains every check", async () => {
  const document = await Deno.readTextFile(new URL("../../../docs/operations/check.md", import.meta.url));
  const explained = [...document.matchAll(/^\| `(\w+)` +\|/gm)].map(([, code]) => code);
  assert.deepEqual(explained.toSorted(), Object.keys(checkSubjects).toSorted());
});

Deno.test("configuration: files that others may read are one row, the file itself only when a key stands in it", async () => {
  const folder = await Deno.makeTempDir();
  const [config, key] = [`${folder}/relayer.toml`, `${folder}/key`];
  try {
    await Deno.writeTextFile(key, DEVNET_KEYS.relayer);
    await Deno.chmod(key, 0o600);
    const judge = async (signer: string): Promise<CheckRow> => {
      await Deno.writeTextFile(config, edited([INLINE_KEY, `"${signer}"`]));
      await Deno.chmod(config, 0o644);
      const files = {
        readFile: Deno.readFileSync,
        readMode: modeOf,
        readVariable: () => DEVNET_KEYS.relayer,
      };
      return judgeConfiguration(config, readMessagingConfig(files, config));
    };
    const inline = await judge(DEVNET_KEYS.relayer);
    assert.equal(inline.result, "warning");
    assert.match(
      inline.found,
      /relayer\.toml: found a private key in a file that every user of this machine can read/,
    );
    assert.equal(
      (await judge("${KEY}")).result,
      "ok",
      "a key from the environment does not stand in the file",
    );
    assert.equal((await judge(key)).result, "ok");
    await Deno.chmod(key, 0o644);
    assert.match(
      (await judge(key)).found,
      /\[evm1\]\.signer: found a file that .* can read \(mode 644\).*chmod 600/,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
