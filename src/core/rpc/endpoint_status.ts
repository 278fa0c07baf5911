/** Endpoints on the status pages of both programs. Pure. */
import { formatDuration } from "../runtime/text_table.ts";
import type { Html } from "../telemetry/http/html.ts";
import { coloured } from "../telemetry/http/page.ts";
import type { EndpointReading } from "./endpoint_board.ts";

/** State of an endpoint. */
export function renderEndpointState(
  { isUp, sinceMs, lastFault }: Pick<EndpointReading, "isUp" | "sinceMs" | "lastFault">,
  nowMs: number,
): Html {
  return isUp
    ? coloured("good", "up")
    : coloured("bad", `${lastFault ?? "down"} for ${formatDuration(nowMs - sinceMs)}`);
}
