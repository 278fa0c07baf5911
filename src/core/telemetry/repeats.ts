/** Keeps a repeated fault from filling the log: first the line, then counts per five minutes. */
import { errorCode } from "./line_format.ts";
import type { Entry } from "./line_format.ts";

/** Time for which equal lines are counted instead of written. */
const repeatWindowMs = 300_000;

/** Maximum number of distinct lines remembered; the oldest is reported and forgotten first. */
const MAX_KINDS = 200;

interface Kind {
  readonly sinceMs: number;
  /** Latest suppressed line. */
  held: Entry | undefined;
  count: number;
}

/**
 * Decides which warnings and errors are written. Two lines are equal if level, event, explanation, place (including
 * the endpoint in the line or its error) and the error's name and code (its message if it has no code) are equal.
 */
export class Repeats {
  readonly #kinds = new Map<string, Kind>();

  /** Lines to write now, in order: `entry` unless it is suppressed, and counts that are due. */
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

  /** Counts of all suppressed lines: call it at the end. */
  flush(): Entry[] {
    const lines = [...this.#kinds.values()].flatMap(summary);
    this.#kinds.clear();
    return lines;
  }

  /** Kinds are ordered by their start, so the search ends at the first one that is not due. */
  #overdue(nowMs: number): Entry[] {
    const lines: Entry[] = [];
    for (const [key, kind] of this.#kinds) {
      if (nowMs - kind.sinceMs < repeatWindowMs) break;
      this.#kinds.delete(key);
      lines.push(...summary(kind));
      // While it continues it stays counted; after a quiet window it is written again.
      if (kind.count > 0) this.#kinds.set(key, { sinceMs: nowMs, held: undefined, count: 0 });
    }
    return lines;
  }

  #forgetOldest(): Entry[] {
    const [first] = this.#kinds;
    if (first === undefined || this.#kinds.size <= MAX_KINDS) return [];
    this.#kinds.delete(first[0]);
    return summary(first[1]);
  }
}

function summary(kind: Kind): Entry[] {
  if (kind.held === undefined) return [];
  const repeatedSec = Math.round((kind.held.timeMs - kind.sinceMs) / 1_000);
  const fields = { ...kind.held.fields, repeated: kind.count, repeatedSec };
  return [{ ...kind.held, fields }];
}

function kindOf(entry: Entry): string {
  const { explanation, leg, chain, to, worker, endpoint, error } = entry.fields;
  const said = error instanceof Error ? `${error.name} ${errorCode(error) ?? error.message}` : String(error);
  return JSON.stringify(
    [entry.level, entry.event, explanation, leg, chain, to, worker, accusedOf(error) ?? endpoint, said].map(
      String,
    ),
  );
}

/** Endpoint that an error names: in itself, or as the place of a fault. */
function accusedOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  if ("endpoint" in error) return error.endpoint;
  const where = "where" in error ? error.where : undefined;
  return typeof where === "object" && where !== null && "endpointHost" in where
    ? where.endpointHost
    : undefined;
}
