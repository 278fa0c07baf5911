/** Wrong configuration files, given to the compiled program: everything wrong is said, nothing is begun. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { mapLimited } from "../../src/core/runtime/limit.ts";
import { describeProblems } from "../../src/core/config/diagnostics.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { GOOD_TOML, wrongConfigs } from "../messaging/config/wrong_configs.ts";
import { inMemory, type WrongConfig } from "../support/wrong_configs.ts";
import { runRelayerOnce, type RunResult } from "./support/run_once.ts";

/** A run takes 0.2 s of one core. */
const AT_ONCE = 2;

/** All of the wrong files are read by a unit test; every fifth is given to the program, and all that name other files. */
const SAMPLE = 5;

interface Tried {
  readonly wrong: WrongConfig;
  readonly result: RunResult;
  /** Files in the folder afterwards. */
  readonly files: readonly string[];
}

/** Runs the program in a folder that holds the file and those that it names. */
async function tryConfig(wrong: WrongConfig): Promise<Tried> {
  const [, toml, others = {}] = wrong;
  const folder = await Deno.makeTempDir({ prefix: "config-" });
  try {
    await Deno.writeTextFile(`${folder}/relayer.toml`, toml, { mode: 0o600 });
    for (const [path, text] of Object.entries(others)) {
      await Deno.mkdir(dirname(`${folder}/${path}`), { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, text, { mode: 0o600 });
    }
    const result = await runRelayerOnce(["--config=relayer.toml", "--db=relayer.db"], { cwd: folder });
    return { wrong, result, files: [...Deno.readDirSync(folder)].map(({ name }) => name) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("bad configuration: wrong files are refused with all of their lines, and nothing is created", async () => {
  const never = new AbortController().signal;
  const sample = wrongConfigs.filter(([, , files], index) => files !== undefined || index % SAMPLE === 0);
  const tried = await mapLimited(sample, { max: AT_ONCE, signal: never }, (wrong) => tryConfig(wrong));
  const differences: string[] = [];
  for (const { wrong: [name, toml, others = {}], result, files } of tried) {
    const said = describeProblems("relayer.toml", parseMessagingConfig(inMemory(others), toml));
    const given = new Set(["relayer.toml", ...Object.keys(others).map((path) => path.split("/")[0])]);
    const created = files.filter((file) => !given.has(file));
    const isGood = result.code === 1 && result.stderr === said && result.stdout === "" &&
      created.length === 0;
    if (!isGood) {
      differences.push(
        `${name}: ${JSON.stringify({ ...result, created })}\nexpected ${JSON.stringify(said)}`,
      );
    }
  }
  assert.deepEqual(differences, [], differences.join("\n"));
  assert.ok(tried.length >= 20);
});

Deno.test("bad configuration: a file that is missing, a directory, or no text is named", async () => {
  const folder = await Deno.makeTempDir({ prefix: "config-" });
  try {
    await Deno.mkdir(`${folder}/directory.toml`);
    await Deno.writeFile(`${folder}/binary.toml`, new Uint8Array([0x5b, 0x68, 0xff, 0xfe, 0x00]));
    const texts: string[] = [];
    for (const name of ["missing.toml", "directory.toml", "binary.toml"]) {
      const result = await runRelayerOnce([`--config=${name}`, "--db=relayer.db"], { cwd: folder });
      assert.equal(result.code, 1, name);
      assert.equal(result.stdout, "", name);
      texts.push(result.stderr);
    }
    const end = "1 problem in the configuration; nothing was started\n";
    assert.deepEqual(texts, [
      `missing.toml: found no file at this path, expected a readable TOML file\n${end}`,
      `directory.toml: found a directory, expected a readable TOML file\n${end}`,
      `binary.toml:1: found bytes that are not UTF-8, expected a TOML file in UTF-8\n${end}`,
    ]);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "binary.toml",
      "directory.toml",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("bad configuration: no secret of a wrong file is repeated", async () => {
  const secrets = ["hubrpckey1", "evmrpcpassword", "evmrpckey1", "ETHERSCANKEY1", "ac0974bec39a17e36ba4a6b4"];
  const folder = await Deno.makeTempDir({ prefix: "config-" });
  try {
    // Each line once with something behind it that no value can have.
    for (const [at] of GOOD_TOML.split("\n").entries()) {
      const lines = GOOD_TOML.split("\n");
      if (!secrets.some((secret) => lines[at]?.includes(secret))) continue;
      lines[at] = `${lines[at]} ?`;
      await Deno.writeTextFile(`${folder}/relayer.toml`, lines.join("\n"), { mode: 0o600 });
      const { code, stdout, stderr } = await runRelayerOnce(["--config=relayer.toml", "--db=r.db"], {
        cwd: folder,
      });
      assert.equal(code, 1);
      for (const secret of secrets) {
        assert.ok(!`${stdout}${stderr}`.includes(secret), `line ${at + 1}: ${stderr}`);
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
