/** Checks of the running program on its status page and in its readiness. Pure. */
import { formatDuration } from "../runtime/text_table.ts";
import { type Html, markup } from "../telemetry/http/html.ts";
import { coloured, renderSection } from "../telemetry/http/page.ts";
import type { FoundReason } from "../telemetry/readiness.ts";
import type { BoardRow } from "./check_board.ts";

/** Section with the checks that need attention. */
export function renderChecks(rows: readonly BoardRow[], nowMs: number): Html {
  const shown = rows.filter(({ result }) => result !== "ok");
  if (shown.length === 0) {
    const text = rows.length === 0 ? "Not made yet." : `All ${rows.length} are in order.`;
    return renderSection("Checks", markup`<p class="none">${text}</p>`);
  }
  const items = shown.map(({ chain, endpoint, check, result, found, advice, sinceMs }) =>
    markup`<li>${coloured(result === "failed" ? "bad" : "warn", result)} ${chain}${
      endpoint && ` (${endpoint})`
    }: ${found}. ${advice && `${advice}.`} <span class="faint">${check}, for ${
      formatDuration(nowMs - sinceMs)
    }</span></li>\n`
  );
  return renderSection("Checks", markup`<ul class="plain">${items}</ul>`);
}

/** Failed checks as reasons; those of a single endpoint are none while others answer. */
export function toCheckReasons(rows: readonly BoardRow[]): readonly FoundReason[] {
  return rows.filter(({ result, endpoint }) => result === "failed" && endpoint === undefined)
    .map(({ chain, check, found, advice, sinceMs }) => ({
      code: `check_${check}`,
      chain,
      leg: undefined,
      explanation: `${found}.`,
      help: advice === undefined ? "Run the command check for the whole set-up." : `${advice}.`,
      sinceMs,
    }));
}
