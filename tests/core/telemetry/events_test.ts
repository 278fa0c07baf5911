import { deepEqual, doesNotMatch, equal, match, ok, throws } from "node:assert/strict";
import { eventAreas, events } from "../../../src/core/telemetry/events.ts";
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
    for (const sentence of [meaning, action]) match(sentence, /^[A-Z`-].*\.$/s, code);
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

/** Text of every source file but the registry's own. */
function* sourceFiles(folder: URL): Iterable<string> {
  if (folder.pathname.endsWith("/telemetry/events/")) return;
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* sourceFiles(new URL(`${name}/`, folder));
    else if (name.endsWith(".ts")) yield Deno.readTextFileSync(new URL(name, folder));
  }
}
