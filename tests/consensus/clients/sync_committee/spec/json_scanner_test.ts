import { deepStrictEqual as equal, throws } from "node:assert/strict";
import fc from "fast-check";
import {
  JsonScanError,
  JsonScanner,
  MAX_TOKEN_BYTES,
} from "../../../../../src/consensus/clients/sync_committee/spec/json_scanner.ts";

type Event = readonly [string, string?];

function scan(
  text: string,
  pieceBytes = 65_536,
): { readonly events: readonly Event[]; readonly isDone: boolean } {
  const events: Event[] = [];
  const scanner = new JsonScanner({
    begin: () => events.push(["begin"]),
    end: () => events.push(["end"]),
    key: (name) => events.push(["key", name]),
    scalar: (value, isWhole) => events.push([isWhole ? "scalar" : "piece", value]),
  });
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.write(bytes.subarray(at, at + pieceBytes));
  return { events, isDone: scanner.isDone };
}

/** What a scanner tells of a value. */
function eventsOf(value: unknown): readonly Event[] {
  if (Array.isArray(value)) return [["begin"], ...value.flatMap(eventsOf), ["end"]];
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).flatMap((
      [name, each],
    ): Event[] => [["key", name], ...eventsOf(each)]);
    return [["begin"], ...members, ["end"]];
  }
  return [["scalar", String(value)]];
}

Deno.test("json scanner: names, scalars and structure of any text are found, however it is cut", () => {
  const plain = fc.stringMatching(/^[0-9a-zA-Z_ ]{0,12}$/);
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      plain,
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(plain, tie("tree"), { maxKeys: 4, noNullPrototype: true }),
      fc.integer(),
      fc.boolean(),
    ),
  }));
  fc.assert(
    fc.property(fc.array(tree), fc.integer({ min: 1, max: 9 }), fc.boolean(), (value, size, isWide) => {
      const text = JSON.stringify(value, undefined, isWide ? 2 : undefined);
      equal(scan(text, size), { events: eventsOf(value), isDone: true });
    }),
  );
});

Deno.test("json scanner: what is cut off is not done, and what is no JSON is refused", () => {
  for (const text of ["", "[", '{"a":', '{"a":"b', "[1"]) equal(scan(text).isDone, false, text);
  for (const text of ["}", "[}", "<html>", '["\\u0041"]', "[1] 2", `{"${"a".repeat(20_000)}":1}`]) {
    throws(() => scan(text), JsonScanError, text);
  }
});

Deno.test("json scanner: a long string comes in pieces", () => {
  const text = "a".repeat(2 * MAX_TOKEN_BYTES + 1);
  const pieces = [["piece", text.slice(0, MAX_TOKEN_BYTES)], ["piece", text.slice(0, MAX_TOKEN_BYTES)], [
    "scalar",
    "a",
  ]];
  equal(scan(`["${text}"]`, 1000).events, [["begin"], ...pieces, ["end"]]);
});
