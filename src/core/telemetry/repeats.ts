/** Keeps a fault that happens every second from filling the log: first the line, then counts per five minutes. */
import { errorCode } from "./field_value.ts";
import type { Entry } from "./line_format.ts";

/** How long equal lines are counted instead of written. */
export const repeatWindowMs = 300_000;

/** Most different lines that are remembered; the oldest is forgotten (and told) first. */
const mostKinds = 200;

interface Kind {
  readonly sinceMs: number;
  /** The last line that was held back. */
  held: Entry | undefined;
  count: number;
}

/**
 * Decides which warnings and errors are written. Two are equal when level, event, explanation, place (with the
 * endpoint that the line or its error names) and the error's name and code (its message where it has no code) are.
 */
export class Repeats {
  readonly #kinds = new Map<string, Kind>();

  /** Lines to write now, in order: `entry` unless it is held back, and counts whose time has come. */
  admit(entry: Entry): Entry[] {
    const due = this.#overdue(entry.timeMs);
    if (entry.level !== "error" && entry.level !== "warn") return [...due, entry];
    const key = kindOf(entry);
    const known = this.#kinds.get(key);
    if (known !== undefined) {
      known.count++;
      known.held = entry;
      return due;
    }
    this.#kinds.set(key, { sinceMs: entry.timeMs, held: undefined, count: 0 });
    return [...due, ...this.#forgetOldest(), entry];
  }

  /** Counts of everything held back: call it at the end. */
  flush(): Entry[] {
    const lines = [...this.#kinds.values()].flatMap(summary);
    this.#kinds.clear();
    return lines;
  }

  /** Kinds are in the order of their start, so the search ends at the first one that is not over. */
  #overdue(nowMs: number): Entry[] {
    const lines: Entry[] = [];
    for (const [key, kind] of this.#kinds) {
      if (nowMs - kind.sinceMs < repeatWindowMs) break;
      this.#kinds.delete(key);
      lines.push(...summary(kind));
      // While it goes on it stays counted; after a quiet window it is news again.
      if (kind.count > 0) this.#kinds.set(key, { sinceMs: nowMs, held: undefined, count: 0 });
    }
    return lines;
  }

  #forgetOldest(): Entry[] {
    const [first] = this.#kinds;
    if (first === undefined || this.#kinds.size <= mostKinds) return [];
    this.#kinds.delete(first[0]);
    return summary(first[1]);
  }
}

function summary(kind: Kind): Entry[] {
  if (kind.held === undefined) return [];
  const fields = { ...kind.held.fields, repeated: kind.count };
  return [{ ...kind.held, fields }];
}

function kindOf(entry: Entry): string {
  const { explanation, leg, chain, to, worker, endpoint, error } = entry.fields;
  const said = error instanceof Error ? `${error.name} ${errorCode(error) ?? error.message}` : String(error);
  const accused = error instanceof Error && "endpoint" in error ? error.endpoint : endpoint;
  return JSON.stringify(
    [entry.level, entry.event, explanation, leg, chain, to, worker, accused, said].map(String),
  );
}
