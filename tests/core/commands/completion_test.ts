/** Tab completion: what the programs propose, and the scripts that ask them, in the shells that are installed. */
import assert from "node:assert/strict";
import { parseArguments as parseConsensus } from "../../../src/consensus/arguments.ts";
import { parseArguments as parseMessaging } from "../../../src/messaging/arguments.ts";

type Program = "causeway" | "causeway-consensus";

/** What the command prints. */
function completionOf(program: Program, ...args: readonly string[]): string {
  const parse = program === "causeway" ? parseMessaging : parseConsensus;
  const parsed = parse(["completion", ...args], "0");
  assert.ok(parsed.kind === "run" && parsed.command.kind === "standalone", JSON.stringify(parsed));
  assert.equal(typeof parsed.command.options, "string");
  return String(parsed.command.options);
}

/** The words that are proposed for the last one. */
function next(program: Program, ...words: readonly string[]): readonly string[] {
  const text = completionOf(program, "words", "--", ...words);
  return text === "" ? [] : text.split("\n").map((line) => line.split("\t")[0] ?? "");
}

Deno.test("completion: commands, options and values of the real command lines are proposed", () => {
  const both = ["--config=r.toml", "--db", "r.db"];
  assert.deepEqual(next("causeway", ...both, "sh"), ["show"]);
  assert.deepEqual(next("causeway", "rel"), ["relay", "release"]);
  assert.deepEqual(next("causeway", ...both, "relay", "--dr"), ["--dry-run"]);
  assert.deepEqual(next("causeway", "--log-level", "wa"), ["warn"]);
  assert.deepEqual(
    next("causeway", "--log-level="),
    ["debug", "info", "warn", "error"].map((word) => `--log-level=${word}`),
  );
  assert.deepEqual(next("causeway", "profit", "--by", "m"), ["module"]);
  assert.deepEqual(next("causeway", "config", "sh"), ["show"]);
  assert.deepEqual(next("causeway", "completion", "").slice(0, 3), ["bash", "zsh", "fish"]);
  assert.deepEqual(next("causeway", "list", "--source", "x"), []);
  assert.deepEqual(next("causeway", "--config", ""), [], "a file");
  assert.deepEqual(next("causeway-consensus", "log-c"), ["log-consensus-state"]);
  assert.match(completionOf("causeway", "words", "--", "sho"), /^show\tshow the whole life of a message$/);
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

Deno.test("completion: bash asks the program with the words so far, and takes no text for a command", () => {
  const complete = (line: string): string =>
    run("bash", [
      "--norc",
      "-c",
      `${STUB}\n${
        completionOf("causeway", "bash")
      }\nCOMP_LINE='${line}'; COMP_POINT=\${#COMP_LINE}; _causeway; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]);
  assert.equal(complete("causeway --config=r.toml sh"), "shx");
  assert.equal(complete("causeway --log-level=wa"), "wax");
  assert.equal(complete("causeway config "), "x");
});

Deno.test({
  name: "completion: zsh loads the script",
  ignore: !isInstalled("zsh"),
  fn: () => {
    const line = `autoload -U compinit; compinit -D -u; ${
      completionOf("causeway", "zsh")
    }\necho "$_comps[causeway]"`;
    assert.equal(run("zsh", ["-f", "-c", line]), "_causeway");
  },
});

Deno.test({
  name: "completion: fish asks the program with the words so far",
  ignore: !isInstalled("fish"),
  fn: () => {
    const stub = "function causeway; printf '%sx\\tit is\\n' $argv[-1]; end";
    const line = `${stub}\n${completionOf("causeway", "fish")}\ncomplete -C "causeway config sh"`;
    assert.match(run("fish", ["--no-config", "-c", line]), /^shx\tit is/);
  },
});
