import assert from "node:assert/strict";
import { addCommand, addCommonOptions, createCommandLine } from "../../../src/core/runtime/command_line.ts";

/** Parses with a program that has the common options, `--db` and a command `collect` with `--wait`. */
function parse(...args: readonly string[]): { readonly code: number; readonly stderr: string } | undefined {
  const { command, parse } = createCommandLine({
    name: "program",
    description: "",
    afterHelp: "",
    exampleFiles: "",
  });
  command.option("-d, --db <path>", "database");
  addCommonOptions(command, "program 0");
  addCommand(command, { name: "collect", description: "" }, "program")
    .option("-w, --wait", "wait")
    .action(() => {});
  return parse(args);
}

const both = ["--config=c.toml", "--db=d.db"];

const cases: readonly (readonly [string, readonly string[], string])[] = [
  ["a misspelt required option", ["--confg=x"], "unknown option --confg; did you mean --config?"],
  [
    "one with its value behind it",
    ["--confg", "x", ...both],
    "unknown option --confg; did you mean --config?",
  ],
  ["one before a command", ["--dv=x", "collect"], "unknown option --dv; did you mean --db?"],
  [
    "another common option",
    [...both, "--log-levl=warn"],
    "unknown option --log-levl; did you mean --log-level?",
  ],
  [
    "an underscore",
    [...both, "--log_format=json"],
    "unknown option --log_format; did you mean --log-format?",
  ],
  ["another letter case", ["--Config=x", "--db=y"], "unknown option --Config; did you mean --config?"],
  ["an option of the command", [...both, "collect", "--wat"], "unknown option --wat; did you mean --wait?"],
  [
    "one of the program behind the command",
    ["collect", "--confg=x"],
    "unknown option --confg; did you mean --config?",
  ],
  ["an option of the command without it", [...both, "--wait"], "unknown option --wait"],
  ["what is near to nothing", [...both, "--telemetry=on"], "unknown option --telemetry"],
  ["a value that may be secret", [...both, "--signer=0x51c7\n0x51c8"], "unknown option --signer"],
  ["a letter", [...both, "-s0x51c7"], "unknown option -s"],
  ["the first of two", ["--first=1", "--second=2"], "unknown option --first"],
  ["none: the first required one is missing", [], "required option '-c, --config <path>' not specified"],
  [
    "none: the second required one is missing",
    ["-c", "x"],
    "required option '-d, --db <path>' not specified",
  ],
  ["none, with a command", ["collect", "-c", "x"], "required option '-d, --db <path>' not specified"],
];

for (const [what, args, expected] of cases) {
  Deno.test(`command line: unknown options are named: ${what}`, () => {
    const parsed = parse(...args);
    assert.equal(parsed?.code, 2);
    assert.equal(parsed.stderr.split("\n")[0], `error: ${expected}`);
    assert.match(parsed.stderr, /\(program (collect )?--help lists the options\)/);
    assert.doesNotMatch(parsed.stderr, /0x51c/);
  });
}

Deno.test("command line: with the required options there is nothing to print", () => {
  assert.equal(parse(...both), undefined);
  assert.equal(parse("collect", ...both, "--wait"), undefined);
});
