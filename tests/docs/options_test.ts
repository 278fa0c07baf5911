/** docs/getting-started.md has every option and exit status of both programs; every command of theirs is in the documents. */
import assert from "node:assert/strict";
import { parseArguments as parseConsensus } from "../../src/consensus/arguments.ts";
import { exitCodes } from "../../src/core/runtime/exit_codes.ts";
import { parseArguments as parseMessaging } from "../../src/messaging/arguments.ts";
import { readRows } from "./support/markdown.ts";
import { readFile, readFiles } from "./support/tree.ts";

/** Options that print and end, which nobody looks up. */
const SELF_EXPLAINING = ["--help", "--version"];

/** What a program prints for `--help`. */
function helpOf(parse: typeof parseMessaging | typeof parseConsensus): string {
  const parsed = parse(["--help"], "x 0");
  assert.ok(parsed.kind === "exit");
  return parsed.stdout;
}

/** Long options in the list of a help text. */
function readOptions(help: string): readonly string[] {
  return [...help.matchAll(/^ +(?:-\w, )?(--[\w-]+)/gm)].map(([, option]) => option ?? "")
    .filter((option) => !SELF_EXPLAINING.includes(option));
}

/** Names in the list of commands of a help text. */
function readCommands(help: string): readonly string[] {
  const [, list = ""] = /^Commands:\n((?: +.*\n?)+)/m.exec(help) ?? [];
  return [...list.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name]) => name ?? "").filter((name) =>
    name !== "help"
  );
}

/** The part of a document between two headings. */
function between(text: string, from: string, to: string): string {
  const start = text.indexOf(`\n${from}\n`);
  const end = text.indexOf(`\n${to}\n`, start + 1);
  assert.ok(start >= 0 && end > start, `${from} ... ${to}`);
  return text.slice(start, end);
}

/** Codes in the first cells of tables. */
function readFirsts(part: string, pattern: RegExp): readonly string[] {
  return readRows(part).flatMap(([first = ""]) => [...first.matchAll(pattern)].map(([found]) => found));
}

Deno.test("options: getting started lists every option of both programs, and no other", async () => {
  const text = await readFile("docs/getting-started.md");
  const messaging = between(text, "## The messaging relayer", "### Accounts and keys");
  const consensus = between(text, "## The consensus relayer", "### The hub's own finality");
  for (const [part, parse] of [[messaging, parseMessaging], [consensus, parseConsensus]] as const) {
    const options = readOptions(helpOf(parse));
    assert.ok(options.length >= 4);
    assert.deepEqual([...readFirsts(part, /--[\w-]+/g)].sort(), [...options].sort());
  }
});

Deno.test("options: getting started lists every exit status", async () => {
  const text = await readFile("docs/getting-started.md");
  const statuses = new Set(readFirsts(text, /^\d+$/g).map(Number));
  assert.deepEqual([...statuses].sort(), [...new Set(Object.values(exitCodes))].sort());
});

Deno.test("options: every command of the programs is in the documents for operators", async () => {
  const isGuide = (path: string): boolean => /^docs\/(?:operations\/)?[\w-]+\.md$/.test(path);
  const guides = [...(await readFiles(isGuide)).values()].join("\n");
  const commands = [parseMessaging, parseConsensus].flatMap((parse) => readCommands(helpOf(parse)));
  assert.ok(commands.length >= 2, commands.join());
  assert.deepEqual(
    commands.filter((command) => !guides.includes(`\`${command}`) && !guides.includes(` ${command}`)),
    [],
  );
});

Deno.test("options: they are read from the list of a help text", () => {
  const help =
    "Usage: x\n\nOptions:\n  -c, --config <path>  file (not --this)\n  --base <x>\n  -h, --help\n\nCommands:\n  do-it [options]  does\n  help\n\nMore\n";
  assert.deepEqual(readOptions(help), ["--config", "--base"]);
  assert.deepEqual(readCommands(help), ["do-it"]);
});
