/** Programs give up the environment, and libraries that read it later work on: in a process of its own. */
import assert from "node:assert/strict";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { runOnce } from "../scenario/support/run_once.ts";

const PROGRAM = `
import process from "node:process";
import { openEnvironment } from "${REPOSITORY}/src/core/runtime/process_env.ts";
const { read, close } = openEnvironment();
const library = () => [process.env.PASSWORD, process.env.DEBUG, Object.keys(process.env).join()].join();
console.log(read("NAMED"), read("ABSENT"), library());
close();
console.log(read("NAMED"), read("ABSENT"), read("PASSWORD"), library());
try {
  Deno.env.get("PASSWORD");
} catch (error) {
  console.log(error.name);
}
`;

Deno.test("environment: what was named stays known, the rest cannot be read, and libraries see none of it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "environment-" });
  try {
    await Deno.writeTextFile(`${folder}/program.ts`, PROGRAM);
    const { code, stdout, stderr } = await runOnce(Deno.execPath(), [
      ...["run", "--quiet", "--no-prompt", "--no-check", `--config=${REPOSITORY}/deno.json`],
      ...["--allow-env", `${folder}/program.ts`],
    ], { env: { NAMED: "value", PASSWORD: "secret", DEBUG: "x" } });
    assert.deepEqual([code, stdout.split("\n")], [0, [
      "value undefined ,x,DEBUG",
      "value undefined undefined ,x,DEBUG",
      "NotCapable",
      "",
    ]], stderr);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
