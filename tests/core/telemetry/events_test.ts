import { deepEqual, doesNotMatch, equal, match, ok, throws } from "node:assert/strict";
import { eventAreas, events } from "../../../src/core/telemetry/log.ts";
import { proverEvents } from "../../../src/consensus/poll_fault.ts";
import type { EventText } from "../../../src/core/telemetry/events/event_text.ts";
import { updateEventTables } from "../../support/event_table.ts";

const DOCUMENT = Deno.readTextFileSync(new URL("../../../docs/operations/logs.md", import.meta.url));

Deno.test("events: docs/operations/logs.md holds what the registry says (else: deno task docs:events)", () => {
  equal(updateEventTables(DOCUMENT), DOCUMENT);
  throws(() => updateEventTables("# Without marks\n"), /no marks/);
});

Deno.test("events: codes are snake_case of at most four words, and stand in one area only", () => {
  const codes = Object.values(eventAreas).flatMap((area) => Object.keys(area));
  deepEqual(codes.toSorted(), Object.keys(events).toSorted());
  equal(new Set(codes).size, codes.length);
  for (const code of codes) match(code, /^[a-z0-9]+(?:_[a-z0-9]+){1,3}$/);
});

Deno.test("events: texts are one line without a full stop at the end, meanings and actions are sentences", () => {
  for (const [code, { text, meaning, action }] of Object.entries(events)) {
    doesNotMatch(text, /\n|\.$/, code);
    ok(text.length > 0 && text.length <= 200, code);
    for (const sentence of [meaning, action ?? "-."]) match(sentence, /^[A-Z`-].*\.$/s, code);
  }
});

Deno.test("events: no two events say the same", () => {
  const texts = Object.values(events).map(({ text }) => text);
  deepEqual(texts.filter((text, at) => texts.indexOf(text) !== at), []);
});

Deno.test("events: every event is logged somewhere", () => {
  const source = [...sourceFiles(new URL("../../../src/", import.meta.url))].join("\n");
  deepEqual(Object.keys(events).filter((code) => !source.includes(`"${code}"`)), []);
});

/** Events that are logged at a level that is decided where the line is written. */
const SOMETIMES_ERRORS: readonly string[] = [
  ...Object.values(proverEvents),
  "update_overdue",
  "proofs_unavailable",
  "worker_restarting",
  "host_frozen",
  "client_unsupported",
  "hub_not_accepted",
];

/** Codes in the source behind a pattern. */
function codesBehind(pattern: RegExp): readonly string[] {
  const source = [...sourceFiles(new URL("../../../src/", import.meta.url))].join("\n");
  return [...source.matchAll(pattern)].map(([, code = ""]) => code).filter((code) =>
    Object.hasOwn(events, code)
  );
}

Deno.test("events: every error says what the program does next, and what the operator can do", () => {
  const logged = codesBehind(/\.error\(\s*"(\w+)"/g);
  const fatal = [
    ...codesBehind(/(?:fatal|failed)\(\s*"(\w+)"/g),
    ...codesBehind(/"(\w+)",\s*(?:"failed"|\{ result: "failed")/g),
  ];
  ok(logged.length > 15 && fatal.length > 10, `${logged.length} ${fatal.length}`);
  for (const code of new Set([...logged, ...fatal, ...SOMETIMES_ERRORS])) {
    const known: Readonly<Record<string, EventText>> = events;
    match(known[code]?.reaction ?? "", /^[^A-Z].*[^.]$/s, `${code}: what follows`);
    ok(known[code]?.action !== undefined, `${code}: what helps`);
  }
});

Deno.test("events: what needs no action is logged at info or below", () => {
  const warned = codesBehind(/\.warn\(\s*"(\w+)"/g);
  const found = codesBehind(/"(\w+)",\s*(?:"warning"|\{ result: "warning")/g);
  ok(warned.length > 40);
  const known: Readonly<Record<string, EventText>> = events;
  deepEqual([...new Set([...warned, ...found])].filter((code) => known[code]?.action === undefined), []);
});

/** Text of every source file but the registry's own. */
function* sourceFiles(folder: URL): Iterable<string> {
  if (folder.pathname.endsWith("/telemetry/events/")) return;
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* sourceFiles(new URL(`${name}/`, folder));
    else if (name.endsWith(".ts")) yield Deno.readTextFileSync(new URL(name, folder));
  }
}
