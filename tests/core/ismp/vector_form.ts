/**
 * Brings decoded values and the values of the vector files into one plain form, so that they can be compared.
 * The vectors name fields in snake_case, enums by a one-key object, and four-byte ids as text or hex.
 */
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import { formatStateMachine, parseStateMachine } from "../../../src/core/ismp/state_machine.ts";

const renamed: Record<string, string> = { state_machine: "state_id", duration_secs: "duration" };
const enumTags = /^[A-Z]/;

function plainName(name: string): string {
  if (enumTags.test(name)) return name;
  const snake = name.replace(/Sec$/, "").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replace(/([a-z])([0-9]+)$/, "$1_$2");
  return renamed[snake] ?? snake;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Plain form of a decoded value. */
export function plainValue(value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value === "bigint" || typeof value === "number") return String(value);
  if (value instanceof Uint8Array) return toHex(value);
  if (value instanceof Map) return [...value].map(plainValue);
  if (Array.isArray(value)) return value.map(plainValue);
  if (!isRecord(value)) return value;
  if ("tag" in value && typeof value["tag"] === "string") {
    const payload = plainValue(value["value"]);
    return payload === null ? value["tag"] : { [value["tag"]]: payload };
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [plainName(name), plainValue(field)]),
  );
}

function stateMachineText(tag: string, value: unknown): string | undefined {
  if (tag === "Relay" && isRecord(value)) {
    return formatStateMachine({
      tag,
      value: { relay: String(value["relay"]), paraId: Number(value["para_id"]) },
    });
  }
  if (tag === "Evm" && typeof value === "number") return `EVM-${value}`;
  if ((tag === "Polkadot" || tag === "Kusama") && typeof value === "number") {
    return `${tag.toUpperCase()}-${value}`;
  }
  if (tag === "Substrate" || tag === "Tendermint") return formatStateMachine({ tag, value: String(value) });
  return undefined;
}

/** Plain form of a value of a vector file; `map` fields written as objects become pairs in ascending key order. */
export function plainVector(value: unknown, field = ""): unknown {
  if (typeof value === "number") return String(value);
  if (typeof value === "string" && /^consensus_(state|client)_id$/.test(field) && value.startsWith("0x")) {
    return new TextDecoder().decode(fromHex(value));
  }
  if (Array.isArray(value)) return value.map((item) => plainVector(item));
  if (!isRecord(value)) return value;
  const [first] = Object.entries(value);
  if (first !== undefined && Object.keys(value).length === 1 && enumTags.test(first[0])) {
    const text = stateMachineText(first[0], first[1]);
    if (text !== undefined) return text;
  }
  if (first !== undefined && /^(0x|EVM-)/.test(first[0])) return pairs(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [plainName(name), plainVector(item, name)]),
  );
}

function pairs(value: Record<string, unknown>): unknown {
  const order = (key: string): string =>
    key.startsWith("0x") ? key : parseStateMachine(key).replace(/\d+$/, (digits) => digits.padStart(10, "0"));
  return Object.entries(value).sort(([a], [b]) => order(a) < order(b) ? -1 : 1)
    .map(([key, item]) => [key, plainVector(item)]);
}
