/**
 * Types of plain values: integers, amounts, booleans, words, lists. The message of a type's errors is what stands
 * behind "expected ...", in messages and in the reference.
 */
import { getAddress } from "viem/utils";
import * as z from "zod";
import { fromHex, type Hex, toHex } from "../encoding/bytes.ts";
import type { ConsensusStateId, StateMachine } from "../ismp/state_machine.ts";
import { IdentifierError, parseStateMachine, toConsensusStateId } from "../ismp/state_machine.ts";
import { isLoopback } from "../telemetry/http/listen_address.ts";
import type { Checked, InvalidValue } from "./diagnostics.ts";
import { EndpointUrl, redactUrl, shownText } from "./redact.ts";
import { refusal, type Remark, remarksOn, withRemarks } from "./schema.ts";

/** Longest period of a timer in seconds: runtimes count it in milliseconds as a signed 32-bit integer. */
const MAX_TIMER_SEC = Math.floor((2 ** 31 - 1) / 1000);
/** Largest unsigned integer of 32 bits. */
export const UINT32_MAX = 2 ** 32 - 1;
const UINT64_MAX = 2n ** 64n - 1n;

/** A TOML integer within safe bounds, both allowed, as a number. `unit` is for messages. */
export function integer(min: number, max: number, unit?: string): z.ZodType<number> {
  const expected = `an integer from ${min} to ${max}${unit === undefined ? "" : ` (${unit})`}`;
  return boundedInteger(BigInt(min), BigInt(max), expected).transform(Number);
}

/** Percent; the network's own relayer counts basis points, so that more than 100 may be meant as such. */
export function percent(max: number): z.ZodType<number> {
  return withRemarks(integer(0, max, "percent"), (given) => {
    const hint = `the network's own relayer counts basis points here: if they are meant, write ${
      Number(given) / 100
    }`;
    return Number(given) > 100
      ? [{ kind: "warning", path: [], found: `${given} percent`, expected: "at most 100 percent", hint }]
      : [];
  });
}

/** A period in whole seconds that a timer can hold. */
export const timerSeconds: z.ZodType<number> = integer(1, MAX_TIMER_SEC, "seconds");

/** A period in whole seconds that is compared, not waited for: up to 64 bits. */
export const wideSeconds: z.ZodType<bigint> = boundedInteger(1n, UINT64_MAX, "an integer from 1 (seconds)");

/** As {@link timerSeconds}, but longer periods ("never" in old sample files) are cut to what a timer can hold. */
export const cappedSeconds: z.ZodType<number> = withRemarks(
  wideSeconds.transform((seconds) => seconds <= BigInt(MAX_TIMER_SEC) ? Number(seconds) : MAX_TIMER_SEC),
  (given) => {
    if (typeof given !== "bigint" || given <= BigInt(MAX_TIMER_SEC)) return [];
    const found = `${given} seconds are more than a timer can hold: ${MAX_TIMER_SEC} (24 days) are used`;
    return [{ kind: "note", path: [], found }];
  },
);

/** A block height: an unsigned 64-bit integer. */
export const blockHeight: z.ZodType<bigint> = boundedInteger(
  0n,
  UINT64_MAX,
  "a block height (an integer from 0)",
);

function boundedInteger(min: bigint, max: bigint, expected: string): z.ZodType<bigint> {
  const upper = max <= BigInt(Number.MAX_SAFE_INTEGER) ? { maximum: Number(max) } : {};
  return z.bigint(expected).min(min, expected).max(max, expected)
    .meta({ type: "integer", minimum: Number(min), ...upper });
}

/** A finite number of at least 0, with or without decimals; `unit` is for messages. */
export function amount(unit: string): z.ZodType<number> {
  return boundedNumber(0, `a number of at least 0 (${unit})`);
}

/** A price or amount above 0 that can be written without an exponent; `unit` is for messages. */
export function positiveAmount(unit: string): z.ZodType<number> {
  return boundedNumber(0.000001, `a number from 0.000001 (${unit})`);
}

/** Integers stay apart from numbers in TOML; here either will do. */
function boundedNumber(min: number, expected: string): z.ZodType<number> {
  const isSafe = (value: bigint): boolean =>
    value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER;
  return z.preprocess(
    (given) => typeof given === "bigint" && isSafe(given) ? Number(given) : given,
    z.number(expected).min(min, expected),
  );
}

/** `true` or `false`. */
export const boolean: z.ZodType<boolean> = z.boolean("true or false");

/** One of some words, in exactly this spelling. */
export function oneOf<const W extends string>(words: readonly W[]): z.ZodType<W> {
  const quoted = words.map((word) => `"${word}"`);
  return z.enum(words, [quoted.slice(0, -1).join(", "), ...quoted.slice(-1)].filter(Boolean).join(" or "));
}

/** A text that `check` accepts or describes what it found instead. */
export function text<T>(
  expected: string,
  check: (text: string) => Checked<T>,
): z.ZodType<T> {
  return z.string(expected).transform((given, context) => {
    const checked = check(given);
    if ("value" in checked) return checked.value;
    context.issues.push(refusal(given, expected, checked));
    return z.NEVER;
  });
}

/** How a list is read. */
export interface ListTraits<T> {
  /** Name of the list for messages, e.g. `an array of HTTP URLs`. */
  readonly expected: string;
  /** Minimum number of elements; default 0. */
  readonly min?: number;
  /** Equal identities are the same element: repeats are dropped with a warning. */
  readonly identity: (element: T) => string;
}

/** An array of `element`s; every bad one is a problem, and repeats are dropped with a warning. */
export function listOf<T>(element: z.ZodType<T>, traits: ListTraits<T>): z.ZodType<readonly T[]> {
  const { expected, min = 0, identity } = traits;
  /** Index of the first element that is the same as each. */
  const firstOf = (elements: readonly T[]): readonly number[] => {
    const names = elements.map(identity);
    return names.map((name) => names.indexOf(name));
  };
  const list = z.array(element, expected).min(min, expected).transform((elements) => {
    const first = firstOf(elements);
    return elements.filter((_, index) => first[index] === index);
  });
  return withRemarks(list, (given) => {
    if (!Array.isArray(given)) return [];
    const first = firstOf(given.map((item) => element.parse(item)));
    return given.flatMap((item, index): readonly Remark[] => {
      const own = remarksOn(element, item).map((remark) => ({ ...remark, path: [index, ...remark.path] }));
      if (first[index] === index) return own;
      const found = `a repeat of element ${first[index]}, which is ignored`;
      return [...own, { kind: "warning", path: [index], found, expected: "each element once" }];
    });
  });
}

/** Schemes that may be shown; anything else before a colon may be part of a key. */
const SHOWN_SCHEMES = new Set(["http", "https", "ws", "wss", "ftp", "file", "tcp", "ipc", "unix"]);

/** A `ws://` or `wss://` URL. */
export const webSocketUrl: z.ZodType<EndpointUrl> = urlOf("a WebSocket URL (ws:// or wss://)", ["ws", "wss"]);

/** An `http://` or `https://` URL. */
export const httpUrl: z.ZodType<EndpointUrl> = urlOf("an HTTP URL (http:// or https://)", ["http", "https"]);

/** At least one HTTP URL; the order is the order of preference. */
export const httpUrls: z.ZodType<readonly EndpointUrl[]> = listOf(httpUrl, {
  expected: "an array of at least one HTTP URL (http:// or https://)",
  min: 1,
  identity: (url) => url.reveal(),
});

function urlOf(expected: string, schemes: readonly string[]): z.ZodType<EndpointUrl> {
  return withRemarks(text(expected, (given) => readUrl(given, schemes)), remarksOnUrl);
}

/**
 * A warning where a URL leads to another machine without encryption. A name without a dot is that of a container or
 * service beside the program.
 */
export function remarksOnUrl(given: unknown): readonly Remark[] {
  const url = typeof given === "string" ? URL.parse(given.trim()) : null;
  if (url === null || !["http:", "ws:"].includes(url.protocol)) return [];
  const host = url.hostname.replaceAll(/[[\]]/g, "");
  if (isLoopback(host) || !/[.:]/.test(host)) return [];
  const found = `"${redactUrl(url.href)}", another machine without encryption`;
  const hint =
    "a machine in between can read keys and change answers, unless the network itself is encrypted";
  return [{ kind: "warning", path: [], found, expected: "https:// or wss://", hint }];
}

/** Reads a URL with one of the schemes, or says what was found instead, without what may be secret. */
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
    return {
      found: `"${parsed.host === "" ? `${scheme}://...` : redactUrl(trimmed)}" (scheme ${scheme})`,
    };
  }
  return { value: new EndpointUrl(trimmed) };
}

/** A state machine whose text starts with one of `prefixes`, in its canonical spelling. */
export function stateMachine(expected: string, prefixes: readonly string[]): z.ZodType<StateMachine> {
  return text(expected, (given) => {
    if (!prefixes.some((prefix) => given.startsWith(prefix))) return { found: shownText(given) };
    const parsed = identified(() => parseStateMachine(given));
    if (parsed === undefined) return { found: shownText(given) };
    return parsed === given ? { value: parsed } : { found: shownText(given), hint: `write "${parsed}"` };
  });
}

/** Any state machine that a message can be sent to. */
export const anyStateMachine: z.ZodType<StateMachine> = messageTarget(
  'a state machine such as "EVM-1" or "POLKADOT-3367"',
);

/** As {@link anyStateMachine}, in a list in which names of sections were replaced by their state machines. */
export const listedChain: z.ZodType<StateMachine> = messageTarget(
  'the name of a chain\'s section, or a state machine such as "EVM-1"',
);

function messageTarget(expected: string): z.ZodType<StateMachine> {
  return stateMachine(expected, ["EVM-", "POLKADOT-", "KUSAMA-", "SUBSTRATE-", "TNDRMINT-", "RELAY-"]);
}

/** Four printable ASCII characters. @param expected for messages */
export function consensusStateIdOf(expected: string): z.ZodType<ConsensusStateId> {
  return text(expected, (given) => {
    const parsed = /^[\x20-\x7e]*$/.test(given) ? identified(() => toConsensusStateId(given)) : undefined;
    return parsed === undefined ? { found: shownText(given) } : { value: parsed };
  });
}

/** Id under which a hub or a chain stores another chain. */
export const consensusStateId: z.ZodType<ConsensusStateId> = consensusStateIdOf(
  'a consensus state id of exactly 4 ASCII characters such as "ETH0"',
);

function identified<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof IdentifierError) return undefined;
    throw error;
  }
}

/** A contract address, as lower-case hex. Warns when letter case says that it was mistyped (EIP-55). */
export const contractAddress: z.ZodType<Hex> = addressOf(
  "a contract address of 20 bytes (0x and 40 hex digits)",
);

/** Any address as {@link contractAddress}. @param refuse says what is wrong with an address that is well formed. */
export function addressOf(
  expected: string,
  refuse: (address: Hex) => InvalidValue | undefined = () => undefined,
): z.ZodType<Hex> {
  return withRemarks(
    text(expected, (given) => {
      const digits = given.trim().replace(/^0x/i, "");
      if (given.trim() === "") return { found: "an empty text" };
      if (!/^[0-9a-fA-F]*$/.test(digits)) {
        return { found: `a text of ${given.length} characters that is not hex` };
      }
      if (digits.length !== 40) return { found: `${digits.length} hex digits` };
      if (/^0+$/.test(digits)) return { found: "the zero address" };
      const value = toHex(fromHex(digits));
      return refuse(value) ?? { value };
    }),
    (given) => {
      const digits = String(given).trim().replace(/^0x/i, "");
      const isMixed = /[a-f]/.test(digits) && /[A-F]/.test(digits);
      if (!isMixed || getAddress(`0x${digits.toLowerCase()}`) === `0x${digits}`) return [];
      return [{
        kind: "warning",
        path: [],
        found: "an address with a wrong checksum",
        expected: "the letter case of EIP-55",
        hint: "one digit may be mistyped",
      }];
    },
  );
}

/** Longest module identifier in bytes; the live ones have 8 (pallets), 20 (contracts) or 32 (accounts). */
const MAX_MODULE_BYTES = 64;

/** The `from` of a request: hex, or literal ASCII, which is noted so that a mistyped address is seen. */
export const moduleId: z.ZodType<Uint8Array> = withRemarks(
  text(
    `a module identifier of 1 to ${MAX_MODULE_BYTES} bytes (hex, or ASCII such as "ISMP-RLYR")`,
    (given) => {
      const module = readModule(given);
      if ("found" in module) return module;
      const { length } = module.value;
      return length > MAX_MODULE_BYTES ? { found: `${length} bytes` } : module;
    },
  ),
  (given) => {
    const module = readModule(String(given));
    if ("found" in module || !module.isAscii) return [];
    const found = `${shownText(String(given))} is not hex and is read as ASCII: ${toHex(module.value)}`;
    return [{ kind: "note", path: [], found }];
  },
);

function readModule(given: string): InvalidValue | { readonly value: Uint8Array; readonly isAscii: boolean } {
  const isPrefixed = /^0x/i.test(given);
  const digits = isPrefixed ? given.slice(2) : given;
  const isHex = /^[0-9a-fA-F]+$/.test(digits);
  if (isHex && digits.length % 2 === 0) return { value: fromHex(digits), isAscii: false };
  if (isPrefixed && !isHex) {
    return { found: digits === "" ? "0x without digits" : "0x and other characters than hex digits" };
  }
  // An odd number of digits is a mistyped address rather than a name, unless it is short.
  if (isHex && (isPrefixed || digits.length >= 16)) {
    return { found: `${digits.length} hex digits (an odd number)` };
  }
  if (given === "") return { found: "an empty text" };
  if (!/^[\x20-\x7e]+$/.test(given)) return { found: "a text that is neither hex nor ASCII" };
  return { value: new TextEncoder().encode(given), isAscii: true };
}
