/** Values of keys as they may be shown. Pure. */
import { toHex } from "../encoding/bytes.ts";
import { EndpointUrl, hasSecret, Secret } from "./redact.ts";
import { toWritable, type WritableValue } from "./toml_text.ts";

/**
 * A value in the form of the file: a secret is a mark, an endpoint has no path. `given` is what the file has, for
 * values that have another form in the program. `undefined`: nothing applies.
 */
export function showValue(value: unknown, given: unknown): WritableValue | undefined {
  if (value === undefined) return given === undefined ? undefined : "";
  const shown = showPlain(value);
  if (shown !== undefined) return shown;
  return hasSecret(value) ? String(new Secret("")) : toWritable(given);
}

/** `undefined` for values that have another form in the program than in the file. */
function showPlain(value: unknown): WritableValue | undefined {
  if (value instanceof Secret || value instanceof EndpointUrl) return value.toString();
  if (value instanceof Uint8Array) return toHex(value);
  if (Array.isArray(value)) {
    const elements = value.map(showPlain);
    return elements.every((element) => element !== undefined) ? elements : undefined;
  }
  const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean" ||
    typeof value === "bigint";
  return isPlain ? value : undefined;
}
