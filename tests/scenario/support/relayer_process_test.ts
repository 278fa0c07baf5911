import assert from "node:assert/strict";
import { RelayerFault, type RelayerProcess, startRelayer } from "./relayer_process.ts";

/** Runs a shell script instead of the program, which gets the same arguments. */
async function withScript(
  script: string,
  work: (relayer: RelayerProcess, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const executable = `${folder}/program`;
  await Deno.writeTextFile(executable, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const relayer = await startRelayer({ config: "# empty\n", folder, executable });
  try {
    await work(relayer, folder);
  } finally {
    await relayer.kill();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("relayer process: reads lines of both streams, JSON and plain, and the exit code", async () => {
  const script = `echo '{"level":"INFO","event":"program_started"}'; echo "args $*"; echo oops >&2; exit 3`;
  await withScript(script, async (relayer, folder) => {
    assert.equal(await relayer.exitCode(), 3);
    assert.equal(relayer.lines[0]?.level, "info");
    assert.equal(relayer.lines[0]?.record?.event, "program_started");
    const line = await relayer.waitForLine(/^args /);
    assert.match(line.text, new RegExp(`--config=${folder}/causeway.toml --db=${folder}/relayer.db`));
    assert.equal(await Deno.readTextFile(relayer.configPath), "# empty\n");
    assert.deepEqual(relayer.errorLines.map(({ text }) => text), ["oops"]);
    assert.throws(() => relayer.assertNoErrors(), { code: "error_lines" });
    relayer.assertNoErrors([/oops/]);
  });
});

Deno.test("relayer process: waits for a line to come, and says when it will not", async () => {
  await withScript(`sleep 0.1; echo first; exec sleep 5`, async (relayer) => {
    assert.equal((await relayer.waitForLine(/^first$/)).stream, "stdout");
    await assert.rejects(relayer.waitForLine(/second/, { deadlineMs: 50 }), { code: "line_missing" });
    const third = relayer.waitForLine(/third/);
    await Promise.all([relayer.kill(), assert.rejects(third, { code: "ended_early" })]);
  });
});

Deno.test("relayer process: SIGTERM is distinguished from SIGKILL by the exit code", async () => {
  const script = `trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done`;
  await withScript(script, async (relayer) => {
    await relayer.waitForLine(/up/);
    await assert.rejects(relayer.exitCode(50), (error) => error instanceof RelayerFault);
    assert.equal(await relayer.terminate(), 0);
  });
  await withScript(script, async (relayer) => {
    await relayer.waitForLine(/up/);
    await relayer.kill();
    assert.equal(await relayer.exitCode(), 137);
  });
});
