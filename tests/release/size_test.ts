/** How large the executables are and how fast they start, against an empty program compiled in the same way. */
import assert from "node:assert/strict";
import { PROGRAMS } from "../../src/build/programs.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { runOnce } from "../scenario/support/run_once.ts";
import { say } from "../support/notes.ts";

/**
 * Runs of each program: at least so many, and more while one is too slow. The fastest counts, since whatever else the
 * machine does only ever slows a run down.
 */
const [MIN_RUNS, MAX_RUNS] = [4, 100];
const MAX_SIZE = 1.1;
const MAX_START = 2;

Deno.test("executables: at most 1.1 times an empty one, and --version within twice its start", async () => {
  const folder = await Deno.makeTempDir({ prefix: "size-" });
  try {
    const empty = await compileEmpty(folder);
    const programs = [empty, ...PROGRAMS.map(({ name }) => `${REPOSITORY}/build/${name}`)];
    const fastest = new Map(programs.map((program) => [program, Infinity]));
    const isFast = (): boolean =>
      [...fastest.values()].every((ms) => ms <= MAX_START * (fastest.get(empty) ?? 0));
    for (let run = 0; run < MIN_RUNS || (!isFast() && run < MAX_RUNS); run++) {
      for (const program of programs) {
        const startMs = performance.now();
        assert.equal((await runOnce(program, ["--version"])).code, 0);
        fastest.set(program, Math.min(fastest.get(program) ?? Infinity, performance.now() - startMs));
      }
    }
    const facts = programs.map((program) => ({
      name: program.slice(program.lastIndexOf("/") + 1),
      size: Deno.statSync(program).size,
      startMs: fastest.get(program) ?? Infinity,
    }));
    const [base] = facts;
    assert.ok(base !== undefined);
    for (const { name, size, startMs } of facts) {
      const sizes = `${(size / 1e6).toFixed(1)} MB (${(size / base.size).toFixed(3)})`;
      say(`${name}: ${sizes}, --version ${startMs.toFixed(0)} ms (${(startMs / base.startMs).toFixed(2)})`);
      assert.ok(size <= MAX_SIZE * base.size, `${name} is too large`);
      assert.ok(startMs <= MAX_START * base.startMs, `${name} starts too slowly`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function compileEmpty(folder: string): Promise<string> {
  await Deno.writeTextFile(`${folder}/empty.js`, "");
  const base = await Deno.stat(`${REPOSITORY}/build/denort`).then(
    () => ({ DENORT_BIN: `${REPOSITORY}/build/denort` }),
    () => ({}),
  );
  const flags = ["--quiet", "--no-check", "--no-config", "--no-lock", "--no-code-cache", "--no-prompt"];
  const args = ["compile", ...flags, "-o", `${folder}/empty`, `${folder}/empty.js`];
  const { code, stderr } = await runOnce(Deno.execPath(), args, { env: base });
  assert.equal(code, 0, stderr);
  return `${folder}/empty`;
}
