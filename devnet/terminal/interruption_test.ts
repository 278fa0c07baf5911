import assert from "node:assert/strict";

/** Runs a program with that work. */
async function run(work: string, options = "{}"): Promise<{ readonly code: number; readonly said: string }> {
  const module = new URL("./interruption.ts", import.meta.url);
  const program = `
import { runInterruptibly } from ${JSON.stringify(module)};
Deno.exit(await runInterruptibly(async (signal) => { ${work} }, ${options}));`;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--ext=ts", program],
    env: { NO_COLOR: "1" },
    stdout: "null",
    stderr: "piped",
  }).output();
  return { code, said: new TextDecoder().decode(stderr) };
}

/** Resolves when the work is given up, as waits of the devnet do. */
const UNTIL_ABORTED =
  `await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));`;

Deno.test("programs: whatever fails is one sentence and status 1, also where nobody waits for it", async () => {
  const fault = `new RangeError("Expected 32 bytes, found 0\\n\\nURL: http://127.0.0.1:1\\nRequest: {}")`;
  const said = "Failed: Expected 32 bytes, found 0.\n";
  for (
    const work of [
      `throw ${fault};`,
      `setTimeout(() => { throw ${fault}; }); ${UNTIL_ABORTED}`,
      `setTimeout(() => void Promise.reject(${fault})); ${UNTIL_ABORTED}`,
      // What fails while it is given up is no news.
      `try { throw ${fault}; } finally { void Promise.reject(new Error("later")); await new Promise((end) => setTimeout(end)); }`,
    ]
  ) {
    assert.deepEqual(await run(work), { code: 1, said }, work);
  }
});

Deno.test("programs: where it failed is shown on demand, and Ctrl-C is no failure", async () => {
  const { code, said } = await run(`throw new Error("here");`, "{ isVerbose: true }");
  assert.equal(code, 1);
  assert.match(said, /^Failed: here\.\nError: here\n {4}at /);
  assert.deepEqual(await run(`setTimeout(() => Deno.kill(Deno.pid, "SIGINT")); ${UNTIL_ABORTED}`), {
    code: 130,
    said: "",
  });
});
