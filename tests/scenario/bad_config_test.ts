/** Wrong configuration files, given to the compiled program: everything wrong is said, nothing is begun. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { mapLimited } from "../../src/core/runtime/limit.ts";
import { describeProblems } from "../../src/core/config/diagnostics.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { wrongConfigs } from "../messaging/config/wrong_configs.ts";
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
