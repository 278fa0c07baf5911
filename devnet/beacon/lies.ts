/** Lies about single fields: every leaf of an answer by its path, and a false value of the same shape for it. */
import type { BeaconLie, BeaconRoute } from "./beacon_options.ts";

/**
 * Paths of all numbers, texts and flags in a JSON answer, e.g. `data.finality_branch.0`.
 * @param perList most items that are listed of a list: branches and committees are alike in all of them.
 */
export function leafPaths(json: unknown, perList = Infinity): string[] {
  if (typeof json !== "object" || json === null) return [""];
  const entries = Object.entries(json);
  const listed = Array.isArray(json) ? entries.slice(0, perList) : entries;
  return listed.flatMap(([name, value]) =>
    leafPaths(value, perList).map((path) => path === "" ? name : `${name}.${path}`)
  );
}

/** Another value that reads like the given one: a number one higher, bytes with the last bit turned. */
export function falseValue(value: unknown): unknown {
  if (typeof value === "boolean") return !value;
  if (typeof value !== "string") throw new Error(`No lie about ${String(value)}`);
  if (/^\d+$/.test(value)) return String(BigInt(value) + 1n);
  if (!/^0x([0-9a-f]{2})+$/.test(value)) return `${value}?`;
  const last = Number.parseInt(value.slice(-1), 16) ^ 1;
  return value.slice(0, -1) + last.toString(16);
}

/** A node that is wrong about one field of one route, and right about everything else. */
export function lieAbout(
  route: BeaconRoute,
  path: string,
  change: (value: unknown) => unknown = falseValue,
): BeaconLie {
  return {
    json: (question, body) => {
      if (question.route === route) changeAt(body, path.split("."), change);
      return body;
    },
  };
}

function changeAt(json: unknown, path: readonly string[], change: (value: unknown) => unknown): void {
  const [name, ...rest] = path;
  if (typeof json !== "object" || json === null || name === undefined || !(name in json)) {
    throw new Error(`No field ${path.join(".")}`);
  }
  if (rest.length > 0) changeAt(Reflect.get(json, name), rest, change);
  else Reflect.set(json, name, change(Reflect.get(json, name)));
}
