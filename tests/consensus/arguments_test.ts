import assert from "node:assert/strict";
import { parseArguments } from "../../src/consensus/arguments.ts";

function parse(...args: readonly string[]): ReturnType<typeof parseArguments> {
  return parseArguments(args, "causeway-consensus 0");
}

Deno.test("arguments: the path of the configuration with =, blank or as -c, and the defaults of the log", () => {
  for (const args of [["--config=c.toml"], ["--config", "c.toml"], ["-c", "c.toml"], ["-cc.toml"]]) {
    assert.deepEqual(parse(...args), {
      kind: "run",
      arguments: { config: "c.toml", logFormat: "human", logLevel: "info" },
      command: { kind: "relay" },
    });
  }
});

Deno.test("arguments: --base takes a state machine", () => {
  for (const base of [["--base=EVM-97"], ["--base", "EVM-97"]]) {
    const parsed = parse("-c", "c.toml", ...base, "--log-format=json", "--log-level=debug");
    assert.ok(parsed.kind === "run");
    assert.deepEqual(parsed.arguments, {
      config: "c.toml",
      base: "EVM-97",
      logFormat: "json",
      logLevel: "debug",
    });
  }
});

Deno.test("arguments: log-consensus-state with its chain, before and behind the options", () => {
  for (
    const args of [["-c", "c.toml", "log-consensus-state", "EVM-1"], [
      "log-consensus-state",
      "EVM-1",
      "-c",
      "c.toml",
    ]]
  ) {
    const parsed = parse(...args);
    assert.ok(parsed.kind === "run" && parsed.command.kind === "command");
    const { name, given } = parsed.command;
    assert.deepEqual([name, given[0]], ["log-consensus-state", "EVM-1"]);
  }
});

Deno.test("arguments: what is wrong is said with the way to the options, and the status is 2", () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /'-c, --config <path>' not specified/],
    [["--config"], /argument missing/],
    [["-c", "c.toml", "--base"], /argument missing/],
    [["-c", "c.toml", "--confg=x"], /unknown option --confg; did you mean --config\?\n/],
    [["-c", "c.toml", "--log-level=loud"], /debug, info, warn, error/],
    [["-c", "c.toml", "EVM-1"], /unknown command 'EVM-1'|too many arguments/],
    [["-c", "c.toml", "log-consensus-state"], /missing required argument 'chain'/],
    [["-c", "c.toml", "log-consensus-state", "EVM-1", "EVM-2"], /too many arguments/],
    [["log-consensus-state", "EVM-1"], /'-c, --config <path>' not specified/],
  ];
  for (const [args, expected] of cases) {
    const parsed = parse(...args);
    assert.ok(parsed.kind === "exit", args.join(" "));
    assert.deepEqual([parsed.code, parsed.stdout], [2, ""], args.join(" "));
    assert.match(parsed.stderr, expected);
    assert.match(parsed.stderr, /\(causeway-consensus (log-consensus-state )?--help lists the options\)/);
  }
});

Deno.test("arguments: help and version are answered with 0", () => {
  const help = parse("--help");
  assert.ok(help.kind === "exit" && help.code === 0);
  for (const text of ["--config", "--base", "log-consensus-state", "Exit status: 0", " 3 a chain of"]) {
    assert.ok(help.stdout.includes(text), text);
  }
  const own = parse("log-consensus-state", "--help");
  assert.ok(own.kind === "exit" && own.code === 0 && own.stdout.includes("<chain>"));
  assert.deepEqual(parse("--version"), {
    kind: "exit",
    code: 0,
    stdout: "causeway-consensus 0\n",
    stderr: "",
  });
});
