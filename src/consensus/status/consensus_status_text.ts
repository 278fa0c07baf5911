/** The snapshot as text for a terminal. */
import { formatProgramStatus } from "../../core/checks/program_status.ts";
import { formatDuration, formatSection } from "../../core/runtime/text_table.ts";
import type { ConsensusStatus, RouteStatus } from "./consensus_status.ts";

/** Says of a moment how long ago it was. */
type Age = (ms: number | undefined) => string;

/** Formats the snapshot. */
export function formatConsensusStatus(status: ConsensusStatus): string {
  const { nowMs } = status;
  const age: Age = (ms) => ms === undefined ? "-" : formatDuration(nowMs - ms);
  return formatProgramStatus(status, [
    ...formatLightClients(status.lightClients, { nowMs, age }),
    formatSection(
      "Endpoints",
      status.endpoints.map((endpoint) => [
        endpoint.chain,
        `${endpoint.host}${endpoint.isSigner ? " (signer)" : ""}`,
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
  ]);
}

/** What every light client knows, waits for, was given, and failed at. */
function formatLightClients(
  clients: readonly RouteStatus[],
  { nowMs, age }: { readonly nowMs: number; readonly age: Age },
): readonly (string | undefined)[] {
  const rows = clients.map((client) => ({ ...client, route: `${client.chain} -> ${client.target}` }));
  return [
    formatSection(
      "Light clients",
      rows.map((client) => [
        client.route,
        client.knownHeight?.toString() ?? "-",
        newestText(client),
        `${age(client.updatedMs)} ago`,
        client.expiresMs === undefined ? "-" : expiryText(client.expiresMs - nowMs),
        String(client.accepted),
        `${age(client.lastPollMs)} ago`,
        stateText(client, age),
        client.trusts,
      ]),
      [
        "chain -> target",
        "knows",
        "newest",
        "updated",
        "expires in",
        "our updates",
        "polled",
        "state",
        "trusts",
      ],
    ),
    formatSection(
      "Waited for",
      rows.flatMap(({ route, waitsFor }) =>
        waitsFor === undefined ? [] : [[route, `for ${age(waitsFor.sinceMs)}`, waitsFor.reason]]
      ),
    ),
    formatSection(
      "Last updates",
      rows.flatMap(({ route, lastUpdate }) => {
        if (lastUpdate === undefined) return [];
        const { atMs, result, bytes, findMs, submitMs, detail } = lastUpdate;
        const took = formatDuration(findMs + submitMs);
        return [[route, `${age(atMs)} ago`, result, `${bytes} bytes`, `in ${took}`, detail]];
      }),
    ),
    formatSection(
      "Last failures",
      rows.flatMap(({ route, lastFailure }) =>
        lastFailure === undefined
          ? []
          : [[route, `${age(lastFailure.atMs)} ago`, lastFailure.host ?? "-", lastFailure.text]]
      ),
    ),
  ];
}

function newestText({ head, final }: RouteStatus): string {
  if (final !== undefined) return `${final.height} final`;
  return head === undefined ? "-" : `${head.height}`;
}

function expiryText(leftMs: number): string {
  return leftMs <= 0 ? "expired" : formatDuration(leftMs);
}

function stateText({ isFrozen, failingSinceMs, lastPollMs }: RouteStatus, age: Age): string {
  if (isFrozen === true) return "frozen";
  if (failingSinceMs !== undefined) return `failing for ${age(failingSinceMs)}`;
  return lastPollMs === undefined ? "starting" : "ok";
}
