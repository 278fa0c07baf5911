/** Findings of start-up checks. */
import type { CheckRow } from "../checks/check_row.ts";
import { type EventCode, events } from "../telemetry/events.ts";

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

/** Converts findings about a chain; those with an event of `told` are left out: other rows tell them. */
export function toFindingRows(
  chain: string,
  findings: readonly CheckFinding[],
  told: ReadonlySet<EventCode> = new Set(),
): readonly CheckRow[] {
  return findings.filter(({ event }) => !told.has(event)).map((finding) => toRow(chain, finding));
}

function toRow(chain: string, { severity, event, text }: CheckFinding): CheckRow {
  const advice = toAdvice(event);
  const row = { chain, check: event, found: withoutChain(chain, text) };
  if (severity === "fatal") return { ...row, result: "failed", advice };
  if (severity === "note" || advice === undefined) return { ...row, result: "ok" };
  return { ...row, result: "warning", advice };
}

/** The row names the chain. */
function withoutChain(chain: string, text: string): string {
  return text.startsWith(`${chain}: `) ? text.slice(chain.length + 2) : text;
}

/** Action of an event as an advice; `undefined`: nothing has to be done. */
function toAdvice(event: EventCode): string | undefined {
  const { action } = events[event];
  if (action === undefined) return undefined;
  return `${action.charAt(0).toLowerCase()}${action.slice(1).replace(/\.$/, "")}`;
}
