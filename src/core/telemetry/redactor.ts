/** The last look at a line before it is written: no key leaves the program, whoever forgot about it. */
import { redactUrl } from "../config/redact.ts";

/** Shorter secrets are not looked for: they would blank out common words. */
const shortestSecret = 6;

/** Places in our own program (`file:` in stacks) hold no keys. */
const urlPattern = /\b(?!file:)[a-z][a-z0-9+.-]*:\/\/[^\s"'<>\\`]+/gi;

/**
 * A function that replaces the secrets (keys in hex are found with and without `0x`, in either case; others also as
 * JSON and as part of a URL) by `[secret]`, and cuts every URL to scheme and host. Brackets and sentence marks
 * behind a URL stay.
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
      if (form.length >= shortestSecret) forms.add(form);
    }
  }
  if (forms.size === 0) return undefined;
  // Longest first, so that a secret that starts with another one goes as a whole.
  const sorted = [...forms].sort((a, b) => b.length - a.length).map((form) => RegExp.escape(form));
  return new RegExp(`(?:0x)?(?:${sorted.join("|")})`, "gi");
}
