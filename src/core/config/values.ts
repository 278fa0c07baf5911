/**
 * Types of plain values: integers, amounts, booleans, words, lists. The message of a type's errors is what stands
 * behind "expected ...", in messages and in the reference.
 */
import { getAddress } from "viem/utils";
import { fromHex, type Hex, toHex } from "../encoding/bytes.ts";
import {
  type ConsensusStateId,
  IdentifierError,
  parseStateMachine,
  type StateMachine,
  toConsensusStateId,
} from "../ismp/state_machine.ts";
import { isLoopback } from "../telemetry/http/listen_address.ts";
import type { Accepted, Checked, Statement } from "./diagnostics.ts";
import { EndpointUrl, redactUrl, shownText } from "./redact.ts";
import { checkedType, describeValue, type Type } from "./schema.ts";
import { nearestWord } from "./spelling.ts";
import type { TomlTable, TomlValue } from "./toml.ts";

/** Longest period of a timer in seconds: runtimes count it in milliseconds as a signed 32-bit integer. */
const MAX_TIMER_SEC = Math.floor((2 ** 31 - 1) / 1000);
/** Largest unsigned integer of 32 bits. */
export const UINT32_MAX = 2 ** 32 - 1;
const UINT64_MAX = 2n ** 64n - 1n;

/** A TOML integer within safe bounds, both allowed, as a number. `unit` is for messages. */
export function integer(min: number, max: number, unit?: string): Type<number> {
  return boundedInteger(rangeOf(min, max, unit), (given) => ({ value: Number(given) }));
}

/** Percent; the network's own relayer counts basis points, so that more than 100 may be meant as such. */
export function percent(max: number): Type<number> {
  return boundedInteger(rangeOf(0, max, "percent"), (given) => {
    const value = Number(given);
    if (value <= 100) return { value };
    const hint = `the network's own relayer counts basis points here: if they are meant, write ${
      value / 100
    }`;
    const found = `${given} percent`;
    return { value, remarks: [{ kind: "warning", found, expected: "at most 100 percent", hint }] };
  });
}

/** A period in whole seconds that a timer can hold. */
export const timerSeconds: Type<number> = integer(1, MAX_TIMER_SEC, "seconds");

const WIDE_SECONDS = { min: 1n, max: UINT64_MAX, expected: "an integer from 1 (seconds)" };

/** A period in whole seconds that is compared, not waited for: up to 64 bits. */
export const wideSeconds: Type<bigint> = boundedInteger(WIDE_SECONDS, (value) => ({ value }));

/** As {@link timerSeconds}, but longer periods ("never" in old sample files) are cut to what a timer can hold. */
export const cappedSeconds: Type<number> = boundedInteger(WIDE_SECONDS, (given) => {
  if (given <= MAX_TIMER_SEC) return { value: Number(given) };
  const found = `${given} seconds are more than a timer can hold: ${MAX_TIMER_SEC} (24 days) are used`;
  return { value: MAX_TIMER_SEC, remarks: [{ kind: "note", found }] };
});

/** A block height: an unsigned 64-bit integer. */
export const blockHeight: Type<bigint> = boundedInteger(
  { min: 0n, max: UINT64_MAX, expected: "a block height (an integer from 0)" },
  (value) => ({ value }),
);

/** Bounds of an integer, both allowed, and their text. */
interface IntegerRange {
  readonly min: bigint;
  readonly max: bigint;
  readonly expected: string;
}

function rangeOf(min: number, max: number, unit?: string): IntegerRange {
  const expected = `an integer from ${min} to ${max}${unit === undefined ? "" : ` (${unit})`}`;
  return { min: BigInt(min), max: BigInt(max), expected };
}

function boundedInteger<T>(
  { min, max, expected }: IntegerRange,
  accept: (value: bigint) => Accepted<T>,
): Type<T> {
  const upper = max <= BigInt(Number.MAX_SAFE_INTEGER) ? { maximum: Number(max) } : {};
  const json = { type: "integer", minimum: Number(min), ...upper };
  return checkedType({ expected, json }, (given) => {
    if (typeof given === "bigint" && given >= min && given <= max) return accept(given);
    if (typeof given !== "number") return { found: describeValue(given) };
    return { found: `${Number.isInteger(given) ? given.toFixed(1) : given} (not an integer)` };
  });
}

/** A finite number of at least 0, with or without decimals; `unit` is for messages. */
export function amount(unit: string): Type<number> {
  return boundedNumber(0, `a number of at least 0 (${unit})`);
}

/** A price or amount above 0 that can be written without an exponent; `unit` is for messages. */
export function positiveAmount(unit: string): Type<number> {
  return boundedNumber(0.000001, `a number from 0.000001 (${unit})`);
}

/** Integers stay apart from numbers in TOML; here either will do. */
function boundedNumber(min: number, expected: string): Type<number> {
  return checkedType({ expected, json: { type: "number", minimum: min } }, (given) => {
    const value = typeof given === "bigint" ? Number(given) : given;
    const isSafe = typeof given === "bigint" ? Number.isSafeInteger(value) : Number.isFinite(value);
    return typeof value === "number" && isSafe && value >= min ? { value } : { found: describeValue(given) };
  });
}

/** `true` or `false`. */
export const boolean: Type<boolean> = checkedType(
  { expected: "true or false", json: { type: "boolean" } },
  (given) => typeof given === "boolean" ? { value: given } : { found: describeValue(given) },
);

/** One of some words, in exactly this spelling. @param advice for words that others use */
export function oneOf<const W extends string>(
  words: readonly W[],
  advice: Readonly<Record<string, string>> = {},
): Type<W> {
  const quoted = words.map((word) => `"${word}"`);
  const expected = [quoted.slice(0, -1).join(", "), ...quoted.slice(-1)].filter(Boolean).join(" or ");
  return checkedType({ expected, json: { type: "string", enum: words } }, (given) => {
    const value = words.find((word) => word === given);
    if (value !== undefined) return { value };
    const found = describeValue(given);
    if (typeof given !== "string") return { found };
    if (Object.hasOwn(advice, given)) return { found, hint: advice[given] };
    const meant = nearestWord(given, words);
    return { found, hint: meant && `did you mean "${meant}"?` };
  });
}

/** A text that `check` accepts or describes what it found instead. */
export function text<T>(
  expected: string,
  check: (text: string, section: TomlTable) => Checked<T>,
): Type<T> {
  return checkedType({ expected, json: { type: "string" } }, (given, section) => {
    if (typeof given === "string") return check(given, section);
    // An integer may be a key whose quotes are missing.
    if (typeof given === "bigint") return { found: "an integer", hint: "put it in quotes" };
    return { found: describeValue(given) };
  });
}

/** How a list is read. */
interface ListTraits<T> {
  /** Name of the list for messages, e.g. `an array of HTTP URLs`. */
  readonly expected: string;
  /** Minimum number of elements; default 0. */
  readonly min?: number;
  /** Equal identities are the same element: repeats are dropped with a warning. */
  readonly identity: (element: T) => string;
}

/** An array of `element`s; every bad one is a problem, and repeats are dropped with a warning. */
export function listOf<T>(
  element: Type<T>,
  { expected, min = 0, identity }: ListTraits<T>,
): Type<readonly T[]> {
  return {
    expected,
    json: { minItems: min, type: "array", items: element.json },
    read: (given, at, section) => {
      if (!Array.isArray(given) || given.length < min) {
        at.problem(describeValue(given), expected, typeof given === "string" ? IN_BRACKETS : undefined);
        return undefined;
      }
      const elements = given.flatMap((item: TomlValue, index) =>
        element.read(item, at.child(index), section) ?? []
      );
      if (elements.length < given.length) return undefined;
      const names = elements.map(({ value }) => identity(value));
      const value = elements.flatMap((of, index) => {
        const first = names.indexOf(names[index] ?? "");
        if (first === index) return [of.value];
        at.child(index).warning(`a repeat of element ${first}, which is ignored`, "each element once");
        return [];
      });
      return { value };
    },
  };
}

const IN_BRACKETS = "put it in square brackets";

/** Schemes that may be shown; anything else before a colon may be part of a key. */
const SHOWN_SCHEMES = new Set(["http", "https", "ws", "wss", "ftp", "file", "tcp", "ipc", "unix"]);

/** A `ws://` or `wss://` URL. */
export const webSocketUrl: Type<EndpointUrl> = urlOf("a WebSocket URL (ws:// or wss://)", ["ws", "wss"]);

/** An `http://` or `https://` URL. */
export const httpUrl: Type<EndpointUrl> = urlOf("an HTTP URL (http:// or https://)", ["http", "https"]);

/** At least one HTTP URL; the order is the order of preference. */
export const httpUrls: Type<readonly EndpointUrl[]> = listOf(httpUrl, {
  expected: "an array of at least one HTTP URL (http:// or https://)",
  min: 1,
  identity: (url) => url.reveal(),
});

function urlOf(expected: string, schemes: readonly string[]): Type<EndpointUrl> {
  return text(expected, (given) => readUrl(given, schemes));
}

/**
 * Reads a URL with one of the schemes, or says what was found instead, without what may be secret. Warns where it leads
 * to another machine without encryption.
 */
export function readUrl(
  given: string,
  schemes: readonly string[],
): Checked<EndpointUrl> {
  const trimmed = given.trim();
  if (trimmed === "") return { found: "an empty text" };
  const parsed = URL.parse(trimmed);
  const scheme = parsed?.protocol.slice(0, -1) ?? "";
  if (parsed === null || !SHOWN_SCHEMES.has(scheme) || !/^[a-z]+:\/\//i.test(trimmed)) {
    return { found: "a text that is not a URL" };
  }
  if (!schemes.includes(scheme)) {
    const shown = parsed.host === "" ? `${scheme}://...` : redactUrl(trimmed);
    return { found: `"${shown}" (scheme ${scheme})` };
  }
  const value = new EndpointUrl(trimmed);
  return isEncrypted(parsed) ? { value } : { value, remarks: [remarkOnPlain(trimmed)] };
}

/** True also for this machine, and for names without a dot: those of containers and services beside the program. */
function isEncrypted({ protocol, hostname }: URL): boolean {
  const host = hostname.replaceAll(/[[\]]/g, "");
  return !["http:", "ws:"].includes(protocol) || isLoopback(host) || !/[.:]/.test(host);
}

function remarkOnPlain(url: string): Statement {
  const found = `"${redactUrl(url)}", another machine without encryption`;
  const hint =
    "a machine in between can read keys and change answers, unless the network itself is encrypted";
  return { kind: "warning", found, expected: "the scheme https or wss", hint };
}

/** A state machine whose text starts with one of `prefixes`, in its canonical spelling. */
export function stateMachine(expected: string, prefixes: readonly string[]): Type<StateMachine> {
  return text(expected, (given) => {
    if (!prefixes.some((prefix) => given.startsWith(prefix))) return { found: shownText(given) };
    const parsed = identified(() => parseStateMachine(given));
    if (parsed === undefined) return { found: shownText(given) };
    return parsed === given ? { value: parsed } : { found: shownText(given), hint: `write "${parsed}"` };
  });
}

/** Any state machine that a message can be sent to. */
export const anyStateMachine: Type<StateMachine> = messageTarget(
  'a state machine such as "EVM-1" or "POLKADOT-3367"',
);

/** As {@link anyStateMachine}, in a list in which names of sections were replaced by their state machines. */
export const listedChain: Type<StateMachine> = messageTarget(
  'the name of a chain\'s section, or a state machine such as "EVM-1"',
);

function messageTarget(expected: string): Type<StateMachine> {
  return stateMachine(expected, ["EVM-", "POLKADOT-", "KUSAMA-", "SUBSTRATE-", "TNDRMINT-", "RELAY-"]);
}

/** Id under which a hub or a chain stores another chain: four printable ASCII characters. */
export const consensusStateId: Type<ConsensusStateId> = text(
  'a consensus state id of exactly 4 ASCII characters such as "ETH0"',
  (given) => {
    const parsed = /^[\x20-\x7e]*$/.test(given) ? identified(() => toConsensusStateId(given)) : undefined;
    return parsed === undefined ? { found: shownText(given) } : { value: parsed };
  },
);

function identified<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof IdentifierError) return undefined;
    throw error;
  }
}

/** A contract address, as lower-case hex. */
export const contractAddress: Type<Hex> = text(
  "a contract address of 20 bytes (0x and 40 hex digits)",
  readAddress,
);

/** Reads an address in any letter case; warns when letter case says that it was mistyped (EIP-55). */
export function readAddress(given: string): Checked<Hex> {
  const digits = given.trim().replace(/^0x/i, "");
  if (given.trim() === "") return { found: "an empty text" };
  if (!/^[0-9a-fA-F]*$/.test(digits)) {
    return { found: `a text of ${given.length} characters that is not hex` };
  }
  if (digits.length !== 40) return { found: `${digits.length} hex digits` };
  if (/^0+$/.test(digits)) return { found: "the zero address" };
  const value = toHex(fromHex(digits));
  const isMixed = /[a-f]/.test(digits) && /[A-F]/.test(digits);
  if (!isMixed || getAddress(value) === `0x${digits}`) return { value };
  const expected = "the letter case of EIP-55";
  const hint = "one digit may be mistyped";
  return { value, remarks: [{ kind: "warning", found: "an address with a wrong checksum", expected, hint }] };
}

/** Longest module identifier in bytes; the live ones have 8 (pallets), 20 (contracts) or 32 (accounts). */
const MAX_MODULE_BYTES = 64;

/** The `from` of a request: hex, or literal ASCII, which is noted so that a mistyped address is seen. */
export const moduleId: Type<Uint8Array> = text(
  `a module identifier of 1 to ${MAX_MODULE_BYTES} bytes (hex, or ASCII such as "ISMP-RLYR")`,
  (given) => {
    const module = readModule(given);
    const length = "found" in module ? 0 : module.value.length;
    return length > MAX_MODULE_BYTES ? { found: `${length} bytes` } : module;
  },
);

function readModule(given: string): Checked<Uint8Array> {
  const isPrefixed = /^0x/i.test(given);
  const digits = isPrefixed ? given.slice(2) : given;
  const isHex = /^[0-9a-fA-F]+$/.test(digits);
  if (isHex && digits.length % 2 === 0) return { value: fromHex(digits) };
  if (isPrefixed && !isHex) {
    return { found: digits === "" ? "0x without digits" : "0x and other characters than hex digits" };
  }
  // An odd number of digits is a mistyped address rather than a name, unless it is short.
  if (isHex && (isPrefixed || digits.length >= 16)) {
    return { found: `${digits.length} hex digits (an odd number)` };
  }
  if (given === "") return { found: "an empty text" };
  if (!/^[\x20-\x7e]+$/.test(given)) return { found: "a text that is neither hex nor ASCII" };
  const value = new TextEncoder().encode(given);
  const found = `${shownText(given)} is not hex and is read as ASCII: ${toHex(value)}`;
  return { value, remarks: [{ kind: "note", found }] };
}
