/** Completion scripts of the real programs, loaded by the shells that are installed. */
import assert from "node:assert/strict";
import { toCompletionScript } from "../../../src/core/commands/completion.ts";
import { parseArguments as parseConsensus } from "../../../src/consensus/arguments.ts";
import { parseArguments as parseMessaging } from "../../../src/messaging/arguments.ts";

type Program = "causeway" | "causeway-consensus";

/** The script that a program prints. */
function scriptOf(program: Program, shell: string): string {
  const parse = program === "causeway" ? parseMessaging : parseConsensus;
  const parsed = parse(["completion", shell], "0");
  assert.ok(parsed.kind === "run" && parsed.command.kind === "standalone");
  assert.equal(typeof parsed.command.options, "string");
  return String(parsed.command.options);
}

function run(program: string, args: readonly string[]): string {
  const { code, stdout, stderr } = new Deno.Command(program, { args: [...args] }).outputSync();
  assert.deepEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
  return new TextDecoder().decode(stdout).trim();
}

function isInstalled(program: string): boolean {
  try {
    return new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync()
      .success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** What bash proposes for the last of these words. */
function completeBash(program: Program, words: readonly string[]): readonly string[] {
  const list = [program, ...words].map((word) => `'${word}'`).join(" ");
  const line = `${scriptOf(program, "bash")}
COMP_WORDS=(${list}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_${program.replaceAll("-", "_")}
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return run("bash", ["--norc", "-c", line]).split("\n");
}

Deno.test("completion: bash proposes commands, options and values of the real command lines", () => {
  const both = ["--config", "=", "r.toml", "--db", "=", "r.db"];
  assert.deepEqual(completeBash("causeway", [...both, "sh"]), ["show"]);
  assert.deepEqual(completeBash("causeway", ["rel"]), ["relay", "release"]);
  assert.deepEqual(completeBash("causeway", [...both, "relay", "--dr"]), ["--dry-run"]);
  assert.deepEqual(completeBash("causeway", ["--log-level", "=", "wa"]), ["warn"]);
  assert.deepEqual(completeBash("causeway", ["--log-level", "="]), ["debug", "info", "warn", "error"]);
  assert.deepEqual(completeBash("causeway", ["profit", "--by", "m"]), ["module"]);
  assert.deepEqual(completeBash("causeway", ["config", "sh"]), ["show"]);
  assert.deepEqual(completeBash("causeway", ["completion", ""]).slice(0, 3), ["bash", "zsh", "fish"]);
  assert.deepEqual(completeBash("causeway", ["list", "--source", "x"]), [""]);
  assert.deepEqual(completeBash("causeway-consensus", ["log-c"]), ["log-consensus-state"]);
  assert.deepEqual(
    completeBash("causeway-consensus", ["--config", new URL(import.meta.url).pathname.slice(0, -3)]),
    [
      new URL(import.meta.url).pathname,
    ],
  );
});

Deno.test({
  name: "completion: zsh loads the script",
  ignore: !isInstalled("zsh"),
  fn: () => {
    for (const program of ["causeway", "causeway-consensus"] as const) {
      const line = `autoload -U compinit; compinit -D -u; ${
        scriptOf(program, "zsh")
      }\necho "$_comps[${program}]"`;
      assert.equal(run("zsh", ["-f", "-c", line]), `_${program.replaceAll("-", "_")}`);
    }
  },
});

Deno.test({
  name: "completion: fish proposes commands, options and values",
  ignore: !isInstalled("fish"),
  fn: () => {
    const complete = (line: string): string =>
      run("fish", [
        "--no-config",
        "-c",
        `${scriptOf("causeway", "fish")}\ncomplete -C ${JSON.stringify(line)}`,
      ]);
    assert.match(complete("causeway --config=r.toml sh"), /^show\t/);
    assert.match(complete("causeway relay --dr"), /^--dry-run\t/);
    assert.match(complete("causeway --log-level wa"), /^warn/);
    assert.match(complete("causeway config sh"), /^show\t/);
  },
});

Deno.test("completion: texts with quotes stay texts in every shell", () => {
  const program = {
    name: "x",
    commands: [{
      trail: "",
      summary: "",
      options: [{ long: "--a", short: "-a", description: "it's $(id) `id`", value: "none" as const }],
      words: [{ word: "go", description: "don't; echo broken" }],
      takesFile: false,
    }, { trail: " go", summary: "", options: [], words: [], takesFile: true }],
  };
  const line = `${
    toCompletionScript("bash", program)
  }\nCOMP_WORDS=(x g); COMP_CWORD=1; _x; echo "\${COMPREPLY[@]}"`;
  assert.equal(run("bash", ["--norc", "-c", line]), "go");
  for (const shell of ["zsh", "fish"] as const) {
    assert.ok(toCompletionScript(shell, program).includes("don'\\''t; echo broken"));
  }
});
