/** How large the executables are, against an empty program compiled in the same way. */
import assert from "node:assert/strict";
import { PROGRAMS } from "../../src/build/programs.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { runOnce } from "../scenario/support/run_once.ts";
import { say } from "../support/notes.ts";

const MAX_SIZE = 1.1;

Deno.test("executables: at most 1.1 times an empty one", async () => {
  const folder = await Deno.makeTempDir({ prefix: "size-" });
  try {
    const { size: least } = await Deno.stat(await compileEmpty(folder));
    for (const { name } of PROGRAMS) {
      const { size } = await Deno.stat(`${REPOSITORY}/build/${name}`);
      say(`${name}: ${(size / 1e6).toFixed(1)} MB (${(size / least).toFixed(3)})`);
      assert.ok(size <= MAX_SIZE * least, `${name} is too large`);
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
