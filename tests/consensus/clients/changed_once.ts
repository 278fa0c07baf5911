/** Values with one change, wherever it is. */

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
