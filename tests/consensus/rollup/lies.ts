/**
 * Ways in which a node's answers can be untrue, for tests that try each of them.
 */
import { isJsonObject, type Json } from "../../../src/core/rpc/json.ts";
import type { AlterAnswer } from "../../support/altered_answers.ts";

/** Changes the last digit of a hex text, so that its length stays. */
export function nudge(text: string): string {
  return `${text.slice(0, -1)}${text.endsWith("1") ? "2" : "1"}`;
}

/** Alters a text of one method's results by its path, e.g. `0.topics.3`; `*` stands for every item. */
export function lieAbout(
  method: string,
  path: string,
  change: (text: string) => string = nudge,
): AlterAnswer {
  const steps = path === "" ? [] : path.split(".");
  return (asked, result) => asked === method ? alterAt(result, steps, change) : result;
}

function alterAt(value: unknown, steps: readonly string[], change: (text: string) => string): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return typeof value === "string" ? change(value === "0x" ? "0x00" : value) : value;
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      step === "*" || index === Number(step) ? alterAt(item, rest, change) : item
    );
  }
  const json: Json | undefined = isJson(value) ? value : undefined;
  if (json === undefined || !isJsonObject(json) || !(step in json)) return value;
  return { ...json, [step]: alterAt(json[step], rest, change) };
}

/** What `JSON.parse` gives is JSON. */
function isJson(value: unknown): value is Json {
  return value !== undefined;
}
