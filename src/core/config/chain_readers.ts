/**
 * Readers of what names chains and endpoints: URLs, state machines, consensus state ids, contract addresses,
 * module identifiers.
 */
import { getAddress } from "viem/utils";
import { fromHex, type Hex, toHex } from "../protocol/bytes.ts";
import {
  type ConsensusStateId,
  IdentifierError,
  parseStateMachine,
  type StateMachine,
  toConsensusStateId,
} from "../protocol/ismp/state_machine.ts";
import { EndpointUrl, redactUrl, shownText } from "./redact.ts";
import type { Reader } from "./section.ts";
import { listOf, text } from "./value_readers.ts";

/** Schemes that may be shown; anything else before a colon may be part of a key. */
const SHOWN_SCHEMES = new Set(["http", "https", "ws", "wss", "ftp", "file", "tcp", "ipc", "unix"]);

/** A `ws://` or `wss://` URL. */
export const webSocketUrl: Reader<EndpointUrl> = urlOf("a WebSocket URL (ws:// or wss://)", ["ws", "wss"]);

/** An `http://` or `https://` URL. */
export const httpUrl: Reader<EndpointUrl> = urlOf("an HTTP URL (http:// or https://)", ["http", "https"]);

/** At least one HTTP URL; the order is the order of preference. */
export const httpUrls: Reader<readonly EndpointUrl[]> = listOf(httpUrl, {
  expected: "an array of at least one HTTP URL (http:// or https://)",
  atLeast: 1,
  identity: (url) => url.reveal(),
});

function urlOf(expected: string, schemes: readonly string[]): Reader<EndpointUrl> {
  return text(expected, (given) => {
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
  });
}

/** A state machine whose text starts with one of `prefixes`, in its canonical spelling. */
export function stateMachine(expected: string, prefixes: readonly string[]): Reader<StateMachine> {
  return text(expected, (given) => {
    if (!prefixes.some((prefix) => given.startsWith(prefix))) return { found: shownText(given) };
    const parsed = identified(() => parseStateMachine(given));
    if (parsed === undefined) return { found: shownText(given) };
    return parsed === given ? { value: parsed } : { found: shownText(given), hint: `write "${parsed}"` };
  });
}

/** Any state machine that a message can be sent to. */
export const anyStateMachine: Reader<StateMachine> = stateMachine(
  'a state machine such as "EVM-1" or "POLKADOT-3367"',
  ["EVM-", "POLKADOT-", "KUSAMA-", "SUBSTRATE-", "TNDRMINT-", "RELAY-"],
);

/** Four printable ASCII characters. */
export const consensusStateId: Reader<ConsensusStateId> = text(
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

const ADDRESS_EXPECTED = "a contract address of 20 bytes (0x and 40 hex digits)";

/** A contract address, as lower-case hex. Warns when letter case says that it was mistyped (EIP-55). */
export const contractAddress: Reader<Hex> = {
  expected: ADDRESS_EXPECTED,
  read: (value, place) => {
    const accepted = addressText.read(value, place);
    if (accepted === undefined || typeof value !== "string") return accepted;
    const digits = value.trim().replace(/^0x/i, "");
    const isMixed = /[a-f]/.test(digits) && /[A-F]/.test(digits);
    if (isMixed && getAddress(accepted.value) !== `0x${digits}`) {
      place.warning(
        "an address with a wrong checksum",
        "the letter case of EIP-55",
        "one digit may be mistyped",
      );
    }
    return accepted;
  },
};

const addressText: Reader<Hex> = text(ADDRESS_EXPECTED, (given) => {
  const digits = given.trim().replace(/^0x/i, "");
  if (given.trim() === "") return { found: "an empty text" };
  if (!/^[0-9a-fA-F]*$/.test(digits)) {
    return { found: `a text of ${given.length} characters that is not hex` };
  }
  if (digits.length !== 40) return { found: `${digits.length} hex digits` };
  if (/^0+$/.test(digits)) return { found: "the zero address" };
  return { value: toHex(fromHex(digits)) };
});

/** Longest module identifier in bytes; the live ones have 8 (pallets), 20 (contracts) or 32 (accounts). */
const MAX_MODULE_BYTES = 64;
const MODULE_EXPECTED =
  `a module identifier of 1 to ${MAX_MODULE_BYTES} bytes (hex, or ASCII such as "ISMP-RLYR")`;

/** The `from` of a request: hex, or literal ASCII, which is noted so that a mistyped address is seen. */
export const moduleId: Reader<Uint8Array> = {
  expected: MODULE_EXPECTED,
  read: (value, place) => {
    const accepted = moduleText.read(value, place);
    if (accepted?.value.isAscii && typeof value === "string") {
      place.note(`${shownText(value)} is not hex and is read as ASCII: ${toHex(accepted.value.bytes)}`);
    }
    return accepted && { value: accepted.value.bytes };
  },
};

const moduleText: Reader<{ bytes: Uint8Array; isAscii: boolean }> = text(MODULE_EXPECTED, (given) => {
  const isPrefixed = /^0x/i.test(given);
  const digits = isPrefixed ? given.slice(2) : given;
  const isHex = /^[0-9a-fA-F]+$/.test(digits);
  if (isHex && digits.length % 2 === 0) return ofLength(fromHex(digits), false);
  if (isPrefixed && !isHex) {
    return { found: digits === "" ? "0x without digits" : "0x and other characters than hex digits" };
  }
  // An odd number of digits is a mistyped address rather than a name, unless it is short.
  if (isHex && (isPrefixed || digits.length >= 16)) {
    return { found: `${digits.length} hex digits (an odd number)` };
  }
  if (given === "") return { found: "an empty text" };
  if (!/^[\x20-\x7e]+$/.test(given)) return { found: "a text that is neither hex nor ASCII" };
  return ofLength(new TextEncoder().encode(given), true);
});

function ofLength(
  bytes: Uint8Array,
  isAscii: boolean,
): { value: { bytes: Uint8Array; isAscii: boolean } } | { found: string } {
  return bytes.length > MAX_MODULE_BYTES ? { found: `${bytes.length} bytes` } : { value: { bytes, isAscii } };
}
