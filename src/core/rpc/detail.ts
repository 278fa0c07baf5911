/**
 * Makes a node's error text safe to show: short, one line, without URLs and keys.
 */
import { redactUrl, secretParts } from "../config/redact.ts";
import { createRedactor } from "../telemetry/redactor.ts";

const MAX_CHARACTERS = 300;
/** Nodes may echo megabytes; only the beginning is ever shown. */
const READ_CHARACTERS = 4 * MAX_CHARACTERS;

/** Makes a node's text safe. */
export type SafeDetail = (words: string) => string;

/**
 * Creates what makes texts of one endpoint safe: parts of its URL that may be keys become `[secret]`, see `secretParts`,
 * whatever the node repeats; otherwise as {@link safeDetail}. Faults are made of nothing else, so that what logs, pages,
 * answers and the database have of them holds no key.
 */
export function createSafeDetail(url: string): SafeDetail {
  const redact = createRedactor(secretParts(url));
  return (words) => safeDetail(redact(words.slice(0, READ_CHARACTERS)));
}

/**
 * Text of a node for a fault: URLs keep scheme and host only, strings that may be keys become `[hidden]`, white space
 * is collapsed, and the rest is cut to 300 characters. `0x` hex (addresses, hashes) stays.
 */
function safeDetail(words: string): string {
  const shown = words
    .replace(/[a-z][a-z0-9+.-]*:\/\/[^\s"'<>()\\]+/gi, (url) => redactUrl(url))
    .replace(/[0-9A-Za-z_-]{20,}/g, (run) => mayBeKey(run) ? "[hidden]" : run)
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return shown.length <= MAX_CHARACTERS ? shown : `${shown.slice(0, MAX_CHARACTERS - 3)}...`;
}

function mayBeKey(run: string): boolean {
  return !/^0x[0-9a-fA-F]*$/.test(run) && /[0-9]/.test(run) && /[A-Za-z]/.test(run);
}
