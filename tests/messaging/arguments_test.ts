import assert from "node:assert/strict";
import { parseArguments } from "../../src/messaging/arguments.ts";
import { toSince } from "../../src/messaging/commands/message_filter.ts";

const both = ["--config=r.toml", "--db=r.db"];

function parse(...args: readonly string[]): ReturnType<typeof parseArguments> {
  return parseArguments(args, "causeway 0");
}

function commandOf(...args: readonly string[]): unknown {
  const parsed = parse(...args);
  if (parsed.kind !== "run" || parsed.command.kind === "relay") {
    return parsed.kind === "run" ? "relay" : parsed;
  }
  const { name, given } = parsed.command;
  return [name, ...given.slice(0, -1)];
}

Deno.test("arguments: without a command the program relays", () => {
  assert.deepEqual(commandOf(...both), "relay");
});

Deno.test("arguments: accumulate-fees with its options, before and behind those of the program", () => {
  const name = "accumulate-fees";
  const none = [name, {}];
  assert.deepEqual(commandOf(...both, "accumulate-fees"), none);
  assert.deepEqual(commandOf("accumulate-fees", ...both), none);
  assert.deepEqual(commandOf(...both, "accumulate-fees", "--wait"), [name, { wait: true }]);
  assert.deepEqual(commandOf(...both, "accumulate-fees", "-w"), [name, { withdraw: true }]);
  const all = [name, { wait: true, withdraw: true }];
  assert.deepEqual(commandOf(...both, "accumulate-fees", "--withdraw", "--wait"), all);
  for (const gas of [["--gas-limit=5"], ["--gas-limit", "5"], ["-g", "5"], ["-g5"]]) {
    assert.deepEqual(commandOf(...both, "accumulate-fees", ...gas), [name, { gasLimit: "5" }]);
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

Deno.test("arguments: filters are understood in every form; what is no chain, module or time is refused", () => {
  assert.deepEqual(commandOf(...both, "retry"), ["retry", {}]);
  const filters = [
    "--status=held,seen",
    "--reason=race",
    "--source=EVM-1",
    "--dest",
    "EVM-2",
    "--module=0xAB",
  ];
  assert.deepEqual(commandOf(...both, "list", ...filters, "--limit=7", "--json"), [
    "list",
    {
      status: ["held", "seen"],
      reason: ["race"],
      source: "EVM-1",
      dest: "EVM-2",
      module: "0xab",
      limit: 7,
      json: true,
    },
  ]);
  assert.deepEqual(commandOf(...both, "retry", "--since=2026-01-31T12:00Z"), ["retry", {
    since: Date.UTC(2026, 0, 31, 12),
  }]);
  assert.equal(((toSince("90m") - toSince("2h")) / 3_600_000).toFixed(1), "0.5");
  const cases: readonly (readonly [string, RegExp])[] = [
    ["--module=0xabc", /Expected the bytes of a module in hex/],
    ["--status=lost", /Known are seen, held/],
    ["--since=yesterday", /Expected 90m, 2h, 3d/],
  ];
  for (const [option, expected] of cases) {
    const parsed = parse(...both, "retry", option);
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

Deno.test("arguments: what is shown, held and released is one hash, module or route", () => {
  const hash = "AB".repeat(32);
  assert.deepEqual(commandOf(...both, "show", hash), ["show", `0x${hash.toLowerCase()}`, {}]);
  assert.deepEqual(commandOf(...both, "hold", "ethereum:EVM-2"), ["hold", "ethereum:EVM-2", {}]);
  assert.deepEqual(commandOf(...both, "release", "*:EVM-2"), ["release", "*:EVM-2", {}]);
  assert.deepEqual(commandOf(...both, "release", "0xAB"), ["release", "0xAB", {}]);
  assert.deepEqual(commandOf(...both, "release"), ["release", undefined, {}]);
  for (
    const args of [["show", "0x12"], ["show"], ["hold"], ["backup"]]
  ) {
    const parsed = parse(...both, ...args);
    assert.ok(parsed.kind === "exit" && parsed.code === 2, args.join(" "));
  }
});
