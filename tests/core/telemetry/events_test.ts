import { deepEqual, doesNotMatch, equal, match, ok, throws } from "node:assert/strict";
import { eventAreas, type EventCode, events } from "../../../src/core/telemetry/log.ts";
import { updateEventTables } from "../../support/registry_tables.ts";

const DOCUMENT = Deno.readTextFileSync(new URL("../../../docs/operations/logs.md", import.meta.url));

/** Verbs that machines do not do. */
const HUMAN_VERBS =
  /\b(?:tell(?:s|ing)?|told|takes?|taken|took|learn(?:s|ed|t)?|looks?|looked|looking|says?|said|minds?|wants?|wanted)\b/i;

Deno.test("events: docs/operations/logs.md holds what the registry says (else: deno task docs:events)", () => {
  equal(updateEventTables(DOCUMENT), DOCUMENT);
  throws(() => updateEventTables("# Without marks\n"), /no marks/);
});

Deno.test("events: names are snake_case of two to four words, codes of at most four, at most 120 events", () => {
  const areas: readonly Readonly<Record<string, object>>[] = Object.values(eventAreas);
  const names = areas.flatMap((area) => Object.keys(area));
  equal(new Set(names).size, names.length);
  ok(names.length <= 120, `${names.length}`);
  for (const code of Object.keys(events)) {
    match(code, /^[a-z0-9]+(?:_[a-z0-9]+){1,3}(?:\.[a-z0-9]+(?:_[a-z0-9]+){0,3})?$/);
  }
});

Deno.test("events: texts are one line without a full stop, the rest are sentences, in an engineer's words", () => {
  for (const [code, { text, meaning = "-.", action = "-." }] of Object.entries(events)) {
    doesNotMatch(text, /\n|\.$/, code);
    ok(text.length > 0 && text.length <= 120, code);
    for (const sentence of [meaning, action]) match(sentence, /^[A-Z`-].*\.$/s, code);
    doesNotMatch(`${text} ${meaning} ${action}`, HUMAN_VERBS, code);
  }
});

Deno.test("events: no two events say the same", () => {
  const texts = Object.values(events).map(({ text }) => text);
  deepEqual(texts.filter((text, at) => texts.indexOf(text) !== at), []);
});

const SOURCE = [...sourceFiles(new URL("../../../src/", import.meta.url))].join("\n");

Deno.test("events: every event is logged somewhere, with each of its codes unless the code is computed", () => {
  const isLogged = ([logged, { event }]: [string, { readonly event: string }]): boolean =>
    [`"${logged}"`, `\`${event}.\${`, `"${event}"`].some((text) => SOURCE.includes(text));
  deepEqual(Object.entries(events).filter((entry) => !isLogged(entry)).map(([logged]) => logged), []);
});

/** Events logged where a pattern matches; those whose code is computed with all their codes. */
function codesBehind(pattern: RegExp): readonly EventCode[] {
  const found = [...SOURCE.matchAll(pattern)].map(([, logged = ""]) => logged.replace("${", ""));
  return (Object.keys(events) as EventCode[]).filter((code) =>
    found.some((each) => each === code || each.endsWith(".") && code.startsWith(each))
  );
}

Deno.test("events: every error says what the program does next, and what the operator can do", () => {
  const logged = codesBehind(/\.error\(\s*["`]([\w.]+(?:\$\{)?)/g);
  const chosen = codesBehind(/\[[^\]\n]*"error"[^\]\n]*\]\(\s*["`]([\w.]+(?:\$\{)?)/g);
  ok(logged.length > 20 && chosen.length > 2, `${logged.length} ${chosen.length}`);
  for (const code of [...logged, ...chosen]) {
    match(events[code].reaction ?? "", /^[^A-Z].*[^.]$/s, `${code}: what follows`);
    ok(events[code].action !== undefined, `${code}: what helps`);
  }
});

Deno.test("events: what needs no action is logged at info or below", () => {
  const warned = codesBehind(/\.warn\(\s*["`]([\w.]+(?:\$\{)?)/g);
  ok(warned.length > 40, `${warned.length}`);
  deepEqual(warned.filter((code) => events[code].action === undefined), []);
});

/** Text of every source file but the registry's own. */
function* sourceFiles(folder: URL): Iterable<string> {
  if (folder.pathname.endsWith("/telemetry/events/")) return;
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* sourceFiles(new URL(`${name}/`, folder));
    else if (name.endsWith(".ts")) yield Deno.readTextFileSync(new URL(name, folder));
  }
}
