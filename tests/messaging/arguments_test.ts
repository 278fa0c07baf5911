import assert from "node:assert/strict";
import { parseArguments, type ParsedArguments } from "../../src/messaging/arguments.ts";

const both = ["--config=r.toml", "--db=r.db"];

function parse(...args: readonly string[]): ParsedArguments {
  return parseArguments(args, "causeway 0");
}

function commandOf(...args: readonly string[]): unknown {
  const parsed = parse(...args);
  if (parsed.kind !== "run" || parsed.command.kind === "relay") {
    return parsed.kind === "run" ? "relay" : parsed;
  }
  const { name, options } = parsed.command;
  return { name, options };
}

Deno.test("arguments: without a command the program relays", () => {
  assert.deepEqual(commandOf(...both), "relay");
});

Deno.test("arguments: accumulate-fees with its options, before and behind those of the program", () => {
  const name = "accumulate-fees";
  const none = { name, options: { waits: false, withdraws: false } };
  assert.deepEqual(commandOf(...both, "accumulate-fees"), none);
  assert.deepEqual(commandOf("accumulate-fees", ...both), none);
  assert.deepEqual(commandOf(...both, "accumulate-fees", "--wait"), {
    name,
    options: { waits: true, withdraws: false },
  });
  assert.deepEqual(commandOf(...both, "accumulate-fees", "-w"), {
    name,
    options: { waits: false, withdraws: true },
  });
  const all = { name, options: { waits: true, withdraws: true } };
  assert.deepEqual(commandOf(...both, "accumulate-fees", "--withdraw", "--wait"), all);
  for (const gas of [["--gas-limit=5"], ["--gas-limit", "5"], ["-g", "5"], ["-g5"]]) {
    assert.deepEqual(commandOf(...both, "accumulate-fees", ...gas), none);
  }
});

Deno.test("arguments: both files are required with the command, too, and its own mistakes name its own help", () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["accumulate-fees"], /'-c, --config <path>' not specified/],
    [["--config=x", "accumulate-fees"], /'-d, --db <path>' not specified/],
    [[...both, "accumulate-fees", "--wat"], /unknown option --wat; did you mean --wait\?\n/],
    [[...both, "accumulate-fees", "now"], /too many arguments/],
    [[...both, "accumulate-fees", "--gas-limit"], /argument missing/],
  ];
  for (const [args, expected] of cases) {
    const parsed = parse(...args);
    assert.ok(parsed.kind === "exit");
    assert.deepEqual([parsed.code, parsed.stdout], [2, ""]);
    assert.match(parsed.stderr, expected);
    assert.match(parsed.stderr, /\(causeway (accumulate-fees )?--help lists the options\)/);
  }
});

Deno.test("arguments: the command has a help of its own, which needs no files", () => {
  const parsed = parse("accumulate-fees", "--help");
  assert.ok(parsed.kind === "exit");
  assert.deepEqual([parsed.code, parsed.stderr], [0, ""]);
  for (const option of ["--wait", "--withdraw", "--gas-limit", "Exit status"]) {
    assert.ok(parsed.stdout.includes(option), option);
  }
  const whole = parse("--help");
  assert.ok(whole.kind === "exit" && whole.stdout.includes("accumulate-fees"));
});

Deno.test("arguments: release-suspended with what is meant; what is no chain or no module is refused", () => {
  assert.deepEqual(commandOf(...both, "release-suspended"), { name: "release-suspended", options: {} });
  assert.deepEqual(
    commandOf(...both, "release-suspended", "--chain=EVM-1", "--from=0xAB", "--to", "0x0102"),
    { name: "release-suspended", options: { chain: "EVM-1", from: "0xab", to: "0x0102" } },
  );
  const cases: readonly (readonly [string, RegExp])[] = [
    ["--chain=EVM", /Expected a state machine/],
    ["--to=0xabc", /Expected the bytes of a module in hex/],
  ];
  for (const [option, expected] of cases) {
    const parsed = parse(...both, "release-suspended", option);
    assert.ok(parsed.kind === "exit" && parsed.code === 2);
    assert.match(parsed.stderr, expected);
  }
});

Deno.test("arguments: --listen takes an address of this machine, any other only with --listen-anywhere", () => {
  const listenOf = (...args: readonly string[]): unknown => {
    const parsed = parse(...both, ...args);
    return parsed.kind === "run" ? parsed.arguments.listen : [parsed.code, parsed.stderr];
  };
  assert.equal(listenOf(), undefined);
  assert.deepEqual(listenOf("--listen=127.0.0.1:9180"), { host: "127.0.0.1", port: 9180 });
  assert.deepEqual(listenOf("--listen=0.0.0.0:9180", "--listen-anywhere"), { host: "0.0.0.0", port: 9180 });
  const cases: readonly (readonly [string, RegExp])[] = [
    ["--listen=0.0.0.0:9180", /other machines reach --listen=0\.0\.0\.0:9180.*--listen-anywhere/],
    ["--listen=[::]:9180", /other machines reach --listen=\[::\]:9180/],
    ["--listen=9180", /Expected an IP address and a port such as 127\.0\.0\.1:9180/],
  ];
  for (const [arg, expected] of cases) {
    const answer = listenOf(arg);
    assert.ok(Array.isArray(answer));
    assert.equal(answer[0], 2);
    assert.match(String(answer[1]), expected);
  }
});
