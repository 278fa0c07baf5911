/** The compiled consensus relayer as a command: help, version, wrong arguments and files, signals, a hub that is there. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { describeProblems } from "../../src/core/config/diagnostics.ts";
import { parseConsensusConfig } from "../../src/consensus/config/read.ts";
import { mapLimited } from "../../src/core/runtime/limit.ts";
import {
  edited,
  GOOD_CONSENSUS_TOML,
  goodFiles,
  KEY_FILES,
  wrongConsensusConfigs,
} from "../consensus/config/wrong_configs.ts";
import { startHub } from "../../devnet/hub/hub.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { DEADLINE_MS } from "../../devnet/waiting.ts";
import { runOnce, type RunResult } from "./support/run_once.ts";

const EXECUTABLE = `${REPOSITORY}/build/causeway-consensus`;

/** A run takes 0.3 s of one core. */
const AT_ONCE = 2;

/** All of the wrong files are read by a unit test; every sixth is given to the program. */
const SAMPLE = 6;

/** Does `work` in a folder with the files that configurations name. */
async function inFolder<T>(toml: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "consensus-" });
  try {
    await Deno.writeTextFile(`${folder}/consensus.toml`, toml, { mode: 0o600 });
    for (const [path, text] of Object.entries(KEY_FILES)) {
      await Deno.mkdir(dirname(`${folder}/${path}`), { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, text, { mode: 0o600 });
    }
    return await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function run(args: readonly string[], cwd?: string): Promise<RunResult> {
  return runOnce(EXECUTABLE, args, cwd === undefined ? {} : { cwd });
}

/** How a program is stopped. */
interface Stop {
  readonly folder: string;
  readonly line: string;
  readonly signal: Deno.Signal;
  /** Done first, while it runs. */
  readonly before?: () => Promise<void>;
  /** A configuration that is read again at the first `line`; the program is stopped at the next one. */
  readonly reloaded?: string;
}

/** Starts the program; when a line holds `line` it gets `signal`. */
async function stopAt({ folder, line, signal, before, reloaded }: Stop): Promise<RunResult> {
  const child = new Deno.Command(EXECUTABLE, {
    args: ["--config=consensus.toml", "--log-format=json", "--log-level=debug", "--socket=relayer.sock"],
    cwd: folder,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0" },
    signal: AbortSignal.timeout(DEADLINE_MS),
  }).spawn();
  const said = new Response(child.stderr).text();
  let stdout = "";
  let isStopped = false;
  let isReloaded = reloaded === undefined;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    stdout += text;
    const count = stdout.split(line).length - 1;
    if (!isReloaded && reloaded !== undefined && count > 0) {
      isReloaded = true;
      await Deno.writeTextFile(`${folder}/consensus.toml`, reloaded);
      child.kill("SIGHUP");
    }
    if (isStopped || count < (reloaded === undefined ? 1 : 2)) continue;
    isStopped = true;
    await before?.();
    child.kill(signal);
  }
  const { code } = await child.status;
  assert.ok(isStopped, `"${line}" did not come:\n${stdout}`);
  return { code, stdout, stderr: await said };
}

/** The good file with the hub at `url` and nothing to prove: one chain that is held. */
function heldOnly(url: string): string {
  const toml = edited(["wss://hub.example.org/ws?key=hubrpckey1", url], ["EVM-11155111", "EVM-31337"]);
  return toml.slice(0, toml.indexOf("[sepolia.host]"));
}

Deno.test("consensus command line: help and version are printed, and the status is 0", async () => {
  const help = await run(["--help"]);
  assert.deepEqual([help.code, help.stderr], [0, ""]);
  for (const text of ["--config", "--base", "--log-format", "--log-level", "log-consensus-state"]) {
    assert.ok(help.stdout.includes(text), text);
  }
  const version = await run(["--version"]);
  assert.deepEqual([version.code, version.stderr], [0, ""]);
  assert.match(version.stdout, /^causeway-consensus \d+\.\d+\.\d+ \(.*deno \d+\.\d+\.\d+, x86_64-.*\)\n$/);
});

Deno.test("consensus command line: what is wrong with the arguments is said on stderr, and the status is 2", async () => {
  for (
    const [args, expected] of [
      [[], /'-c, --config <path>' not specified/],
      [["--config=c.toml", "log-consensus-state"], /missing required argument/],
      [["--config=c.toml", "--db=x.db"], /^error: unknown option --db\n/],
      [["--confg=c.toml"], /^error: unknown option --confg; did you mean --config\?\n/],
    ] as const
  ) {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual([code, stdout], [2, ""], args.join(" "));
    assert.match(stderr, expected);
    assert.doesNotMatch(stderr, /\n\s+at /, "a stack");
  }
});

Deno.test("consensus command line: a folder of --cache that does not exist is named, and nothing is started", () =>
  inFolder(edited(["wss://hub.example.org/ws?key=hubrpckey1", "ws://127.0.0.1:9"]), async (folder) => {
    const { code, stdout } = await run(["--config=consensus.toml", "--cache=nowhere"], folder);
    assert.equal(code, 1);
    assert.match(stdout, /nowhere\/.*\[command_failed\.cache_unusable\]/);
  }));

Deno.test("consensus command line: --cache makes one file for each EVM chain, readable by its owner only", () =>
  inFolder(edited(), async (folder) => {
    // Ends before anything is connected: this chain is not configured.
    const { code } = await run(["--config=consensus.toml", "--cache=.", "--base=EVM-5"], folder);
    assert.equal(code, 1);
    assert.equal((Deno.statSync(`${folder}/EVM-11155111.spent`).mode ?? 0o777) & 0o077, 0);
  }));

Deno.test("consensus command line: wrong files are refused with all of their lines, and nothing is created", async () => {
  const sample = wrongConsensusConfigs.filter((_, index) => index % SAMPLE === 0);
  assert.ok(sample.length >= 8);
  await mapLimited(
    sample,
    { max: AT_ONCE, signal: new AbortController().signal },
    ([name, toml]) =>
      inFolder(toml, async (folder) => {
        const result = await run(["--config", "consensus.toml"], folder);
        const stderr = describeProblems("consensus.toml", parseConsensusConfig(goodFiles, toml));
        assert.deepEqual(result, { code: 1, stdout: "", stderr }, name);
        const files = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
        assert.deepEqual(files, ["consensus.toml", "keys"], name);
      }),
  );
  const missing = await run(["--config=missing.toml"]);
  assert.deepEqual([missing.code, missing.stdout], [1, ""]);
  assert.match(missing.stderr, /^missing\.toml: found no file at this path/);
});

Deno.test("consensus command line: a signal during the start ends it with 0, and no key was printed", async () => {
  const nowhere = GOOD_CONSENSUS_TOML.replaceAll(
    /(https|wss):\/\/[^"/]+/g,
    (_, scheme: string) => `${scheme === "wss" ? "ws" : "http"}://127.0.0.1:9`,
  );
  const toml = nowhere.replace('signer = "keys/hub"', 'signer = "keys/hub"\nmax_concurent_queries = 0');
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const { code, stdout, stderr } = await inFolder(
      toml,
      (folder) => stopAt({ folder, line: "configuration_note", signal }),
    );
    assert.deepEqual([code, stderr], [0, ""]);
    assert.ok(stdout.includes(signal), stdout);
    assert.doesNotMatch(stdout, /ac0974bec3|rpckey1|beaconkey1|ETHERSCANKEY1|evmrpcpassword/);
  }
});

Deno.test("consensus command line: it runs on a hub with a chain that is held, and answers, until it is stopped", async () => {
  await using hub = await startHub({ blockTimeMs: 300 });
  const toml = heldOnly(hub.wsUrl);
  const { code, stdout, stderr } = await inFolder(toml, async (folder) => {
    const ask = (...args: readonly string[]): Promise<RunResult> =>
      run(["--config=consensus.toml", "--socket=relayer.sock", "--log-level=error", ...args], folder);
    const before = async (): Promise<void> => {
      const status = await ask("status");
      assert.deepEqual([status.code, status.stderr], [0, ""], status.stdout);
      assert.match(status.stdout, /^causeway-consensus .*, running for /);
      const level = await ask("log-level", "warn");
      assert.deepEqual(level, { code: 0, stdout: "The relayer logs from level warn on.\n", stderr: "" });
      const prove = await ask("prove", "EVM-31337", "--dry-run");
      assert.deepEqual([prove.code, prove.stdout], [1, ""]);
      assert.match(prove.stderr, /^EVM-31337 only receives: /);
      assert.equal((await ask("log-level", "info")).code, 0);
      const second = await ask("--socket=other.sock");
      assert.deepEqual([second.code, second.stderr], [1, ""], "a second relayer with the same file");
      assert.match(second.stdout, /another running relayer works with consensus\.toml/);
    };
    const result = await stopAt({ folder, line: "receive_only", signal: "SIGTERM", before });
    const after = await ask("status");
    assert.deepEqual([after.code, after.stdout], [1, ""]);
    assert.match(after.stderr, /^No relayer answers: /, "the socket of a dead process");
    return result;
  });
  assert.deepEqual([code, stderr], [0, ""]);
  assert.ok(stdout.includes("program_started") && stdout.includes("program_stopped"), stdout);
  assert.match(stdout, /"operation":"log-level"/);
  assert.doesNotMatch(stdout, /"level":"ERROR"|"operation":"prove"/i);
});

Deno.test("consensus command line: SIGHUP has the file read again, and the new values are used", async () => {
  await using hub = await startHub({ blockTimeMs: 300 });
  const toml = heldOnly(hub.wsUrl);
  const reloaded = toml.replace('state_machine = "EVM-31337"', 'state_machine = "EVM-31338"');
  assert.notEqual(toml, reloaded);
  const { code, stdout, stderr } = await inFolder(
    toml,
    (folder) => {
      // The socket outlives the change: a question waits until the workers are there.
      const before = async (): Promise<void> => {
        const args = ["--config=consensus.toml", "--socket=relayer.sock", "status"];
        const status = await run(args, folder);
        assert.deepEqual([status.code, status.stderr], [0, ""], status.stdout);
      };
      return stopAt({ folder, line: "receive_only", signal: "SIGTERM", before, reloaded });
    },
  );
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(
    stdout,
    /"event":"configuration_reload","code":"applied".*"changed":"\[sepolia\]\.state_machine"/,
  );
  const held = stdout.split("\n").filter((line) => line.includes(`"code":"receive_only"`));
  assert.deepEqual(held.map((line) => JSON.parse(line).chain), ["EVM-31337", "EVM-31338"]);
  assert.equal(stdout.split('"program_stopped"').length, 2, "it stopped once");
});

Deno.test("consensus command line: log-consensus-state prints results on stdout only, the log goes to stderr", async () => {
  const { code, stdout, stderr } = await inFolder(
    heldOnly("ws://127.0.0.1:9"),
    (folder) => run(["-c", "consensus.toml", "log-consensus-state", "EVM-31337"], folder),
  );
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /ERROR sepolia .*\[command_failed\.receive_only\]\n/);
});
