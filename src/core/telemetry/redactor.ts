/** Last check of a line before it is written: no key leaves the program, even if a caller forgot about it. */
import { redactUrl } from "../config/redact.ts";

/** Minimum length of a redacted secret: shorter ones would blank out parts of words. */
const MIN_SECRET_LENGTH = 4;

/** Locations in this program (`file:` in stacks) contain no keys. */
const urlPattern = /\b(?!file:)[a-z][a-z0-9+.-]*:\/\/[^\s"'<>\\`]+/gi;

/**
 * Creates a function that replaces secrets (keys in hex with and without `0x`, in either case; others also as JSON
 * and as part of a URL) with `[secret]`, and cuts every URL to scheme and host. Brackets and punctuation after a URL
 * stay.
 */
export function createRedactor(secrets: readonly string[]): (line: string) => string {
  const pattern = secretPattern(secrets);
  return (line) => {
    const cut = line.includes("://") ? line.replace(urlPattern, redactMatch) : line;
    return pattern === undefined ? cut : cut.replace(pattern, "[secret]");
  };
}

function redactMatch(match: string): string {
  const tail = /[)\]},.;:!?]+$/.exec(match)?.[0] ?? "";
  return redactUrl(match.slice(0, match.length - tail.length)) + tail;
}

function secretPattern(secrets: readonly string[]): RegExp | undefined {
  const forms = new Set<string>();
  for (const secret of secrets) {
    const bare = secret.trim().replace(/^0x(?=[0-9a-f]+$)/i, "");
    for (const form of [bare, JSON.stringify(bare).slice(1, -1), encodeURIComponent(bare)]) {
      if (form.length >= MIN_SECRET_LENGTH) forms.add(form);
    }
  }
  if (forms.size === 0) return undefined;
  // Longest first, so that a secret that starts with another one is replaced completely.
  const sorted = [...forms].sort((a, b) => b.length - a.length).map((form) => RegExp.escape(form));
  return new RegExp(`(?:0x)?(?:${sorted.join("|")})`, "gi");
}
