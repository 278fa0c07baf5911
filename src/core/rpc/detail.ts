/**
 * Makes a node's error text safe to show: short, one line, without URLs and keys.
 */
import { redactUrl } from "../config/redact.ts";

const MAX_CHARACTERS = 300;

/**
 * Text of a node for a fault: URLs keep scheme and host only, strings that may be keys become `[hidden]`, white space
 * is collapsed, and the rest is cut to 300 characters. `0x` hex (addresses, hashes) stays.
 */
export function safeDetail(words: string): string {
  // Nodes may echo megabytes; only the beginning is ever shown.
  const shown = words.slice(0, 4 * MAX_CHARACTERS)
    .replace(/[a-z][a-z0-9+.-]*:\/\/[^\s"'<>()\\]+/gi, (url) => redactUrl(url))
    .replace(/[0-9A-Za-z_-]{20,}/g, (run) => mayBeKey(run) ? "[hidden]" : run)
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return shown.length <= MAX_CHARACTERS ? shown : `${shown.slice(0, MAX_CHARACTERS - 3)}...`;
}

function mayBeKey(run: string): boolean {
  return !/^0x[0-9a-fA-F]*$/.test(run) && /[0-9]/.test(run) && /[A-Za-z]/.test(run);
}
