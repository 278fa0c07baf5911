/** The snapshot as text for a terminal. */
import { formatWarnings } from "../../core/telemetry/recent_warnings.ts";
import { formatDuration, formatSection } from "../../core/runtime/text_table.ts";
import type { ConsensusStatus } from "./consensus_status.ts";

/** Formats the snapshot. */
export function formatConsensusStatus(status: ConsensusStatus): string {
  const { nowMs } = status;
  const age = (ms: number | undefined): string => ms === undefined ? "-" : formatDuration(nowMs - ms);
  return [
    `causeway-consensus ${status.version}, hub ${status.hub}, running for ${age(status.startedAtMs)}`,
    formatSection(
      "In the way",
      status.reasons.map((reason) => [
        reason.chain ?? "program",
        `for ${age(reason.sinceMs)}`,
        `${reason.explanation} ${reason.help}`,
      ]),
    ) ?? "\nNothing is in the way.",
    formatSection(
      "Light clients",
      status.lightClients.map((route) => [
        `${route.chain} -> ${route.target}`,
        `${age(route.updatedMs)} ago`,
        String(route.accepted),
        `${age(route.lastPollMs)} ago`,
        route.waitsFor?.reason ?? "-",
        route.isFrozen === true
          ? "frozen"
          : route.failingSinceMs !== undefined
          ? `failing for ${age(route.failingSinceMs)}`
          : "ok",
      ]),
      [
        "route",
        "last update",
        "our updates",
        "last poll",
        "waits for",
        "state",
      ],
    ),
    formatSection(
      "Endpoints",
      status.endpoints.map((endpoint) => [
        endpoint.chain,
        endpoint.host,
        `${endpoint.isUp ? "yes" : "no"}, for ${age(endpoint.sinceMs)}`,
        `${Math.round(endpoint.latencyMs)} ms`,
        endpoint.lastFault ?? "none",
      ]),
      [
        "chain",
        "host",
        "up",
        "latency",
        "last fault",
      ],
    ),
    formatSection(
      "Checks that failed or warn",
      status.checks.filter(({ result }) => result !== "ok").map((row) => [
        row.chain,
        row.check,
        row.result,
        row.found,
        row.advice,
      ]),
    ),
    formatWarnings(status.warnings),
  ].filter((part) => part !== undefined).join("\n");
}
