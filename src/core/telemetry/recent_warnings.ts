/** What the status shows of the log: warnings, errors and unknown things, redacted like the log itself. */
import type { LogLevel } from "./log.ts";

/** A line of the log. */
export interface RecentWarning {
  readonly atMs: number;
  readonly level: Extract<LogLevel, "warn" | "error">;
  readonly event: string;
  /** Place, text and values, without secrets; may hold text from chains. */
  readonly text: string;
}

/** Something that a newer chain, contract or node has and this program does not know; it was skipped. */
export interface UnknownThing {
  /** Chain that it belongs to; empty: none. */
  readonly chain: string;
  /** Its kind and name, the same words every time. */
  readonly what: string;
  /** Consequence of skipping it. */
  readonly cost: string;
}
