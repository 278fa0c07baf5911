/** Findings of start-up checks. */
import type { EventCode } from "../telemetry/log.ts";

/** Finding of a start-up check. `fatal` stops the program, `warning` needs attention, `note` may be intended. */
export interface CheckFinding extends FindingText {
  readonly severity: "fatal" | "warning" | "note";
}

/** Event and text of a finding. */
export interface FindingText {
  /** Code of its log line. */
  readonly event: EventCode;
  /** The problem, the chain and endpoint host, and what to do. */
  readonly text: string;
}
