/** Values with one change, wherever it is, and how they are refused. */
import assert from "node:assert/strict";
import { ClientError } from "../../../src/consensus/spec/client_error.ts";

/** Code of the refusal by the place of the change; of all below it. Other places have any code. */
export type Codes = Readonly<Record<string, string>>;

/** Code of the refusal; fails when there is none. */
export function codeOf(work: () => unknown, what: string): string {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof ClientError, `${what}: ${error}`);
    return error.code;
  }
  assert.fail(`${what} is accepted`);
}

/** Fails unless `value` is accepted, and refused with every change but those at places that do not count. */
export function refusesChanges(
  value: object,
  verify: (value: never) => unknown,
  codes: Codes,
  free?: RegExp,
): void {
  verify(value as never);
  const places = Object.keys(codes).toSorted((a, b) => b.length - a.length);
  const seen = new Set<string>();
  for (const [path, changed] of changedOnce(value)) {
    if (free?.test(path)) continue;
    const code = codeOf(() => verify(changed as never), path);
    const place = places.find((each) => path.startsWith(each));
    if (place === undefined) continue;
    seen.add(place);
    assert.equal(code, codes[place], path);
  }
  assert.equal(seen.size, places.length);
}

/** Every way to change one value within `value`: hex and other texts, numbers, bytes, and what is absent. */
export function* changedOnce(value: unknown, path = ""): Generator<readonly [string, unknown]> {
  if (typeof value === "bigint") yield [path, value ^ 1n];
  else if (typeof value === "number") yield [path, value ^ 1];
  else if (typeof value === "string") yield [path, changedText(value)];
  else if (value instanceof Uint8Array) {
    yield [path, value.with(value.length >> 1, (value[value.length >> 1] ?? 0) ^ 1)];
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const [place, changed] of changedOnce(item, `${path}[${index}]`)) {
        yield [place, value.with(index, changed)];
      }
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      // A word of the codecs' unions, which no bytes can change into another text.
      if (name === "tag") continue;
      for (const [place, changed] of changedOnce(item, `${path}.${name}`)) {
        yield [place, { ...value, [name]: changed }];
      }
    }
  }
}

function changedText(text: string): string {
  const at = text.length >> 1;
  const digit = text[at] === "1" ? "2" : "1";
  return text.slice(0, at) + digit + text.slice(at + 1);
}
