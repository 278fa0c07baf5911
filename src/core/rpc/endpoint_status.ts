/** Endpoints on the status pages of both programs. Pure. */
import { formatDuration } from "../runtime/text_table.ts";
import { coloured, type Html } from "../telemetry/http/page.ts";
import type { FoundReason } from "../telemetry/readiness.ts";
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

/** A reading of one chain's endpoint or signer. */
type ChainReading = Pick<EndpointReading, "host" | "isSigner" | "isUp" | "sinceMs" | "lastFault">;

/** Reasons of one chain: none of its endpoints answers, or a remote signer does not sign. */
export function findEndpointReasons(
  chain: string,
  readings: readonly ChainReading[],
): readonly FoundReason[] {
  const place = { chain, leg: undefined };
  const endpoints = readings.filter(({ isSigner }) => !isSigner);
  const reasons: FoundReason[] = [];
  if (endpoints.length > 0 && endpoints.every(({ isUp }) => !isUp)) {
    const said = endpoints.map(({ host, lastFault }) => `${host} (${lastFault ?? "no answer"})`).join(", ");
    reasons.push({
      ...place,
      code: "no_endpoint",
      explanation: `No endpoint of the chain answers: ${said}.`,
      help: "Check the nodes, or add another endpoint to the configuration.",
      sinceMs: Math.max(...endpoints.map(({ sinceMs }) => sinceMs)),
    });
  }
  for (const { host, lastFault, sinceMs } of readings.filter(({ isSigner, isUp }) => isSigner && !isUp)) {
    reasons.push({
      ...place,
      code: "signer_unavailable",
      explanation: lastFault === "wrong_signature"
        ? `The remote signer ${host} signs something else than it is asked to: nothing is sent.`
        : `The remote signer ${host} gives no signatures (${lastFault ?? "no answer"}): nothing is sent.`,
      help: "Look at its last warning, or run the command check: it says what to do.",
      sinceMs,
    });
  }
  return reasons;
}
