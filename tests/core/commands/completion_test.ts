/** Tab completion: what the programs propose, and the scripts that ask them, in the shells that are installed. */
import assert from "node:assert/strict";
import { runConsensusCommand, runMessagingCommand } from "../../support/standalone_commands.ts";

type Program = "causeway" | "causeway-consensus";

/** What the command prints. */
async function completionOf(program: Program, ...args: readonly string[]): Promise<string> {
  const run = program === "causeway" ? runMessagingCommand : runConsensusCommand;
  const { code, stdout } = await run(["completion", ...args], {});
  assert.equal(code, 0);
  return stdout.trimEnd();
}

/** The words that are proposed for the last one. */
async function next(program: Program, ...words: readonly string[]): Promise<readonly string[]> {
  const text = await completionOf(program, "words", "--", ...words);
  return text === "" ? [] : text.split("\n").map((line) => line.split("\t")[0] ?? "");
}

Deno.test("completion: commands, options and values of the real command lines are proposed", async () => {
  const both = ["--config=r.toml", "--db", "r.db"];
  const levels = ["debug", "info", "warn", "error"].map((word) => `--log-level=${word}`);
  const cases: readonly (readonly [Program, readonly string[], readonly string[]])[] = [
    ["causeway", [...both, "sh"], ["show"]],
    ["causeway", ["rel"], ["relay", "release"]],
    ["causeway", [...both, "relay", "--dr"], ["--dry-run"]],
    ["causeway", ["--log-level", "wa"], ["warn"]],
    ["causeway", ["--log-level="], levels],
    ["causeway", ["profit", "--by", "m"], ["module"]],
    ["causeway", ["config", "sh"], ["show"]],
    ["causeway", ["list", "--source", "x"], []],
    ["causeway", ["--config", ""], []], // a file
    ["causeway-consensus", ["log-c"], ["log-consensus-state"]],
  ];
  for (const [program, words, expected] of cases) {
    assert.deepEqual(await next(program, ...words), expected, words.join(" "));
  }
  assert.deepEqual((await next("causeway", "completion", "")).slice(0, 3), ["bash", "zsh", "fish"]);
  const described = await completionOf("causeway", "words", "--", "sho");
  assert.match(described, /^show\tShows the whole life of a message: [^\n]+$/);
});

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

/** A program that proposes its own last word with a letter behind it. */
const STUB = "causeway() { shift 3; printf '%sx\\tit is $(id)\\n' \"${@: -1}\"; }";

Deno.test("completion: bash asks the program with the words so far, and takes no text for a command", async () => {
  const script = await completionOf("causeway", "bash");
  const complete = (line: string): string =>
    run("bash", [
      "--norc",
      "-c",
      `${STUB}\n${script}\nCOMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; _causeway; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]);
  assert.equal(complete("causeway --config=r.toml sh"), "shx");
  assert.equal(complete("causeway --log-level=wa"), "wax");
  assert.equal(complete("causeway config "), "x");
});

Deno.test({
  name: "completion: zsh loads the script",
  ignore: !isInstalled("zsh"),
  fn: async () => {
    const script = await completionOf("causeway", "zsh");
    const line = `autoload -U compinit; compinit -D -u; ${script}\necho "$_comps[causeway]"`;
    assert.equal(run("zsh", ["-f", "-c", line]), "_causeway");
  },
});

Deno.test({
  name: "completion: fish asks the program with the words so far",
  ignore: !isInstalled("fish"),
  fn: async () => {
    const script = await completionOf("causeway", "fish");
    const stub = "function causeway; printf '%sx\\tit is\\n' $argv[-1]; end";
    const line = `${stub}\n${script}\ncomplete -C "causeway config sh"`;
    assert.match(run("fish", ["--no-config", "-c", line]), /^shx\tit is/);
  },
});
