/** The compiled program as a command: help, version, wrong arguments and files, pipes that close, signals. */
import assert from "node:assert/strict";
import { describeProblems } from "../../src/core/config/diagnostics.ts";
import { openEthereumKeystore } from "../../src/core/config/keystores/ethereum_keystore.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { sendPing, waitForDelivery } from "../../devnet/traffic/messages.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { RELAYER_EXECUTABLE } from "../../devnet/programs/relayer_build.ts";
import type { Devnet } from "../../devnet/devnet.ts";
import { wrongConfigs } from "../messaging/config/wrong_configs.ts";
import { inMemory } from "../support/wrong_configs.ts";
import { assertSpending } from "./support/invariants.ts";
import { playSceneOn, startSceneDevnet } from "./support/scene.ts";
import { assertNoSecrets, SECRETS, withSecrets } from "./support/secrets.ts";
import { runOnce, runRelayerOnce } from "./support/run_once.ts";

/** Runs a shell line on a terminal (util-linux `script`) and gives what the terminal showed, with its status. */
async function onTerminal(line: string): Promise<{ readonly code: number; readonly shown: string }> {
  // An empty NO_COLOR does not count as set (no-color.org).
  const { code, stdout } = await runOnce("script", ["-qec", line, "/dev/null"], {
    env: { NO_COLOR: "", TERM: "xterm" },
  });
  return { code, shown: stdout.replaceAll("\r\n", "\n") };
}

/** Ends a process that may have ended by itself. */
function killQuietly(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "command-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("command line: help and version are printed, in a pipe and on a terminal", async () => {
  const help = await runRelayerOnce(["--help"]);
  assert.deepEqual([help.code, help.stderr], [0, ""]);
  for (const option of ["--config", "--db", "--log-format", "--log-level", "--version", "--help"]) {
    assert.ok(help.stdout.includes(option), option);
  }
  assert.match(help.stdout, /Exit status: 0 .*, 1 .*\n2 .*, 130 .*/s);
  const version = await runRelayerOnce(["--version"]);
  assert.deepEqual([version.code, version.stderr], [0, ""]);
  assert.match(
    version.stdout,
    /^causeway \d+\.\d+\.\d+ \(commit [0-9a-f]{12}(-modified)?, deno \d+\.\d+\.\d+, x86_64-unknown-linux-gnu\)\n$/,
  );
  for (const [flag, { stdout }] of [["--help", help], ["--version", version]] as const) {
    const terminal = await onTerminal(`${RELAYER_EXECUTABLE} ${flag}`);
    assert.deepEqual(terminal, { code: 0, shown: stdout });
  }
});

Deno.test("command line: what is wrong with arguments or file is said on stderr, and nothing is created", () =>
  inFolder(async (folder) => {
    const both = ["--config=relayer.toml", "--db=relayer.db"];
    const unknown = await runRelayerOnce([...both, "--confg=relayer.toml"], { cwd: folder });
    assert.deepEqual([unknown.code, unknown.stdout], [2, ""]);
    assert.match(
      unknown.stderr,
      /^error: unknown option --confg; did you mean --config\?\n.*causeway --help/s,
    );
    const missing = await runRelayerOnce(both, { cwd: folder });
    const stderr = "relayer.toml: found no file at this path, expected a readable TOML file\n" +
      "1 problem in the configuration; nothing was started\n";
    assert.deepEqual(missing, { code: 1, stdout: "", stderr });
    const [, toml] = wrongConfigs.find(([, , files]) => files === undefined) ?? assert.fail();
    await Deno.writeTextFile(`${folder}/relayer.toml`, toml, { mode: 0o600 });
    const wrong = await runRelayerOnce(both, { cwd: folder });
    const said = describeProblems("relayer.toml", parseMessagingConfig(inMemory(), toml));
    assert.deepEqual(wrong, { code: 1, stdout: "", stderr: said });
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["relayer.toml"]);
  }));

Deno.test("command line: a reader that goes away is no crash", async () => {
  const cases = [["--help", 0], ["--version", 0], ["--config=missing.toml --db=x.db", 1], [
    "--bad",
    2,
  ]] as const;
  for (const [args, code] of cases) {
    const command = `${RELAYER_EXECUTABLE} ${args}`;
    const early = await runOnce("bash", [
      "-c",
      `${command} 2>&1 | head -c 1 >/dev/null; exit "\${PIPESTATUS[0]}"`,
    ]);
    assert.deepEqual(early, { code, stdout: "", stderr: "" }, `${args} | head`);
    const closed = await runOnce("bash", ["-c", `${command} >&- 2>&-`]);
    assert.deepEqual(closed, { code, stdout: "", stderr: "" }, `${args} with everything closed`);
    // Who wanted the text did not get it: that is told by the status, not by a stack.
    const full = await runOnce("bash", ["-c", `${command} >/dev/full 2>/dev/full`]);
    assert.deepEqual(full, { code: code === 0 ? 1 : code, stdout: "", stderr: "" }, `${args} on a full disk`);
  }
});

Deno.test("command line: log lines have colours on a terminal, unless NO_COLOR forbids them", () =>
  inFolder(async (folder) => {
    const nowhere = { stateMachine: "KUSAMA-4009", wsUrl: "ws://127.0.0.1:9" };
    const chain = { stateMachine: "EVM-31337", consensusStateId: "ETH0", rpcUrl: "http://127.0.0.1:9" };
    const config = relayerConfig({ hub: nowhere, chains: [{ ...chain, ismpHost: `0x${"11".repeat(20)}` }] });
    await Deno.writeTextFile(`${folder}/relayer.toml`, config, { mode: 0o600 });
    const line = `${RELAYER_EXECUTABLE} -c ${folder}/relayer.toml -d ${folder}/missing/relayer.db`;
    const coloured = await onTerminal(line);
    assert.equal(coloured.code, 1);
    assert.ok(coloured.shown.includes("\x1b[31mERROR"), coloured.shown);
    const plain = await onTerminal(`NO_COLOR=1 ${line}`);
    assert.match(plain.shown, /Z ERROR /);
    assert.ok(!plain.shown.includes("\x1b"), plain.shown);
    const piped = await runOnce("bash", ["-c", line], { env: { NO_COLOR: "" } });
    assert.ok(!piped.stdout.includes("\x1b"), piped.stdout);
  }));

Deno.test("command line: a password is asked for at the terminal and never shown, the keystore is for its owner", () =>
  inFolder(async (folder) => {
    const line = `${RELAYER_EXECUTABLE} keys new --type=evm --out=${folder}/a.json`;
    const child = new Deno.Command("script", {
      args: ["-qec", line, "/dev/null"],
      stdin: "piped",
      stdout: "piped",
      env: { TERM: "xterm" },
    }).spawn();
    const writer = child.stdin.getWriter();
    let shown = "";
    let asked = 0;
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      shown += text;
      // Each question is answered when it is there: a wrong key is erased, and so is a character of two bytes.
      for (; asked < (shown.match(/keystore: |again: /g) ?? []).length; asked++) {
        await writer.write(new TextEncoder().encode("pazzü\x7f\x7f\x7fssphrase\r"));
      }
    }
    await writer.close();
    assert.equal((await child.status).code, 0, shown);
    assert.doesNotMatch(shown, /pa|phrase/);
    const address = /a\.json: 0x([0-9a-f]{40})/i.exec(shown)?.[1]?.toLowerCase();
    const text = await Deno.readTextFile(`${folder}/a.json`);
    assert.equal(JSON.parse(text).address, address);
    assert.ok("value" in openEthereumKeystore(JSON.parse(text), "passphrase"));
    assert.equal(((await Deno.stat(`${folder}/a.json`)).mode ?? 0) & 0o777, 0o600);
    const again = await runRelayerOnce([
      "keys",
      "new",
      "--type=evm",
      `--out=${folder}/a.json`,
      `--password-file=${folder}/a.json`,
    ]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /a\.json exists and is not overwritten; nothing was written\n$/);
    assert.equal(await Deno.readTextFile(`${folder}/a.json`), text);
  }));

Deno.test("command line of a working relayer", async (t) => {
  await using devnet = await startSceneDevnet();
  await t.step("a relayer whose log has lost its reader continues relaying", () => playUnreadLog(devnet));
  await t.step(
    "command line: SIGTERM and SIGINT end a working relayer with 0, all sent is in the journal (F27)",
    () => playSignals(devnet),
  );
});

function playUnreadLog(devnet: Devnet): Promise<void> {
  return inFolder(async (folder) => {
    // Every secret comes from the environment, which the program cannot read afterwards.
    const config = Object.entries(SECRETS).reduce(
      (text, [name, secret]) => text.replaceAll(secret, `\${CAUSEWAY_${name}}`),
      withSecrets(relayerConfig(devnet.endpoints)),
    );
    for (const name of Object.keys(SECRETS)) assert.ok(config.includes(`\${CAUSEWAY_${name}}`), name);
    await Deno.writeTextFile(`${folder}/relayer.toml`, config, { mode: 0o600 });
    const child = new Deno.Command(RELAYER_EXECUTABLE, {
      args: [`--config=${folder}/relayer.toml`, `--db=${folder}/relayer.db`, "--log-format=json"],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      env: {
        NO_COLOR: "1",
        ...Object.fromEntries(Object.entries(SECRETS).map(([name, secret]) => [`CAUSEWAY_${name}`, secret])),
      },
    }).spawn();
    using _ = { [Symbol.dispose]: () => killQuietly(child) };
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    while ((seen.match(/\bleg_started\b/g) ?? []).length < 4) {
      const { value, done } = await reader.read();
      assert.ok(!done, seen);
      seen += value;
    }
    await reader.cancel();
    const sent = await sendPing(devnet, { from: "A", to: "B", count: 2 });
    await waitForDelivery(devnet, sent);
    child.kill("SIGTERM");
    const stderr = await new Response(child.stderr).text();
    assert.deepEqual([(await child.status).code, stderr], [0, ""]);
    assertNoSecrets(seen, "the output");
    await assertSpending(devnet, { dbPath: `${folder}/relayer.db` });
  });
}

async function playSignals(devnet: Devnet): Promise<void> {
  await playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const process = await relayer.startAndWait();
      const sent = await sendPing(scene.devnet, { from: "A", to: "B", count: 3 });
      // In the middle of the work: the first leg is sent, the second is not.
      await process.waitForLine("batch_sent");
      process.signal(signal);
      assert.equal(await process.exitCode(), 0);
      await process.waitForLine(({ record }) => record?.signal === signal);
      assert.equal(process.errorLines.length, 0);
      const { submissions } = await relayer.ledger();
      assert.ok(submissions.length > 0);
      const next = await relayer.startAndWait();
      await scene.untilDelivered(sent);
      await relayer.untilSettled();
      assert.equal(await next.terminate(), 0);
    }
    await scene.finish();
  });
}
