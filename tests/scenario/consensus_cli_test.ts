/** The compiled consensus relayer as a command: its cache, signals, a hub that is there. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { edited, GOOD_CONSENSUS_TOML, KEY_FILES } from "../consensus/config/wrong_configs.ts";
import { startHub } from "../../devnet/hub/hub.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { type RelayerProcess, startRelayer } from "./support/relayer_process.ts";
import { runOnce, type RunResult } from "./support/run_once.ts";

const SOCKET = "--socket=relayer.sock";

/** Does `work` in a folder with the files that configurations name. */
async function inFolder(toml: string, work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "consensus-" });
  try {
    for (const [path, text] of Object.entries({ "causeway.toml": toml, ...KEY_FILES })) {
      await Deno.mkdir(dirname(`${folder}/${path}`), { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, text, { mode: 0o600 });
    }
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function run(args: readonly string[], cwd?: string): Promise<RunResult> {
  return runOnce(`${REPOSITORY}/build/causeway-consensus`, args, cwd === undefined ? {} : { cwd });
}

/** Starts the program with `config` in a folder that {@link inFolder} made. */
function start(folder: string, config: string): Promise<RelayerProcess> {
  return startRelayer({ program: "causeway-consensus", folder, config, extraArguments: [SOCKET] });
}

/** The good file with the hub at `url` and nothing to prove: one chain that is held. */
function heldOnly(url: string): string {
  const toml = edited(["wss://hub.example.org/ws?key=hubrpckey1", url], ["EVM-11155111", "EVM-31337"]);
  return toml.slice(0, toml.indexOf("[sepolia.host]"));
}

Deno.test("consensus command line: help and version are printed", async () => {
  const help = await run(["--help"]);
  assert.deepEqual([help.code, help.stderr], [0, ""]);
  for (const text of ["--config", "--base", "log-consensus-state"]) {
    assert.ok(help.stdout.includes(text), text);
  }
  const version = await run(["--version"]);
  assert.match(version.stdout, /^causeway-consensus \d+\.\d+\.\d+ \(.*deno \d+\.\d+\.\d+, x86_64-.*\)\n$/);
});

Deno.test("consensus command line: --cache makes one file for each EVM chain, readable by its owner only", () =>
  inFolder(edited(), async (folder) => {
    const unusable = await run(["--config=causeway.toml", "--cache=nowhere"], folder);
    assert.equal(unusable.code, 1);
    assert.match(unusable.stdout, /nowhere\/.*\[command_failed\.cache_unusable\]/);
    // Ends before anything is connected: this chain is not configured.
    const { code } = await run(["--config=causeway.toml", "--cache=.", "--base=EVM-5"], folder);
    assert.equal(code, 1);
    assert.equal((Deno.statSync(`${folder}/EVM-11155111.spent`).mode ?? 0o777) & 0o077, 0);
  }));

Deno.test("consensus command line: a signal during the start ends it with 0, and no key was printed", () => {
  const nowhere = GOOD_CONSENSUS_TOML.replaceAll(
    /(https|wss):\/\/[^"/]+/g,
    (_, scheme: string) => `${scheme === "wss" ? "ws" : "http"}://127.0.0.1:9`,
  );
  const toml = nowhere.replace("slot_duration = 6000", "$&\nconsensus_update_frequency = 6000000000000000");
  return inFolder(toml, async (folder) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      await using process = await start(folder, toml);
      await process.waitForLine("configuration_note");
      process.signal(signal);
      assert.equal(await process.exitCode(), 0);
      assert.ok(process.lines.every(({ stream }) => stream === "stdout"));
      assert.ok(process.text.includes(signal), process.text);
      assert.doesNotMatch(process.text, /ac0974bec3|rpckey1|beaconkey1|ETHERSCANKEY1|evmrpcpassword/);
    }
  });
});

Deno.test("consensus command line: on a hub with a chain that is held it answers, and reads the file again at SIGHUP", async () => {
  await using hub = await startHub({ blockTimeMs: 300 });
  const toml = heldOnly(hub.wsUrl);
  await inFolder(toml, async (folder) => {
    await using process = await start(folder, toml);
    const ask = (...args: readonly string[]): Promise<RunResult> =>
      run(["--config=causeway.toml", SOCKET, "--log-level=error", ...args], folder);
    await process.waitForLine("chain_limited.receive_only");
    const status = await ask("status");
    assert.deepEqual([status.code, status.stderr], [0, ""], status.stdout);
    assert.match(status.stdout, /^causeway-consensus .*, running for /);
    const level = await ask("log-level", "warn");
    assert.deepEqual(level, { code: 0, stdout: "The relayer logs from level warn on.\n", stderr: "" });
    const prove = await ask("prove", "EVM-31337", "--dry-run");
    assert.deepEqual([prove.code, prove.stdout], [1, ""]);
    assert.match(prove.stderr, /^EVM-31337 only receives: /);
    assert.equal((await ask("log-level", "debug")).code, 0);
    const second = await ask("--socket=other.sock");
    assert.deepEqual([second.code, second.stderr], [1, ""], "a second relayer with the same file");
    assert.match(second.stdout, /another running relayer works with causeway\.toml/);

    const reloaded = toml.replace('state_machine = "EVM-31337"', 'state_machine = "EVM-31338"');
    await Deno.writeTextFile(process.configPath, reloaded);
    process.signal("SIGHUP");
    const { record } = await process.waitForLine("configuration_reload.applied");
    assert.equal(record?.changed, "[sepolia].state_machine");
    await process.waitForLine(({ record }) =>
      record?.event === "chain_limited.receive_only" && record.chain === "EVM-31338"
    );
    assert.equal(await process.terminate(), 0);
    const events = process.lines.map(({ record }) => record?.event);
    assert.ok(events.includes("program_started"));
    assert.equal(events.filter((event) => event === "program_stopped").length, 1, "it stopped once");
    const operations = process.lines.flatMap(({ record }) => record?.operation ?? []);
    assert.ok(operations.includes("log-level") && !operations.includes("prove"), `${operations}`);
    process.assertNoErrors();
    const after = await ask("status");
    assert.deepEqual([after.code, after.stdout], [1, ""]);
    assert.match(after.stderr, /^No relayer answers: /, "the socket of a dead process");
    const command = await run(["-c", "causeway.toml", "log-consensus-state", "EVM-31338"], folder);
    assert.deepEqual([command.code, command.stdout], [1, ""], "results alone are printed on stdout");
    assert.match(command.stderr, /ERROR sepolia .*\[command_failed\.receive_only\]\n/);
  });
});
