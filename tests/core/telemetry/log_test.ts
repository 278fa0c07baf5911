import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { fstatSync } from "node:fs";
import { CheckBoard } from "../../../src/core/checks/check_board.ts";
import { ChainNames } from "../../../src/core/config/chain_names.ts";
import { Secret } from "../../../src/core/config/redact.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import type { LogFields } from "../../../src/core/telemetry/log.ts";
import { type LogOptions, type OpenLog, openLog } from "../../../src/core/telemetry/open_log.ts";
import { isJournalStream, type LineOutput, openOutput } from "../../../src/core/telemetry/output.ts";
import { FakeClock } from "../../support/fake_clock.ts";

interface Scene {
  readonly clock: FakeClock;
  readonly lines: string[];
  readonly log: OpenLog;
}

function newScene(options: Partial<LogOptions> = {}): Scene {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = openLog({
    format: "human",
    level: "info",
    write: (line) => lines.push(line),
    clock,
    ...options,
  });
  return { clock, lines, log };
}

function parsed(lines: readonly string[]): Record<string, unknown>[] {
  return lines.map((line) => JSON.parse(line));
}

const fault = new RpcFault("timeout", {
  chain: "EVM-1",
  endpointHost: "rpc.example",
  method: "eth_call",
}, {
  cause: new TypeError("connection reset"),
});

Deno.test("log: a line for people has time, level, leg, text and values in this order, aligned", () => {
  const { lines, log } = newScene();
  log.info("batch_sent", {
    leg: "EVM-1 -> POLKADOT-3367",
    messages: 3,
    gas: 2n ** 70n,
    hash: new Uint8Array([1, 255]),
  });
  log.warn("check_warning", { chain: "EVM-56", note: "two words", missing: undefined, list: [1n, "a"] });
  log.error("chain_suspended", { explanation: "EVM-1: host 0x00 is wrong", finding: "host_invalid" });
  deepEqual(lines, [
    "2026-01-01T00:00:00.000Z INFO  EVM-1 -> POLKADOT-3367       Batch sent messages=3 " +
    "gas=1180591620717411303424 hash=0x01ff",
    "2026-01-01T00:00:00.000Z WARN  EVM-56                       Check found something that needs attention " +
    'note="two words" list=["1","a"] [check_warning]',
    "2026-01-01T00:00:00.000Z ERROR                              Chain left out, checking again within a minute: " +
    "EVM-1: host 0x00 is wrong finding=host_invalid " +
    'reaction="the chain is checked again in 15 s to a minute, the others work" ' +
    'advice="Fix what the line names. The chain is used when its checks pass." [chain_suspended]',
  ]);
});

Deno.test("log: JSON lines keep values as data and never lose a line to a bigint", () => {
  const { lines, log } = newScene({ format: "json" });
  log.info("batch_sent", {
    leg: "EVM-1 -> HUB",
    gas: 10n ** 30n,
    raw: new Uint8Array(100).fill(1),
    nested: { wei: 5n, at: new Map([["a", 1n]]) },
    odd: NaN,
    level: "high",
    event: "mine",
  });
  deepEqual(parsed(lines), [{
    time: "2026-01-01T00:00:00.000Z",
    level: "info",
    event: "batch_sent",
    message: "Batch sent",
    leg: "EVM-1 -> HUB",
    gas: "1000000000000000000000000000000",
    raw: `0x${"01".repeat(64)}... (100 bytes)`,
    nested: { wei: "5", at: { a: "1" } },
    odd: "NaN",
    level_: "high",
    event_: "mine",
  }]);
});

Deno.test("log: errors give name, code, words and causes; stacks only at debug", () => {
  const { lines, log } = newScene({ format: "json" });
  log.warn("poll_failed", { error: fault });
  deepEqual(parsed(lines)[0]?.error, {
    name: "RpcFault",
    code: "timeout",
    message: "eth_call on EVM-1 via rpc.example: timeout",
    cause: { name: "TypeError", message: "connection reset" },
  });
  const human = newScene();
  human.log.warn("poll_failed", { error: fault });
  match(
    human.lines[0] ?? "",
    /error="RpcFault: eth_call on EVM-1 via rpc.example: timeout <- TypeError: connection reset" \[poll_failed\]$/,
  );
  const debug = newScene({ format: "json", level: "debug" });
  debug.log.warn("poll_failed", { error: fault });
  match(JSON.stringify(parsed(debug.lines)[0]?.error), /log_test.ts/);
});

Deno.test("log: bound values are added to every line, the line's own win", () => {
  const { lines, log } = newScene({ format: "json" });
  log.with({ leg: "a", worker: "w" }).with({ x: 1 }).info("batch_sent", { leg: "b" });
  const [line] = parsed(lines);
  deepEqual([line?.leg, line?.worker, line?.x], ["b", "w", 1]);
});

Deno.test("log: no text starts a line of its own or moves the cursor", () => {
  const { lines, log } = newScene();
  const words = "no\n2026 ERROR fake \u001b[31m\u2028x";
  log.info("transaction_failed.rejected", { detail: words, explanation: words, leg: "a\nb" });
  equal(lines[0]?.split("\n").length, 1);
  // deno-lint-ignore no-control-regex
  doesNotMatch(lines[0] ?? "", /[\u0000-\u001f\u2028]/);
});

Deno.test("log: colours appear only when asked for, and never in JSON", () => {
  const coloured = newScene({ hasColour: true });
  coloured.log.error("chain_suspended");
  ok(coloured.lines[0]?.includes("\x1b[31mERROR\x1b[0m"));
  const json = newScene({ hasColour: true, format: "json" });
  json.log.error("chain_suspended");
  ok(!json.lines[0]?.includes("\x1b"));
});

const key = "0xAbCdEf0123456789abcdef0123456789abcdef0123456789abcdef0123456789";

for (const format of ["human", "json"] as const) {
  Deno.test(`log: no registered key and no part of a URL behind the host is in a ${format} line`, () => {
    const { lines, log } = newScene({
      format,
      level: "debug",
      secrets: [key, 'pass "word"', "ETHERSCANKEY12345"],
    });
    const cause = new Error(`request to wss://login77:pw@node.example:9944/v3/0123abcd?apikey=zzz9 failed`);
    log.error("client_unusable.hub_state", {
      explanation: `cannot sign with ${key.toLowerCase().slice(2)}`,
      key: key.toUpperCase().slice(2),
      note: 'the pass "word" is',
      url: "https://api.etherscan.io/api?module=stats&apikey=ETHERSCANKEY12345",
      nested: { deep: [`see (https://rpc.example/path/TOKENPART.)`] },
      error: new Error("outer", { cause }),
      wrapped: new Secret(key),
      plain: "etherscankey12345",
    });
    const line = lines.join("\n");
    doesNotMatch(line, /abcdef0123456789/i);
    doesNotMatch(line, /pass \\*"word|ETHERSCANKEY|login77|:pw|0123abcd|zzz9|TOKENPART|module=stats/i);
    match(line, /wss:\/\/node\.example:9944\/\.\.\./);
    match(line, /https:\/\/rpc\.example\/\.\.\./);
    match(line, /\[secret\]/);
    if (format === "json") JSON.parse(lines[0] ?? "");
  });
}

Deno.test("log: an error that repeats is written once in five minutes, and says how often in which time", async () => {
  const { clock, lines, log } = newScene({ format: "json" });
  for (let second = 0; second < 700; second++) {
    log.error("poll_failed", { chain: "EVM-1", block: second, error: fault });
    await clock.advance(1_000);
  }
  const written = parsed(lines).map(({ block, repeated }) => [block, repeated]);
  deepEqual(written, [[0, undefined], [300, 300], [600, 300]]);
  const human = newScene();
  for (let minute = 0; minute <= 5; minute++) {
    human.log.warn("poll_failed", { chain: "EVM-1" });
    await human.clock.advance(60_000);
  }
  match(human.lines.join("\n"), /\n.*Poll failed, retrying \(again 5 times in 5 min\) \[poll_failed\]$/);
});

Deno.test("log: a trouble that was ended is news when it comes back", async () => {
  const { clock, lines, log } = newScene({ format: "json" });
  const pause = (leg: string, times: number): void => {
    for (let time = 0; time < times; time++) log.warn("leg_paused", { leg, error: fault });
  };
  pause("A -> B", 3);
  pause("C -> B", 2);
  await clock.advance(10_000);
  log.info("leg_resumed", { leg: "A -> B" });
  pause("A -> B", 1);
  await clock.advance(10_000);
  log.info("program_stopped");
  deepEqual(parsed(lines).map(({ event, leg, repeated }) => [event, leg, repeated]), [
    ["leg_paused", "A -> B", undefined],
    ["leg_paused", "C -> B", undefined],
    ["leg_resumed", "A -> B", undefined],
    ["leg_paused", "A -> B", undefined],
    ["program_stopped", undefined, undefined],
  ]);
});

const lies = (endpoint: string): Error => Object.assign(new Error("It lies"), { code: "bad_data", endpoint });

/** Values in which two errors differ that are two lines: the first, the first again, the other. */
const DIFFERENT: readonly (readonly [one: LogFields, other: LogFields])[] = [
  [{ chain: "EVM-1" }, { chain: "EVM-56" }],
  [{ to: "SUBSTRATE-aaaa" }, { to: "SUBSTRATE-bbbb" }],
  [{ endpoint: "a:1" }, { endpoint: "b:2" }],
  [{ error: lies("a:1") }, { error: lies("b:2") }],
  [{ explanation: "a" }, { explanation: "b" }],
  [{ pair: "EVM-1 -> EVM-10" }, { pair: "EVM-10 -> EVM-1" }],
  [{ chain: "EVM-1", check: "head" }, { chain: "EVM-1", check: "clock" }],
  [{}, { error: fault }],
];

Deno.test("log: errors that differ in place, explanation or error are other lines, as are levels and infos", () => {
  for (const [one, other] of DIFFERENT) {
    const { lines, log } = newScene();
    for (const fields of [one, one, other]) log.error("poll_failed", fields);
    equal(lines.length, 2, JSON.stringify(other));
    log.warn("poll_failed", one);
    for (let time = 0; time < 2; time++) log.info("program_stopped");
    equal(lines.length, 5);
  }
});

Deno.test("log: the memory of repeated lines is bounded", () => {
  const { lines, log } = newScene();
  for (let number = 0; number < 1_000; number++) log.error("poll_failed", { chain: `EVM-${number}` });
  log.error("poll_failed", { chain: "EVM-0" });
  equal(lines.length, 1_001);
});

Deno.test("log: a value that cannot be shown costs its line's values only", () => {
  const { lines, log } = newScene();
  log.info("batch_sent", {
    get x(): string {
      return "fine";
    },
    y: {
      toJSON(): never {
        throw new RangeError("no");
      },
    },
  });
  match(lines[0] ?? "", /INFO "Batch sent" \(values cannot be shown: RangeError\)/);
  const ring: Record<string, unknown> = {};
  ring.self = ring;
  log.info("batch_sent", { ring });
  equal(lines.length, 2);
});

/** An output, and what it has written; `write` decides how much of it is taken. */
function newOutput(
  write = ({ length }: Uint8Array): number => length,
): { readonly output: LineOutput; readonly writes: string[] } {
  const writes: string[] = [];
  const output = openOutput({
    isTerminal: () => false,
    writeSync: (bytes) => {
      const count = write(bytes);
      writes.push(new TextDecoder().decode(bytes.subarray(0, count)));
      return count;
    },
  });
  return { output, writes };
}

Deno.test("output: writes whole lines through short writes and full pipes", () => {
  let calls = 0;
  const { output, writes } = newOutput(({ length }) => {
    if (++calls % 2 === 0) throw new Deno.errors.WouldBlock("full");
    return Math.min(3, length);
  });
  output.write("hello world");
  equal(writes.join(""), "hello world\n");
});

Deno.test("output: a reader that is gone is no reason to stop, and a full disk costs only what it does not take", () => {
  const full = Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
  for (const [error, taken] of [[new Deno.errors.BrokenPipe("gone"), []], [full, ["b\n"]]] as const) {
    let isOver = false;
    const { output, writes } = newOutput(({ length }) => {
      if (!isOver) throw error;
      return length;
    });
    output.write("a");
    isOver = true;
    output.write("b");
    deepEqual(writes, taken);
  }
});

Deno.test("log: the level can be changed while the program runs, for every log that was made before", () => {
  const { lines, log } = newScene();
  const bound = log.with({ chain: "EVM-1" });
  bound.debug("poll_finished");
  equal(lines.length, 0);
  log.setLevel("debug");
  bound.debug("poll_finished", { error: fault });
  match(lines.join(), /DEBUG EVM-1 .*stack=/);
  log.setLevel("error");
  bound.warn("check_warning");
  equal(lines.length, 1);
});

Deno.test("log: the journal gets a priority instead of time and colour, JSON stays as it is", () => {
  const { lines, log } = newScene({ isJournal: true, hasColour: true });
  log.info("program_stopped");
  log.warn("check_warning", { chain: "EVM-1" });
  deepEqual(lines, [
    `<6>INFO  ${"".padEnd(28)} Stopped`,
    `<4>WARN  ${"EVM-1".padEnd(28)} Check found something that needs attention [check_warning]`,
  ]);
  const json = newScene({ isJournal: true, format: "json" });
  json.log.info("program_stopped");
  equal(parsed(json.lines)[0]?.time, "2026-01-01T00:00:00.000Z");
});

Deno.test("log: only the stream that systemd names is its journal", () => {
  const { dev, ino } = fstatSync(1);
  ok(isJournalStream(1, `${dev}:${ino}`));
  ok(!isJournalStream(1, `${dev}:${ino + 1}`));
  ok(!isJournalStream(1, undefined));
  ok(!isJournalStream(1, ""));
});

Deno.test("log: what the program does not know is named once, and kept for check and status", () => {
  const board = new CheckBoard();
  const { lines, log, clock } = newScene({
    observer: {
      noteEvent: (event, fields, redact) => event !== "unknown_met" || board.noteUnknown(fields, redact, 0),
    },
    secrets: ["hunter22"],
  });
  const ofChain = log.with({ chain: "EVM-1" });
  const met = { what: "event `Later` of hunter22", cost: "it is skipped" };
  for (let time = 0; time < 3; time++) {
    ofChain.warn("unknown_met", met);
    clock.advance(3_600_000);
  }
  log.with({ chain: "EVM-10" }).warn("unknown_met", met);
  log.warn("check_warning", { chain: "EVM-1" });
  equal(lines.length, 3);
  deepEqual(board.rows.map(({ chain, check, result }) => [chain, check, result]), [
    ["EVM-1", "unknown_met", "warning"],
    ["EVM-10", "unknown_met", "warning"],
  ]);
  match(board.rows[0]?.found ?? "", /^event `Later` of \S+ is not known to this program: it is skipped$/);
  doesNotMatch(board.rows[0]?.found ?? "", /hunter22/);
  // A chain that invents names fills neither the log nor the memory.
  for (let index = 0; index < 1_000; index++) {
    ofChain.warn("unknown_met", { what: `event ${index}`, cost: "" });
  }
  equal(board.unknown.length, 100);
  equal(lines.length, 101);
});

Deno.test("log: people read the names of chains, programs their identifiers", () => {
  const names = new ChainNames([{ section: "base", stateMachine: "EVM-8453" }]);
  const fields = { leg: "EVM-8453 -> EVM-1", explanation: "EVM-8453 is gone" };
  const human = newScene({ names });
  human.log.info("leg_paused", fields);
  match(human.lines.join(), /INFO {2}base -> EVM-1 .*: base \(EVM-8453\) is gone/);
  const json = newScene({ names, format: "json" });
  json.log.info("leg_paused", fields);
  match(json.lines.join(), /"leg":"EVM-8453 -> EVM-1","explanation":"EVM-8453 is gone"/);
});
